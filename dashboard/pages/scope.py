"""The page of a scope: its three layers as they stand now, what is not in them, its constraints and turns."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from aiohttp import web
from markupsafe import Markup

from ...ipc.errors import INVALID_PARAMS, NOT_FOUND, RpcError
from ..drawings import budget_bar, layers_of, uses_of
from ..formats import exact
from ..view import Page, get
from .scopes import link_of, scope_rows, title_of
from .sessions import named_session
from .slices import LAYERS, SliceRow, dropped_rows, name_of, ordered, plain_reason, slice_rows
from .turn import ON_PAGE_MAX, explained_path, gaps_of, without_room

TURNS: Final = 8
"""Maximum turns shown."""

BOXES: Final = 24
"""Maximum boxes of a layer that are shown at once, the largest; the others are folded."""

WIDTHS: Final = (0.03, 0.08, 0.2, 0.45)
"""Shares of a layer's tokens from which on a box is one step wider."""

LISTED: Final = 50
"""Maximum entries of a list: focus, hot files, constraints, relatives."""

LABEL: Final = 120
"""Maximum characters of a constraint on its box."""

_PART: Final = re.compile(r"[^/._]*[/._]*")
"""A part of a name, after which it may break."""

BY_ITSELF: Final = ("rule", "reference", "agent_history", "session_set")
"""Types of slices that no request and no search names: they come by mode, by session, or as decisions."""

FOUND: Final = ("document", "place", "compressed_segment", "dependency")
"""Types of slices that were found, and that can be pinned."""


@dataclass(frozen=True, slots=True)
class SliceBox:
    """A slice as a box, with `width` from 0 to 4, its text, "" where that is elsewhere, and what can be done.

    `node` is what pins it. `is_pinned` says that it stays, `whole` is its file if that would show more.
    """

    row: SliceRow
    label: Markup
    width: int
    text: Markup | str
    node: str
    is_pinned: bool
    is_asked_for: bool
    whole: str


class ScopePage(Page):
    """The page at `/scope/{scope_id}`, and its whole text at `/scope/{scope_id}/text`."""

    @get("/scope/{scope_id}")
    async def _serve(self, request: web.Request) -> web.Response:
        view, scope_id = self._view, request.match_info["scope_id"]
        scope = await view.found("GetScope", scope_id=scope_id, turns=TURNS)
        if scope is None:
            return await self._serve_released(request, scope_id)
        project = await view.project_of(scope["project"])
        why = request.query.get("why", "").strip()
        now, explained, listed, session = await asyncio.gather(
            _tried(self._now(scope)) if project.status else _nothing(),  # a GET opens no project
            self._explained(scope, why) if project.status and why else _nothing(),
            _tried(view.call("ListScopes", cwd=scope["project"])),
            named_session(view, scope.get("session_id", "")),
        )
        others = [] if isinstance(listed, RpcError) else listed["scopes"]
        related = [one for one in others if _is_related(one, scope)]
        rows = await scope_rows(view, [scope, *related])
        [row] = [one for one in rows if one["scope_id"] == scope_id]
        problem, now = (now.message, None) if isinstance(now, RpcError) else ("", now)
        values = await asyncio.to_thread(_drawn, scope, now) if now else {}
        return await view.page(
            request,
            "scope.html",
            title=f"Scope of {row['who']}" if row["agent_name"] else "A scope",
            project=project,
            picked="/scopes",
            scope=row,
            now=now,
            problem=problem,
            why=why,
            explained=explained,
            session=session,
            parents=[one for one in rows if one["scope_id"] == row["parent_scope_id"]],
            children=[one for one in rows if one["parent_scope_id"] == scope_id],
            focus=[*scope["focus_paths"], *scope["expanded"]],
            turns=scope["turns"],
            named=lambda change: _named(change["id"], change["type"]),
            listed=LISTED,
            boxes_max=BOXES,
            **values,
        )

    async def _serve_released(self, request: web.Request, scope_id: str) -> web.Response:
        """Answer with the turns of a scope that was released, while they are kept. Raises `RpcError`."""
        reply = await self._view.call("ListContexts", scope_id=scope_id, limit=TURNS)
        if not reply["contexts"]:
            known = (
                "it was released, evicted as least recently used, or never existed; /scopes has the others"
            )
            raise RpcError(NOT_FOUND, f"there is no scope {scope_id:.80}: {known}")
        return await self._view.page(
            request,
            "scope_released.html",
            title="A released scope",
            project=await self._view.project_of(reply["contexts"][0]["project"]),
            picked="/scopes",
            scope_id=scope_id,
            turns=reply["contexts"],
        )

    @get("/scope/{scope_id}/text")
    async def _serve_text(self, request: web.Request) -> web.Response:
        """Answer the whole text that the scope would get now: as a page, with `format=text` as it is."""
        reply = await self._view.call("GetScope", scope_id=request.match_info["scope_id"])
        project = await self._view.project_of(reply["project"])
        if not project.status:
            raise RpcError(INVALID_PARAMS, f"{project.name} isn't open now, so that it can't be asked")
        now = await self._now(reply)
        if request.query.get("format") == "text":
            text = now["context"].encode("utf-8", "replace")
            return web.Response(body=text, content_type="text/plain", charset="utf-8")
        return await self._view.page(
            request,
            "scope_text.html",
            title="What it is shown now",
            project=project,
            picked="/scopes",
            link=link_of(reply["scope_id"]),
            scope_title=title_of(reply),
            now=now,
            text=await asyncio.to_thread(exact, now["context"]),
        )

    async def _now(self, scope: Mapping[str, Any]) -> Mapping[str, Any]:
        reply = await self._view.call("GetScope", scope_id=scope["scope_id"], layers=True)
        found: Mapping[str, Any] = reply["now"]
        return found

    async def _explained(self, scope: Mapping[str, Any], path: str) -> Mapping[str, Any]:
        """Return why a file is in the scope's last context or not, or why that can't be told."""
        if "last_context_id" not in scope:
            return {"path": path, "problem": "it got no context yet that could be explained"}
        return await explained_path(self._view, scope["last_context_id"], path)


