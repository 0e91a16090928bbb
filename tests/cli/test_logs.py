"""The log's end is found across rotated files, and followed across a rotation."""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path

from click.testing import CliRunner
from foveal.cli.app import foveal
from foveal.cli.logs import follow_log, tail
from foveal.ipc.paths import log_file

from tests.conftest import DaemonProcess


def test_tail_goes_on_in_rotated_files(tmp_path: Path) -> None:
    path = tmp_path / "foveal.log"
    (tmp_path / "foveal.log.2").write_text("1\n2\n")
    (tmp_path / "foveal.log.1").write_text("3\n4\n")
    path.write_text("5\nnot yet there\n")

    def check(count: int, expected: list[str]) -> None:
        assert tail(str(path), count, end=2) == expected

    check(0, [])
    check(1, ["5"])
    check(2, ["4", "5"])
    check(99, ["1", "2", "3", "4", "5"])


def test_follow_goes_on_in_the_file_that_takes_its_place(tmp_path: Path) -> None:
    path = tmp_path / "foveal.log"
    path.write_bytes(b"old\n")
    added = follow_log(str(path), position=4)
    assert isinstance(added, Generator)
    with path.open("ab") as file:
        file.write("naïve\n".encode())
    assert next(added) == "naïve\n"
    path.rename(tmp_path / "foveal.log.1")
    path.write_bytes(b"new file\n")
    with (tmp_path / "foveal.log.1").open("ab") as file:
        file.write(b"last words\n")
    read = ""
    while not read.endswith("new file\n"):
        read += next(added)
    assert read == "last words\nnew file\n"
    added.close()


def test_logs_as_json(shared_daemon: DaemonProcess) -> None:
    shared_daemon.call("Ping")
    runner = CliRunner(env=shared_daemon.environ)
    found = json.loads(runner.invoke(foveal, ["logs", "-n", "2", "--json"]).stdout)
    assert found["file"] == log_file(str(shared_daemon.state))
    assert 1 <= len(found["lines"]) <= 2
    assert runner.invoke(foveal, ["logs", "--follow", "--json"]).exit_code == 2
