"""One session: its timeline with the cost and use of each turn, its items, its context sets."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from aiohttp import web

from ..exports import exported
from ..formats import editor_href
from ..guard import VIEWER
from ..view import PROJECT, NotOpen, Page, View, get, href
from .items import ItemKey, columns_of, key_of, matches, mode_of, rows_of
from .scopes import link_of, who
from .sessions import known_items, session_row, usage_by

TABS: Final[Mapping[str, str]] = {"": "Timeline", "items": "Items", "context": "Context sets"}
"""The tabs of the page, by the value of `tab` in its address."""

ENTRIES: Final = 200
"""Maximum entries of a timeline on a page."""

AGENTS: Final = 24
"""Maximum agents named above the timeline; the list of scopes has the others."""

BARS: Final = 80
"""Maximum bars of tokens by turn, the latest turns."""

PATHS: Final = 8
"""Maximum paths named in a line of the timeline."""

KINDS: Final[Mapping[str, str]] = {
    "start": "Session started",
    "prompt": "Prompt",
    "subagent": "Subagent",
    "edit": "Edited",
    "read": "Read",
    "decision": "Decided",
    "compaction": "Conversation compacted",
    "resume": "Session resumed",
    "end": "Session ended",
}
"""The kinds of timeline entries, in words."""

HEADS: Final = frozenset({"start", "prompt", "compaction", "resume", "end"})
"""The kinds that begin a part of the timeline; the others are steps of it."""

COLUMNS: Final = (
    "at",
    "kind",
    "agent_name",
    "text",
    "paths",
    "outcome",
    "tokens",
    "shown",
    "used",
    "context_id",
    "experience_id",
)
"""The columns of an exported timeline."""

BLANK: Final[Mapping[str, Any]] = {
    **dict.fromkeys(("text", "agent_id", "agent_name", "context_id", "experience_id", "outcome"), ""),
    **dict.fromkeys(("tokens", "shown", "used")),
    "paths": (),
}
"""Defaults of the fields that an entry of the timeline may leave out."""

COLUMN_ROWS: Final = 60
"""Maximum items of a column; a session may have 5,000, and the filter finds the others."""

OFFERED: Final = 12
"""Maximum items of a column that are offered to be pinned."""

FILTER_FROM: Final = 25
"""Number of items from which there is a filter."""

COMPLETIONS: Final = 12
"""Maximum names offered as completions."""


class SessionPage(Page):
    """The page at `/sessions/{id}`, and what completes the names of items on it."""

    @get("/sessions/{session_id}")
    async def _serve(self, request: web.Request) -> web.Response:
        view, session_id = self._view, request.match_info["session_id"]
        before = request.query.get("before") or None
        session, timeline, usage, listed = await asyncio.gather(
            view.call("GetSession", session_id=session_id),
            timeline_of(view, session_id, before),
            usage_by(view, "session"),
            view.call("ListScopes", session_id=session_id),
        )
        if file := exported(request, COLUMNS, timeline["entries"]):
            return file
        root = session["project"]
        project = await view.project_of(root)
        if request.query.get(PROJECT, root) != root:  # another one was picked
            raise web.HTTPFound(href("/sessions", project=request.query[PROJECT]))
        known, problem = await known_items(view, project)
        prompts = [one["text"] for one in timeline["entries"] if one["kind"] == "prompt"]
        row = session_row(session, usage, next(filter(None, prompts), ""))
        turns = turns_of(timeline["entries"])
        tab, editor = request.query.get("tab", ""), request[VIEWER].editor
        return await view.page(
            request,
            "session.html",
            title=row["title"],
            project=project,
            session=session,
            row=row,
            root=root,
            here=row["link"],
            tab=tab if tab in TABS else "",
            tabs=TABS,
            turns=turns[::-1],
            bars=(bars := bars_of(turns)),
            most=max((bar.entry["tokens"] or 0 for bar in bars), default=0),
            kinds=KINDS,
            agents=(agents := agents_of(listed["scopes"])),
            agents_max=AGENTS,
            by_agent={one["agent_id"]: one for one in agents if one["agent_id"]},
            paths_max=PATHS,
            earlier=(earlier := timeline.get("next") or ""),
            beside=0 if earlier or before else max(row["turns"] - len(given_in(timeline["entries"])), 0),
            before=before,
            sets=sets_of(session["context"], root, lambda base, path: editor_href(editor, base, path)),
            applet=session["applet"],
            captured=session["context"].get(APPLET, ()),
            entries=sum(1 if name == APPLET else len(texts) for name, texts in session["context"].items()),
            problem=problem,
            mode_of=mode_of,
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


async def timeline_of(view: View, session_id: str, before: str | None) -> Mapping[str, Any]:
    """Return the entries of a session's timeline, the earliest first, and where earlier ones go on."""
    found = await view.call("GetTimeline", session_id=session_id, limit=ENTRIES, before=before)
    return {**found, "entries": [{**BLANK, **one} for one in reversed(found["entries"])]}


