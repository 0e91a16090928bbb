"""Promise 10: other versions understand each other, or the error says which one to update."""

from __future__ import annotations

import random
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from foveal.ipc import paths
from foveal.ipc.client import Client, ensure_daemon
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

from ..home import Home, home
from ..promise import Ground, Promise, Test, Trial

PROOF = "tests/faults/test_upgrades.py"
CLIENTS = "clients of other versions and this daemon"
DAEMONS = "daemons of other versions and this client"

CALLS: Mapping[str, Mapping[str, Any]] = {
    "Ping": {},
    "Status": {},
    "GetContext": {"focus_paths": ["shop/auth.py"]},
    "ListScopes": {},
    "ListExperiences": {},
    "FindSymbols": {"query": "login"},
    "CreateSession": {},
    "Query": {"query": "login"},
}
"""Methods that a client of another version calls, with parameters that this one doesn't know beside them."""

NEWER: tuple[Any, ...] = (None, True, 7, -1.5, "text", [1, [2]], {"a": {"b": []}}, b"bytes")
"""Values of fields that came with another version."""


def meet_clients(ground: Ground) -> Iterator[Trial]:
    """Speak to the daemon as clients of other versions do."""
    chance = random.Random(ground.seed)
    with home(ground.folder / "h") as user:
        user.open_ready()
        with user.client() as client:
            for number in range(ground.count):
                kind = number % 3
                if kind == 0:
                    yield _ask_other_protocol(client, chance)
                elif kind == 1:
                    yield _ask_with_more(client, user, chance)
                else:
                    yield _ask_unknown(client, chance)


def _ask_other_protocol(client: Client, chance: random.Random) -> Trial:
    version = chance.choice([one for one in range(6) if one != PROTOCOL_VERSION])
    older = "client" if version < PROTOCOL_VERSION else "daemon"
    try:
        client.call("Ping", {"protocol": version}, 20)
        lost = "it was accepted"
    except RpcError as error:
        said = error.code == "unsupported" and f"update the {older}" in error.message
        lost = "" if said and error.data and error.data["protocol"] == PROTOCOL_VERSION else repr(error)
    return Trial(f"a client of protocol {version}", lost)


def _ask_with_more(client: Client, user: Home, chance: random.Random) -> Trial:
    method = chance.choice(list(CALLS))
    more = {f"later_{number}": chance.choice(NEWER) for number in range(chance.randrange(1, 4))}
    try:
        client.call(method, {"cwd": str(user.project), **CALLS[method], **more}, 20)
        lost = ""
    except RpcError as error:
        lost = repr(error)
    return Trial(f"{method} with {more}", lost)


def _ask_unknown(client: Client, chance: random.Random) -> Trial:
    method = f"Later{chance.randrange(1000)}"
    try:
        client.call(method, {}, 20)
        lost = "it was answered"
    except RpcError as error:
        said = error.code == "unknown_method" and "foveal restart" in error.message
        lost = "" if said else repr(error)
    return Trial(f"the method {method}", lost)


def meet_daemons(ground: Ground) -> Iterator[Trial]:
    """Let this client meet daemons that speak an older or a newer protocol, or the same with more in it."""
    chance = random.Random(ground.seed)
    for number in range(ground.count):
        version = chance.choice((0, PROTOCOL_VERSION, PROTOCOL_VERSION, PROTOCOL_VERSION + 1, 99))
        user = Home(ground.folder / str(number))
        for folder in (user.folder / "home", user.folder / "run", user.state):
            folder.mkdir(mode=0o700, parents=True)
        with _daemon_of(version, user, chance):
            yield Trial(f"a daemon of protocol {version}", _meet(user, version))


def _meet(user: Home, version: int) -> str:
    try:
        client = ensure_daemon(None, user.environ, 20)
    except DaemonUnavailable as error:
        if version == PROTOCOL_VERSION:
            return f"refused: {error}"
        wanted = "update this program" if version > PROTOCOL_VERSION else "foveal restart"
        return "" if wanted in str(error) and f"protocol {version}" in str(error) else str(error)
    with client:
        if version != PROTOCOL_VERSION:
            return "it was taken for one of this version"
        try:
            reply = client.call("Ping", {}, 20)
            event = next(client.events(20))
        except (RpcError, ConnectionError) as error:
            return repr(error)
        if reply["pid"] != 1 or event["topic"] != "later.topic":
            return f"it understood {reply} and {event}"
        try:
            client.call("Fail", {}, 20)
        except RpcError as error:
            return "" if (error.code, error.message) == ("later_code", "words") else repr(error)
    return "an error was taken for an answer"


@contextmanager
def _daemon_of(version: int, user: Home, chance: random.Random) -> Iterator[None]:
    """Serve one connection as a daemon of a version, with fields, events and codes that aren't known here."""
    path = paths.daemon_socket(None, user.environ)
    listener = bind(path)
    listener.listen()
    info = DaemonInfo(1, "2026-01-01T00:00:00Z", path, paths.http_socket(path), f"{version}.0", version)
    paths.write_daemon_info(str(user.state), info)
    extra = {"later": chance.choice(NEWER)}
    thread = threading.Thread(target=_serve, args=(listener, extra))
    thread.start()
    try:
        yield
    finally:
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def _serve(listener: socket.socket, extra: Mapping[str, Any]) -> None:
    with suppress(OSError):
        connection, _ = listener.accept()
        with connection:
            decoder = Decoder()
            while data := connection.recv(65536):
                decoder.feed(data)
                while isinstance(message := decoder.next_message(), Request):
                    if message.method == "Fail":
                        error = RpcError("later_code", "words", {"more": extra})
                        connection.sendall(encode_error(message.msgid, error))
                        continue
                    connection.sendall(encode_notification("later", {"x": 1}))
                    connection.sendall(encode_notification("event", {"topic": "later.topic", **extra}))
                    connection.sendall(encode_response(message.msgid, {"pid": 1, **extra}))


PROMISE = Promise(
    10,
    "Clients and daemons of other versions",
    (
        Test(CLIENTS, meet_clients, 3_000, PROOF, 60),
        Test(DAEMONS, meet_daemons, 300, PROOF),
    ),
)
