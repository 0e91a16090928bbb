"""The faces process, which alone runs an HTTP server; it reaches the daemon through its socket only.

`python -m foveal.dashboard.app [--idle-s N] CONTROL SOCKET`: the descriptor of a Unix socket through which
the daemon lends listening sockets and which ends with it, and the path of the daemon's own socket. The HTTP
socket is lent at once; the dashboard's TCP socket with it, or later when somebody opens the dashboard.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import os
import signal
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from functools import partial
from typing import Any

from aiohttp import web
from aiohttp.http_exceptions import LineTooLong
from aiohttp.web_protocol import RequestHandler

from ..hooks.http import HttpFace
from ..hooks.upgrade import lsp_face, mcp_face
from ..ipc.listener import raise_file_limit, read_peer_uid
from .guard import HEADERS

log = logging.getLogger(__name__)

IDLE_S = 15 * 60.0
"""Seconds without a request until the process ends, which frees 40 MB; a start takes 0.3 s."""


class Faces:
    """Serves applications on listening sockets of the daemon: `run` until `stop`, or until it is idle."""

    def __init__(self, *, idle_s: float = IDLE_S, is_busy: Callable[[], bool] = lambda: False) -> None:
        self._idle_s = idle_s
        self._is_busy = is_busy
        self._last = 0.0
        self._preparing = 0
        self._listeners: list[HttpListener] = []
        self._tasks: asyncio.TaskGroup | None = None
        self._stopping = asyncio.Event()

    def add(
        self,
        application: web.Application,
        listener: socket.socket,
        *,
        peer_uid: Callable[[socket.socket], int] = read_peer_uid,
    ) -> None:
        """Serve an application too, from now or from `run` on; the listening socket stays the caller's."""
        application.middlewares.insert(0, self._note_request)
        served = HttpListener(application, listener, on_connection=self._note_activity, peer_uid=peer_uid)
        self._listeners.append(served)
        if self._tasks is not None and not self._stopping.is_set():
            self._note_activity()
            self._tasks.create_task(served.run())

    @contextlib.contextmanager
    def preparing(self) -> Iterator[None]:
        """Don't count as idle while something is prepared for a waiting client."""
        self._preparing += 1
        try:
            yield
        finally:
            self._preparing -= 1
            self._note_activity()

    async def run(self) -> None:
        """Serve until `stop`, then let running requests end."""
        try:
            async with asyncio.TaskGroup() as tasks:
                self._tasks = tasks
                self._note_activity()
                for listener in self._listeners:
                    tasks.create_task(listener.run())
                idle = tasks.create_task(self._stop_when_idle())
                await self._stopping.wait()
                idle.cancel()
        finally:
            self.stop()

    def stop(self) -> None:
        """Accept nothing more, from this moment, and make `run` end; a second time changes nothing."""
        self._stopping.set()
        for listener in self._listeners:
            listener.stop()

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
        if self._preparing or self._is_busy() or any(listener.is_busy for listener in self._listeners):
            return self._idle_s
        return self._last + self._idle_s - asyncio.get_running_loop().time()


async def serve(control: socket.socket, daemon_socket: str, idle_s: float = IDLE_S) -> None:
    """Serve HTTP, MCP and LSP until the daemon ends, SIGTERM or SIGINT comes, or no request comes for
    `idle_s`."""
    application = HttpFace(daemon_socket).application()
    mcp, lsp = mcp_face(daemon_socket), lsp_face(daemon_socket)
    mcp.add_to(application)
    lsp.add_to(application)
    faces = Faces(idle_s=idle_s, is_busy=lambda: mcp.connections + lsp.connections > 0)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, faces.stop)
    async with asyncio.TaskGroup() as tasks:
        taking = tasks.create_task(_take(control, faces, application, daemon_socket))
        await faces.run()
        taking.cancel()


async def _take(
    control: socket.socket, faces: Faces, application: web.Application, daemon_socket: str
) -> None:
    """Serve each listening socket that the daemon sends, and stop with the daemon."""
    with contextlib.ExitStack() as taken:
        async with contextlib.aclosing(lent_listeners(control)) as listeners:
            async for listener in listeners:
                taken.enter_context(listener)
                if listener.family == socket.AF_UNIX:
                    faces.add(application, listener)
                    continue
                with faces.preparing():
                    site = await _site(daemon_socket, listener.getsockname()[1])
                if site is not None:
                    faces.add(site, listener)
        faces.stop()  # and then the sockets are closed: the next daemon is to have the same port


async def _site(daemon_socket: str, port: int) -> web.Application | None:
    """Return the dashboard, or None with a log message if it can't be made: the others go on without it."""

    def make() -> web.Application:
        from .site import make_site  # in a thread and only now: its import takes longer than most answers

        return make_site(daemon_socket, port)

    try:
        return await asyncio.to_thread(make)
    except Exception:
        log.exception("the dashboard can't be served")
        return None


LISTENERS_MAX = 4
"""Maximum descriptors in a message; the daemon sends one at a time."""