def given_in(entries: Sequence[Mapping[str, Any]]) -> set[str]:
    """Return the contexts that entries of a timeline name."""
    return {one["context_id"] for one in entries if one["context_id"]}


def agents_of(scopes: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Return what the agents of a session's scopes are called, their ids ("" for the main one's) and their
    scopes' pages, the main agent first, then the latest."""
    agents = [
        {"who": who(one), "agent_id": one.get("agent_id", ""), "link": link_of(one["scope_id"])}
        for one in scopes
    ]
    return sorted(agents, key=lambda one: bool(one["agent_id"]))


@dataclass(slots=True)
class Step:
    """A line of the timeline below its head: what an agent did, with all paths of a run of reads or edits."""

    kind: str
    entry: Mapping[str, Any]
    paths: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Turn:
    """A part of the timeline: what began it, None if that is on an earlier page, and its steps."""

    head: Mapping[str, Any] | None
    steps: list[Step] = field(default_factory=list)


def turns_of(entries: Sequence[Mapping[str, Any]]) -> list[Turn]:
    """Return a timeline as turns. Reads or edits in a row by the same agent become one step."""
    turns: list[Turn] = []
    for entry in entries:
        kind, paths = entry["kind"], entry["paths"]
        if kind in HEADS:
            turns.append(Turn(entry))
            continue
        if not turns:
            turns.append(Turn(None))
        steps = turns[-1].steps
        last = steps[-1] if steps else None
        if last and kind in {"read", "edit"} and (last.kind, _agent(last.entry)) == (kind, _agent(entry)):
            last.paths.extend(path for path in paths if path not in last.paths)
        else:
            steps.append(Step(kind, entry, list(dict.fromkeys(paths))))
    return turns


def _agent(entry: Mapping[str, Any]) -> str:
    return str(entry["agent_id"])


@dataclass(frozen=True, slots=True)
class TokenBar:
    """A bar of tokens by turn: its place and heights in percent, of all and of what was used."""

    entry: Mapping[str, Any]
    x: float
    width: float
    height: float
    used: float


def bars_of(turns: Sequence[Turn]) -> list[TokenBar]:
    """Return a bar for each prompt and each context that was given, the earliest first."""
    entries = [turn.head for turn in turns if turn.head] + [
        step.entry for turn in turns for step in turn.steps
    ]
    given = sorted(
        (one for one in entries if one["tokens"] or one["kind"] == "prompt"), key=lambda one: str(one["at"])
    )[-BARS:]
    most = max((one["tokens"] or 0 for one in given), default=0) or 1
    width = 100 / max(len(given), 12)
    bars = []
    for at, one in enumerate(given):
        height = max((one["tokens"] or 0) / most * 100, 2)
        share = (one["used"] or 0) / one["shown"] if one["shown"] else 0
        bars.append(TokenBar(one, at * width, width * 0.8, height, height * min(share, 1)))
    return bars


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
    """Return the columns of a session's items, what is kept out, and what may be pinned."""
    rows = rows_of(session["items"], known)
    words = text.casefold().split()
    shown = [row for row in rows if matches(words, row["name"], row["server_name"], row["description"])]
    columns = [
        {"kind": kind, "title": title, "rows": found[:COLUMN_ROWS], "more": len(found) - COLUMN_ROWS}
        for kind, title, found in columns_of(shown)
    ]
    there = {key_of(item) for item in session["items"]}
    free = [item for key, item in known.items() if key not in there]
    offered = {kind: found[:OFFERED] for kind, _, found in columns_of(rows_of(free, known))}
    return {
        "columns": columns,
        "items_total": len(rows),
        "items_text": text,
        "with_filter": len(rows) > FILTER_FROM,
        "removed": rows_of(session["removed"], known),
        "offered": offered,
    }


APPLET: Final = "applet"
"""The set with what was last open in another program: `[slug, "key=value", …]`."""

SET_MAX: Final = 10
"""Maximum entries of a set (docs/protocol-records.md, Sessions)."""

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


def sets_of(
    context: Mapping[str, Sequence[str]], root: str, editor_link: Callable[[str, str], str]
) -> list[dict[str, Any]]:
    """Return the sets but for the applet, which is no list. `editor_link` takes a root and a path in it."""
    return [
        {
            "name": name,
            "title": TITLES.get(name, name),
            "texts": texts,
            "entries": [_entry(name, text, root, editor_link) for text in texts],
            "is_full": len(texts) >= SET_MAX,
        }
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
