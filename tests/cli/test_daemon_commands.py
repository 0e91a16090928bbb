"""The daemon's life as a user drives it: up, down, restart, foreground, and after crashes of every kind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from click.testing import CliRunner, Result
from foveal import __version__
from foveal.cli import process as life
from foveal.cli.app import foveal
from foveal.cli.logs import follow_log
from foveal.daemon.app.service import prepare
from foveal.ipc.paths import DaemonInfo, daemon_file, lock_file, log_file, write_daemon_info

from tests.command_cases import run_program
from tests.conftest import DaemonProcess, write_files

TIMEOUT_S = 90


def run(daemon: DaemonProcess, *arguments: str) -> tuple[int, str, str]:
    """Run the program as a user would."""
    return run_program(daemon.environ, Path.cwd(), *arguments)


def said(daemon: DaemonProcess, *arguments: str) -> tuple[int, str, str]:
    """Run a command in this process, for those who ask only what it says: a third of a second less."""
    result = run_here(daemon, *arguments)
    return result.exit_code, result.stdout, result.stderr


def run_here(daemon: DaemonProcess, *arguments: str) -> Result:
    """Run a command in this process, where a test can shorten its patience."""
    return CliRunner(env={**daemon.environ, "NO_COLOR": "1"}).invoke(foveal, arguments)


def wait_log(daemon: DaemonProcess, words: str) -> None:
    """Wait until the daemon has logged some words."""
    seen = ""
    for text in follow_log(log_file(str(daemon.state))):
        seen += text
        if words in seen:
            return


def has_ended(pid: int) -> bool:
    """Say whether a process has ended; who inherited it may not have reaped it yet."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def kill(daemon: DaemonProcess) -> int:
    """Kill the daemon so that it can't clean up; returns its pid."""
    pid = daemon.pid
    daemon.stop(signal.SIGKILL)
    return pid


def test_projects_and_close_start_no_daemon(daemon: DaemonProcess, tmp_path: Path) -> None:
    for arguments in (("projects",), ("close", str(tmp_path)), ("status",)):
        assert said(daemon, *arguments) == (1, "", "error: no daemon runs\nhint: foveal up\n")


