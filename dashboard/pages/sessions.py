"""The list of sessions with its filter, and what pages that name a session share."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import quote

from aiohttp import web

from ...ipc.errors import INVALID_PARAMS, RpcError
from ..exports import exported
from ..view import Page, ProjectChoice, View, get, href, page_number, rows_on
from .items import ItemKey, key_of, matches

ROWS: Final = 50
"""Maximum sessions on a page of the list."""

STATES: Final[Mapping[str, str]] = {"": "all", "open": "not ended", "ended": "ended"}
"""The values of the filter's `state`, in words."""

AGES: Final[Mapping[str, str]] = {
    "": "any time",
    "1": "last 24 hours",
    "7": "last 7 days",
    "30": "last 30 days",
}
"""The values of the filter's `days`, in words."""

ORDERS: Final[Mapping[str, str]] = {
    "": "last heard",
    "tokens": "most tokens",
    "turns": "most turns",
    "used": "most used",
}
"""The values of the filter's `order`, in words; the others than "" name a field of a row."""

FILTERS: Final = ("q", "project", "agent", "state", "days", "order")
"""The parameters of the filter, which links to other pages keep."""

COLUMNS: Final = (
    "session_id",
    "name",
    "project",
    "agent_name",
    "created",
    "last_heard",
    "ended",
    "current_intent",
    "turns",
    "tokens",
    "places_shown",
    "places_used",
)
"""The columns of an exported list."""


class SessionsPage(Page):
    """The page at `/sessions`: those of all projects, or with `project` of one."""

    @get("/sessions")
    async def _serve(self, request: web.Request) -> web.Response:
        view = self._view
        kept = {name: request.query.get(name, "").strip() for name in FILTERS}
        known, reply, usage = await asyncio.gather(
            view.call("ListProjects"), view.call("ListSessions"), usage_by(view, "session")
        )
        sessions = [session_row(one, usage) for one in reply["sessions"]]
        shown = chosen(sessions, kept, datetime.now(UTC))
        if file := exported(request, COLUMNS, shown):
            return file
        rows, page, last = rows_on(page_number(request), shown, ROWS)
        return await view.page(
            request,
            "sessions.html",
            title="Sessions",
            project=ProjectChoice(kept["project"], known),
            roots=sorted({one["project"] for one in sessions} | {kept["project"]} - {""}),
            kept=kept,
            filtered=any(kept.values()),
            states=STATES,
            ages=AGES,
            agents=sorted({one["agent_name"] for one in sessions} - {""}),
            orders=ORDERS,
            sessions=rows,
            found=len(shown),
            total=len(sessions),
            warnings=reply["warnings"],
            page=page,
            last=last,
            at_page=lambda number: href("/sessions", **kept, page=number),
        )


def chosen(
    sessions: Iterable[dict[str, Any]], kept: Mapping[str, str], now: datetime
) -> list[dict[str, Any]]:
    """Return the rows that a filter lets through, in the order that it asks for.

    Each word of `q` must stand in the id, the title, the intent, the agent's name or the project.
    """
    words = kept["q"].casefold().split()
    days = int(kept["days"]) if kept["days"] in AGES and kept["days"] else 0
    since = (now - timedelta(days=days)).isoformat() if days else ""
    fields = ("session_id", "title", "current_intent", "agent_name", "project")
    found = [
        one
        for one in sessions
        if kept["project"] in {"", one["project"]}
        and kept["agent"] in {"", one["agent_name"]}
        and (kept["state"] not in {"open", "ended"} or bool(one["ended"]) == (kept["state"] == "ended"))
        and one["last_heard"] >= since
        and matches(words, *(one[name] for name in fields))
    ]
    if kept["order"] in ORDERS and kept["order"]:
        found.sort(key=lambda one: one[kept["order"]] or 0, reverse=True)
    return found


def session_row(
    session: Mapping[str, Any], usage: Mapping[str, Mapping[str, Any]], prompt: str = ""
) -> dict[str, Any]:
    """Return a session of ListSessions or GetSession as lists show it: with its title, cost and use.

    `usage` names a session by its first prompt; `prompt` is one for a session that it doesn't know.
    """
    spent = usage.get(session["session_id"], {})
    return {
        **session,
        "title": title_of(session, spent.get("name", "") or prompt),
        "link": f"/sessions/{quote(session['session_id'], safe='')}",
        "last_heard": last_heard(session),
        **{name: spent.get(name, 0) for name in ("turns", "tokens", "places_shown", "places_used")},
        "used": used_share(spent),
    }


def used_share(spent: Mapping[str, Any]) -> float | None:
    """Return the share of shown places that were used, None if none were shown."""
    return spent["places_used"] / spent["places_shown"] if spent.get("places_shown") else None


def last_heard(session: Mapping[str, Any]) -> str:
    """Return the time of the last sign of a session, in ISO 8601."""
    return max(str(session[field] or "") for field in ("created", "last_observed", "last_idle"))


def title_of(session: Mapping[str, Any], prompt: str = "") -> str:
    """Return what a session is called: its name, its intent, a prompt of it, else its id, shortened."""
    intent = str(session["current_intent"]).partition("\n")[0]
    return str(session["name"]) or intent or prompt or short_id(session["session_id"])


def short_id(session_id: str) -> str:
    """Return the beginning of an id that hosts make up, such as a UUID: enough to tell it from others."""
    return session_id if len(session_id) <= SHORT_ID else f"{session_id[:8]}…"


SHORT_ID: Final = 20
"""Maximum characters of an id that is shown whole; a UUID has 36."""

CONTEXTS: Final = 100
"""Maximum contexts in one reply of the daemon."""


async def usage_by(view: View, key: str, **given: Any) -> dict[str, Mapping[str, Any]]:
    """Return the rows of GetUsage by their keys."""
    reply = await view.call("GetUsage", by=key, **given)
    return {row["key"]: row for row in reply["rows"]}


async def known_items(view: View, project: ProjectChoice) -> tuple[dict[ItemKey, Mapping[str, Any]], str]:
    """Return a project's items by key, and why they aren't known: it may not be open, or its folder gone."""
    if project.status is None:
        return {}, "their project isn't open"
    try:
        listed = await view.call("ListItems", cwd=project.root, content=False)
    except RpcError as error:
        return {}, error.message
    return {key_of(item): item for item in listed["items"]}, ""


async def named_session(view: View, session_id: str) -> dict[str, str]:
    """Return the id, title and link of a session. A session that was named but never created has requests
    but no page: its `link` is empty. So has one whose id no session can have."""
    session = None
    try:
        session = await view.found("GetSession", session_id=session_id) if session_id else None
    except RpcError as error:
        if error.code != INVALID_PARAMS:
            raise
    title = title_of(session) if session else short_id(session_id)
    if title == short_id(session_id) and session_id:
        given = await view.call("ListContexts", session_id=session_id, limit=CONTEXTS)
        prompts = [one["prompt"] for one in given["contexts"] if one["prompt"]]
        title = prompts[-1] if prompts else title  # the first one, as lists have it
    return {
        "session_id": session_id,
        "title": title,
        "link": f"/sessions/{quote(session_id, safe='')}" if session else "",
    }
