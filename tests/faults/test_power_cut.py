"""The model of a disk that loses power loses just what was not forced to it."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

from foveal.benchmarks.faults.power_cut import Disk
from foveal.benchmarks.faults.recording import calls_in, strace_command

from tests.conftest import need_tool

PROGRAM = """
import os, sys
os.chdir(sys.argv[1])
def put(name, data, sync):
    with open(name, "wb") as file:
        file.write(data)
        file.flush()
        if sync: os.fsync(file.fileno())
def sync(folder):
    descriptor = os.open(folder, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)
at = os.path.join
root = os.getcwd()
put(at(root, "data synced, name not"), b"x", True)
os.mkdir(at(root, "folder"))
sync(root)
put(at(root, "folder/name synced, data not"), b"x", False)
put(at(root, "folder/both"), b"both", True)
put(at(root, "folder/old"), b"old", True)
sync(at(root, "folder"))
put(at(root, "folder/new"), b"new", True)
os.rename(at(root, "folder/new"), at(root, "folder/old"))
with open(at(root, "folder/both"), "ab") as file: file.write(b" and more")
"""


def test_the_model_loses_what_was_not_forced_to_the_disk(tmp_path: Path) -> None:
    need_tool("strace")
    root, trace = tmp_path / "root", tmp_path / "trace"
    root.mkdir()
    program = [sys.executable, "-c", PROGRAM, str(root)]
    subprocess.run(strace_command(program, trace), check=True)
    calls = list(calls_in(trace))
    disk = Disk(root, calls)
    disk.after_cut(calls[-1].ended, "all", random.Random(1), tmp_path / "all")
    left = {
        str(path.relative_to(tmp_path / "all")): path.read_bytes()
        for path in (tmp_path / "all").rglob("*")
        if path.is_file()
    }
    assert left == {
        "data synced, name not": b"x",  # its name was synced with that of the folder
        "folder/name synced, data not": b"",
        "folder/both": b"both",
        "folder/old": b"old",
    }
    seen = set()
    for seed in range(40):
        target = tmp_path / str(seed)
        disk.after_cut(calls[-1].ended, "some", random.Random(seed), target)
        old = (target / "folder/old").read_bytes()
        assert old in {b"old", b"new"}
        seen.add((old, (target / "folder/both").read_bytes()))
    assert {old for old, _ in seen} == {b"old", b"new"}
    assert {b"both", b"both and more"} < {both for _, both in seen}
    assert os.listdir(root)
