"""Owns how a connection to the HTTP face becomes one of another protocol: `GET /mcp`, `Upgrade: foveal-mcp`.

A pump asks for it, and nobody else. So these protocols have the socket, the checks of its owner and of web
pages, and the process that HTTP has. What they say is theirs.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Awaitable, Callable, Mapping
from typing import Generic, TypeVar

from aiohttp import web

from ..ipc.errors import UNSUPPORTED, RpcError

log = logging.getLogger(__name__)

About = TypeVar("About")
"""What a protocol is told of who asks."""

Serve = Callable[[socket.socket, bytes, About, str], Awaitable[None]]
"""Serves a connection, which it closes: says the greeting, knows who asks and the daemon's socket."""


class UpgradeFace(Generic[About]):
    """Serves a protocol on connections that the HTTP face gives up; `connections` counts them.

    `name` is that of the protocol, and of the command that asks for it. `read` makes of a query who asks, or
    raises `RpcError`. `load` imports the server: by the first who needs it, in a thread.
    """

    def __init__(
        self,
        name: str,
        daemon_socket: str,
        read: Callable[[Mapping[str, str]], About],
        load: Callable[[], Serve[About]],
    ) -> None:
        self._name = name
        self._daemon_socket = daemon_socket
        self._read = read
        self._load = load
        self._served: dict[asyncio.Task[None], socket.socket] = {}

    @property
    def connections(self) -> int:
        """How many connections are served now."""
        return len(self._served)

    def add_to(self, application: web.Application) -> None:
        """Add the route to the application of the HTTP face; its shutdown ends the connections."""
        application.router.add_get(f"/{self._name}", self._upgrade, allow_head=False)
        application.on_shutdown.append(self._end)

    async def _upgrade(self, request: web.Request) -> web.StreamResponse:
        if request.headers.get("Upgrade", "").lower() != self._token:
            raise RpcError(
                UNSUPPORTED,
                f"{self._name.upper()} is served to `foveal {self._name}`, which a host or an editor starts",
            )
        about = self._read(request.query)
        serve = await asyncio.to_thread(self._load)  # half a second: other requests are answered meanwhile
        connection = _take(request)
        if connection is not None:
            task = asyncio.create_task(self._serve(serve, connection, about))
            self._served[task] = connection
            task.add_done_callback(self._served.pop)
        return web.Response()  # goes to nobody

    async def _serve(self, serve: Serve[About], connection: socket.socket, about: About) -> None:
        greeting = (
            f"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: {self._token}\r\n\r\n"
        )
        try:
            await serve(connection, greeting.encode("ascii"), about, self._daemon_socket)
        except Exception:
            log.exception("a connection of %s failed", self._name.upper())

    @property
    def _token(self) -> str:
        return f"foveal-{self._name}"

    async def _end(self, application: web.Application) -> None:
        """End all connections. What is unanswered stays so: the pump says why, better than a server would."""
        served = dict(self._served)
        for task, connection in served.items():
            with contextlib.suppress(OSError):  # gone already
                connection.shutdown(socket.SHUT_RDWR)
            task.cancel()
        await asyncio.gather(*served, return_exceptions=True)


def _take(request: web.Request) -> socket.socket | None:
    """Take the connection from the HTTP server; None where the peer is gone already.

    The peer sends nothing until it has the reply, so the server can have read nothing that belongs to the
    other protocol.
    """
    transport = request.transport
    if transport is None or transport.is_closing():
        return None
    connection: socket.socket = transport.get_extra_info("socket").dup()
    connection.setblocking(False)
    transport.abort()  # closes its own descriptor; the connection stays open through the other one
    return connection
