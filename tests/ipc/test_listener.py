"""A socket is bound in a private folder and 0600 from birth; only a stale socket is ever removed for it."""

from __future__ import annotations

import os
import resource
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from foveal.ipc.listener import SocketInUse, bind, raise_file_limit, remove_socket
from foveal.ipc.paths import PathError, check_socket


def test_folder_and_socket_are_private_from_birth(folder: str) -> None:
    mask = os.umask(0)
    try:
        with bind(f"{folder}/new/foveal.sock"):
            check_socket(f"{folder}/new/foveal.sock")
            assert stat.S_IMODE(os.lstat(f"{folder}/new/foveal.sock").st_mode) == 0o600
        assert os.umask(0) == 0
    finally:
        os.umask(mask)


def test_an_unsafe_folder_is_refused(folder: str) -> None:
    os.chmod(folder, 0o755)
    with pytest.raises(PathError, match="chmod 700"):
        bind(f"{folder}/s.sock")
    os.chmod(folder, 0o700)
    assert os.listdir(folder) == []


def test_a_path_that_is_too_long_is_refused_before_anything_is_made(folder: str) -> None:
    with pytest.raises(PathError, match="100"):
        bind(f"{folder}/{'d' * 90}/s.sock")
    assert os.listdir(folder) == []


def test_a_stale_socket_is_replaced(folder: str) -> None:
    path = f"{folder}/s.sock"
    bind(path).close()
    born = os.lstat(path).st_ctime_ns
    with bind(path) as listener:
        listener.listen()
        assert os.lstat(path).st_ctime_ns != born
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path)


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS doesn't tell the pid")
def test_a_live_socket_is_never_stolen_and_its_owner_is_named(folder: str) -> None:
    path = f"{folder}/s.sock"
    with bind(path) as listener:
        listener.listen(0)
        with pytest.raises(SocketInUse, match=rf"pid {os.getpid()}.*foveal down") as caught:
            bind(path)
        assert caught.value.pid == os.getpid()
        with pytest.raises(SocketInUse, match="already listens"):  # now its queue is full
            bind(path)
        check_socket(path)


def test_what_is_no_socket_is_never_removed(folder: str) -> None:
    path = f"{folder}/s.sock"
    Path(path).write_text("precious")
    with pytest.raises(FileExistsError, match="no socket"):
        bind(path)
    remove_socket(path)
    assert Path(path).read_text() == "precious"
    os.unlink(path)
    bind(f"{folder}/real.sock").close()
    os.symlink("real.sock", path)
    with pytest.raises(FileExistsError, match="no socket"):
        bind(path)
    remove_socket(path)
    assert os.path.islink(path)


def test_remove_socket(folder: str) -> None:
    bind(f"{folder}/s.sock").close()
    remove_socket(f"{folder}/s.sock")
    remove_socket(f"{folder}/s.sock")
    assert os.listdir(folder) == []


def test_the_limit_of_open_files_is_raised() -> None:
    code = (
        "import resource; from foveal.ipc.listener import raise_file_limit\n"
        "hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))\n"
        "print(raise_file_limit(), resource.getrlimit(resource.RLIMIT_NOFILE)[0])"
    )
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert output[0] == output[1] != "64"
    assert raise_file_limit() == resource.getrlimit(resource.RLIMIT_NOFILE)[0]
