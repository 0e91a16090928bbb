"""What a running daemon does where its socket, its runtime folder or its state folder is removed."""

from __future__ import annotations

import os
import shutil
import socket
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest
from foveal.ipc.errors import RpcError
from foveal.ipc.paths import daemon_file, http_socket, lock_file

from tests.conftest import DEADLINE_S, DaemonProcess, write_files


def until(condition: Callable[[], bool]) -> None:
    """Wait for something that only the file system tells."""
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def over_http(path: str) -> bytes:
    """Ask the web process for what it serves; b"" where nobody listens."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(DEADLINE_S)
        try:
            connection.connect(path)
        except OSError:
            return b""
        connection.sendall(b"GET /rpc/Ping HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        return connection.recv(64)


def test_a_socket_that_is_removed_is_bound_again(daemon: DaemonProcess) -> None:
    daemon.call("Ping")
    pid, path = daemon.pid, daemon.socket
    with daemon.client() as kept:
        for place in (path, http_socket(path)):
            os.unlink(place)
        assert daemon.call("Ping")["pid"] == pid
        assert kept.call("Ping", {}, DEADLINE_S)["pid"] == pid
    assert stat.S_IMODE(os.lstat(path).st_mode) & 0o077 == 0
    until(lambda: over_http(http_socket(path)).startswith(b"HTTP/1.1 200"))
    assert daemon.log().count(" serves on ") == 1


def test_something_else_in_the_place_of_the_socket_is_no_end(daemon: DaemonProcess) -> None:
    daemon.call("Ping")
    pid, path = daemon.pid, daemon.socket
    with daemon.client() as kept:
        os.unlink(path)
        Path(path).mkdir()
        until(lambda: "can't be bound again" in daemon.log())
        assert kept.call("Ping", {}, DEADLINE_S)["pid"] == pid
        Path(path).rmdir()
        until(lambda: os.path.lexists(path))
    assert daemon.call("Ping")["pid"] == pid


@pytest.mark.parametrize("whole", [True, False])
def test_a_state_folder_that_is_removed_is_made_again_and_said(
    daemon: DaemonProcess, tmp_path: Path, whole: bool
) -> None:
    root = write_files(tmp_path / "shop", {"pyproject.toml": "", "shop/auth.py": "def login(): pass\n"})
    daemon.open_ready(root)
    scope = daemon.call("GetContext", cwd=str(root), focus_paths=["shop/auth.py"])["scope_id"]
    pid = daemon.pid
    children = psutil.Process(pid).children(recursive=True)
    if whole:
        shutil.rmtree(daemon.state)
    else:
        for one in daemon.state.iterdir():
            shutil.rmtree(one) if one.is_dir() else one.unlink()
    until(lambda: os.path.lexists(daemon_file(str(daemon.state))))
    until(lambda: is_recovered(daemon))
    status = daemon.call("Status")
    assert status["pid"] == pid
    assert any("was removed" in one for one in status["degraded"])
    assert os.path.lexists(lock_file(str(daemon.state)))
    assert daemon.error("GetScope", scope_id=scope).code == "not_found"
    assert daemon.open_ready(root)["state"] == "ready"
    assert psutil.wait_procs(children, DEADLINE_S)[1] == []
    assert "Traceback" not in daemon.log()


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """Mount a disk of 4 MB, where that can be done, and give it back."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    arguments = ["-t", "tmpfs", "-o", "size=4m,mode=0700", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(["mount", *arguments], check=False).returncode:
        pytest.skip("only root may mount a disk that can be filled")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file, suppress(OSError):  # as soon as it is full
        while file.write(bytes(4096)):
            pass


def is_recovered(daemon: DaemonProcess) -> bool:
    """Whether Status tells of no full disk; a daemon that begins anew drops its connections."""
    try:
        return not any("is full" in one for one in daemon.call("Status")["degraded"])
    except (ConnectionError, RpcError):
        return False


@pytest.mark.parametrize("used_before", [True, False])
def test_a_start_on_a_full_disk_is_said_in_status(daemon: DaemonProcess, used_before: bool) -> None:
    with small_disk(daemon.state):
        try:
            if used_before:
                daemon.call("Ping")
                daemon.stop()
            fill(daemon.state / "filler")
            degraded = daemon.call("Status")["degraded"]
            assert any("is full" in one for one in degraded), degraded
            (daemon.state / "filler").unlink()
            until(lambda: is_recovered(daemon))
            until(lambda: os.path.lexists(daemon_file(str(daemon.state))))
            assert daemon.call("Ping")["pid"] == daemon.pid
            assert "Traceback" not in daemon.log()
        finally:
            daemon.stop()
