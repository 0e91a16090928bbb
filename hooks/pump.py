"""A pump: carries messages between a client on standard streams and its server in the web process.

Imports the standard library and `ipc` only. It continues after a restart of the daemon: it knows the requests
that wait for an answer, answers them with an error when the connection is lost, and replays to a new server
what opened the conversation. What a message is, its protocol's pump knows (`mcp_pump`, `editors/lsp_pump`).
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time

from ..ipc.errors import DaemonUnavailable
from ..ipc.paths import PathError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from collections.abc import Set as AbstractSet
    from typing import Any, BinaryIO, Final

    from .upstream import Upstream

    Id = str | int

MAX_BYTES: Final = 16 * 1024 * 1024
"""Maximum bytes of a message, as of a frame of the daemon's socket."""

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
"""Codes of JSON-RPC 2.0, section 5.1."""

DRAIN_S: Final = 1.0
"""Seconds for open answers at the end. Clients kill a server after about 2 s."""

PAUSE_S: Final = 5.0
"""Seconds after a failed connection before a notification opens another."""

REPLAY_ID: Final = "foveal-reconnect"
"""The id under which a new server gets the client's `initialize` again; its answer is dropped."""


class Pump:
    """Carries messages; `output` is a descriptor that only this writes to."""

    def __init__(self, upstream: Upstream, output: int) -> None:
        self._upstream = upstream
        self._output = output
        self._writing = threading.RLock()
        """Held while an answer is noted and written, and taken before `state`: whoever gets it when no
        request waits knows that all answers are written."""
        self.state = threading.Condition()
        self._connection: socket.socket | None = None  # guarded by `state`, as is `waiting`
        self.waiting: set[Id] = set()
        self.retry_at = 0.0  # of the main thread only

    def error(self, request_id: Id | None, message: str) -> bytes:
        """Return the answer to a request that the server can't be asked."""
        raise NotImplementedError

    def opening(self) -> Sequence[bytes]:
        """Return the messages that restore the conversation with a new server."""
        raise NotImplementedError

    def replies(self, stream: BinaryIO) -> Iterator[tuple[Id | None, bytes]]:
        """Yield the server's messages with the id that each answers. `ValueError` ends the connection."""
        raise NotImplementedError

    def carry(self, data: bytes, request_id: Id | None) -> bool:
        """Send a message on; a request opens a connection if there is none. Returns whether it was sent."""
        with self.state:
            if request_id is not None:
                self.waiting.add(request_id)
            connection = self._connection
        if connection is not None:
            if _sent(connection, data):
                return True
            self._lose(connection, keep=request_id)
        if request_id is None:
            return False
        with self.state:
            if request_id not in self.waiting:
                return False  # it was answered with an error when the connection ended
        return self.connect(data, request_id)

    def connect(self, data: bytes = b"", request_id: Id | None = None) -> bool:
        """Connect, send the opening messages and this one; on failure answer it with an error."""
        try:
            connection = self._upstream.connect()
        except (DaemonUnavailable, PathError, OSError) as error:
            self.retry_at = time.monotonic() + PAUSE_S
            self._fail(lambda: {request_id}, f"foveal's daemon can't be reached: {error}")
            return False
        with self.state:
            self._connection = connection
        threading.Thread(target=self._receive, args=(connection,), name="replies", daemon=True).start()
        return _sent(connection, b"".join((*self.opening(), data)))

    def close(self, wait_s: float) -> None:
        """Let what is being answered end within some seconds, then end the connection."""
        deadline = time.monotonic() + wait_s
        with self.state:
            connection = self._connection
            if connection is not None:
                self.state.wait_for(lambda: not self.waiting, wait_s)
            self.waiting.clear()  # nobody reads any more
        # The last answer may be on its way.
        if self._writing.acquire(timeout=max(0.0, deadline - time.monotonic())):
            self._writing.release()
        if connection is not None:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                return  # gone already

    def write(self, data: bytes) -> None:
        """Write a whole message; ends the process if the client stopped reading."""
        view = memoryview(data)
        try:
            with self._writing:
                while view:
                    view = view[os.write(self._output, view) :]
        except OSError:
            os._exit(0)

    def _receive(self, connection: socket.socket) -> None:
        """Carry the server's messages to the client until the connection ends; runs in a thread of its
        own."""
        with connection:
            try:
                with connection.makefile("rb") as stream:
                    for answered, data in self.replies(stream):
                        self._deliver(answered, data)
            except (OSError, ValueError):
                pass  # a broken connection, perhaps in the middle of a message, ends like any other
        self._lose(connection)

    def _deliver(self, answered: Id | None, data: bytes) -> None:
        if answered == REPLAY_ID:
            return
        with self._writing:
            if answered is not None:
                with self.state:
                    if answered not in self.waiting:
                        return  # cancelled, or answered by the last connection's end
                    self._note_answered({answered})
            self.write(data)

    def _lose(self, connection: socket.socket, keep: Id | None = None) -> None:
        """Answer the requests of a lost connection with an error, except `keep`, which wasn't sent whole."""

        def lost() -> AbstractSet[Id | None]:
            if self._connection is not connection:
                return set()  # noticed before
            self._connection = None
            return self.waiting - {keep}

        self._fail(lost, "foveal's daemon went away before it answered; ask again, which starts it")

    def _fail(self, choose: Callable[[], AbstractSet[Id | None]], message: str) -> None:
        """Answer the waiting requests that `choose` returns with an error; it runs under `state`."""
        with self._writing:
            with self.state:
                failed = self._note_answered(choose())
            for request_id in failed:
                self.write(self.error(request_id, message))

    def _note_answered(self, ids: AbstractSet[Id | None]) -> list[Id]:
        """Return those ids that wait for an answer, and stop waiting for them; under `state`."""
        taken = [waiting for waiting in self.waiting if waiting in ids]
        self.waiting.difference_update(taken)
        self.state.notify_all()
        return taken


def _sent(connection: socket.socket, data: bytes) -> bool:
    """Send a whole message; False if its end wasn't sent, so that it may be sent again."""
    try:
        connection.sendall(data)
    except OSError:
        return False
    return True


def pack(message: dict[str, Any]) -> bytes:
    """Return a message as JSON; halves of surrogate pairs become `?`."""
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def error_of(request_id: Id | None, code: int, message: str) -> dict[str, Any]:
    """Return an error as the answer to a request; None is the id of a message without one."""
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": message}}


def id_of(message: dict[str, Any]) -> Id | None:
    """Return the id of a request or reply; None for a notification, or an id of another type."""
    return as_id(message.get("id"))


def as_id(value: Any) -> Id | None:
    """Return a value that can be an id, None for any other."""
    return value if type(value) is str or type(value) is int else None
