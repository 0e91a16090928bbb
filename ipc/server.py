"""The socket server, from startup to shutdown, and its TaskGroup."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Hashable
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import Self

from .connection import Connection, Counts, Handler, Limits, LogError, Serving, ToError
from .errors import INTERNAL, RpcError
from .holdings import ClientProcess, Holdings, Working
from .listener import read_peer_pid, read_peer_uid

BACKLOG = 1024
"""Maximum connections waiting to be accepted. The system may lower it (net.core.somaxconn, 4096 on Linux)."""

ACCEPTED_AT_ONCE = 16
"""Maximum connections accepted in a turn of the loop: each takes some 50 us."""

ACCEPT_PAUSE_S = 0.1
"""Seconds before accepting is retried after the system ran out of descriptors or memory."""


@dataclass(slots=True)
class ServerStatistics(Counts):
    """The counts since the start, and current numbers: connections, requests, and the bytes of the memory
    that `Limits` bounds."""

    connections: int = 0
    in_flight: int = 0
    partial_bytes: int = 0
    working_bytes: int = 0
    unread_bytes: int = 0


class Server:
    """Serves connections on a listening socket, in one TaskGroup: `async with Server(...) as server`.

    `start` begins to accept, `shutdown` ends it in good order; leaving the context without a shutdown cancels
    running requests and closes everything. Works on asyncio's loop and on uvloop.
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
        self._to_error = to_error
        self._peer_uid = peer_uid or read_peer_uid
        self._tasks = asyncio.TaskGroup()
        self._limits = limits = limits or Limits()
        self._listener: socket.socket | None = None
        self._accept_again: asyncio.TimerHandle | None = None
        self._connections: dict[Connection, None] = {}
        """The open connections, oldest first."""
        self._processes: dict[Hashable, ClientProcess] = {}
        self._counts = Counts()
        self._serving = Serving(
            handler,
            self._rpc_error,
            log_error,
            limits,
            self._tasks,
            self._counts,
            partial=Holdings(limits.partial_bytes, Connection.cut_off),
            unread=Holdings(limits.unread_bytes, Connection.cut_off),
            working=Working(limits.working_bytes),
            enter=self._enter,
            leave=self._leave,
        )
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
            await self._tasks.__aexit__(None, None, None)  # the caller's own error, not a group

    def start(self, listener: socket.socket) -> None:
        """Accept connections on a bound socket (from `bind`, or a service manager); the server closes it.

        A second call replaces the former socket; open connections stay.
        """
        self._stop_accepting()
        listener.setblocking(False)
        listener.listen(BACKLOG)
        self._listener = listener
        self._resume_accepting()

    async def shutdown(self, timeout_s: float) -> None:
        """Stop accepting and reading, let running requests end within `timeout_s`, cancel the rest, close.

        Cancelled requests are answered with `busy`. Peers get all written replies; a peer that doesn't read
        them within the linger time is cut off. A second call does nothing more.
        """
        self._stopping = True
        self._stop_accepting()
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
            await self._all_lost.wait()  # bounded: each of them aborts after the linger time

    def statistics(self) -> ServerStatistics:
        """Return the current counts."""
        return ServerStatistics(
            connections=len(self._connections),
            in_flight=sum(len(connection.running) for connection in self._connections),
            partial_bytes=self._serving.partial.bytes,
            working_bytes=self._serving.working.bytes,
            unread_bytes=self._serving.unread.bytes,
            **asdict(self._counts),
        )

    def _stop_accepting(self) -> None:
        listener, self._listener = self._listener, None
        if self._accept_again is not None:
            self._accept_again.cancel()
            self._accept_again = None
        if listener is not None:
            asyncio.get_running_loop().remove_reader(listener)
            listener.close()

    def _resume_accepting(self) -> None:
        self._accept_again = None
        if self._listener is not None:
            asyncio.get_running_loop().add_reader(self._listener, self._accept)

    def _accept(self) -> None:
        """Accept some of the waiting connections; the loop calls again while there are more.

        `create_unix_server` would accept all waiting connections at once, and a thousand delayed everybody
        else by the time that takes.
        """
        for _ in range(ACCEPTED_AT_ONCE):
            if self._listener is None:
                return
            try:
                peer, _ = self._listener.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            except OSError:  # no descriptors or memory: connections wait in the queue
                loop = asyncio.get_running_loop()
                loop.remove_reader(self._listener)
                self._accept_again = loop.call_later(ACCEPT_PAUSE_S, self._resume_accepting)
                return
            peer.setblocking(False)
            self._tasks.create_task(self._serve(peer))

    async def _serve(self, peer: socket.socket) -> None:
        try:
            await asyncio.get_running_loop().connect_accepted_socket(lambda: Connection(self._serving), peer)
        except OSError:
            peer.close()

    def _enter(self, connection: Connection, peer: socket.socket) -> ClientProcess | None:
        """Admit a new connection if its user is the daemon's own and the server isn't stopping."""
        try:
            own = self._peer_uid(peer) == os.geteuid()
            pid = read_peer_pid(peer)
        except OSError:
            own = False  # the peer is already gone
        if not own or self._stopping:
            self._counts.refused += not own
            return None
        self._counts.accepted += 1
        self._all_lost.clear()
        # A process of another namespace has no id here: each of its connections counts as a process.
        key = pid or object()
        process = self._processes.get(key)
        if process is None:
            process = self._processes[key] = ClientProcess(key, self._limits.process_requests_in_flight)
        process.connections += 1
        connection.process = process
        self._connections[connection] = None
        if len(self._connections) > self._limits.connections:
            self._make_room()
        return process

    def _make_room(self) -> None:
        """Cut off the oldest connection of the process with the most connections, to admit others."""
        greedy = max(self._processes.values(), key=lambda process: process.connections)
        oldest = next(each for each in self._connections if each.process is greedy)
        self._leave(oldest)
        oldest.cut_off()

    def _leave(self, connection: Connection) -> None:
        process = connection.process
        if connection not in self._connections or process is None:
            return
        del self._connections[connection]
        process.connections -= 1
        if not process.connections:
            del self._processes[process.key]
        if not self._connections:
            self._all_lost.set()

    def _rpc_error(self, error: Exception, method: str) -> RpcError:
        """Return the error for the wire: the only place that classifies exceptions, and logs unexpected
        ones."""
        if isinstance(error, RpcError):
            return error
        known = self._to_error(error)
        if known is not None:
            return known
        self._serving.log_error(error, method)
        return RpcError(INTERNAL, f"{method} failed in the daemon ({type(error).__name__}); see: foveal logs")
