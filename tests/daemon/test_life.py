"""One daemon for a user: it starts once, replaces what a dead one left, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import psutil
import pytest
from foveal.ipc.errors import DaemonUnavailable
from foveal.ipc.paths import PathError, daemon_file, http_socket, log_file

from tests.conftest import (
    DEADLINE_S,
    DaemonProcess,
    running_daemon,
    start_python,
    write_files,
)

ASK = """
import os, sys
from foveal.ipc.client import ensure_daemon
with ensure_daemon(None, os.environ, 60.0) as client:
    print(client.call("Ping", {}, 60.0)["pid"])
"""

HEAVY = (
    *("aiohttp", "fastembed", "mcp", "tree_sitter", "jinja2", "usearch", "tantivy", "watchfiles", "uvloop"),
    *("numpy", "onnx", "onnxruntime"),
)


def foreground(
    daemon: DaemonProcess, extra: Mapping[str, str] | None = None, umask: int = -1
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "foveal", "up", "--foreground"],
        env=daemon.environ | dict(extra or {}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        umask=umask,
    )


def refused(daemon: DaemonProcess, extra: Mapping[str, str] | None = None) -> str:
    """Start a daemon that must not run; returns what it said."""
    with foreground(daemon, extra) as process:
        _, errors = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 1
    assert "Traceback" not in errors
    return errors


def family(daemon: DaemonProcess) -> list[psutil.Process]:
    """Return the daemon's process and those of its children."""
    process = psutil.Process(daemon.pid)
    return [process, *process.children(recursive=True)]


def wait_ended(processes: list[psutil.Process]) -> None:
    _, alive = psutil.wait_procs(processes, timeout=DEADLINE_S)
    assert not alive


def left_over(daemon: DaemonProcess) -> list[str]:
    """Return which traces of a running daemon there are."""
    places = (daemon.socket, http_socket(daemon.socket), daemon_file(str(daemon.state)))
    return [place for place in places if os.path.lexists(place)]


# One


def test_of_twenty_clients_at_once_one_starts_it(daemon: DaemonProcess) -> None:
    clients = [start_python(ASK, daemon.environ) for _ in range(20)]
    answers = [client.communicate(timeout=DEADLINE_S)[0].strip() for client in clients]
    assert answers == [str(daemon.pid)] * 20
    assert daemon.log().count(" serves on ") == 1


def test_a_second_daemon_for_the_state_folder_names_the_first(daemon: DaemonProcess, tmp_path: Path) -> None:
    daemon.call("Ping")
    elsewhere = tmp_path / "run"
    elsewhere.mkdir(mode=0o700)
    for extra in ({}, {"XDG_RUNTIME_DIR": str(elsewhere)}):
        assert f"a daemon (pid {daemon.pid}) already serves this state folder" in refused(daemon, extra)
    assert os.listdir(elsewhere) == []
    assert daemon.call("Ping")["pid"] == daemon.pid


def test_a_live_socket_is_never_stolen(daemon: DaemonProcess, tmp_path: Path) -> None:
    daemon.call("Ping")
    other_state = {"FOVEAL_STATE_DIR": str(tmp_path / "other")}
    assert f"a daemon (pid {daemon.pid}) already listens on {daemon.socket}" in refused(daemon, other_state)
    assert daemon.call("Ping")["pid"] == daemon.pid
    assert not os.path.lexists(daemon_file(str(tmp_path / "other")))


def test_something_else_in_the_place_of_a_socket_that_was_chosen_is_left_alone(
    daemon: DaemonProcess, tmp_path: Path
) -> None:
    chosen = str(tmp_path / "s" / "own.sock")
    for place in (chosen, http_socket(chosen)):
        write_files(Path(place).parent, {Path(place).name: "somebody's"})
        Path(place).parent.chmod(0o700)
        assert f"{place} is there and is no socket" in refused(daemon, {"FOVEAL_SOCKET": chosen})
        assert Path(place).read_text() == "somebody's"
        os.unlink(place)


# The end


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_all_of_it(daemon: DaemonProcess, tmp_path: Path, number: int) -> None:
    daemon.open_ready(write_files(tmp_path / "p", {"a.py": "x = 1\n"}))
    start_faces(daemon)
    ended = family(daemon)
    assert len(ended) == 3
    with daemon.client():  # somebody who stays connected doesn't hold it up
        ended[0].send_signal(number)
        wait_ended(ended)
    assert left_over(daemon) == []
    assert daemon.log().endswith("stopped\n")


def test_nobody_connected_for_the_configured_time(daemon: DaemonProcess) -> None:
    config = Path(daemon.environ["FOVEAL_CONFIG_DIR"])
    write_files(config, {"config.toml": "[daemon]\nidle_shutdown_minutes = 0.03\n"})
    with daemon.client():
        ended = family(daemon)
    wait_ended(ended)
    assert left_over(daemon) == []
    assert "nobody was connected for 0.03 minutes" in daemon.log()


# The indexer


# Where it lives