async def lent_listeners(control: socket.socket) -> AsyncGenerator[socket.socket, None]:
    """Yield the listening sockets that come through the Unix socket `control`, until its other end is
    closed. Each comes as a descriptor (SCM_RIGHTS) with a meaningless byte; its family says what it is
    for. The caller closes them."""
    control.setblocking(False)
    loop = asyncio.get_running_loop()
    arrived = asyncio.Event()
    loop.add_reader(control.fileno(), arrived.set)
    try:
        while True:
            try:
                data, descriptors, _, _ = socket.recv_fds(control, 1, LISTENERS_MAX)
            except BlockingIOError:
                arrived.clear()
                await arrived.wait()
                continue
            except ConnectionResetError:  # the daemon was killed with something of ours unread
                return
            for descriptor in descriptors:
                listener = socket.socket(fileno=descriptor)
                listener.set_inheritable(False)
                yield listener
            if not data:
                return
    finally:
        loop.remove_reader(control.fileno())


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the process; its log goes to standard error, which the daemon logs."""
    options = _parse(arguments)
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s  %(message)s")
    os.set_inheritable(options.control, False)
    raise_file_limit()
    with socket.socket(fileno=options.control) as control:
        asyncio.run(serve(control, options.socket, options.idle_s))


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="foveal.dashboard.app", description="The daemon's HTTP face.")
    parser.add_argument("control", type=int, help="descriptor of a Unix socket that sockets are lent through")
    parser.add_argument("socket", help="path of the daemon's socket")
    parser.add_argument(
        "--idle-s", type=float, default=IDLE_S, help="seconds without a request until it ends"
    )
    return parser.parse_args(arguments)


LINE_BYTES = 192 * 1024
"""Maximum bytes of an address and of a header. The longest search is shorter: a question, a place, a
project's root and a language, where a letter may take nine bytes."""

TOO_LONG = (
    f"The address is longer than {LINE_BYTES:,} bytes, or a header is. Shorten what was asked, or ask it in "
    "a terminal: foveal query, foveal context"
)

KEEPALIVE_S = 75.0
"""Maximum seconds between two requests of a connection: an open connection keeps the process alive."""

SHUTDOWN_S = 1.0
"""Seconds for running requests to end, and as many again to be cancelled."""

ACCEPTS_A_TURN = 64
"""Maximum connections accepted in one turn of the event loop."""

FULL_PAUSE_S = 1.0
"""Seconds until the next try to accept when the process has no free descriptors."""


class HttpListener:
    """Serves an application on a lent listening socket: `run` until `stop`.

    It accepts by itself, unlike aiohttp's SockSite: on a Unix socket a stranger's connection is closed
    unread, and one of the user's is either served or left in the socket's queue, for the next process.
    asyncio's server would drop a connection that it accepts in the turn in which it is closed. On a TCP
    socket the owner of a connection isn't known. `on_connection` is called at the beginning and for each that
    is accepted.
    """

    def __init__(
        self,
        application: web.Application,
        listener: socket.socket,
        *,
        on_connection: Callable[[], None] = lambda: None,
        peer_uid: Callable[[socket.socket], int] = read_peer_uid,
    ) -> None:
        self._runner = web.AppRunner(
            application,
            shutdown_timeout=SHUTDOWN_S,
            handler_cancellation=True,  # a client that disconnects ends its request or stream at once
        )
        self._listener = listener
        self._on_connection = on_connection
        self._peer_uid = peer_uid
        self._opening = 0
        self._began = False
        self._tasks = asyncio.TaskGroup()
        self._stopping = asyncio.Event()

    @property
    def is_busy(self) -> bool:
        """Whether a connection is open or waiting, whose request may be on its way."""
        return bool(
            not self._began or self._opening or (self._runner.server and self._runner.server.connections)
        )

    async def run(self) -> None:
        """Serve until `stop`, then let running requests end. The listening socket stays open."""
        if self._stopping.is_set():
            return  # before it began: the socket may be closed already
        self._listener.setblocking(False)
        await self._runner.setup()
        try:
            async with self._tasks:
                self._accept_more()
                self._began = True
                self._on_connection()  # a connection may wait: it is accepted in the next turn of the loop
                await self._stopping.wait()
        finally:
            self.stop()
            await self._runner.cleanup()

    def stop(self) -> None:
        """Accept nothing more, from this moment, and make `run` end; a second time changes nothing."""
        if not self._stopping.is_set():
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
                self._on_connection()
                self._opening += 1
                self._tasks.create_task(self._open(connection))
            else:
                connection.close()

    def _is_own(self, connection: socket.socket) -> bool:
        if connection.family != socket.AF_UNIX:
            return True
        try:
            return self._peer_uid(connection) == os.geteuid()
        except OSError:
            return False  # gone already

    async def _open(self, connection: socket.socket) -> None:
        """Hand a connection to the HTTP server, which closes it."""
        assert self._runner.server is not None
        connection.setblocking(False)
        protocol = partial(_Protocol, self._runner.server, loop=asyncio.get_running_loop(), **_PROTOCOL)
        try:
            await asyncio.get_running_loop().connect_accepted_socket(protocol, connection)
        except OSError:
            connection.close()  # gone already
        finally:
            self._opening -= 1


_PROTOCOL: dict[str, Any] = {
    "access_log": None,
    "keepalive_timeout": KEEPALIVE_S,
    "max_line_size": LINE_BYTES,
    "max_field_size": LINE_BYTES,
}


class _Protocol(RequestHandler):
    """HTTP on one connection. Unreadable requests reach no application, so their answers get the headers
    here."""

    __slots__ = ()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Return the answer to an unreadable request, or to one that failed outside of the application."""
        if isinstance(exc, LineTooLong):
            response: web.StreamResponse = web.Response(status=414, text=TOO_LONG + "\n")
            response.force_close()
        else:
            response = super().handle_error(request, status, exc, message)
        response.headers.update(HEADERS)
        return response


if __name__ == "__main__":
    main()
