"""Owns the page of what hangs together with a file: a drawing that can be followed, and its definitions."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from aiohttp import web

from ...ipc.errors import NOT_FOUND, RpcError
from ..drawings.dependency_graph import SHOWN, arranged
from ..view import ProjectChoice, View, href
from .applet import SESSION

LISTED: Final = 100
"""Definitions and files of a list on the page."""


class GraphPage:
    """The page at `/graph`."""

    def __init__(self, view: View) -> None:
        self._view = view

    def add_to(self, application: web.Application) -> None:
        """Serve the page."""
        application.router.add_get("/graph", self._serve)

    async def _serve(self, request: web.Request) -> web.Response:
        view = self._view
        project = await view.project(request)
        path = request.query.get("path", "").strip()
        values: dict[str, Any] = {"node": None}
        if project.root and path:
            values = await self._around(project, path, request.query.get(SESSION, ""))
        return await view.page(
            request,
            "graph.html",
            at="search",
            title=f"{path} – Dependencies" if path else "Dependencies",  # noqa: RUF001 - a dash
            project=project,
            asked=path,
            listed=LISTED,
            **values,
        )

    async def _around(self, project: ProjectChoice, path: str, session: str) -> dict[str, Any]:
        """Return what the template shows of a file. An id of a definition leads to the file that it is in.

        `session` is what the page is looked at for, and stays in its links, which no script can change: the
        address of a link in a drawing is an object.
        """
        node = await self._view.call("GetNode", cwd=project.root, node_id=path)
        if node["path"] != path:
            node = await self._view.call("GetNode", cwd=project.root, node_id=node["path"])
        imports = _paths(node["imports"])
        importers = _paths(node["importers"])
        near = [*importers[:SHOWN], *imports[:SHOWN]]
        found = await asyncio.gather(*[self._imports(project, one) for one in near])
        graph = arranged(node["path"], importers, imports, dict(zip(near, found, strict=True)))
        return {
            "node": node,
            "drawing": graph.draw(
                lambda one: href("/graph", project=project.root, path=one, session=session)
            ),
            "imports": imports,
            "importers": importers,
            "outside": sorted({one["module"] for one in node["imports"] if "path" not in one}),
        }

    async def _imports(self, project: ProjectChoice, path: str) -> Sequence[str]:
        """Return what a file imports; nothing if it went meanwhile."""
        try:
            return _paths((await self._view.call("GetNode", cwd=project.root, node_id=path))["imports"])
        except RpcError as error:
            if error.code != NOT_FOUND:
                raise
            return []


def _paths(entries: Sequence[Mapping[str, Any]]) -> list[str]:
    return sorted({one["path"] for one in entries if "path" in one})
