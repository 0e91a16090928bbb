"""Owns the page of one context: what was given, drawn to scale, slice by slice, and to the byte."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from aiohttp import web

from ...ipc.errors import INVALID_PARAMS, NOT_FOUND, RpcError
from ..drawings.budget_bar import budget_bar, by_layer, uses_of
from ..drawings.sandwich import layers_of, sandwich
from ..view import ProjectChoice, View, href, page_number
from .sent_text import Text, on_page, sent_texts
from .session_page import named_session
from .slice_rows import SliceRow, dropped_rows, ordered, slice_rows

ROWS: Final = 60
"""Slices on one page of the table."""

GAPS: Final = 4
"""Gaps that are told at once; the others are folded."""

NAMED: Final = 50
"""Items, nodes in focus and constraints that are named."""

TITLE_MAX: Final = 140
"""Characters of a prompt that are the page's title; the whole prompt is further down."""

ORDERS: Final[Mapping[str, str]] = {
    "place": "as they stand in the text",
    "tokens": "largest first",
    "weight": "heaviest first",
    "score": "nearest to the prompt first",
}


class ContextPage:
    """The page at `/contexts/{context_id}`, and its texts as they were sent below it."""

    def __init__(self, view: View) -> None:
        self._view = view

    def add_to(self, application: web.Application) -> None:
        """Serve the page and the texts."""
        application.router.add_get("/contexts/{context_id}", self._serve)
        application.router.add_get("/contexts/{context_id}/text/{name}", self._serve_text)

    async def _serve(self, request: web.Request) -> web.Response:
        view, context_id = self._view, request.match_info["context_id"]
        order = request.query.get("order", "place")
        if order not in ORDERS:
            raise RpcError(INVALID_PARAMS, f"order must be one of {', '.join(ORDERS)}", {"field": "order"})
        context = await view.call("GetBuiltContext", context_id=context_id)
        why = request.query.get("why", "").strip()
        project = await view.project_of(context["project"])
        explained = await self._explain(context_id, why, project) if why else None
        values = await asyncio.to_thread(_drawn, context, order, page_number(request))
        return await view.page(
            request,
            "context.html",
            at="contexts",
            title=_title(context["prompt"]),
            project=project,
            picked="/contexts",
            context=context,
            why=why,
            explained=explained,
            orders=ORDERS,
            gaps_max=GAPS,
            named_max=NAMED,
            session=await named_session(view, context["session_id"]),
            **values,
        )

    async def _explain(self, context_id: str, path: str, project: ProjectChoice) -> Mapping[str, Any]:
        """Return why a file is in the context or not; what can't be asked is told in its place."""
        if project.status is None:  # a GET opens none
            return {"path": path, "problem": f"{project.name} isn't open now, so that it can't be asked"}
        try:
            found: Mapping[str, Any] = await self._view.call("ExplainPath", context_id=context_id, path=path)
        except RpcError as error:
            if error.code != INVALID_PARAMS:
                raise
            return {"path": path, "problem": error.message}
        return found

    async def _serve_text(self, request: web.Request) -> web.Response:
        """Answer one of the texts as it was sent, to the byte."""
        context = await self._view.call("GetBuiltContext", context_id=request.match_info["context_id"])
        texts = await asyncio.to_thread(lambda: sent_texts(context, slice_rows(context["slices"])))
        wanted = next((text for text in texts if text.name == request.match_info["name"]), None)
        if wanted is None:
            known = ", ".join(text.name for text in texts) or "none, since its text isn't kept any more"
            raise RpcError(NOT_FOUND, f"this context has no such text; it has {known}")
        body = await asyncio.to_thread(lambda: wanted.text.encode("utf-8", "replace"))
        return web.Response(body=body, content_type="text/plain", charset="utf-8")


def _drawn(context: Mapping[str, Any], order: str, page: int) -> dict[str, Any]:
    """Return what the page shows of a context. Takes some milliseconds for a large one."""
    rows = slice_rows(context["slices"])
    listed = ordered(rows, order)
    last = max(-(-len(listed) // ROWS), 1)
    page = min(page, last)
    pages = {row.at: at // ROWS + 1 for at, row in enumerate(listed)}
    texts = sent_texts(context, rows)

    def link(row: SliceRow) -> str:
        target = f"#slice-{row.at}"
        return target if pages[row.at] == page else f"{_table_address(order, pages[row.at])}{target}"

    uses = uses_of(context, rows)
    return {
        "drawing": sandwich(rows, link) if rows else None,
        "layers": layers_of(rows),
        "uses": uses,
        "by_layer": by_layer(uses, rows),
        "bar": budget_bar(context, uses),
        "rows": listed[(page - 1) * ROWS : page * ROWS],
        "slices": {row.id: row for row in rows},
        "link": link,
        "order": order,
        "page": page,
        "last": last,
        "address": lambda number: f"{_table_address(order, number)}#slices",
        "shortened": sum(row.compressed for row in rows),
        "dropped": dropped_rows(context["dropped"]),
        "texts": [(text, text.bytes, text.lines) for text in texts],
        "contents": on_page(texts),
        "places": _places(texts),
    }


def _title(prompt: str) -> str:
    """Return the first line of a prompt, cut behind a word."""
    first = prompt.strip().partition("\n")[0].strip()
    if len(first) <= TITLE_MAX:
        return first or "A context without a prompt"
    return f"{first[:TITLE_MAX].rpartition(' ')[0] or first[:TITLE_MAX]}…"


def _table_address(order: str, page: int) -> str:
    return href("", order=order if order != "place" else None, page=page if page > 1 else None) or "?"


def _places(texts: Sequence[Text]) -> dict[int, str]:
    """Return in which text each slice stands, by the slice's number."""
    return {at: text.name for text in texts for _, at in text.pieces if at is not None}
