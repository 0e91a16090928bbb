"""Clients and daemons of other versions understand each other, or the error says which side to update."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from foveal.benchmarks.faults.home import Home
from foveal.ipc import paths
from foveal.ipc.client import ensure_daemon
from foveal.ipc.errors import DaemonUnavailable, RpcError
from foveal.ipc.listener import bind
from foveal.ipc.paths import DaemonInfo
from foveal.ipc.protocol import (
    PROTOCOL_VERSION,
    Decoder,
    Request,
    encode_error,
    encode_notification,
    encode_response,
)

from tests.conftest import DaemonProcess


@pytest.mark.parametrize(("version", "older"), [(PROTOCOL_VERSION - 1, "client"), (99, "daemon")])
def test_a_client_of_another_version_is_told_who_is_older(
    shared_daemon: DaemonProcess, version: int, older: str
) -> None:
    error = shared_daemon.error("Ping", protocol=version)
    assert error.code == "unsupported"
    assert f"update the {older}" in error.message
    assert error.data is not None
    assert error.data["protocol"] == PROTOCOL_VERSION


@contextmanager
def daemon_of(version: int, user: Home) -> Iterator[None]:
    """Serve one connection as a daemon of a version, with fields, events and codes that aren't known here."""
    path = paths.daemon_socket(None, user.environ)
    listener = bind(path)
    listener.listen()
    info = DaemonInfo(1, "2026-01-01T00:00:00Z", path, paths.http_socket(path), f"{version}.0", version)
    paths.write_daemon_info(str(user.state), info)
    thread = threading.Thread(target=serve, args=(listener,))
    thread.start()
    try:
        yield
    finally:
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def serve(listener: socket.socket) -> None:
    with suppress(OSError):
        connection, _ = listener.accept()
        with connection:
            decoder = Decoder()
            while data := connection.recv(65536):
                decoder.feed(data)
                while isinstance(message := decoder.next_message(), Request):
                    if message.method == "Fail":
                        error = RpcError("later_code", "words", {"more": [1]})
                        connection.sendall(encode_error(message.msgid, error))
                        continue
                    connection.sendall(encode_notification("later", {"x": 1}))
                    connection.sendall(encode_notification("event", {"topic": "later.topic", "later": None}))
                    connection.sendall(encode_response(message.msgid, {"pid": 1, "later": {"a": b"bytes"}}))


@pytest.fixture
def user(tmp_path_factory: pytest.TempPathFactory) -> Home:
    made = Home(tmp_path_factory.mktemp("u"))
    for folder in (made.folder / "home", made.folder / "run", made.state):
        folder.mkdir(mode=0o700, parents=True)
    return made


@pytest.mark.parametrize(
    ("version", "wanted"), [(PROTOCOL_VERSION - 1, "foveal restart"), (99, "update this program")]
)
def test_a_daemon_of_another_version_is_refused_with_what_to_update(
    user: Home, version: int, wanted: str
) -> None:
    with daemon_of(version, user), pytest.raises(DaemonUnavailable, match=f"protocol {version}") as raised:
        ensure_daemon(None, user.environ, 20)
    assert wanted in str(raised.value)


def test_what_a_daemon_of_the_same_protocol_says_more_is_ignored(user: Home) -> None:
    with daemon_of(PROTOCOL_VERSION, user), ensure_daemon(None, user.environ, 20) as client:
        assert client.call("Ping", {}, 20)["pid"] == 1
        assert next(client.events(20))["topic"] == "later.topic"
        with pytest.raises(RpcError) as raised:
            client.call("Fail", {}, 20)
    assert (raised.value.code, raised.value.message) == ("later_code", "words")
