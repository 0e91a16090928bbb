"""The page of what agents can be given: rules, references, tools, decisions, and lines in quarantine."""

from __future__ import annotations

import asyncio
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from aiohttp import web

from ...ipc.errors import INVALID_PARAMS, RpcError
from ..exports import exported
from ..formats import exact
from ..view import PROJECT, Page, ProjectChoice, get, href, page_number, rows_on
from .decisions import DECISION_COLUMNS, OUTCOMES, all_decisions, decision_row, listed_decisions
from .items import MODES, ItemKey, key_fields, key_of, matches, mode_of, order_of

TABS: Final[Mapping[str, str]] = {
    "rules": "What agents must follow here.",
    "references": "Texts that agents can look things up in.",
    "tools": "What agents can run, from the MCP servers of this project.",
    "decisions": "What agents decided here, why, and how it turned out. Later agents get those that matter.",
    "quarantine": "Lines of the file of decisions that could not be read; nothing else is lost.",
}
"""The tabs by the `kind` in the address, which is their title too, with what each shows."""

TYPES: Final[Mapping[str, str]] = {"rules": "rule", "references": "reference", "tools": "tool"}
"""The types of items by tab."""

ROWS: Final = 40
"""Maximum items on a page."""

TEXT: Final = 1_500
"""Maximum characters of an item's text, and of its description; a link opens its file."""

SUGGESTIONS: Final = 5
"""Maximum suggestions shown."""

SESSIONS: Final = 12
"""Maximum sessions offered to pin an item into: the most recently active ones."""

QUARANTINED: Final = 50
"""Maximum unreadable lines on the page."""

QUARANTINED_MAX: Final = 1_000
"""Maximum unreadable lines in an export, as many as ListQuarantine returns."""

FOVEAL: Final = "it is foveal itself"
"""Why ListToolServers doesn't list the tools of foveal's own server."""

ABSENT: Final[Mapping[str, Any]] = {
    "server_name": "",
    "description": "",
    "globs": [],
    "own_include": "",
    "server_include": "",
}
"""Defaults of the fields that an item may leave out."""

FILTERS: Final = ("q", "mode", "server")

ITEM_COLUMNS: Final = (
    *("type", "name", "server_name", "include", "description", "globs", "priority_level", "source", "line"),
    *("requests", "reported", "referred", "last_day", "text"),
)
QUARANTINE_COLUMNS: Final = ("at", "file", "line", "size_bytes", "reason", "text")


class KnowledgePage(Page):
    """The page at `/knowledge`, and `/knowledge/one`: a whole item or null, for the page's script."""

    @get("/knowledge")
    async def _serve(self, request: web.Request) -> web.StreamResponse:
        kind = request.query.get("kind", "rules")
        if kind not in TABS:
            message = f"kind is one of {', '.join(TABS)}, not {kind!r:.40}"
            raise RpcError(INVALID_PARAMS, message, {"field": "kind"})
        project = await self._view.project(request)
        values: dict[str, Any] = {"project": project, "kind": kind, "title": kind.capitalize()}
        if not project.root:
            return await self._view.page(request, "knowledge.html", **values)
        listed, decisions = await asyncio.gather(
            self._view.call("ListItems", cwd=project.root, content=kind in TYPES),
            self._view.call("ListExperiences", cwd=project.root, limit=0),
        )
        counts = Counter(item["type"] for item in listed["items"])
        values |= {
            "lead": TABS[kind],
            "tabs": [
                (
                    name,
                    name.capitalize(),
                    href("/knowledge", project=project.root, kind=name, q=request.query.get("q")),
                )
                for name in TABS
            ],
            "counts": {
                **{name: counts[item_type] for name, item_type in TYPES.items()},
                "decisions": decisions["total"],
                "quarantine": (project.status or {})["pool"]["bad_lines"],
            },
        }
        if kind in TYPES:
            return await self._items(request, project, listed, values)
        if kind == "decisions":
            return await self._decisions(request, project, values)
        return await self._quarantine(request, project, values)

    async def _items(
        self, request: web.Request, project: ProjectChoice, listed: Mapping[str, Any], values: dict[str, Any]
    ) -> web.StreamResponse:
        kind = values["kind"]
        items = [item for item in listed["items"] if item["type"] == TYPES[kind]]
        usage, servers, sessions = await asyncio.gather(
            self._view.call("GetItemUsage", cwd=project.root),
            self._view.call("ListToolServers", cwd=project.root, refresh=False),
            self._view.call("ListSessions", cwd=project.root),
        )
        kept = {name: request.query.get(name, "") for name in FILTERS}
        shown = chosen(items, kept)
        used = {key_of(item): item for item in usage["items"]}
        file = exported(request, ITEM_COLUMNS, [{**(used.get(key_of(item)) or {}), **item} for item in shown])
        if file is not None:
            return file
        rows, page, last = rows_on(page_number(request), shown, ROWS)
        kept_in_links = {"project": project.root, "kind": kind, **kept}
        return await self._view.page(
            request,
            "knowledge_items.html",
            **values,
            item_type=TYPES[kind],
            kept=kept,
            filtered=any(kept.values()),
            rows=_rows(rows, used),
            found=len(shown),
            total=len(items),
            mode_counts=Counter(item["include"] for item in items),
            warnings=listed["warnings"],
            servers=server_rows(servers["files"], items) if kind == "tools" else [],
            waiting=unapproved(servers["files"], project.root) if kind == "tools" else [],
            suggestions=_suggestions(usage["suggestions"], items),
            sessions=[one for one in sessions["sessions"] if not one["ended"]][:SESSIONS],
            page=page,
            last=last,
            modes=MODES,
            mode_of=mode_of,
            at_page=lambda number: href("/knowledge", **{**kept_in_links, "page": number}),
            to=lambda **changed: href("/knowledge", **{**kept_in_links, **changed}),
        )

    async def _decisions(
        self, request: web.Request, project: ProjectChoice, values: dict[str, Any]
    ) -> web.StreamResponse:
        if request.query.get("format"):
            rows = [decision_row(one) for one in await all_decisions(self._view, request, project.root)]
            file = exported(request, DECISION_COLUMNS, rows)
            if file is not None:
                return file
        found = await listed_decisions(self._view, request, project.root)
        return await self._view.page(
            request, "knowledge_decisions.html", **values, **found, outcomes=OUTCOMES
        )

    async def _quarantine(
        self, request: web.Request, project: ProjectChoice, values: dict[str, Any]
    ) -> web.StreamResponse:
        limit = QUARANTINED_MAX if request.query.get("format") else QUARANTINED
        found = await self._view.call("ListQuarantine", cwd=project.root, limit=limit)
        file = exported(request, QUARANTINE_COLUMNS, found["lines"])
        if file is not None:
            return file
        return await self._view.page(request, "knowledge_quarantine.html", **values, found=found)

    @get("/knowledge/one")
    async def _serve_one(self, request: web.Request) -> web.Response:
        query = request.query
        if not query.get(PROJECT):
            raise RpcError(INVALID_PARAMS, "project is missing: a project's root", {"field": PROJECT})
        wanted = (query.get("type", ""), query.get("name", ""), query.get("server_name", ""))
        project = await self._view.project(request)  # an open one: a GET opens none
        listed = await self._view.call("ListItems", cwd=project.root, types=[wanted[0]])
        found = next((item for item in listed["items"] if key_of(item) == wanted), None)
        return web.json_response(found)


