"""The blocking client and the start of a daemon: one winner, the others wait, a named socket starts none.

The daemons here are real processes: a small one that binds the socket and answers Ping, Echo and Shutdown.
"""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import socket
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from foveal.ipc import paths
from foveal.ipc.client import KEPT_EVENTS, Client, _open_lock, ensure_daemon
from foveal.ipc.errors import DaemonUnavailable, RpcError
from foveal.ipc.listener import bind
from foveal.ipc.paths import (
    PathError,
    default_socket,
    log_file,
    private_folder,
    start_lock_file,
)
from foveal.ipc.protocol import (
    Decoder,
    ProtocolError,
    encode_notification,
    encode_response,
)

Script = Callable[[socket.socket, Decoder], object]


class Served:
    """A daemon of one connection, played by a function in a thread."""

    def __init__(self, folder: str, script: Script) -> None:
        self.path = f"{folder}/s.sock"
        self.listener = bind(self.path)
        self.listener.listen()
        self.thread = threading.Thread(target=self.serve, args=(script,))
        self.thread.start()

    def serve(self, script: Script) -> None:
        connection, _ = self.listener.accept()
        with connection:
            script(connection, Decoder())

    def __enter__(self) -> Client:
        return Client.connect(self.path)

    def __exit__(self, *error: object) -> None:
        self.thread.join(20)
        self.listener.close()
        assert not self.thread.is_alive()


def receive(connection: socket.socket, decoder: Decoder) -> Any:
    while (message := decoder.next_message()) is None:
        data = connection.recv(65536)
        if not data:
            return None
        decoder.feed(data)
    return message


def test_a_request_that_could_not_be_sent_whole_closes_the_connection(folder: str) -> None:
    done = threading.Event()

    with Served(folder, lambda connection, decoder: done.wait(20)) as client, client:
        with pytest.raises(RpcError, match="didn't read") as caught:
            client.call("Large", {"text": "x" * 10_000_000}, timeout=0.05)
        assert caught.value.code == "timeout"
        with pytest.raises(ConnectionError):
            client.call("Ping")
        done.set()


def test_params_that_cannot_be_packed_are_the_callers_error(folder: str) -> None:
    with Served(folder, lambda connection, decoder: None) as client, client:
        with pytest.raises(RpcError, match="form on the wire") as caught:
            client.call("Ping", {"a": object()})
        assert caught.value.code == "invalid_params"


def test_a_peer_that_is_no_daemon(folder: str) -> None:
    def script(connection: socket.socket, decoder: Decoder) -> None:
        receive(connection, decoder)
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with Served(folder, script) as client, client:
        with pytest.raises(ProtocolError):
            client.call("Ping", timeout=20)
        with pytest.raises(ConnectionError):
            client.call("Ping")


def test_events_before_during_and_after_a_call(folder: str) -> None:
    count = KEPT_EVENTS + 25

    def script(connection: socket.socket, decoder: Decoder) -> None:
        request = receive(connection, decoder)
        events = b"".join(encode_notification("event", {"topic": str(n)}) for n in range(count))
        connection.sendall(events + encode_notification("other") + encode_response(request.msgid, "ok"))
        connection.sendall(encode_notification("event", {"topic": "end"}))

    with Served(folder, script) as client, client:
        assert client.call("Subscribe", timeout=20) == "ok"
        lost, *events = client.events(timeout=20)
        assert lost == {"topic": "lost", "data": {"count": 25}}
        assert [event["topic"] for event in events] == [*(str(n) for n in range(25, count)), "end"]


def test_connecting_waits_for_a_full_queue_at_most_until_the_timeout(folder: str) -> None:
    path = f"{folder}/s.sock"
    with bind(path) as listener, socket.socket(socket.AF_UNIX) as first:
        listener.listen(0)
        first.connect(path)
        with pytest.raises(TimeoutError):
            Client.connect(path, timeout=0.02)
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(Client.connect, path, 20)
            for _ in range(2):
                listener.accept()[0].close()
            waiting.result().close()


