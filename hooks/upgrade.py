"""MCP and LSP on the HTTP face: `GET /mcp` with `Upgrade: foveal-mcp` turns a connection into one of MCP.

Only the pumps ask for it. So these protocols share the socket of HTTP, its process, and its checks of the
socket's owner and of web pages.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module

from aiohttp import web

from ..ipc.errors import INVALID_PARAMS, UNSUPPORTED, RpcError
from .mcp_server.caller import ClientIdentity

log = logging.getLogger(__name__)

Serve = Callable[[socket.socket, bytes, ClientIdentity, str], Awaitable[None]]
"""Serves a connection and closes it, given the greeting, the client and the daemon's socket."""


class UpgradeFace:
    """Serves a protocol on connections that the HTTP face gives up; `connections` counts them.

    `name` is the protocol's, and that of the command that asks for it. The `module` with its server is
    imported, in a thread, at the first connection: the SDK of MCP takes a second, which only its clients
    should pay.
    """

    def __init__(self, name: str, daemon_socket: str, module: str) -> None:
        self._name = name
        self._daemon_socket = daemon_socket
        self._module = module
        self._served: dict[asyncio.Task[None], socket.socket] = {}

    @property
    def connections(self) -> int:
        """Number of open connections."""
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
        about = _client(request.query, needs_session=self._name == "mcp")
        module = await asyncio.to_thread(import_module, self._module, __package__)
        connection = _take(request)
        if connection is not None:
            task = asyncio.create_task(self._serve(module.serve_connection, connection, about))
            self._served[task] = connection
            task.add_done_callback(self._served.pop)
        return web.Response()  # nobody reads it

    async def _serve(self, serve: Serve, connection: socket.socket, about: ClientIdentity) -> None:
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
        """End all connections. Unanswered requests get an error from the pump, which knows why."""
        served = dict(self._served)
        for task, connection in served.items():
            with contextlib.suppress(OSError):  # gone already
                connection.shutdown(socket.SHUT_RDWR)
            task.cancel()
        await asyncio.gather(*served, return_exceptions=True)


def _take(request: web.Request) -> socket.socket | None:
    """Take the connection from the HTTP server; None if the peer is gone.

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


def mcp_face(daemon_socket: str) -> UpgradeFace:
    """Return the face that serves MCP to `foveal mcp`."""
    return UpgradeFace("mcp", daemon_socket, ".mcp_server.server")


def lsp_face(daemon_socket: str) -> UpgradeFace:
    """Return the face that serves LSP to `foveal lsp`, for the folder that the editor started it in."""
    return UpgradeFace("lsp", daemon_socket, ".editors.lsp_server")


def _client(query: Mapping[str, str], *, needs_session: bool) -> ClientIdentity:
    cwd, session = query.get("cwd", ""), query.get("session", "")
    if not cwd.startswith("/") or (needs_session and not session):
        raise RpcError(INVALID_PARAMS, "cwd must be an absolute path, and session an id")
    return ClientIdentity(cwd=cwd, chosen=query.get("chosen") == "1", session_id=session)
