"""The page of one scope: its focus, its latest context, and the buttons that change it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from aiohttp import web

from ...ipc.errors import NOT_FOUND, RpcError
from ..drawings import by_layer, layers_bar, layers_of, sandwich, uses_of
from ..view import Page, get
from .sessions import named_session
from .slices import SliceRow, ordered, slice_rows

RENDERS: Final = 20
"""Maximum contexts on the page, the latest ones."""

NODES: Final = 60
"""Maximum nodes in focus, hot files, constraints and slices on the page."""

ASKED_AGAIN: Final = ("prompt", "task_type", "max_tokens", "reserve_tokens", "max_bytes", "model")
"""The fields of the last request that a preview of the scope repeats."""

PROMPT_MAX: Final = 10_000
"""Maximum characters of a prompt that a preview repeats; longer ones are pasted logs."""


class ScopePage(Page):
    """The page at `/scopes/{scope_id}`."""

    @get("/scopes/{scope_id}")
    async def _serve(self, request: web.Request) -> web.Response:
        view, scope_id = self._view, request.match_info["scope_id"]
        scope, given = await asyncio.gather(
            self._scope(scope_id), view.call("ListContexts", scope_id=scope_id, limit=RENDERS)
        )
        contexts = given["contexts"]
        if isinstance(scope, RpcError) and not contexts:
            raise scope
        latest = None
        if contexts:
            latest = await view.call("GetBuiltContext", context_id=contexts[0]["context_id"])
        values = await asyncio.to_thread(_drawn, latest) if latest else {}
        named = scope.get("session_id", "") if isinstance(scope, dict) else ""
        root = scope["project"] if isinstance(scope, dict) else contexts[0]["project"]
        return await view.page(
            request,
            "scope.html",
            at="contexts",
            title=_title(scope if isinstance(scope, dict) else latest or {}),
            scope_id=scope_id,
            scope=scope if isinstance(scope, dict) else None,
            problem=scope.message if isinstance(scope, RpcError) else "",
            root=root,
            project=await view.project_of(root),
            picked="/contexts",
            session=await named_session(view, named),
            contexts=contexts,
            latest=latest,
            again=_again(scope_id, latest),
            nodes_max=NODES,
            layers_bar=layers_bar,
            **{"drawing": None, "layers": [], "by_layer": {}, "rows": [], "count": 0, **values},
        )

    async def _scope(self, scope_id: str) -> dict[str, Any] | RpcError:
        """Return a scope, or None if it is gone; its contexts may still be known."""
        try:
            found: dict[str, Any] = await self._view.call("GetScope", scope_id=scope_id)
        except RpcError as error:
            if error.code != NOT_FOUND:
                raise
            return error
        return found


def _drawn(context: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the page shows of the latest context."""
    rows = slice_rows(context["slices"])
    address = f"/contexts/{context['context_id']}"

    def link(row: SliceRow) -> str:
        return f"{address}#slice-{row.at}"

    return {
        "drawing": sandwich(rows, link) if rows else None,
        "layers": layers_of(rows),
        "by_layer": by_layer(uses_of(context, rows), rows),
        "count": len(rows),
        "rows": ordered(rows, "tokens")[:NODES],
    }


def _again(scope_id: str, latest: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the parameters of a preview of the scope, from its last request."""
    asked = {name: latest[name] for name in ASKED_AGAIN if latest[name] != ""} if latest else {}
    if len(asked.get("prompt", "")) > PROMPT_MAX:
        del asked["prompt"]
    return {"scope_id": scope_id, "preview": True, **asked}


def _title(about: Mapping[str, Any]) -> str:
    who = about.get("agent_name") or about.get("agent_id")
    if who and about.get("session_id"):
        return f"What {who} sees in session {about['session_id']}"
    if who or about.get("session_id"):
        return f"What {who or 'session ' + about['session_id']} sees"
    paths = about.get("focus_paths") or ()
    return f"What is seen around {paths[0]}" if paths else "What is seen without a focus"
