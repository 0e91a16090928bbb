"""Owns the page that shows events as they come; the events themselves are `event_stream.py`'s."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from aiohttp import web

from ..view import View

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
"""The topics and what they tell."""


class LivePage:
    """The page at `/live`."""

    def __init__(self, view: View) -> None:
        self._view = view

    def add_to(self, application: web.Application) -> None:
        """Serve the page."""
        application.router.add_get("/live", self._serve)

    async def _serve(self, request: web.Request) -> web.Response:
        return await self._view.page(request, "live.html", at="live", title="Live", topics=TOPICS)