def test_opening_the_home_folder_warns(daemon: DaemonProcess, tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "home" / "shop"
    project.mkdir(parents=True)
    runner = CliRunner(env={**daemon.environ, "NO_COLOR": "1", "HOME": str(home)})
    for path in (home, tmp_path):
        assert runner.invoke(foveal, ["open", str(path)]).stderr == (
            f"warning: {path} is indexed as one project, with everything in it; to stop, run:"
            f" foveal close {path}\n"
        )
    assert runner.invoke(foveal, ["open", str(project)]).stderr == ""
    assert "is indexed as one project" in runner.invoke(foveal, ["up", str(home)]).stderr


def test_restart_keeps_the_socket(daemon: DaemonProcess, tmp_path: Path) -> None:
    place = os.path.join(daemon.environ["XDG_RUNTIME_DIR"], "own.sock")
    code, output, _ = said(daemon, "up", "--socket", place)
    old = daemon.pid
    assert (code, output) == (0, f"started foveal {__version__} (pid {old}) on {place}\n")
    code, output, errors = said(daemon, "restart")
    new = daemon.pid
    assert new != old
    assert (code, errors) == (0, "")
    assert output == f"stopped the daemon (pid {old})\nstarted foveal {__version__} (pid {new}) on {place}\n"
    assert said(daemon, "--socket", place, "down") == (0, f"stopped the daemon (pid {new})\n", "")


def test_foreground_runs_until_a_signal(daemon: DaemonProcess) -> None:
    child = subprocess.Popen(
        [sys.executable, "-m", "foveal", "up", "--foreground"],
        env=daemon.environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_log(daemon, "serves on")
    assert daemon.pid == child.pid
    child.send_signal(signal.SIGTERM)
    assert child.communicate(timeout=TIMEOUT_S) == ("", "")  # no terminal: it logs to the file
    assert child.returncode == 0


def test_what_keeps_a_daemon_from_starting_is_said(daemon: DaemonProcess) -> None:
    config = Path(daemon.environ["FOVEAL_CONFIG_DIR"])
    write_files(config, {"config.toml": '[daemon]\nlog_level = "loud"\n'})
    for arguments in (("up",), ("up", "--foreground"), ("scopes",)):
        code, output, errors = run(daemon, *arguments)
        assert (code, output) == (1, "")
        assert errors.startswith("error: ")
        assert "daemon.log_level must be a string, one of debug, info, warning, error" in errors
        assert "Traceback" not in errors


def test_the_environment_sets_the_level_of_the_log(daemon: DaemonProcess) -> None:
    daemon.environ["FOVEAL_LOG_LEVEL"] = "loud"
    assert "FOVEAL_LOG_LEVEL is 'loud': set it to debug, info" in run(daemon, "up", "--foreground")[2]
    daemon.environ["FOVEAL_LOG_LEVEL"] = "Debug"
    assert prepare(None, daemon.environ, log_to_file=True).log_level == "debug"


def test_a_pid_that_is_used_again_is_never_signalled(daemon: DaemonProcess) -> None:
    said(daemon, "up")
    kill(daemon)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as bystander:
        info = DaemonInfo(bystander.pid, "2026-01-01T00:00:00.000Z", daemon.socket, "/x", __version__, 1)
        write_daemon_info(str(daemon.state), info)
        Path(lock_file(str(daemon.state))).write_text(f"{bystander.pid}\n")
        assert said(daemon, "down") == (0, "no daemon runs\n", "")
        assert bystander.poll() is None
        os.unlink(daemon_file(str(daemon.state)))


def test_a_daemon_whose_socket_was_removed_is_stopped(
    daemon: DaemonProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    said(daemon, "up")
    monkeypatch.setattr(life, "SETTLE_S", 0.05)
    pid = daemon.pid
    os.unlink(daemon.socket)
    result = run_here(daemon, "down")
    assert (result.exit_code, result.output) == (0, f"stopped the daemon (pid {pid})\n")
    assert has_ended(pid)


def test_a_daemon_that_hangs_is_named(daemon: DaemonProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    said(daemon, "up")
    monkeypatch.setattr(life, "SIGNAL_TIMEOUT_S", 0.2)
    pid = daemon.pid
    os.kill(pid, signal.SIGSTOP)
    try:
        result = run_here(daemon, "down", "--timeout", "0.1")
        assert (result.exit_code, result.stdout) == (1, "")
        assert result.stderr == (
            f"error: the daemon (pid {pid}) didn't stop, not even after SIGTERM\nhint: kill -9 {pid}\n"
        )
    finally:
        os.kill(pid, signal.SIGCONT)
    wait_log(daemon, " stopped\n")


def test_doctor_names_what_is_wrong_and_what_to_run(daemon: DaemonProcess, shop: Path) -> None:
    config = Path(daemon.environ["FOVEAL_CONFIG_DIR"])
    daemon.open_ready(shop)
    write_files(shop, {"foveal.toml": "[context]\nmax_tokns = 5\n"})
    write_files(config, {"config.toml": "[scan]\nexclude = 3\n"})
    daemon.environ["TMPDIR"] = str(shop)  # the machine's own may hold what other programs left
    code, output, _ = said(daemon, "doctor")
    assert code == 1
    assert f"✗ {config}/config.toml, line 2: scan.exclude must be a list of strings" in output
    assert "    run: correct the file; docs/settings.md lists the keys\n" in output
    assert "did you mean context.max_tokens?" in output
    assert output.endswith("1 problem, 1 warning\n")


def test_doctor_of_a_stranger_on_the_socket(daemon: DaemonProcess) -> None:
    folder = Path(daemon.environ["XDG_RUNTIME_DIR"]) / "foveal"
    folder.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "foveal.sock"))
        os.chmod(folder / "foveal.sock", 0o600)
        listener.listen()
        code, output, _ = said(daemon, "doctor")
    assert code == 1
    assert f"✗ the daemon on {folder}/foveal.sock doesn't answer" in output
    assert "    run: foveal restart\n" in output
