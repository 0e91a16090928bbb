"""The page of a project's items: rules, references and tools, with their modes and servers."""

from __future__ import annotations

import asyncio
import json
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from aiohttp import web

from ...ipc.errors import INVALID_PARAMS, NOT_FOUND, RpcError
from ..formats import beginning, escaped_bytes, exact, pages_of
from ..view import PROJECT, Page, ProjectChoice, get, href, page_number

ItemKey = tuple[str, str, str]
"""Type, name and server of an item, as a key: the server is empty for all but tools."""


@dataclass(frozen=True, slots=True)
class Mode:
    """An include mode: its title, the kind of its badge, and its meaning."""

    title: str
    kind: str
    means: str


MODES: Final[Mapping[str, Mode]] = {
    "always": Mode("Always", "accent", "In every conversation, from its first message on."),
    "manual": Mode("Manual", "", "Only where somebody adds it to a session, or a request names it."),
    "agent": Mode("Agent", "horizon", "When a search finds that a message is about it, for that message."),
    "glob": Mode("Glob", "anchor", "When a file that is worked on matches its patterns, for that message."),
}
"""The include modes; an unknown mode is shown by its own name."""

COLUMNS: Final[Sequence[tuple[str, str]]] = (
    ("rule", "Rules"),
    ("reference", "References"),
    ("tool", "Tools"),
)
"""The types of items, and the titles of their columns."""

KINDS: Final = tuple(kind for kind, _ in COLUMNS)

LAST_LEVEL: Final = 1_000
"""The sort key of items that are gone, after the levels 100 to 999."""


def key_of(item: Mapping[str, Any]) -> ItemKey:
    """Return the key of an item."""
    return item["type"], item["name"], item.get("server_name") or ""


def key_fields(item: Mapping[str, Any]) -> dict[str, str]:
    """Return the parameters that name an item to the daemon."""
    kind, name, server = key_of(item)
    return {"type": kind, "name": name, **({"server_name": server} if server else {})}


def mode_of(name: str) -> Mode:
    """Return a mode by its name on the wire."""
    return MODES.get(name) or Mode(name, "warn", "A way that this version of the dashboard doesn't know.")


def rows_of(items: Iterable[Mapping[str, Any]], known: Mapping[ItemKey, Any]) -> list[dict[str, Any]]:
    """Return items that a session or request names, with what is known of them today.

    `known` are the items of ListItems by key. The row of an item that no longer exists has `priority_level`
    None and `gone`; `description`, `source`, `line` are today's.
    """
    rows = []
    for item in items:
        today = known.get(key_of(item))
        about = today or {}
        rows.append(
            {
                "server_name": "",
                "similarity_score": None,
                **item,
                "description": about.get("description", ""),
                "priority_level": about.get("priority_level"),
                "source": about.get("source", ""),
                "line": about.get("line", 1),
                "gone": today is None,
            }
        )
    return sorted(rows, key=order_of)