DAEMON = """
import fcntl, json, os, socket, sys, threading
from foveal.ipc.listener import bind
from foveal.ipc.paths import DaemonInfo, default_socket, lock_file
from foveal.ipc.paths import private_folder, state_folder, write_daemon_info
from foveal.ipc.protocol import Decoder, encode_response

state = private_folder(state_folder(os.environ))
with open(f"{state}/starts", "a") as starts:
    starts.write(f"{os.getpid()}\\n")
print("a daemon begins", flush=True)
lock = open(lock_file(state), "a")
try:
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    sys.exit("another daemon runs")
path = default_socket(os.environ)
listener = bind(path)
listener.listen(128)
write_daemon_info(state, DaemonInfo(os.getpid(), "now", path, path, "0", 1))

def serve(connection):
    decoder = Decoder()
    while data := connection.recv(65536):
        decoder.feed(data)
        while (request := decoder.next_message()) is not None:
            facts = {"pid": os.getpid(), "sid": os.getsid(0), "cwd": os.getcwd(), "environ": dict(os.environ)}
            facts["stdin"] = os.path.sameopenfile(0, os.open("/dev/null", os.O_RDONLY))
            connection.sendall(encode_response(request.msgid, facts))

while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""


@pytest.fixture
def environ(folder: str) -> Iterator[dict[str, str]]:
    """Make the environment of a user whose folders lie in the test's; end the daemons begun in it."""
    made = {**os.environ, "HOME": folder, "TMPDIR": folder, "FOVEAL_STATE_DIR": f"{folder}/state"}
    for name in ("XDG_RUNTIME_DIR", "FOVEAL_SOCKET"):
        made.pop(name, None)
    yield made
    for pid in starts(folder):
        end(pid)


def starts(folder: str) -> list[int]:
    path = Path(folder, "state", "starts")
    return [int(line) for line in path.read_text().split()] if path.exists() else []


def end(pid: int) -> None:
    """Kill a daemon of these tests and wait until it is gone (its reaper is a thread of this process)."""
    try:
        os.kill(pid, signal.SIGKILL)
        while True:
            os.kill(pid, 0)
            os.sched_yield()
    except ProcessLookupError:
        return


def start(environ: dict[str, str], code: str = DAEMON, timeout: float = 30) -> Client:
    return ensure_daemon(None, environ, timeout, [sys.executable, "-c", code])


def test_a_daemon_is_started_apart_from_its_client(environ: dict[str, str], folder: str) -> None:
    project = {
        "PWD": "/p",
        "GIT_DIR": "/p/.git",
        "VIRTUAL_ENV": "/p/.venv",
        "CLAUDE_PROJECT_DIR": "/p",
        "KEPT": "1",
    }
    with start({**environ, **project}) as client:
        facts = client.call("Ping", timeout=20)
    assert facts["pid"] == facts["sid"] != os.getsid(0)
    assert facts["cwd"] == "/"
    assert facts["stdin"] is True
    assert {name for name in project if name in facts["environ"]} == {"KEPT"}
    assert Path(log_file(f"{folder}/state")).read_text() == "a daemon begins\n"
    for private in ("", "/foveal.log", "/start.lock"):
        assert stat.S_IMODE(os.lstat(f"{folder}/state{private}").st_mode) & 0o077 == 0


def test_many_clients_at_once_start_one_daemon(environ: dict[str, str], folder: str) -> None:
    def work(_: int) -> int:
        with start(environ) as client:
            return int(client.call("Ping", timeout=20)["pid"])

    with ThreadPoolExecutor(20) as pool:
        assert {*pool.map(work, range(20))} == {*starts(folder)}
    assert len(starts(folder)) == 1


def test_a_killed_daemon_is_replaced_with_its_stale_socket(environ: dict[str, str], folder: str) -> None:
    with start(environ) as client:
        pid = client.call("Ping", timeout=20)["pid"]
    end(pid)
    assert os.path.exists(default_socket(environ))
    with start(environ) as client:
        assert client.call("Ping", timeout=20)["pid"] != pid
    assert len(starts(folder)) == 2


