"""The pages of sessions: the list with its filter, and one session with its items and requests."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, urlsplit

from aiohttp import web

from ...ipc.errors import NOT_FOUND, RpcError
from ..formats import editor_href
from ..guard import VIEWER
from ..view import PROJECT, NotOpen, Page, ProjectChoice, View, get, href, page_number
from .items import ItemKey, columns_of, key_of, matches, mode_of, rows_of
from .last_open import SET_NAME as APPLET
from .last_open import last_open

ROWS: Final = 50
"""Maximum sessions on a page of the list."""

STATES: Final[Mapping[str, str]] = {"": "all", "open": "not ended", "ended": "ended"}
"""The values of the filter's `state`, in words."""

FILTERS: Final = ("q", "state", "agent", "where")
"""The parameters of the filter, which links to other pages keep."""


class SessionsPage(Page):
    """The page at `/sessions`: those of a project, or with `where=all` of all projects."""

    @get("/sessions")
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
            agents=sorted({session["agent_name"] for session in reply["sessions"]} - {""}),
            sessions=[
                {**session, "heard": last_heard(session)}
                for session in shown[(page - 1) * ROWS : page * ROWS]
            ],
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
        session
        for session in sessions
        if (not agent or session["agent_name"] == agent)
        and (state not in {"open", "ended"} or bool(session["ended"]) == (state == "ended"))
        and matches(
            words, session["session_id"], session["name"], session["current_intent"], session["agent_name"]
        )
    ]


def last_heard(session: Mapping[str, Any]) -> str:
    """Return the time of the last sign of a session, in ISO 8601."""
    return max(str(session[field] or "") for field in ("created", "last_observed", "last_idle"))


REQUESTS: Final = 25
"""Maximum requests on a page."""

COLUMN_ROWS: Final = 60
"""Maximum items of a column; a session may have 5,000, and the filter finds the others."""

FILTER_FROM: Final = 25
"""Number of items from which there is a filter."""

CONTEXTS: Final = 100
"""Maximum contexts in one reply of the daemon."""

CONTEXT_PAGES: Final = 3
"""Maximum replies to ask for: the daemon keeps 300 contexts, which contain the messages of the latest
requests."""

COMPLETIONS: Final = 12
"""Maximum names offered as completions."""


class SessionPage(Page):
    """The page at `/sessions/{id}`, and what completes the names of items on it."""

    @get("/sessions/{session_id}")
    async def _serve(self, request: web.Request) -> web.Response:
        view, session_id = self._view, request.match_info["session_id"]
        before = request.query.get("before") or None
        session, listed, given = await asyncio.gather(
            view.call("GetSession", session_id=session_id),
            view.call("ListRequests", session_id=session_id, limit=REQUESTS + 1, before=before),
            given_contexts(view, session_id),
        )
        root = session["project"]
        project = await view.project_of(root)
        if request.query.get(PROJECT, root) != root:  # another one was picked
            raise web.HTTPFound(href("/sessions", project=request.query[PROJECT]))
        known, problem = await known_items(view, project)
        requests = listed["requests"]
        editor = request[VIEWER].editor
        return await view.page(
            request,
            "session.html",
            at="sessions",
            title=title_of(session),
            project=project,
            session=session,
            root=root,
            here=f"/sessions/{session_id}",
            heard=last_heard(session),
            sets=sets_of(session["context"], root, lambda base, path: editor_href(editor, base, path)),
            applet=last_open(session["context"].get("applet", ()), session_id),
            problem=problem,
            mode_of=mode_of,
            requests=requests[:REQUESTS],
            more=requests[REQUESTS - 1]["request_id"] if len(requests) > REQUESTS else "",
            before=before,
            messages={request_id: context["prompt"] for request_id, context in given.items()},
            **_items(session, known, request.query.get("items", "")),
        )

    @get("/sessions/{session_id}/items")
    async def _complete(self, request: web.Request) -> web.Response:
        """Answer with names of items that a session hasn't yet, the likeliest first."""
        session_id, kind = request.match_info["session_id"], request.query.get("type", "rule")
        session = await self._view.call("GetSession", session_id=session_id)
        project = await self._view.project_of(session["project"])
        if project.status is None:  # a GET opens none
            raise NotOpen(project)
        listed = await self._view.call("ListItems", cwd=project.root, types=[kind], content=False)
        there = {key_of(item) for item in session["items"]}
        free = [item for item in listed["items"] if key_of(item) not in there]
        return web.json_response({"items": completions(free, request.query.get("q", ""))})


async def known_items(view: View, project: ProjectChoice) -> tuple[dict[ItemKey, Mapping[str, Any]], str]:
    """Return a project's items by key, and why they aren't known: it may not be open, or its folder gone."""
    if project.status is None:
        return {}, "their project isn't open"
    try:
        listed = await view.call("ListItems", cwd=project.root, content=False)
    except RpcError as error:
        return {}, error.message
    return {key_of(item): item for item in listed["items"]}, ""


