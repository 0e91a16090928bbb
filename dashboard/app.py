"""Owns the faces process: the one place that starts the HTTP server; knows the daemon as a socket path only.

`python -m foveal.dashboard.app [--idle-s N] LISTENER PIPE SOCKET`: the descriptor of the HTTP socket that the
daemon listens on, that of a pipe which ends with the daemon, and the path of the daemon's own socket.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
import socket
from collections.abc import Awaitable, Callable, Sequence

from aiohttp import web

from ..hooks.editors.lsp_face import LspFace
from ..hooks.http import HttpFace
from ..hooks.mcp_server.face import McpFace
from ..ipc.listener import raise_file_limit, read_peer_uid

log = logging.getLogger(__name__)

IDLE_S = 15 * 60.0
"""After this time without a request the process ends, and gives back its 40 MB; starting takes 0.3 s."""

KEEPALIVE_S = 75.0
"""How long a connection may wait for its next request: an open one keeps the process alive."""

SHUTDOWN_S = 1.0
"""What a running request gets to end in, and the same again to be cancelled in."""

ACCEPTS_A_TURN = 64
"""Connections that are accepted before those that are open get their turn."""

FULL_PAUSE_S = 1.0
"""Until accepting is tried again where the process may open no more files."""


class Faces:
    """Serves an application on a lent listening socket: `run` until `stop`, or until nobody asks any more.

    It accepts by itself, unlike aiohttp's SockSite: a stranger's connection is closed unread, and one of the
    user's is either served or left in the socket's queue, for the next process. asyncio's server drops the
    one that it accepted in the turn in which it is closed.
    """

    def __init__(
        self,
        application: web.Application,
        listener: socket.socket,
        *,
        idle_s: float = IDLE_S,
        is_busy: Callable[[], bool] = lambda: False,
        peer_uid: Callable[[socket.socket], int] = read_peer_uid,
    ) -> None:
        application.middlewares.insert(0, self._note_request)
        self._runner = web.AppRunner(
            application,
            access_log=None,
            keepalive_timeout=KEEPALIVE_S,
            shutdown_timeout=SHUTDOWN_S,
            handler_cancellation=True,  # who hung up waits for no answer, and ends a stream at once
        )
        self._listener = listener
        self._peer_uid = peer_uid
        self._idle_s = idle_s
        self._is_busy = is_busy
        self._opening = 0
        self._last = 0.0
        self._tasks = asyncio.TaskGroup()
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Serve, then let what runs end. The listening socket stays open and listens on."""
        self._listener.setblocking(False)
        await self._runner.setup()
        try:
            async with self._tasks:
                self._note_activity()
                self._accept_more()
                idle = self._tasks.create_task(self._stop_when_idle())
                await self._stopping.wait()
                idle.cancel()
        finally:
            self.stop()
            await self._runner.cleanup()

    def stop(self) -> None:
        """Accept nothing more, from this moment, and make `run` end; a second time changes nothing."""
        asyncio.get_running_loop().remove_reader(self._listener.fileno())
        self._stopping.set()

    def _accept_more(self) -> None:
        if not self._stopping.is_set():
            asyncio.get_running_loop().add_reader(self._listener.fileno(), self._accept)

    def _accept(self) -> None:
        """Take connections from the queue; called by the loop when some are there."""
        for _ in range(ACCEPTS_A_TURN):
            try:
                connection, _ = self._listener.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            except OSError as error:  # too many open files: they wait in the queue
                log.error("no connection can be accepted: %s", error)
                loop = asyncio.get_running_loop()
                loop.remove_reader(self._listener.fileno())
                loop.call_later(FULL_PAUSE_S, self._accept_more)
                return
            if self._is_own(connection):
                self._note_activity()
                self._opening += 1
                self._tasks.create_task(self._open(connection))
            else:
                connection.close()

    def _is_own(self, connection: socket.socket) -> bool:
        try:
            return self._peer_uid(connection) == os.geteuid()
        except OSError:
            return False  # gone already

    async def _open(self, connection: socket.socket) -> None:
        """Hand a connection to the HTTP server, which closes it."""
        assert self._runner.server is not None
        connection.setblocking(False)
        try:
            await asyncio.get_running_loop().connect_accepted_socket(self._runner.server, connection)
        except OSError:
            connection.close()  # gone already
        finally:
            self._opening -= 1

    @web.middleware
    async def _note_request(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        self._note_activity()
        try:
            return await handler(request)
        finally:
            self._note_activity()

    def _note_activity(self) -> None:
        self._last = asyncio.get_running_loop().time()

    async def _stop_when_idle(self) -> None:
        """Stop after the idle time, but never while a connection is open: its request may be on its way."""
        while (left := self._idle_left_s()) > 0:  # noqa: ASYNC110 - it is the time that is waited for
            await asyncio.sleep(left)
        self.stop()

    def _idle_left_s(self) -> float:
        assert self._runner.server is not None
        if self._opening or self._runner.server.connections or self._is_busy():
            return self._idle_s
        return self._last + self._idle_s - asyncio.get_running_loop().time()


async def serve(listener: socket.socket, pipe: int, daemon_socket: str, idle_s: float = IDLE_S) -> None:
    """Serve the faces until the pipe ends, a SIGTERM or SIGINT comes, or nobody asks for `idle_s` seconds."""
    application = HttpFace(daemon_socket).application()
    mcp, lsp = McpFace(daemon_socket), LspFace(daemon_socket)
    mcp.add_to(application)
    lsp.add_to(application)
    faces = Faces(application, listener, idle_s=idle_s, is_busy=lambda: mcp.connections + lsp.connections > 0)
    loop = asyncio.get_running_loop()

    def stop_with_daemon() -> None:
        loop.remove_reader(pipe)  # an ended pipe stays readable
        faces.stop()

    loop.add_reader(pipe, stop_with_daemon)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, faces.stop)
    await faces.run()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the process; what it has to say goes to its standard error, which the daemon logs."""
    options = _parse(arguments)
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s  %(message)s")
    for descriptor in (options.listener, options.pipe):
        os.set_inheritable(descriptor, False)
    raise_file_limit()
    with socket.socket(fileno=options.listener) as listener:
        asyncio.run(serve(listener, options.pipe, options.socket, options.idle_s))


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="foveal.dashboard.app", description="The daemon's HTTP face.")
    parser.add_argument("listener", type=int, help="descriptor of the HTTP socket")
    parser.add_argument("pipe", type=int, help="descriptor of a pipe that ends with the daemon")
    parser.add_argument("socket", help="path of the daemon's socket")
    parser.add_argument(
        "--idle-s", type=float, default=IDLE_S, help="seconds without a request until it ends"
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