def chosen(items: Iterable[Mapping[str, Any]], kept: Mapping[str, str]) -> list[Mapping[str, Any]]:
    """Return the items that match a filter, in their order."""
    words = kept["q"].casefold().split()
    found = [
        item
        for item in items
        if kept["server"] in {"", item.get("server_name", "")}
        and kept["mode"] in {"", item["include"]}
        and matches(
            words,
            *(item["name"], item.get("server_name", ""), item.get("description", "")),
            *(item["source"], item.get("text", "")),
        )
    ]
    return sorted(found, key=order_of)


def _rows(items: Sequence[Mapping[str, Any]], used: Mapping[ItemKey, Any]) -> list[dict[str, Any]]:
    """Return rows of items with their usage."""
    rows = []
    for item in items:
        text = item.get("text", "")
        row = {**ABSENT, **item}
        rows.append(
            {
                **row,
                "text": exact(text[:TEXT]),
                "cut": len(text) > TEXT,
                "description": row["description"][:TEXT],
                "use": used.get(key_of(item)),
                "changed": _changed(item),
            }
        )
    return rows


def _changed(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields with which a script changes an item and undoes that."""
    row = {**ABSENT, **item}
    without = {"text", "line"} if row["put"] else {"text", "line", "description"}
    return {name: value for name, value in row.items() if name not in without}


def _suggestions(
    suggestions: Sequence[Mapping[str, Any]], items: Iterable[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return the suggestions with the mode that each sets: demote sets agent, remove sets manual."""
    known = {key_of(item): item for item in items}
    found = []
    for suggestion in suggestions:
        if item := known.get(key_of(suggestion)):
            mode = "agent" if suggestion["action"] == "demote" else "manual"
            named = {**key_fields(suggestion), "text": suggestion["text"]}
            found.append({**named, "mode": mode, "changed": _changed(item)})
    return found[:SUGGESTIONS]


def server_rows(
    files: Sequence[Mapping[str, Any]], items: Iterable[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return the approved servers, those with tools that somebody put, and foveal's own, by name.

    `include` is the mode of a server's tools except the `own` ones that have their own, and empty where none
    is known; `problem` says why its tools aren't known.
    """
    tools: dict[str, list[Mapping[str, Any]]] = {}
    for item in items:
        if item["type"] == "tool":
            tools.setdefault(item["server_name"], []).append(item)
    places = {
        server["name"]: (file["path"], server)
        for file in reversed(files)  # of several with one name the first counts
        for server in file["servers"]
        if file["approved"] or server["left_out"] == FOVEAL
    }
    rows = []
    for name in sorted({*tools, *places}):
        (path, server), own = places.get(name, ("", {})), tools.get(name, [])
        rows.append(
            {
                "name": name,
                "path": path,
                "line": server.get("line", 1),
                "tools": len(own),
                "include": own[0]["server_include"] if own else "",
                "own": sum("own_include" in tool for tool in own),
                "problem": _problem(server, own),
                "is_foveal": server.get("left_out") == FOVEAL,
            }
        )
    return rows


def unapproved(files: Iterable[Mapping[str, Any]], root: str) -> list[dict[str, Any]]:
    """Return the unapproved files, each with the command that approves it. A file whose only server is
    foveal needs no approval."""
    waiting = []
    for file in files:
        servers = [server["name"] for server in file["servers"] if server["left_out"] != FOVEAL]
        if not file["approved"] and (servers or file["problem"]):
            command = shlex.join(["foveal", "tools", "approve", file["path"], "--cwd", root])
            waiting.append({**file, "servers": servers, "command": command})
    return waiting


def _problem(server: Mapping[str, Any], tools: Sequence[Mapping[str, Any]]) -> str:
    if not server or server["left_out"] == FOVEAL:
        return ""
    if server["left_out"] or server["problem"]:
        return str(server["left_out"] or server["problem"])
    return "" if tools or server["listed_at"] else "its tools were not listed yet; run: foveal tools list"
