"""Owns the page that holds two contexts of a scope against each other: what changed by slice, and by line."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from aiohttp import web

from ...ipc.errors import INVALID_PARAMS, NOT_FOUND, RpcError
from ..view import View
from .context_changes import LineChanges, line_changes, slice_changes

CHOICES: Final = 60
"""Contexts of the scope to choose from, those given last."""

CHANGES: Final = 60
"""Slices that changed which the page names."""

TEXT_GONE: Final = "the text of one of them isn't kept any more"


class Difference:
    """The page at `/scopes/{scope_id}/difference?before=ID&after=ID`."""

    def __init__(self, view: View) -> None:
        self._view = view

    def add_to(self, application: web.Application) -> None:
        """Serve the page."""
        application.router.add_get("/scopes/{scope_id}/difference", self._serve)

    async def _serve(self, request: web.Request) -> web.Response:
        view, scope_id = self._view, request.match_info["scope_id"]
        contexts = (await view.call("ListContexts", scope_id=scope_id, limit=CHOICES))["contexts"]
        if not contexts:
            raise RpcError(NOT_FOUND, f"no context of the scope {scope_id!r:.80} is kept")
        before, after = _chosen(contexts, request.query)
        values: dict[str, Any] = {"changes": [], "same": 0, "lines": None, "old": None, "new": None}
        if before and after and before != after:
            old, new = await asyncio.gather(
                view.call("GetBuiltContext", context_id=before),
                view.call("GetBuiltContext", context_id=after),
            )
            changes, same, lines = await asyncio.to_thread(_compared, old, new)
            values = {"changes": changes, "same": same, "lines": lines, "old": old, "new": new}
        return await view.page(
            request,
            "difference.html",
            at="contexts",
            title="What changed",
            project=await view.project_of(contexts[0]["project"]),
            picked="/contexts",
            scope_id=scope_id,
            contexts=contexts,
            before=before,
            after=after,
            changes_max=CHANGES,
            **values,
        )


def _chosen(contexts: Sequence[Mapping[str, Any]], query: Mapping[str, str]) -> tuple[str, str]:
    """Return the ids of what is compared: those of the address, else the latest with the one before it."""
    ids = [one["context_id"] for one in contexts]
    after = query.get("after") or ids[0]
    for name, chosen in (("after", after), ("before", query.get("before"))):
        if chosen and chosen not in ids:
            message = f"{name}: the context {chosen!r:.80} isn't of this scope, or isn't kept any more"
            raise RpcError(INVALID_PARAMS, message, {"field": name})
    at = ids.index(after) + 1
    return query.get("before") or (ids[at] if at < len(ids) else ""), after


def _compared(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[Any, int, LineChanges]:
    """Return how slices changed, how many did not, and what changed by line. Blocks for up to seconds."""
    changes, same = slice_changes(old, new)
    if "context" not in old or "context" not in new:
        return changes, same, LineChanges(problem=TEXT_GONE)
    return changes, same, line_changes(old["context"], new["context"])
