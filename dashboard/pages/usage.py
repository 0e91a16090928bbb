"""The page of usage: what contexts cost by day, project, host, agent, session and type, and what was used."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from aiohttp import web

from ...ipc.errors import INVALID_PARAMS, RpcError
from ..exports import exported
from ..formats import count, share
from ..view import PROJECT, NotOpen, Page, ProjectChoice, get, href
from .slices import TYPES

GROUPS: Final[Mapping[str, str]] = {
    "day": "Day",
    "project": "Project",
    "host": "Host",
    "agent": "Agent",
    "session": "Session",
    "type": "Type of slice",
}
"""The values of `by`, in words."""

NEVER: Final = "never"
"""The value of `by` for the files that were shown and never used."""

COLUMNS: Final = (
    "key",
    "name",
    "turns",
    "tokens",
    "bytes",
    "tokens_before",
    "places_shown",
    "places_used",
    "sessions",
)

TYPE_MEANS: Final[Mapping[str, str]] = {
    "project_meta": "What the project is: from its manifests and git",
    "focus": "Files that the work is about, whole or shortened",
    "expansion": "Files that were added to the focus by hand or by an agent",
    "session_set": "Files of the session's context sets",
    "document": "Definitions and files that the prompt names, or that a search found",
    "place": "Places that are likely meant, as a line each",
    "compressed_segment": "Parts of files that a search found",
    "dependency": "Files beside those in focus: what they call, and what calls them",
    "hot": "Files that were changed lately",
    "skeleton": "The map: the rest of the project, from afar",
}
"""What some types of slices hold, for the title."""

NEVER_SHOWN: Final = 5
"""Minimum turns that showed a file that GetUsage gives as never used (docs/protocol-records.md)."""

RANGES: Final = (7, 30)
"""The days of the ranges that a click chooses."""

SHOWN: Final = 8
"""Maximum rows of a ranked list; a link leads to all."""

ROWS: Final = 500
"""Maximum rows of a whole table on the page; an export has all."""

WEEK: Final = 7
"""Minimum bars of the chart where no range is chosen."""

DAYS_MAX: Final = 366
"""Maximum bars of the chart."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A chart as the template takes it: rows are a moment (ISO 8601) or day with a value for each line."""

    name: str
    title: str
    unit: str
    about: str
    lines: Sequence[str]
    rows: Sequence[tuple[str, Sequence[float | None]]]
    few: str
    is_days: bool = False

    @property
    def is_drawn(self) -> bool:
        """Whether there is anything to draw: two moments, or a day, with a value."""
        return len(self.rows) >= (1 if self.is_days else 2) and any(
            value is not None for _, values in self.rows for value in values
        )

    def latest(self, line: int) -> float | None:
        """Return the last value of a line."""
        return next((values[line] for _, values in reversed(self.rows) if values[line] is not None), None)


class Usage(Page):
    """The page at `/usage`: of all projects, or of the one that the address names."""

    @get("/usage")
    async def _serve(self, request: web.Request) -> web.Response:
        view, query = self._view, request.query
        by = query.get("by", "")
        if by and by not in (*GROUPS, NEVER):
            raise RpcError(INVALID_PARAMS, f"by is one of {', '.join((*GROUPS, NEVER))}, not {by!r:.40}")
        known, root = await view.call("ListProjects"), query.get(PROJECT, "")
        project = ProjectChoice(root, known)
        if root and not project.is_known:
            raise NotOpen(project)
        since, until = query.get("since", ""), query.get("until", "")
        asked = {"cwd": root or None, "since": since or None, "until": until or None}
        replies = dict(
            zip(
                GROUPS,
                await asyncio.gather(*[view.call("GetUsage", by=group, **asked) for group in GROUPS]),
                strict=True,
            )
        )
        reply = replies["day"]
        rows = {group: ranked(group, replies[group]["rows"]) for group in GROUPS}
        if by == NEVER:
            response = exported(request, ("path", "project", "shown"), reply["never_used"])
        else:
            response = exported(request, COLUMNS, replies[by or "day"]["rows"])
        if response:
            return response
        kept = {PROJECT: root, "since": since, "until": until}
        return await view.page(
            request,
            "usage.html",
            title="Usage",
            project=project,
            by=by,
            groups=GROUPS,
            total=reply["total"],
            afterwards=reply["afterwards"],
            never=reply["never_used"],
            never_shown=NEVER_SHOWN,
            drawing=_drawing(reply["rows"], 1 if since or until else WEEK),
            rows=rows,
            shown=SHOWN,
            rows_max=ROWS,
            since=since,
            until=until,
            ranges=[(name, day, day == since and not until) for name, day in _ranges()],
            address=lambda **changed: href("/usage", **{**kept, **changed}),
        )


def _ranges() -> list[tuple[str, str]]:
    """Return the ranges that a click chooses: their names, and their first days."""
    today = datetime.now(UTC).date()
    return [*((f"{days} days", str(today - timedelta(days - 1))) for days in RANGES), ("All", "")]


def ranked(group: str, rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the rows of a group for lists and tables: the latest day, or the most tokens, first."""
    order = (lambda row: row["key"]) if group == "day" else (lambda row: row["tokens"])
    return [
        {
            **row,
            "name": name_of(group, row),
            "value": row["tokens"],
            "note": _note(group, row),
            "link": _link(group, row),
            "title": TYPE_MEANS.get(row["key"], row["key"]) if group == "type" else row["key"],
        }
        for row in sorted(rows, key=order, reverse=True)
    ]


def name_of(group: str, row: Mapping[str, Any]) -> str:
    """Return how a row is called."""
    key = str(row["key"])
    if group == "project":
        return key.rstrip("/").rsplit("/", 1)[-1] or key
    if group == "type":
        return str(TYPES.get(key, key))
    missing = {"session": "no session", "host": "no host", "agent": "no agent named"}
    return str(row.get("name") or key or missing.get(group, ""))


def _note(group: str, row: Mapping[str, Any]) -> str:
    turns = count(row["turns"], "turn")
    if not row["places_shown"]:
        return turns
    return f"{turns} · {share(row['places_used'] / row['places_shown'])} used"


def _link(group: str, row: Mapping[str, Any]) -> str:
    key = row["key"]
    if not key:
        return ""
    if group == "session":
        return f"/sessions/{key}"
    if group == "project":
        return href("/usage", project=key)
    return href("/usage", since=key, until=key) if group == "day" else ""


def _drawing(rows: Sequence[Mapping[str, Any]], least: int = 1) -> Drawing:
    """Return the chart of tokens by day, of `least` days; a day without turns has no tokens."""
    tokens = {row["key"]: row["tokens"] for row in rows}
    days: list[str] = []
    if tokens:
        last = date.fromisoformat(max(tokens))
        first = min(date.fromisoformat(min(tokens)), last - timedelta(least - 1))
        first = max(first, last - timedelta(DAYS_MAX - 1))
        days = [str(first + timedelta(number)) for number in range((last - first).days + 1)]
    return Drawing(
        "days",
        "Tokens by day",
        "number",
        "sent to agents",
        ("tokens",),
        [(day, (tokens.get(day, 0),)) for day in days],
        "A bar for each day comes with the first context that an agent gets.",
        is_days=True,
    )
