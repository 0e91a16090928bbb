"""The daemon's process is recognised by what it holds, so that a pid used again is never signalled."""

from __future__ import annotations

import fcntl
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from foveal.cli.process import Process, lock_holder, lock_is_held, peer_pid
from foveal.ipc.paths import DaemonInfo, lock_file, start_lock_file, write_daemon_info

WAIT_S = 30

HOLD = """\
import fcntl, os, sys
descriptor = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
fcntl.flock(descriptor, fcntl.LOCK_EX)
os.write(descriptor, b"%d\\n" % os.getpid())
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def state(tmp_path: Path) -> str:
    return str(tmp_path)


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[str]]:
    """Start a process that has nothing to do with the daemon."""
    yield from python("print('here', flush=True); input()")


@pytest.fixture
def holder(state: str) -> Iterator[subprocess.Popen[str]]:
    """Start a process that holds the lock as a daemon does."""
    yield from python(HOLD, lock_file(state))


def python(code: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", code, *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        child.stdout.readline()
        yield child
        child.kill()


def name_in_state(state: str, pid: int) -> None:
    """Write what a killed daemon leaves behind."""
    Path(lock_file(state)).write_text(f"{pid}\n")
    write_daemon_info(state, DaemonInfo(pid, "2026-01-01T00:00:00.000Z", "/x", "/y", "0.1.0", 1))


def test_lock_is_held(state: str) -> None:
    def check(expected: bool) -> None:
        assert lock_is_held(state) is expected

    check(False)
    for path in (lock_file(state), start_lock_file(state)):
        with open(path, "w") as file:
            check(False)
            fcntl.flock(file, fcntl.LOCK_EX)
            check(True)
        check(False)
    assert not lock_is_held(os.path.join(state, "missing"))


def test_the_holder_is_found_and_ended(state: str, holder: subprocess.Popen[str]) -> None:
    process = lock_holder(state)
    assert process is not None
    with process:
        assert process.pid == holder.pid
        assert not process.has_ended(0)
        process.terminate()
        assert process.has_ended(WAIT_S)
        process.terminate()  # a second time harms nobody


def test_a_reused_pid_is_nobody(state: str, bystander: subprocess.Popen[str]) -> None:
    name_in_state(state, bystander.pid)
    assert lock_holder(state) is None
    with open(lock_file(state)) as lock:  # held, but by somebody else than the one it names
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert lock_is_held(state)
        assert lock_holder(state) is None


def test_marks_without_a_process_are_nobody(state: str) -> None:
    assert lock_holder(state) is None
    for content in ("", "x", "999999999999999999", "-1", "0"):
        Path(lock_file(state)).write_text(content)
        assert lock_holder(state) is None
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait(WAIT_S)
    name_in_state(state, child.pid)
    assert lock_holder(state) is None


def test_without_pidfds_the_id_serves(
    bystander: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    with Process(bystander.pid) as process:
        assert not process.has_ended(0)
        process.terminate()
        bystander.wait(WAIT_S)  # reaped, or it would still exist
        assert process.has_ended(WAIT_S)
        process.terminate()
    with pytest.raises(ProcessLookupError):
        Process(bystander.pid)


def test_peer_pid_is_the_listeners(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as client:
        listener.bind(str(tmp_path / "s"))
        listener.listen()
        client.connect(str(tmp_path / "s"))
        assert peer_pid(client) == os.getpid()