def test_a_daemon_that_fails_shows_the_end_of_its_log(environ: dict[str, str], folder: str) -> None:
    private_folder(f"{folder}/state")
    Path(log_file(f"{folder}/state")).write_text("yesterday's lines\n")
    code = "import sys; print('x' * 5000, flush=True); sys.exit('config.toml: [index] must be a table')"
    with pytest.raises(DaemonUnavailable, match=r"status 1.*foveal doctor") as caught:
        start(environ, code)
    message = str(caught.value)
    assert message.endswith("config.toml: [index] must be a table")
    assert "yesterday" not in message
    assert len(message) < 2500


def test_a_daemon_that_cannot_be_started_at_all(environ: dict[str, str], folder: str) -> None:
    with pytest.raises(DaemonUnavailable, match="can't be started"):
        ensure_daemon(None, environ, 20, [f"{folder}/absent"])


def test_the_lock_is_free_again_after_a_failure(environ: dict[str, str], folder: str) -> None:
    with pytest.raises(DaemonUnavailable):
        start(environ, "raise SystemExit(3)")
    with start(environ) as client:
        client.call("Ping", timeout=20)
    assert os.path.exists(start_lock_file(f"{folder}/state"))


def test_without_time_to_wait_a_daemon_is_only_started(environ: dict[str, str], folder: str) -> None:
    with pytest.raises(DaemonUnavailable, match="try again"):
        start(environ, timeout=0)
    until_started(folder)


def until_started(folder: str) -> None:
    while not starts(folder):
        os.sched_yield()


def test_a_lock_on_a_disk_that_cant_be_written_stays_where_it_is(
    environ: dict[str, str], folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: str, *_: object) -> int:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)

    state = paths.private_folder(paths.state_folder(environ))
    lock = Path(paths.start_lock_file(state))
    lock.touch(0o600)
    with monkeypatch.context() as patch:
        patch.setattr("foveal.ipc.client.os.open", refuse)
        with pytest.raises(DaemonUnavailable, match="FOVEAL_STATE_DIR") as raised:
            _open_lock(str(lock))
    assert "Read-only" in str(raised.value)
    assert lock.exists()


def test_an_explicit_socket_starts_no_daemon(environ: dict[str, str], folder: str) -> None:
    named = f"{folder}/named.sock"
    for explicit, variables in ((named, environ), (None, {**environ, "FOVEAL_SOCKET": named})):
        with pytest.raises(DaemonUnavailable, match="foveal up --socket"):
            ensure_daemon(explicit, variables, 20, [sys.executable, "-c", DAEMON])
    assert starts(folder) == []
    assert not os.path.exists(f"{folder}/state")


def test_a_daemon_that_accepts_nothing_is_not_waited_for_for_ever(
    environ: dict[str, str], folder: str
) -> None:
    path = default_socket(environ)
    with bind(path) as listener, socket.socket(socket.AF_UNIX) as first:
        listener.listen(0)
        first.connect(path)
        with pytest.raises(DaemonUnavailable, match=r"accepts no connections.*foveal restart"):
            start(environ, timeout=0.05)


def test_an_unsafe_state_folder_is_not_used(environ: dict[str, str], folder: str) -> None:
    os.mkdir(f"{folder}/state", 0o700)
    os.chmod(f"{folder}/state", 0o755)
    with pytest.raises(PathError, match="chmod 700"):
        start(environ)


def test_a_daemon_whose_socket_is_gone_is_known_by_its_lock(environ: dict[str, str], folder: str) -> None:
    lock = Path(paths.lock_file(paths.private_folder(paths.state_folder(environ))))
    lock.write_text(f"{os.getpid()}\n")
    started = [sys.executable, "-c", f"open({folder + '/started'!r}, 'w')"]
    with lock.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(
            DaemonUnavailable, match=rf"a daemon \(pid {os.getpid()}\) runs and doesn't listen"
        ):
            ensure_daemon(None, environ, 0.0, started)
    assert not Path(folder, "started").exists()
