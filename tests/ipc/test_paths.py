"""Where things lie: the contract's order of sockets, platformdirs' folders, and no unsafe place is used."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import platformdirs
import pytest
from foveal.ipc.paths import (
    DaemonInfo,
    PathError,
    SocketChoice,
    check_length,
    check_socket,
    config_file,
    config_folder,
    daemon_file,
    daemon_socket,
    default_socket,
    find_socket,
    http_socket,
    lock_file,
    log_file,
    private_folder,
    read_daemon_info,
    remove_daemon_info,
    start_lock_file,
    state_folder,
    write_daemon_info,
)


@pytest.fixture
def environ(folder: str) -> dict[str, str]:
    """Make an environment in which everything lies in the test's folder."""
    os.mkdir(f"{folder}/run", 0o700)
    return {"HOME": folder, "XDG_RUNTIME_DIR": f"{folder}/run", "TMPDIR": folder}


def info_for(path: str, pid: int = 4242) -> DaemonInfo:
    return DaemonInfo(
        pid, "2026-01-02T03:04:05Z", path, os.path.join(os.path.dirname(path), "h.sock"), "0.1.0", 1
    )


def listen(path: str, mode: int = 0o600) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    os.chmod(path, mode)
    return listener


def test_the_order_of_sockets(environ: dict[str, str], folder: str) -> None:
    named = {**environ, "FOVEAL_SOCKET": f"{folder}/env.sock"}
    assert find_socket(f"{folder}/arg.sock", named) == SocketChoice(f"{folder}/arg.sock", explicit=True)
    assert find_socket(None, named) == SocketChoice(f"{folder}/env.sock", explicit=True)
    assert find_socket(None, environ) == SocketChoice(f"{folder}/run/foveal/foveal.sock", explicit=False)
    del environ["XDG_RUNTIME_DIR"]
    private = f"foveal-{os.geteuid()}/foveal.sock"
    assert find_socket(None, environ) == SocketChoice(f"{folder}/{private}", explicit=False)
    del environ["TMPDIR"]
    assert find_socket(None, environ) == SocketChoice(f"/tmp/{private}", explicit=False)


def test_the_daemon_listens_where_clients_look(environ: dict[str, str], folder: str) -> None:
    assert daemon_socket(None, environ) == find_socket(None, environ).path
    assert daemon_socket(f"{folder}/a.sock", environ) == f"{folder}/a.sock"
    assert daemon_socket(None, {**environ, "FOVEAL_SOCKET": f"{folder}/b.sock"}) == f"{folder}/b.sock"
    assert daemon_socket("a.sock", environ) == os.path.abspath("a.sock")


def test_a_runtime_folder_that_is_not_ones_own_is_passed_over(environ: dict[str, str], folder: str) -> None:
    Path(folder, "file").touch()
    for unusable in ("", "run", f"{folder}/absent", f"{folder}/file", "/tmp\0", "/proc/1/nonexistent"):
        assert default_socket({**environ, "XDG_RUNTIME_DIR": unusable}).startswith(f"{folder}/foveal-"), (
            unusable
        )


def test_a_path_too_long_for_a_socket(environ: dict[str, str], folder: str) -> None:
    deep = os.path.join(folder, "d" * 80)
    os.mkdir(deep)
    short = f"/tmp/foveal-{os.geteuid()}/foveal.sock"
    assert default_socket({"XDG_RUNTIME_DIR": deep, "TMPDIR": deep}) == short
    assert default_socket({**environ, "XDG_RUNTIME_DIR": deep}).startswith(f"{folder}/foveal-")
    for explicit in (f"{deep}/foveal.sock", f"/{'é' * 50}"):
        with pytest.raises(PathError, match="--socket or FOVEAL_SOCKET"):
            find_socket(explicit, environ)
    assert check_length("/" + "x" * 99) == "/" + "x" * 99
    with pytest.raises(PathError, match="101 bytes"):
        check_length("/" + "x" * 100)


def test_the_http_socket_lies_beside(folder: str) -> None:
    assert http_socket(f"{folder}/foveal.sock") == f"{folder}/foveal-http.sock"
    with pytest.raises(PathError):
        http_socket(f"/{'x' * 90}/a.sock")


def test_a_default_socket_leaves_room_for_the_http_socket(folder: str) -> None:
    for length in range(60, 80):
        deep = os.path.join(folder, "d" * length)
        os.mkdir(deep)
        assert len(http_socket(default_socket({"XDG_RUNTIME_DIR": deep}))) <= 100


