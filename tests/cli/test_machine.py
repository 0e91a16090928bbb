"""What the machine lacks is said with what to run: old tools, small limits, a full disk."""

from __future__ import annotations

import os
import resource
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from foveal.cli import doctor as machine
from foveal.cli.doctor import (
    check_dependencies,
    check_disk,
    check_git,
    check_open_files,
    check_python,
    check_watches,
)
from foveal.cli.terminal import Check


@dataclass
class Usage:
    """What is left on a disk."""

    free: int


def test_python(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_python().level == "ok"
    monkeypatch.setattr(machine, "MIN_PYTHON", (99, 1))
    assert check_python().fix == "install Python 99.1 or newer"


def test_dependencies_are_imported_and_not_from_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "click.py").write_text("raise SystemExit('a project is not to be run')")
    monkeypatch.chdir(tmp_path)
    found = check_dependencies()
    assert (found.level, "click " in found.text, "msgpack " in found.text) == ("ok", True, True)
    (tmp_path / "msgpack.py").write_text("raise ImportError('broken library')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "click.py").unlink()
    found = check_dependencies()
    assert (found.level, "msgpack: ImportError: broken library" in found.text) == ("wrong", True)
    assert "click: " not in found.text


def test_disk_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def check(free: int, level: str) -> None:
        monkeypatch.setattr(shutil, "disk_usage", lambda folder: Usage(free))
        found = check_disk(str(tmp_path / "not" / "there" / "yet"))
        assert (found.level, bool(found.fix)) == (level, level == "wrong")

    check(10**10, "ok")
    check(10**8, "warning")
    check(10**6, "wrong")


def test_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert check_git().level == "warning"
    broken = tmp_path / "git"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    assert check_git().level == "wrong"
    broken.write_text("#!/bin/sh\necho git version 3.0\n")
    assert check_git() == Check("git", "ok", "git version 3.0")


def test_open_files(monkeypatch: pytest.MonkeyPatch) -> None:
    def check(hard: int, level: str) -> None:
        monkeypatch.setattr(resource, "getrlimit", lambda which: (256, hard))
        assert check_open_files().level == level

    check(resource.RLIM_INFINITY, "ok")
    check(20_000, "ok")
    check(256, "warning")


def test_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    project = {"root": "/p/shop", "watch": "native", "degraded": []}
    polled = {"root": "/p/shop", "watch": "polling", "degraded": ["no watches left"]}
    remedy = "sudo sysctl -w fs.inotify.max_user_watches=524288"

    def check(limit: int, used: int, one: Mapping[str, object], expected: list[tuple[str, str]]) -> None:
        numbers = {"max_user_watches": limit, "max_user_instances": 128}
        monkeypatch.setattr(machine, "_read_number", lambda path: numbers[os.path.basename(path)])
        monkeypatch.setattr(machine, "_watches_of", lambda pid: used)
        found = list(check_watches({"pid": 7, "indexer_pid": None, "projects": [one]}))
        assert [(one.level, one.fix) for one in found] == expected

    check(1_000_000, 5_000, project, [("ok", "")])
    check(1_000_000, 900_000, project, [("warning", "")])
    check(8_192, 5, project, [("warning", remedy)])
    check(0, 0, project, [])  # a system without inotify
    check(1_000_000, 5, polled, [("warning", ""), ("ok", "")])
    check(8_192, 5, polled, [("warning", f"{remedy} && foveal restart"), ("warning", remedy)])
    assert [watch.level for watch in check_watches({})] == ["warning"]


def test_a_process_that_is_gone_has_no_watches() -> None:
    assert machine._watches_of(2**22 + 1) == 0
