"""The page that shows events as they come, and the stream of server-sent events behind it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from aiohttp import web

from ...hooks.http import pass_on
from ...ipc.aclient import AsyncClient, DaemonLink
from ...ipc.errors import INVALID_PARAMS, RpcError
from ..view import Page, get

TOPICS: Final[Mapping[str, str]] = {
    "context.built": "a context was given",
    "context.changed": "a session's sets changed",
    "context.resumed": "a session was resumed",
    "session.changed": "a session was made, ended or got other items",
    "items.changed": "an item or its mode changed",
    "experience.grafted": "an agent left what it decided",
    "experience.changed": "a decision was edited",
    "index.progress": "a project is read",
    "project.changed": "files changed",
    "scope.created": "a scope was made",
    "scope.changed": "a scope's focus changed",
    "scope.released": "a scope ended",
}
"""The topics and their meaning."""


class LivePage(Page):
    """The page at `/live`."""

    @get("/live")
    async def _serve(self, request: web.Request) -> web.Response:
        return await self._view.page(request, "live.html", at="live", title="Live", topics=TOPICS)


HEARTBEAT_S: Final = 10.0
"""Seconds between two heartbeats, by which each side notices that the other is gone."""

BEAT: Final = b"event: beat\ndata: {}\n\n"
"""The heartbeat, an event because a browser's script doesn't see comments."""

RETRY_MS: Final = 1_000
"""Milliseconds until a browser reconnects to a broken stream."""

STREAMS_MAX: Final = 64
"""Maximum open streams. Each is a connection to the daemon; a browser opens one for all its pages."""


class EventStream:
    """The address `/events?topics=a,b`: events with topic and data, until either side closes."""

    def __init__(self, link: DaemonLink, *, heartbeat_s: float = HEARTBEAT_S) -> None:
        self._link = link
        self._heartbeat_s = heartbeat_s
        self._open: set[AsyncClient] = set()

    def add_to(self, application: web.Application) -> None:
        """Serve the address, and end all streams when the application ends."""
        application.router.add_get("/events", self._serve, allow_head=False)
        application.router.add_head("/events", self._admit)
        application.on_shutdown.append(self._end)

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        topics = [topic for topic in request.query.get("topics", "").split(",") if topic]
        if not topics:
            raise RpcError(INVALID_PARAMS, "topics must name what to follow", {"field": "topics"})
        if len(self._open) >= STREAMS_MAX:
            raise web.HTTPServiceUnavailable(text=f"{STREAMS_MAX} pages are followed already; close some")
        connection = await self._link.subscribe(topics)
        self._open.add(connection)
        try:
            response = web.StreamResponse(
                headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"}
            )
            await response.prepare(request)
            await response.write(b"retry: %d\n\n" % RETRY_MS)
            await pass_on(response, connection, BEAT, self._heartbeat_s)
            return response
        finally:
            self._open.discard(connection)
            await connection.close()

    async def _admit(self, request: web.Request) -> web.Response:
        # A browser's script isn't told why a stream failed; this tells whether it would be let in.
        return web.Response(status=204)

    async def _end(self, application: web.Application) -> None:
        await asyncio.gather(*[connection.close() for connection in self._open])
