"""Owns the list of sessions: a filter, and pages of it; a session itself is `session_page.py`'s."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from aiohttp import web

from ..view import View, href, page_number
from .item_rows import matches

ROWS: Final = 50
"""Sessions on a page of the list."""

STATES: Final[Mapping[str, str]] = {"": "all", "open": "not ended", "ended": "ended"}
"""What the filter's `state` may be, and its words."""

FILTERS: Final = ("q", "state", "agent", "where")
"""The parameters of the filter, which links to other pages of the list carry on."""


class SessionsPage:
    """The page at `/sessions`: those of a project, or with `where=all` of all projects."""

    def __init__(self, view: View) -> None:
        self._view = view

    def add_to(self, application: web.Application) -> None:
        """Serve the page."""
        application.router.add_get("/sessions", self._serve)

    async def _serve(self, request: web.Request) -> web.Response:
        query = request.query
        project = await self._view.project(request)
        everywhere = query.get("where") == "all" or not project.root
        reply = await self._view.call("ListSessions", cwd=None if everywhere else project.root)
        shown = chosen(reply["sessions"], query.get("q", ""), query.get("state", ""), query.get("agent", ""))
        last = max((len(shown) + ROWS - 1) // ROWS, 1)
        page = min(page_number(request), last)
        kept = {name: query.get(name, "") for name in FILTERS}
        return await self._view.page(
            request,
            "sessions.html",
            at="sessions",
            title="Sessions",
            project=project,
            everywhere=everywhere,
            kept=kept,
            filtered=any(kept[name] for name in ("q", "state", "agent")),
            states=STATES,
            agents=sorted({one["agent_name"] for one in reply["sessions"]} - {""}),
            sessions=[{**one, "heard": last_heard(one)} for one in shown[(page - 1) * ROWS : page * ROWS]],
            found=len(shown),
            total=len(reply["sessions"]),
            warnings=reply["warnings"],
            page=page,
            last=last,
            at_page=lambda number: href("/sessions", project=project.root, **kept, page=number),
        )


def chosen(
    sessions: Iterable[Mapping[str, Any]], text: str, state: str, agent: str
) -> Sequence[Mapping[str, Any]]:
    """Return the sessions that a filter lets through, in their order.

    Each word of `text` must stand in the id, the name, the intent or the agent's name.
    """
    words = text.casefold().split()
    return [
        one
        for one in sessions
        if (not agent or one["agent_name"] == agent)
        and (state not in {"open", "ended"} or bool(one["ended"]) == (state == "ended"))
        and matches(words, one["session_id"], one["name"], one["current_intent"], one["agent_name"])
    ]


def last_heard(session: Mapping[str, Any]) -> str:
    """Return when something was last heard of a session, as the wire has times."""
    return max(str(session[field] or "") for field in ("created", "last_observed", "last_idle"))