async def _tried(asked: Awaitable[Mapping[str, Any]]) -> Mapping[str, Any] | RpcError:
    """Return an answer, or why there is none: the page has more to say, as of a folder that was moved."""
    try:
        return await asked
    except RpcError as error:
        return error


async def _nothing() -> None:
    """Return nothing, in the place of a question that isn't asked."""


def _is_related(other: Mapping[str, Any], scope: Mapping[str, Any]) -> bool:
    """Whether another scope is the one above, or one below."""
    above = scope.get("parent_scope_id")
    return bool(other["scope_id"] == above or other.get("parent_scope_id") == scope["scope_id"])


def _named(identifier: str, type_: str) -> str:
    """Return a slice's path with its definition, or what it is called."""
    _, _, rest = identifier.partition(":")
    return rest if "/" in rest or "." in rest else name_of(identifier, type_)


def _drawn(scope: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the page shows of the layers. Takes some milliseconds for a large context."""
    rows = slice_rows(now["slices"], now["context"])
    uses = uses_of(now, rows)
    layers = layers_of(rows)
    has_texts = len(now["context"].encode("utf-8", "replace")) <= ON_PAGE_MAX
    return {
        "layers": [(layer, _boxes(scope, now, layer.rows, layer.tokens, has_texts)) for layer in layers],
        "empty_layers": [
            (name, *LAYERS[name]) for name in LAYERS if name not in {layer.name for layer in layers}
        ],
        "bar": budget_bar(now, uses),
        "uses": uses,
        "places": [miss for miss in now["near"] if miss["kind"] == "place"],
        "others": [
            {**miss, "reason": plain_reason(miss["reason"])}
            for miss in now["near"]
            if miss["kind"] != "place"
        ],
        "dropped": dropped_rows(now["dropped"]),
        "no_room": without_room(now["dropped"]),
        "gaps": gaps_of(now["gaps"]),
        "shortened": any(row.compressed for row in rows),
        "by_itself": [row for row in ordered(rows, "place") if row.type in BY_ITSELF],
        "found": sum(row.type in FOUND for row in rows),
    }


def _boxes(
    scope: Mapping[str, Any],
    now: Mapping[str, Any],
    rows: Sequence[SliceRow],
    tokens: int,
    has_texts: bool,
) -> list[SliceBox]:
    boxes = []
    for row in sorted(rows, key=lambda row: -row.tokens):
        node = f"{row.path}#{row.symbol}" if row.symbol else row.path
        share = row.tokens / tokens if tokens else 0
        text = now["context"][slice(*row.span)].strip("\n") if row.span and has_texts else ""
        can_grow = row.path and row.type in FOUND and (row.symbol or row.compressed or row.lines)
        boxes.append(
            SliceBox(
                row,
                _label(row, text),
                sum(share >= least for least in WIDTHS),
                exact(text) if text else "",
                node,
                node in scope["expanded"],
                node in scope["focus_paths"],
                row.path if can_grow and row.path not in scope["expanded"] else "",
            )
        )
    return boxes


def _label(row: SliceRow, text: str) -> Markup:
    """Return what a box is called: its definition or file, and of a constraint what it says. Names may break
    after their parts."""
    if row.type == "constraint" and text:
        return Markup("{}").format(text.lstrip("- ")[:LABEL])
    name = row.symbol or row.label
    return Markup("<wbr>").join(_PART.findall(name))
