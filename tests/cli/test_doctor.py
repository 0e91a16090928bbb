"""The doctor sees what is wrong with state folder, daemon and log, names the remedy, and changes nothing."""

from __future__ import annotations

import os
import re
import resource
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib import metadata
from pathlib import Path

import pytest
from click.testing import CliRunner
from foveal.cli import doctor
from foveal.cli.app import foveal
from foveal.cli.check import Check, to_map, to_text
from foveal.cli.doctor import (
    check_daemon,
    check_dependencies,
    check_disk,
    check_git,
    check_log,
    check_open_files,
    check_state,
    check_watches,
)
from foveal.cli.settings import Settings

from tests.conftest import DaemonProcess


def fine(state: str) -> Check:
    """Stand in for the check of the state's version."""
    return Check("state version", "ok", "known")


def levels(checks: list[Check]) -> list[tuple[str, str]]:
    return [(check.name, check.level) for check in checks]


def test_state_folder(tmp_path: Path) -> None:
    state = tmp_path / "state"

    def check(expected: list[tuple[str, str]], fix: str = "") -> None:
        found = list(check_state(str(state), fine))
        assert levels(found) == expected
        assert found[0].fix == fix

    check([("state folder", "ok")])
    assert not state.exists()
    state.mkdir(mode=0o700)
    check([("state folder", "ok")])
    (state / "version.json").write_text("{}")
    check([("state folder", "ok"), ("state version", "ok")])
    state.chmod(0o755)
    check([("state folder", "wrong")], f"chmod 700 {state}")
    (state / "version.json").unlink()
    state.rmdir()
    state.write_text("")
    check([("state folder", "wrong")], f"mv {state} {state}.old")


def test_log_of_the_last_day(tmp_path: Path) -> None:
    now = datetime.now().astimezone()

    def line(age: timedelta, level: str) -> str:
        return f"{now - age:%Y-%m-%d %H:%M:%S},123 {level:<7} foveal.x  it happened\n"

    def check(text: str, level: str, said: str) -> None:
        (tmp_path / "foveal.log").write_text(text)
        found = check_log(str(tmp_path))
        assert (found.level, said in found.text) == (level, True)

    hour, week = timedelta(hours=1), timedelta(days=7)
    check("", "ok", "no errors")
    check(line(hour, "INFO") + line(hour, "WARNING") + line(week, "ERROR"), "ok", "no errors")
    check(line(hour, "ERROR") + line(hour, "CRITICAL"), "warning", "2 errors in the log of the last day")
    (tmp_path / "foveal.log.1").write_text(line(hour, "ERROR"))
    check("", "warning", "1 error in the log")


def test_daemon_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir(mode=0o700)
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    settings = Settings(None, {"XDG_RUNTIME_DIR": str(tmp_path / "run"), "FOVEAL_STATE_DIR": str(state)})
    assert levels(list(check_daemon(settings, str(state), {}))) == [("daemon", "ok")]
    (state / "daemon.json").write_text("{}")
    assert levels(list(check_daemon(settings, str(state), {}))) == [("daemon", "warning")]
    folder = tmp_path / "run" / "foveal"
    folder.mkdir(mode=0o700)
    (folder / "foveal.sock").write_text("no socket")
    assert levels(list(check_daemon(settings, str(state), {}))) == [("socket", "wrong")]


def test_daemon_of_another_version(shared_daemon: DaemonProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    shared_daemon.call("Ping")
    monkeypatch.setattr(doctor, "__version__", "99.0")
    result = CliRunner(env=shared_daemon.environ | {"NO_COLOR": "1"}).invoke(foveal, ["doctor"])
    assert result.exit_code == 1
    assert f"✗ the daemon (pid {shared_daemon.pid}) is foveal " in result.stdout
    assert ", this program is 99.0\n    run: foveal restart\n" in result.stdout


def test_a_daemon_without_its_marks(shared_daemon: DaemonProcess) -> None:
    shared_daemon.call("Ping")
    settings = Settings(None, shared_daemon.environ)
    state, pid = str(shared_daemon.state), shared_daemon.pid
    assert levels(list(check_daemon(settings, state, {}))) == [("daemon", "ok")]
    marks = shared_daemon.state / "daemon.json"
    kept = marks.read_text()
    os.rename(marks, f"{marks}.kept")
    [_, missing] = check_daemon(settings, state, {})
    assert (missing.level, missing.fix) == ("wrong", "foveal restart")
    marks.write_text(kept.replace(f'"pid": {pid}', '"pid": 1'))
    [_, other] = check_daemon(settings, state, {})
    assert (other.name, other.level) == ("daemon.json", "wrong")
    marks.write_text(kept)


def test_the_daemon_of_another_state_folder_is_left_alone(
    shared_daemon: DaemonProcess, tmp_path: Path
) -> None:
    shared_daemon.call("Ping")
    pid = shared_daemon.pid
    home = {"HOME": str(tmp_path), "FOVEAL_STATE_DIR": str(tmp_path / "state"), "NO_COLOR": "1"}
    program = CliRunner(env=shared_daemon.environ | home)
    belongs = f"the daemon on {shared_daemon.socket} (pid {pid}) belongs to another state folder"
    result = program.invoke(foveal, ["down"])
    assert (result.exit_code, result.stderr.splitlines()[0]) == (1, f"error: {belongs}; left alone")
    told = CliRunner(env=shared_daemon.environ).invoke(foveal, ["query", "x", "--socket", "/tmp/none"]).stderr
    assert "start one there: foveal down && foveal up --socket /tmp/none" in told
    result = program.invoke(foveal, ["uninstall", "--yes"])
    assert f"{belongs}; left alone\n" in result.stdout
    shown = program.invoke(foveal, ["doctor"]).stdout
    assert f"✗ {belongs}\n    run: foveal down --socket " in shown
    assert "daemon.json" not in shown
    assert shared_daemon.call("Ping")["pid"] == pid


@dataclass
class Usage:
    """What is left on a disk."""

    free: int


def test_dependencies_that_are_missing_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    found = check_dependencies()
    assert (found.level, found.text.endswith(" dependencies are installed")) == ("ok", True)
    assert "msgpack " not in to_text(found)
    assert to_map(found)["detail"] in to_text(found, verbose=True)
    assert re.search(r"click [\d.]+, .*msgpack [\d.]+", found.detail)
    monkeypatch.setattr(
        metadata, "requires", lambda name: ["click>=8", "none-such>=1", "redis; extra == 'x'"]
    )
    found = check_dependencies()
    assert (found.level, found.text) == ("wrong", "dependencies that are missing: none-such")


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
        monkeypatch.setattr(doctor, "_read_number", lambda path: numbers[os.path.basename(path)])
        monkeypatch.setattr(doctor, "_watches_of", lambda pid: used)
        found = list(check_watches({"pid": 7, "indexer_pid": None, "projects": [one]}))
        assert [(one.level, one.fix) for one in found] == expected

    check(1_000_000, 5_000, project, [("ok", "")])
    check(1_000_000, 900_000, project, [("warning", "")])
    check(8_192, 5, project, [("warning", remedy)])
    check(0, 0, project, [])  # a system without inotify
    check(1_000_000, 5, polled, [("warning", ""), ("ok", "")])
    check(8_192, 5, polled, [("warning", f"{remedy} && foveal restart"), ("warning", remedy)])
    assert [watch.level for watch in check_watches({})] == ["warning"]
