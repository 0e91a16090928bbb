"""Owns one connection of MCP: its lines, and the server's life on it."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import Any, Self, cast

from mcp.server.stdio import stdio_server

from ...ipc.link import DaemonLink
from ..mcp_lines import MAX_LINE_BYTES
from .caller import ClientIdentity, DaemonSession
from .server import make_server


async def serve_connection(
    connection: socket.socket, greeting: bytes, caller: ClientIdentity, daemon: str
) -> None:
    """Greet, then serve until the peer hangs up. The connection is closed at the end."""
    reader, writer = await asyncio.open_unix_connection(sock=connection, limit=MAX_LINE_BYTES + 1)
    link = DaemonLink(daemon)
    try:
        writer.write(greeting)
        server = make_server(DaemonSession(caller, link))
        lines, replies = (
            cast("Any", _Lines(reader)),
            cast("Any", _Replies(writer)),
        )  # all that it uses of files
        async with stdio_server(lines, replies) as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
    finally:
        writer.close()
        await link.close()


class _Lines:
    """The lines of a connection, as the SDK reads a file."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        """Return the next line; one broken off, or longer than the pump sends, ends the connection."""
        try:
            line = await self._reader.readline()
        except (ConnectionError, ValueError):
            line = b""
        if not line.endswith(b"\n"):
            raise StopAsyncIteration
        return line.decode("utf-8", "replace")


class _Replies:
    """The writing side of a connection, as the SDK writes a file."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def write(self, text: str) -> None:
        self._writer.write(text.encode("utf-8", "replace"))

    async def flush(self) -> None:
        with contextlib.suppress(ConnectionError):  # the peer is gone, which the reading side says too
            await self._writer.drain()
