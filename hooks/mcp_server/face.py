"""Owns how a connection to the HTTP face becomes one of MCP: `GET /mcp` with `Upgrade: foveal-mcp`.

The pump asks for it, and nobody else. After the reply `101` the connection carries lines of JSON-RPC both
ways. So MCP has the socket, the checks of its owner and of web pages, and the process that HTTP has.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Awaitable, Callable

from aiohttp import web

from ...ipc.errors import INVALID_PARAMS, UNSUPPORTED, RpcError
from .caller import Caller

log = logging.getLogger(__name__)

UPGRADE = "foveal-mcp"

SWITCHING = f"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: {UPGRADE}\r\n\r\n".encode()

Serve = Callable[[socket.socket, bytes, Caller, str], Awaitable[None]]


class McpFace:
    """Serves MCP on connections that the HTTP face gives up; `connections` counts them."""

    def __init__(self, daemon_socket: str) -> None:
        self._daemon_socket = daemon_socket
        self._served: dict[asyncio.Task[None], socket.socket] = {}

    @property
    def connections(self) -> int:
        """How many connections are served now."""
        return len(self._served)

    def add_to(self, application: web.Application) -> None:
        """Add the route to the application of the HTTP face; its shutdown ends the connections."""
        application.router.add_get("/mcp", self._upgrade, allow_head=False)
        application.on_shutdown.append(self._end)

    async def _upgrade(self, request: web.Request) -> web.StreamResponse:
        if request.headers.get("Upgrade", "").lower() != UPGRADE:
            raise RpcError(UNSUPPORTED, "MCP is served to `foveal mcp`, which a host starts")
        caller = _caller(request)
        serve = await asyncio.to_thread(_load)  # half a second: other requests are answered meanwhile
        connection = _take(request)
        if connection is not None:
            task = asyncio.create_task(self._serve(serve, connection, caller))
            self._served[task] = connection
            task.add_done_callback(self._served.pop)
        return web.Response()  # goes to nobody

    async def _serve(self, serve: Serve, connection: socket.socket, caller: Caller) -> None:
        try:
            await serve(connection, SWITCHING, caller, self._daemon_socket)
        except Exception:
            log.exception("a connection of MCP failed")

    async def _end(self, application: web.Application) -> None:
        """End all connections. What is unanswered stays so: the pump says why, better than the SDK would."""
        served = dict(self._served)
        for task, connection in served.items():
            with contextlib.suppress(OSError):  # gone already
                connection.shutdown(socket.SHUT_RDWR)
            task.cancel()
        await asyncio.gather(*served, return_exceptions=True)


def _load() -> Serve:
    """Import the SDK, which nobody pays who doesn't speak MCP."""
    from .connection import serve_connection

    return serve_connection


def _take(request: web.Request) -> socket.socket | None:
    """Take the connection from the HTTP server; None where the peer is gone already.

    The peer sends nothing until it has the reply, so the server can have read nothing that belongs to MCP.
    """
    transport = request.transport
    if transport is None or transport.is_closing():
        return None
    connection: socket.socket = transport.get_extra_info("socket").dup()
    connection.setblocking(False)
    transport.abort()  # closes its own descriptor; the connection stays open through the other one
    return connection


def _caller(request: web.Request) -> Caller:
    cwd, session = request.query.get("cwd", ""), request.query.get("session", "")
    if not cwd.startswith("/") or not session:
        raise RpcError(INVALID_PARAMS, "cwd must be an absolute path, and session an id")
    return Caller(cwd=cwd, chosen=request.query.get("chosen") == "1", session_id=session)
