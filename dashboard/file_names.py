"""Owns names of files while somebody types one: `/files?project=ROOT&q=TEXT`, for inputs to complete."""

from __future__ import annotations

from typing import Any, Final

from aiohttp import web

from .view import View

NAMES: Final = 20
"""Maximum number of names offered: more than a list shows at once."""


class FileNames:
    """The address `/files`."""

    def __init__(self, view: View) -> None:
        self._view = view

    def add_to(self, application: web.Application) -> None:
        """Serve the address."""
        application.router.add_get("/files", self._serve)

    async def _serve(self, request: web.Request) -> web.Response:
        typed = request.query.get("q", "").strip()
        found: dict[str, Any] = {"files": []}
        if typed:
            root = (await self._view.project(request)).root  # of an open project: a GET opens none
            found = await self._view.call("FindFiles", cwd=root, query=typed, limit=NAMES)
        return web.json_response({"files": found["files"]})