async def given_contexts(view: View, session_id: str) -> dict[str, Mapping[str, Any]]:
    """Return the contexts of a session that the daemon still has, by request id. They contain the
    beginning of the message, a recorded request only its hash."""
    found: dict[str, Mapping[str, Any]] = {}
    before = None
    for _ in range(CONTEXT_PAGES):
        reply = await view.call("ListContexts", session_id=session_id, limit=CONTEXTS, before=before)
        found |= {context["request_id"]: context for context in reply["contexts"] if "request_id" in context}
        if len(reply["contexts"]) < CONTEXTS:
            break
        before = reply["contexts"][-1]["context_id"]
    return found


async def named_session(view: View, session_id: str) -> dict[str, str]:
    """Return the id, title and link of a session. A session that was named but never created has requests
    but no page: its `link` is empty."""
    title, link = session_id, ""
    if session_id:
        try:
            title = title_of(await view.call("GetSession", session_id=session_id))
            link = f"/sessions/{quote(session_id, safe='')}"
        except RpcError as error:
            if error.code != NOT_FOUND:
                raise
    return {"session_id": session_id, "title": title, "link": link}


def title_of(session: Mapping[str, Any]) -> str:
    """Return what a session is called: its name, else its id."""
    return str(session["name"] or session["session_id"])


def completions(items: Sequence[Mapping[str, Any]], text: str) -> list[dict[str, str]]:
    """Return the items that a text may mean: those whose names begin with it, then hold it, then the others.

    `label` is what a person writes for one: its name, for a tool with its server before it.
    """
    words = text.casefold().split()
    found = []
    for item in items:
        label = label_of(item)
        if matches(words, label, item.get("description", "")):
            name = item["name"].casefold()
            rank = 0 if name.startswith(text.casefold()) else 1 if matches(words, label) else 2
            found.append((rank, label.casefold(), label, item))
    found.sort(key=lambda match: match[:3])
    return [
        {
            "label": label,
            "type": item["type"],
            "name": item["name"],
            "server_name": item.get("server_name", ""),
            "description": item.get("description", ""),
        }
        for _, _, label, item in found[:COMPLETIONS]
    ]


def label_of(item: Mapping[str, Any]) -> str:
    """Return an item's name, for a tool with its server."""
    server = item.get("server_name")
    return f"{server}: {item['name']}" if server else str(item["name"])


def _items(session: Mapping[str, Any], known: Mapping[ItemKey, Any], text: str) -> dict[str, Any]:
    """Return the columns of a session's items, what is kept out, and what may come in by itself."""
    rows = rows_of(session["items"], known)
    words = text.casefold().split()
    shown = [row for row in rows if matches(words, row["name"], row["server_name"], row["description"])]
    columns = [
        {"kind": kind, "title": title, "rows": found[:COLUMN_ROWS], "more": len(found) - COLUMN_ROWS}
        for kind, title, found in columns_of(shown)
    ]
    there = {key_of(item) for item in (*session["items"], *session["removed"])}
    waiting = {
        mode: sum(item["include"] == mode and key not in there for key, item in known.items())
        for mode in ("agent", "glob")
    }
    return {
        "columns": columns,
        "items_total": len(rows),
        "items_text": text,
        "with_filter": len(rows) > FILTER_FROM,
        "removed": rows_of(session["removed"], known),
        "waiting": waiting,
    }


SET_MAX: Final = 10
"""Maximum entries of a set (docs/protocol.md, Sessions)."""

TITLES: Final[Mapping[str, str]] = {"files": "Files", "endpoints": "Endpoints", "ports": "Ports"}
"""Titles of the known sets; others are shown by name, with their entries as text."""


@dataclass(frozen=True, slots=True)
class SessionEntry:
    """An entry: its stored text, its shown text, and its link, if any."""

    text: str
    shown: str
    link: str = ""
    leaves: bool = False
    """Whether the link leaves the dashboard for another site; one to an editor doesn't."""


@dataclass(frozen=True, slots=True)
class ContextSet:
    """A set with its entries, in their order."""

    name: str
    title: str
    entries: tuple[SessionEntry, ...]

    @property
    def texts(self) -> list[str]:
        """The stored texts of the entries."""
        return [entry.text for entry in self.entries]

    @property
    def is_full(self) -> bool:
        """Whether the set has its maximum of entries."""
        return len(self.entries) >= SET_MAX


def sets_of(
    context: Mapping[str, Sequence[str]], root: str, editor_link: Callable[[str, str], str]
) -> list[ContextSet]:
    """Return the sets but for the applet, which is no list. `editor_link` takes a root and a path in it."""
    return [
        ContextSet(
            name, TITLES.get(name, name), tuple(_entry(name, text, root, editor_link) for text in texts)
        )
        for name, texts in context.items()
        if name != APPLET
    ]


def _entry(name: str, text: str, root: str, editor_link: Callable[[str, str], str]) -> SessionEntry:
    if name == "files":
        inside = text.removeprefix(root.rstrip("/") + "/")
        return SessionEntry(text, inside, editor_link(root, text) if os.path.isabs(text) else "")
    if name == "endpoints":
        return SessionEntry(text, text, text if is_web(text) else "", leaves=True)
    if name == "ports" and text.isascii() and text.isdecimal():
        return SessionEntry(text, text, f"http://localhost:{text}", leaves=True)
    return SessionEntry(text, text)


def is_web(text: str) -> bool:
    """Whether a text is a http or https address, which a browser may open."""
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname)
