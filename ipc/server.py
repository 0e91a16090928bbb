"""Owns the socket server's life, startup to shutdown, and its TaskGroup; knows no method and no engine."""

from __future__ import annotations

import asyncio
import os
import socket
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import Self

from .connection import Connection, Counts, Handler, Limits, LogError, Serving, ToError
from .errors import INTERNAL, RpcError
from .holdings import Holdings, Working
from .listener import read_peer_pid, read_peer_uid

BACKLOG = 1024
"""Connections that may wait to be accepted. The system may lower it (net.core.somaxconn, 4096 on Linux)."""


@dataclass(frozen=True, slots=True)
class ServerStatistics:
    """Counts since the start, but `connections` and `in_flight`, which are those of now."""

    connections: int = 0
    in_flight: int = 0
    accepted: int = 0
    refused: int = 0
    """Connections of other users."""
    requests: int = 0
    notifications: int = 0
    errors: int = 0
    """Error replies, and notifications that failed."""
    protocol_errors: int = 0
    events_sent: int = 0
    events_lost: int = 0
    cut_off: int = 0
    """Connections that held too much, or were too many."""
    received_bytes: int = 0
    sent_bytes: int = 0
    partial_bytes: int = 0
    working_bytes: int = 0
    unread_bytes: int = 0
    """What the connections hold now, of what `Limits` bounds."""


class Server:
    """Serves connections on a listening socket, in one TaskGroup: `async with Server(...) as server`.

    `start` begins to accept, `shutdown` ends it in good order; leaving the context without a shutdown cancels
    what runs and closes everything. Works on asyncio's loop and on uvloop.
    """

    def __init__(
        self,
        handler: Handler,
        to_error: ToError,
        log_error: LogError,
        *,
        limits: Limits | None = None,
        peer_uid: Callable[[socket.socket], int] | None = None,
    ) -> None:
        self._handler = handler
        self._to_error = to_error
        self._log_error = log_error
        self._limits = limits or Limits()
        self._peer_uid = peer_uid or read_peer_uid
        self._tasks = asyncio.TaskGroup()
        self._listener: asyncio.Server | None = None
        self._connections: dict[Connection, None] = {}
        """Those that are open, the oldest first."""
        self._of_process = Counter[int]()
        """How many of them each process has."""
        self._partial = Holdings(self._limits.partial_bytes, Connection.cut_off)
        self._unread = Holdings(self._limits.unread_bytes, Connection.cut_off)
        self._working = Working(self._limits.working_bytes)
        self._counts = Counts()
        self._stopping = False
        self._all_lost = asyncio.Event()

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self.shutdown(0)
        finally:
            await self._tasks.__aexit__(None, None, None)  # the caller's error stays as it is, in no group

    async def start(self, listener: socket.socket) -> None:
        """Accept connections on a bound socket (of `bind`, or a service manager's); the server closes it."""
        loop = asyncio.get_running_loop()
        listener.setblocking(False)
        self._listener = await loop.create_unix_server(self._connect, sock=listener, backlog=BACKLOG)

    async def shutdown(self, timeout_s: float) -> None:
        """Stop accepting and reading, let running requests end within `timeout_s`, cancel the rest, close.

        Cancelled requests are answered with `busy`. Peers get what was written to them; who doesn't read it
        within the linger time is cut off. Calling it again does nothing more.
        """
        self._stopping = True
        if self._listener is not None:
            self._listener.close()
        for connection in self._connections:
            connection.stop()
        running = {task for connection in self._connections for task in connection.running}
        if running:
            _, late = await asyncio.wait(running, timeout=timeout_s)
            for connection in self._connections:
                connection.cancel()
            if late:
                await asyncio.wait(late, timeout=self._limits.linger_s)
        for connection in list(self._connections):
            connection.close()
        if self._connections:
            await self._all_lost.wait()  # not for ever: each of them aborts after the linger time
        if self._listener is not None:
            await self._listener.wait_closed()
            self._listener = None

    def statistics(self) -> ServerStatistics:
        """Return the counts of this moment."""
        return ServerStatistics(
            connections=len(self._connections),
            in_flight=sum(len(connection.running) for connection in self._connections),
            partial_bytes=self._partial.bytes,
            working_bytes=self._working.bytes,
            unread_bytes=self._unread.bytes,
            **asdict(self._counts),
        )

    def _connect(self) -> Connection:
        return Connection(
            Serving(
                self._handler,
                self._rpc_error,
                self._log_error,
                self._limits,
                self._tasks,
                self._counts,
                self._partial,
                self._unread,
                self._working,
                self._enter,
                self._leave,
            )
        )

    def _enter(self, connection: Connection, peer: socket.socket) -> bool:
        """Admit a new connection if it is the user's own and the server isn't stopping."""
        try:
            own = self._peer_uid(peer) == os.geteuid()
            connection.peer_pid = read_peer_pid(peer)
        except OSError:
            own = False  # gone already
        if not own or self._stopping:
            self._counts.refused += not own
            return False
        self._counts.accepted += 1
        self._all_lost.clear()
        self._connections[connection] = None
        self._of_process[connection.peer_pid] += 1
        if len(self._connections) > self._limits.connections:
            self._make_room()
        return True

    def _make_room(self) -> None:
        """Cut off the oldest connection of the process that has most: others are to find room."""
        greedy = self._of_process.most_common(1)[0][0]
        oldest = next(one for one in self._connections if one.peer_pid == greedy)
        self._leave(oldest)
        oldest.cut_off()

    def _leave(self, connection: Connection) -> None:
        if connection not in self._connections:
            return
        del self._connections[connection]
        self._of_process[connection.peer_pid] -= 1
        if not self._of_process[connection.peer_pid]:
            del self._of_process[connection.peer_pid]
        if not self._connections:
            self._all_lost.set()

    def _rpc_error(self, error: Exception, method: str) -> RpcError:
        """Return the error for the wire: the one place that judges exceptions, and logs unforeseen ones."""
        if isinstance(error, RpcError):
            return error
        known = self._to_error(error)
        if known is not None:
            return known
        self._log_error(error, method)
        return RpcError(INTERNAL, f"{method} failed in the daemon ({type(error).__name__}); see: foveal logs")
