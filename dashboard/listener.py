"""Accepts connections on a lent socket and serves HTTP on them."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from aiohttp import web
from aiohttp.http_exceptions import LineTooLong
from aiohttp.web_protocol import RequestHandler

from ..ipc.listener import read_peer_uid
from .guard import HEADERS, VIEWER
from .strangers import Strangers

log = logging.getLogger(__name__)

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
    socket the owner of a connection isn't known: it is served when it sends something, and bounded until a
    signed-in request came through it. `on_connection` is called at the beginning and for each that is served.
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
        self._strangers = Strangers() if listener.family != socket.AF_UNIX else None
        if self._strangers is not None:
            application.middlewares.append(self._admit)  # the last: the guard let the request pass
        self._opening = 0
        self._began = False
        self._tasks = asyncio.TaskGroup()
        self._stopping = asyncio.Event()

    @property
    def is_busy(self) -> bool:
        """Whether a connection is open or waiting, whose request may be on its way."""
        return bool(
            not self._began
            or self._opening
            or self._strangers
            or (self._runner.server and self._runner.server.connections)
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
            if self._strangers is not None:
                self._strangers.close()
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
            if self._strangers is not None:
                self._strangers.wait(connection, self._begin)
            elif self._is_own(connection):
                self._begin(connection)
            else:
                connection.close()

    def _is_own(self, connection: socket.socket) -> bool:
        try:
            return self._peer_uid(connection) == os.geteuid()
        except OSError:
            return False  # gone already

    def _begin(self, connection: socket.socket) -> None:
        self._on_connection()
        self._opening += 1
        self._tasks.create_task(self._open(connection))

    async def _open(self, connection: socket.socket) -> None:
        """Hand a connection to the HTTP server, which closes it."""
        assert self._runner.server is not None
        connection.setblocking(False)
        protocol = partial(_Protocol, self._runner.server, loop=asyncio.get_running_loop(), **_PROTOCOL)
        try:
            transport, made = await asyncio.get_running_loop().connect_accepted_socket(protocol, connection)
            if self._strangers is not None:
                made.strangers = self._strangers
                self._strangers.bound(made, transport.abort)
        except OSError:
            connection.close()  # gone already
        finally:
            self._opening -= 1

    @web.middleware
    async def _admit(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        if VIEWER in request and self._strangers is not None:
            self._strangers.forget(request.protocol)
        return await handler(request)


_PROTOCOL: dict[str, Any] = {
    "access_log": None,
    "keepalive_timeout": KEEPALIVE_S,
    "max_line_size": LINE_BYTES,
    "max_field_size": LINE_BYTES,
}


class _Protocol(RequestHandler):
    """HTTP on one connection. Unreadable requests reach no application, so their answers get the headers
    here."""

    __slots__ = ("strangers",)

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.strangers: Strangers | None = None

    def connection_lost(self, exc: BaseException | None) -> None:
        """End what runs on the connection, which counts no more."""
        super().connection_lost(exc)
        if self.strangers is not None:
            self.strangers.forget(self)

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