def test_a_full_log_is_put_aside(daemon: DaemonProcess) -> None:
    config = "[daemon]\nlog_max_bytes = 10_000\nlog_backups = 2\n"
    write_files(Path(daemon.environ["FOVEAL_CONFIG_DIR"]), {"config.toml": config})
    daemon.state.mkdir(mode=0o700)
    log = Path(log_file(str(daemon.state)))
    for number in range(4):
        log.write_text(f"{number}\n" * 5_000)
        daemon.call("Ping")
        daemon.stop()
        assert " serves on " in log.read_text()
    backups = sorted(path.name for path in daemon.state.glob("foveal.log.*"))
    assert backups == ["foveal.log.1", "foveal.log.2"]
    assert [(daemon.state / name).read_text()[:2] for name in backups] == ["3\n", "2\n"]


def test_a_folder_that_others_can_enter_is_refused(daemon: DaemonProcess) -> None:
    run = Path(daemon.environ["XDG_RUNTIME_DIR"]) / "foveal"
    for folder in (run, daemon.state):
        folder.mkdir(mode=0o700, exist_ok=True)
        folder.chmod(0o755)
        assert f"mend it with: chmod 700 {folder}" in refused(daemon)
        folder.chmod(0o700)
    daemon.call("Ping")
    run.chmod(0o750)
    with pytest.raises(PathError, match="chmod 700"):
        daemon.client()
    run.chmod(0o700)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to somebody else")
def test_a_folder_of_another_user_is_refused(daemon: DaemonProcess) -> None:
    run = Path(daemon.environ["XDG_RUNTIME_DIR"]) / "foveal"
    for folder in (run, daemon.state):
        folder.mkdir(mode=0o700, exist_ok=True)
        os.chown(folder, 12345, -1)
        assert f"{folder} belongs to the user id 12345" in refused(daemon)
        os.chown(folder, os.geteuid(), -1)


def test_a_state_folder_of_a_newer_version_is_not_touched(daemon: DaemonProcess) -> None:
    write_files(daemon.state, {"version.json": '{"state_version": 99}', "scopes.sqlite": "theirs"})
    daemon.state.chmod(0o700)

    def contents() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in daemon.state.iterdir()}

    before = contents()
    assert "belongs to a newer foveal (state version 99" in refused(daemon)
    assert contents() == before
    with pytest.raises(DaemonUnavailable, match="belongs to a newer foveal"):
        daemon.client()
    assert (daemon.state / "scopes.sqlite").read_bytes() == b"theirs"


# Settings


def test_nothing_of_its_first_client_stays_with_it(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    extra = {
        "GIT_DIR": str(tmp_path / "nowhere"),
        "GIT_INDEX_FILE": "index.lock",
        "VIRTUAL_ENV": str(tmp_path),
        "npm_config_prefix": "/x",
        "PWD": str(tmp_path),
        "KEPT": "yes",
    }
    with running_daemon(tmp_path_factory.mktemp("d"), extra) as daemon:
        client = subprocess.Popen(
            [sys.executable, "-c", ASK], env=daemon.environ, cwd=tmp_path, stdout=subprocess.PIPE
        )
        with client:
            client.communicate(timeout=DEADLINE_S)
        for process in family(daemon):
            environ = process.environ()
            assert not set(environ) & (set(extra) - {"KEPT"})
            assert environ["KEPT"] == "yes"
            assert process.cwd() == "/"
            assert not process.terminal()


def test_the_daemon_and_its_indexer_import_nothing_heavy_that_is_not_theirs() -> None:
    code = "import sys; import {}; print(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    for module, theirs in (
        ("foveal.daemon.app.server, foveal.daemon.engine.engine, foveal.daemon.api.handlers", set[str]()),
        ("foveal.daemon.index.worker", {"watchfiles", "tree_sitter", "tantivy"}),
    ):
        done = subprocess.run(
            [sys.executable, "-c", code.format(module)], capture_output=True, text=True, check=True
        )
        assert set(HEAVY) & set(done.stdout.split()) <= theirs


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lists what a process has loaded")
def test_a_daemon_at_work_has_loaded_no_model_and_no_server(daemon: DaemonProcess, shop: Path) -> None:
    daemon.open_ready(shop)
    daemon.call(
        "GetContext", cwd=str(shop), prompt="how does a session end?", focus_paths=["src/shop/auth.py"]
    )
    daemon.call("Query", cwd=str(shop), query="who calls login?")
    loaded = {part for one in psutil.Process(daemon.pid).memory_maps() for part in Path(one.path).parts}
    assert "msgpack" in loaded, "else it isn't known what is loaded"
    assert not {"aiohttp", "numpy", "onnx", "onnxruntime", "tree_sitter", "usearch", "watchfiles"} & loaded


def start_faces(daemon: DaemonProcess) -> None:
    """Have the HTTP face started, by a request that it answers."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(DEADLINE_S)
        connection.connect(http_socket(daemon.socket))
        connection.sendall(b"GET /nowhere HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert connection.recv(5) == b"HTTP/"