@pytest.mark.parametrize("value", [None, "", "relative", "/set", "/set/"])
def test_folders_are_those_of_platformdirs(value: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
        if value is not None:
            monkeypatch.setenv(name, value)
    assert state_folder(os.environ) == platformdirs.user_state_dir("foveal")
    assert config_folder(os.environ) == platformdirs.user_config_dir("foveal")


@pytest.mark.parametrize("home", [None, "", "relative", "/h", "/h/"])
def test_the_home_folder_is_that_of_platformdirs(home: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.delenv("HOME", raising=False)
    if home is not None:
        monkeypatch.setenv("HOME", home)
    assert state_folder(os.environ) == platformdirs.user_state_dir("foveal")


def test_files_of_the_folders() -> None:
    assert [name("/s") for name in (lock_file, start_lock_file, daemon_file, log_file)] == [
        "/s/lock",
        "/s/start.lock",
        "/s/daemon.json",
        "/s/foveal.log",
    ]
    assert config_file("/c") == "/c/config.toml"


def test_a_private_folder_is_made_closed_with_its_parents(folder: str) -> None:
    code = "import os, sys, foveal.ipc.paths as p; os.umask(0); p.private_folder(sys.argv[1])"
    subprocess.run([sys.executable, "-c", code, f"{folder}/a/b/c"], check=True)
    for made in ("a", "a/b", "a/b/c"):
        assert stat.S_IMODE(os.lstat(f"{folder}/{made}").st_mode) == 0o700
    assert private_folder(f"{folder}/a/b/c") == f"{folder}/a/b/c"


def test_an_unsafe_folder_is_refused_with_the_command_that_mends_it(folder: str) -> None:
    os.mkdir(f"{folder}/o pen", 0o700)
    for mode in (0o710, 0o702, 0o755, 0o777):
        os.chmod(f"{folder}/o pen", mode)
        with pytest.raises(PathError, match=r"chmod 700 '.*/o pen'"):
            private_folder(f"{folder}/o pen")
    os.chmod(f"{folder}/o pen", 0o700)
    os.symlink(f"{folder}/o pen", f"{folder}/link")
    with pytest.raises(PathError, match="symlink"):
        private_folder(f"{folder}/link")
    Path(folder, "file").touch()
    with pytest.raises(PathError, match="no folder"):
        private_folder(f"{folder}/file")
    with pytest.raises(PathError, match="no folder"):
        private_folder(f"{folder}/file/below/it")
    with pytest.raises(PathError, match="can't be made"):
        private_folder("/proc/none/such")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's folder")
def test_another_users_folder_and_socket_are_refused(folder: str) -> None:
    listen(f"{folder}/s.sock").close()
    os.chown(f"{folder}/s.sock", 65534, 65534)
    with pytest.raises(PathError, match="65534"):
        check_socket(f"{folder}/s.sock")
    os.mkdir(f"{folder}/theirs", 0o700)
    os.chown(f"{folder}/theirs", 65534, 65534)
    with pytest.raises(PathError, match="65534"):
        private_folder(f"{folder}/theirs")


def test_a_socket_is_checked_before_it_is_used(folder: str) -> None:
    path = f"{folder}/s.sock"
    with pytest.raises(FileNotFoundError):
        check_socket(path)
    with pytest.raises(FileNotFoundError):
        check_socket(f"{folder}/absent/s.sock")
    with listen(path):
        check_socket(path)
        os.chmod(path, 0o660)
        with pytest.raises(PathError, match="chmod 600"):
            check_socket(path)
        os.chmod(path, 0o600)
        os.chmod(folder, 0o711)
        with pytest.raises(PathError, match="chmod 700"):
            check_socket(path)
        os.chmod(folder, 0o700)
    os.unlink(path)
    Path(path).touch(0o600)
    with pytest.raises(PathError, match="not a socket"):
        check_socket(path)
    with pytest.raises(PathError, match="100"):
        check_socket("/" + "x" * 200)


def test_daemon_info_is_written_and_read(folder: str) -> None:
    assert read_daemon_info(folder) is None
    Path(folder, "daemon.json.tmp").write_text("left by a killed daemon")
    for pid in (1, 99):
        write_daemon_info(folder, info_for(f"{folder}/é.sock", pid))
        assert read_daemon_info(folder) == info_for(f"{folder}/é.sock", pid)
    assert stat.S_IMODE(os.lstat(daemon_file(folder)).st_mode) == 0o600
    assert os.listdir(folder) == ["daemon.json"]
    remove_daemon_info(folder)
    remove_daemon_info(folder)
    assert os.listdir(folder) == []


GOOD = '{"pid": 5, "start_time": "t", "socket": "/s", "http_socket": "/h", "version": "1", "protocol": 1}'


def test_damaged_daemon_info_counts_as_none(folder: str) -> None:
    def check(content: bytes, found: bool) -> None:
        Path(daemon_file(folder)).write_bytes(content)
        assert (read_daemon_info(folder) is not None) == found

    check(GOOD.encode(), found=True)
    check(GOOD.replace("}", ', "later": [1]}').encode(), found=True)
    for damaged in (
        "",
        "[]",
        "null",
        GOOD[:-9],
        GOOD.replace("5", "true"),
        GOOD.replace('"/s"', "7"),
        "[" * 50_000,
    ):
        check(damaged.encode(), found=False)
    for unusable in (GOOD.replace("/s", "s"), GOOD.replace("5", "-5"), GOOD.replace("/s", "/s\\u0000")):
        check(unusable.encode(), found=False)
    check(b"\xff\xfe\x00", found=False)
    check(b" " * 100_000 + GOOD.encode(), found=False)


def test_two_shells_meet_the_same_daemon(environ: dict[str, str], folder: str) -> None:
    state = private_folder(state_folder(environ))
    with_runtime = default_socket(environ)
    private_folder(os.path.dirname(with_runtime))
    without = {name: value for name, value in environ.items() if name != "XDG_RUNTIME_DIR"}
    write_daemon_info(state, info_for(with_runtime))
    assert find_socket(None, without).path == default_socket(without)  # the daemon is gone: its socket is
    with listen(with_runtime):
        assert find_socket(None, without) == SocketChoice(with_runtime, explicit=False)
        assert find_socket(None, environ) == SocketChoice(with_runtime, explicit=False)
        assert find_socket(f"{folder}/x", without) == SocketChoice(f"{folder}/x", explicit=True)