def order_of(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the sort key of a row: column, priority and name; for tools server and name."""
    place = (KINDS.index(row["type"]), row.get("server_name") or "")
    level = row["priority_level"]
    if row["type"] == "tool" or level is None:
        level = LAST_LEVEL
    return (*place, level, row["name"].casefold(), row["name"])


def columns_of(rows: Iterable[Mapping[str, Any]]) -> list[tuple[str, str, list[Mapping[str, Any]]]]:
    """Return the three columns: type, title, and their rows in the order that they are given in."""
    found: dict[str, list[Mapping[str, Any]]] = {kind: [] for kind, _ in COLUMNS}
    for row in rows:
        found[row["type"]].append(row)
    return [(kind, title, found[kind]) for kind, title in COLUMNS]


def matches(words: Sequence[str], *texts: str) -> bool:
    """Whether the texts contain every word, ignoring case."""
    if not words:
        return True
    whole = "\n".join(texts).casefold()
    return all(word in whole for word in words)


ROWS: Final = 40
"""Maximum items on a page."""

ROWS_BYTES: Final = 200_000
"""Maximum bytes of all items on a page; 100 KB remain for servers, suggestions and notices."""

ROW_BYTES: Final = 1_200
"""Bytes of an item's tags."""

TEXT_BYTES: Final = 1_500
"""Maximum escaped bytes of an item's text; a link opens its file."""

DESCRIPTION_BYTES: Final = 4_000
"""Maximum escaped bytes of its description."""

SUGGESTIONS: Final = 5
"""Maximum suggestions shown."""

ABSENT: Final[Mapping[str, Any]] = {
    "server_name": "",
    "description": "",
    "globs": [],
    "own_include": "",
    "server_include": "",
}
"""Defaults of the fields that an item may leave out."""

FILTERS: Final = ("q", "type", "server", "mode")


class ItemsPage(Page):
    """The page at `/items`, and `/items/one`, a whole item for the script that undoes changes."""

    @get("/items")
    async def _serve(self, request: web.Request) -> web.Response:
        project = await self._view.project(request)
        if not project.root:
            return await self._view.page(request, "items.html", at="items", title="Items", project=project)
        listed, servers, usage = await asyncio.gather(
            self._view.call("ListItems", cwd=project.root),
            self._view.call("ListToolServers", cwd=project.root, refresh=False),
            self._view.call("GetItemUsage", cwd=project.root),
        )
        kept = {name: request.query.get(name, "") for name in FILTERS}
        shown = chosen(listed["items"], kept)
        pages = await asyncio.to_thread(lambda: pages_of([*map(_size, shown)], ROWS_BYTES, ROWS))
        last = len(pages)
        page = min(page_number(request), last)
        return await self._view.page(
            request,
            "items.html",
            at="items",
            title="Items",
            project=project,
            kept=kept,
            filtered=any(kept.values()),
            rows=_rows([shown[at] for at in pages[page - 1]], usage["items"]),
            found=len(shown),
            total=len(listed["items"]),
            counts=Counter(item["include"] for item in listed["items"]),
            warnings=listed["warnings"],
            servers=server_rows(servers["files"], listed["items"]),
            waiting=unapproved(servers["files"], project.root),
            suggestions=_suggestions(usage["suggestions"], listed["items"]),
            page=page,
            last=last,
            kinds=COLUMNS,
            modes=MODES,
            mode_of=mode_of,
            at_page=lambda number: _address(request, project, {**kept, "page": number}),
            to=lambda **changed: _address(request, project, {**kept, **changed}),
        )

    @get("/items/one")
    async def _serve_one(self, request: web.Request) -> web.Response:
        query = request.query
        if not query.get(PROJECT):
            raise RpcError(INVALID_PARAMS, "project is missing: a project's root", {"field": PROJECT})
        wanted = (query.get("type", ""), query.get("name", ""), query.get("server_name", ""))
        project = await self._view.project(request)  # an open one: a GET opens none
        listed = await self._view.call("ListItems", cwd=project.root, types=[wanted[0]])
        for item in listed["items"]:
            if key_of(item) == wanted:
                return web.json_response(item)
        raise RpcError(NOT_FOUND, f"there is no {wanted[0]} {wanted[1]!r:.200} any more; load the page again")


def chosen(items: Iterable[Mapping[str, Any]], kept: Mapping[str, str]) -> list[Mapping[str, Any]]:
    """Return the items that match a filter: rules, references, tools, each in its order."""
    words = kept["q"].casefold().split()
    found = [
        item
        for item in items
        if kept["type"] in {"", item["type"]}
        and kept["server"] in {"", item.get("server_name", "")}
        and kept["mode"] in {"", item["include"]}
        and matches(
            words, item["name"], item.get("server_name", ""), item.get("description", ""), item["source"]
        )
    ]
    return sorted(found, key=order_of)


def _rows(items: Sequence[Mapping[str, Any]], usage: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return rows of items with their usage."""
    used = {key_of(item): item for item in usage}
    rows = []
    for item in items:
        text = item.get("text", "")
        row = {**ABSENT, **item}
        shown = beginning(text, TEXT_BYTES)
        rows.append(
            {
                **row,
                "text": exact(shown),
                "cut": len(text) > len(shown),
                "description": beginning(row["description"], DESCRIPTION_BYTES),
                "use": used.get(key_of(item)),
                "changed": _changed(item),
            }
        )
    return rows


def _changed(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields with which a script changes an item and undoes that."""
    row = {**ABSENT, **item}
    without = {"text", "line"} if row["put"] else {"text", "line", "source", "description"}
    return {name: value for name, value in row.items() if name not in without}


def _size(item: Mapping[str, Any]) -> int:
    """Return a generous estimate of an item's bytes on the page."""
    named = json.dumps([item["name"], item.get("globs"), item["source"], item.get("server_name")])
    return (
        ROW_BYTES
        + min(escaped_bytes(item.get("text", "")), TEXT_BYTES)
        + min(escaped_bytes(item.get("description", "")), DESCRIPTION_BYTES)
        + escaped_bytes(json.dumps(_changed(item)))
        + 4 * escaped_bytes(named)  # in links, labels and the id of what it says
    )


def _suggestions(
    suggestions: Sequence[Mapping[str, Any]], items: Iterable[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return the suggestions with the mode that each sets: demote sets agent, remove sets manual."""
    known = {key_of(item): item for item in items}
    found = []
    for suggestion in suggestions:
        if item := known.get(key_of(suggestion)):
            mode = "agent" if suggestion["action"] == "demote" else "manual"
            row = _rows([item], ())[0]
            found.append(
                {
                    **key_fields(suggestion),
                    "text": suggestion["text"],
                    "mode": mode,
                    "changed": row["changed"],
                }
            )
    return found[:SUGGESTIONS]


def _address(request: web.Request, project: ProjectChoice, kept: Mapping[str, Any]) -> str:
    """Return this page's address with another filter or page number; keeps the session."""
    return href("/items", project=project.root, **kept)


@dataclass(frozen=True, slots=True)
class ServerRow:
    """A server with the file that configures it. `include` is the mode of its tools but for the `own` ones
    that have their own, and empty where none is known; `problem` says why its tools aren't."""

    name: str
    path: str
    line: int
    tools: int
    include: str
    own: int
    problem: str


@dataclass(frozen=True, slots=True)
class Unapproved:
    """A file whose servers don't run because nobody approved its current content."""

    path: str
    servers: tuple[str, ...]
    problem: str
    command: str


def server_rows(files: Iterable[Mapping[str, Any]], items: Iterable[Mapping[str, Any]]) -> list[ServerRow]:
    """Return the approved servers and those with tools that somebody put, by name."""
    tools: dict[str, list[Mapping[str, Any]]] = {}
    for item in items:
        if item["type"] == "tool":
            tools.setdefault(item["server_name"], []).append(item)
    places = {
        server["name"]: (file["path"], server)
        for file in reversed(list(files))  # of several with one name the first counts
        if file["approved"]
        for server in file["servers"]
    }
    return [
        _row(name, *places.get(name, ("", {})), tools.get(name, [])) for name in sorted({*tools, *places})
    ]


def unapproved(files: Iterable[Mapping[str, Any]], root: str) -> list[Unapproved]:
    """Return the unapproved files, each with the command that approves it."""
    return [
        Unapproved(
            file["path"],
            tuple(server["name"] for server in file["servers"]),
            file["problem"],
            shlex.join(["foveal", "tools", "approve", file["path"], "--cwd", root]),
        )
        for file in files
        if not file["approved"]
    ]


def _row(name: str, path: str, server: Mapping[str, Any], tools: list[Mapping[str, Any]]) -> ServerRow:
    return ServerRow(
        name,
        path,
        server.get("line", 1),
        len(tools),
        tools[0]["server_include"] if tools else "",
        sum("own_include" in tool for tool in tools),
        _problem(server, tools),
    )


def _problem(server: Mapping[str, Any], tools: list[Mapping[str, Any]]) -> str:
    if not server:
        return ""
    if server["left_out"] or server["problem"]:
        return str(server["left_out"] or server["problem"])
    return "" if tools or server["listed_at"] else "its tools were not listed yet; run: foveal tools list"
