"""The page of one request: its items, those that were considered, and exactly what was sent."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from aiohttp import web

from ...ipc.errors import NOT_FOUND, RpcError
from ..formats import beginning, exact
from ..view import PROJECT, Page, get, href
from .items import columns_of, key_of, mode_of, rows_of
from .sessions import given_contexts, known_items, named_session

REASONS: Final[Mapping[str, str]] = {
    "floor": "Its score is too low: it is hardly about this message.",
    "near_best": "Another one fits much better.",
    "top_n": "Others scored higher, and no more are taken.",
    "removed": "It was taken out of this session by hand.",
    "denied": "The request asked to leave it out.",
    "budget": "There was no room for it in the context.",
}
"""Reasons why a candidate was not taken, in words."""

LEFT_OUT: Final[Mapping[str, str]] = {
    "budget": "no room",
    "duplicate": "shown already by another",
}
"""Reasons why a slice was left out, in words."""

PARTS: Final[Sequence[tuple[str, str]]] = (
    ("context", "Context"),
    ("system_prompt", "System prompt"),
    ("user_prompt", "User prompt"),
    ("messages", "Messages"),
    ("tools", "Tools"),
)
"""The parts that were sent: the field of GetRequest, and the title of its tab."""

SHOWN_BYTES: Final = 150_000
"""Maximum escaped bytes of a part on the page, which keeps the page below 300 KB; a link leads to the
rest."""

SLICES: Final = 100
"""Maximum slices on the page; a context has some dozens."""

WRITTEN_S: Final = 15.0
"""Seconds until a missing record counts as never written; normally it takes milliseconds."""

REFRESH_S: Final = 1
"""Seconds until a page without a record yet reloads."""


class RequestPage(Page):
    """The page at `/sessions/{id}/requests/{request_id}`, and below it each part of what was sent as text."""

    @get("/sessions/{session_id}/requests/{request_id}")
    async def _serve(self, request: web.Request) -> web.Response:
        view, ids = self._view, _ids(request)
        given = (await given_contexts(view, ids["session_id"])).get(ids["request_id"])
        try:
            found = await view.call("GetRequest", **ids)
        except RpcError as error:
            if error.code == NOT_FOUND and given is not None and _age_s(given["at"]) < WRITTEN_S:
                return await self._not_yet(request, given)
            raise
        root = found["project"]
        if request.query.get(PROJECT, root) != root:  # another one was picked
            raise web.HTTPFound(href("/sessions", project=request.query[PROJECT]))
        session = await named_session(view, ids["session_id"])
        project = await view.project_of(root)
        known, problem = await known_items(view, project)
        rows = rows_of(found["items"], known)
        dropped = {part["id"] for part in found.get("dropped", ())}
        referred = {key_of(item) for item in found["referred"] or ()}
        for row in rows:
            row["referred"] = key_of(row) in referred
            row["dropped"] = _slice_id(row) in dropped
        considered = sorted(
            (
                {**row, "why": REASONS.get(row["reason"], row["reason"])}
                for row in rows_of(found["considered"], known)
            ),
            key=lambda row: -row["similarity_score"],
        )
        return await view.page(
            request,
            "request.html",
            at="sessions",
            title="Request",
            project=project,
            session=session,
            here=request.path,
            found=found,
            given=given,
            root=root,
            problem=problem,
            columns=columns_of(rows),
            mode_of=mode_of,
            considered=considered,
            slices=sorted(found["slices"], key=lambda part: -part["weight"])[:SLICES],
            slices_more=max(len(found["slices"]) - SLICES, 0),
            dropped=[
                {**one, "why": LEFT_OUT.get(one["reason"], one["reason"])} for one in found.get("dropped", ())
            ],
            sent=_sent(request, found),
        )

    @get("/sessions/{session_id}/requests/{request_id}/{part}.txt")
    async def _serve_part(self, request: web.Request) -> web.Response:
        """Answer with a part exactly as it was sent, as plain text."""
        part = request.match_info["part"]
        found = await self._view.call("GetRequest", **_ids(request))
        if part not in dict(PARTS) or part not in found:
            raise RpcError(NOT_FOUND, found["problem"] or f"there is no part {part!r:.60} of what was sent")
        return web.Response(text=text_of(found[part]), content_type="text/plain", charset="utf-8")

    async def _not_yet(self, request: web.Request, given: Mapping[str, Any]) -> web.Response:
        """Return a page that says that the record is being written, and reloads."""
        session_id = request.match_info["session_id"]
        response = await self._view.page(
            request,
            "request_not_yet.html",
            at="sessions",
            title="Request",
            given=given,
            session_id=session_id,
        )
        response.headers["Refresh"] = str(REFRESH_S)
        return response


def text_of(part: Any) -> str:
    """Return a part of what was sent as text: messages and tools are JSON."""
    return part if isinstance(part, str) else json.dumps(part, indent=2, ensure_ascii=False)


def _ids(request: web.Request) -> dict[str, str]:
    return {name: request.match_info[name] for name in ("session_id", "request_id")}


def _sent(request: web.Request, found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tabs of what was sent, and the text of the open tab."""
    there = [(name, title) for name, title in PARTS if found.get(name)]
    chosen = request.query.get("sent", "context")
    if chosen not in dict(there):
        chosen = there[0][0] if there else ""
    text = text_of(found[chosen]) if chosen else ""
    shown = beginning(text, SHOWN_BYTES)
    return {
        "tabs": [(name, title, href(request.path, sent=name)) for name, title in there],
        "part": chosen,
        "text": exact(shown),
        "bytes": len(text.encode("utf-8", "replace")),
        "is_whole": len(shown) == len(text),
    }


def _slice_id(row: Mapping[str, Any]) -> str:
    """Return the id that an item's slice has in a context."""
    server = row["server_name"]
    return f"{row['type']}:{server}/{row['name']}" if server else f"{row['type']}:{row['name']}"


def _age_s(at: str) -> float:
    return (datetime.now(UTC) - datetime.fromisoformat(at)).total_seconds()
