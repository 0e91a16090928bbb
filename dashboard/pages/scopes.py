"""The list of scopes with its filter: what each agent works on, in all projects or one."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from aiohttp import web

from ..exports import exported
from ..view import Page, ProjectChoice, View, get, href, page_number, rows_on
from .items import matches
from .sessions import CONTEXTS

ROWS: Final = 50
"""Maximum scopes on a page of the list."""

STATES: Final[Mapping[str, str]] = {
    "": "all",
    "open": "session not ended",
    "ended": "session ended",
    "subagent": "subagents",
    "pinned": "something pinned",
}
"""The values of the filter's `state`, in words."""

FILTERS: Final = ("q", "project", "agent", "state")
"""The parameters of the filter."""

COLUMNS: Final = (
    "scope_id",
    "who",
    "session_id",
    "session",
    "last_prompt",
    "project",
    "task_type",
    "created_at",
    "last_used",
    "tokens",
    "focus_paths",
    "expanded",
    "constraints",
    "parent_scope_id",
    "memory_bytes",
)
"""The columns of an exported list."""


class ScopesPage(Page):
    """The page at `/scopes`: those of all projects, or with `project` of one."""

    @get("/scopes")
    async def _serve(self, request: web.Request) -> web.Response:
        view = self._view
        kept = {name: request.query.get(name, "").strip() for name in FILTERS}
        known, listed = await asyncio.gather(view.call("ListProjects"), view.call("ListScopes"))
        rows = await scope_rows(view, listed["scopes"])
        shown = chosen(rows, kept)
        if file := exported(request, COLUMNS, shown):
            return file
        scopes, page, last = rows_on(page_number(request), shown, ROWS)
        return await view.page(
            request,
            "scopes.html",
            title="Scopes",
            project=ProjectChoice(kept["project"], known),
            roots=sorted({one["project"] for one in rows} | {kept["project"]} - {""}),
            agents=sorted({one["agent_name"] for one in rows} - {""}),
            states=STATES,
            kept=kept,
            filtered=any(kept.values()),
            scopes=scopes,
            found=len(shown),
            total=len(rows),
            degraded=listed["degraded"],
            page=page,
            last=last,
            at_page=lambda number: href("/scopes", **kept, page=number),
        )


async def scope_rows(view: View, scopes: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return scopes of ListScopes or GetScope as pages show them, the last used first.

    Each gets `who` (its agent), `session` (a title), `title` (what it works on), `link`, `ended`, `parent`.
    """
    if not scopes:
        return []
    contexts = (await view.call("ListContexts", limit=CONTEXTS))["contexts"]
    prompts = {one["session_id"]: one["prompt"] for one in contexts if one["prompt"]}
    tokens = {one["context_id"]: one["tokens"] for one in contexts}
    names = {one["scope_id"]: who(one) for one in scopes}
    rows = [
        {
            "agent_name": "",
            "session_id": "",
            "parent_scope_id": "",
            "task_type": "",
            "last_prompt": "",
            "last_used": "",
            **scope,
            "who": who(scope),
            "session": scope.get("session", {}).get("title") or prompts.get(scope.get("session_id", ""), ""),
            "has_page": "session" in scope,
            "ended": scope.get("session", {}).get("ended", False),
            "title": title_of(scope),
            "link": link_of(scope["scope_id"]),
            "name": os.path.basename(scope["project"].rstrip("/")) or scope["project"],
            # A turn has headings besides its layers; one too old to be listed is told by these alone.
            "tokens": tokens.get(scope.get("last_context_id", ""), sum(scope.get("layers", {}).values())),
            "parent": names.get(scope.get("parent_scope_id", ""), ""),
        }
        for scope in scopes
    ]
    rows.sort(key=lambda row: row["last_used"], reverse=True)
    return rows


def chosen(rows: Iterable[dict[str, Any]], kept: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the rows that a filter lets through. Each word of `q` must stand in one of its texts."""
    words = kept["q"].casefold().split()
    fields = ("scope_id", "who", "session_id", "session", "last_prompt", "project", "task_type")
    return [
        row
        for row in rows
        if kept["project"] in {"", row["project"]}
        and kept["agent"] in {"", row["agent_name"]}
        and _is_in(row, kept["state"])
        and matches(words, *(row[name] for name in fields), *row["focus_paths"], *row["expanded"])
    ]


def _is_in(row: Mapping[str, Any], state: str) -> bool:
    match state:
        case "open":
            return bool(row["has_page"]) and not row["ended"]
        case "ended":
            return bool(row["ended"])
        case "subagent":
            return bool(row["parent_scope_id"])
        case "pinned":
            return bool(row["expanded"])
    return True


def who(scope: Mapping[str, Any]) -> str:
    """Return what the agent of a scope is called: by its name, a subagent with its id."""
    return " ".join(filter(None, (scope.get("agent_name"), scope.get("agent_id")))) or "no agent named"


def title_of(scope: Mapping[str, Any]) -> str:
    """Return what a scope works on: its last prompt, else its focus."""
    focus = [*scope["focus_paths"], *scope["expanded"]]
    more = f" and {len(focus) - 1:,} more" if len(focus) > 1 else ""
    return scope.get("last_prompt") or (f"{focus[0]}{more}" if focus else "No prompt yet")


def link_of(scope_id: str) -> str:
    """Return the address of a scope's page."""
    return f"/scope/{quote(scope_id, safe='')}"
