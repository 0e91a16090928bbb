"""The cost and use of contexts, counted from the tables of the timeline."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from ..core.storage import Database
from .timeline import WHOLE_BYTES

Grouping = Literal["day", "project", "host", "session", "type"]

ROWS_MAX = 1_000
"""Maximum number of rows, those with the most tokens, or the latest days."""

NEVER_USED_MAX = 100
NEVER_USED_SHOWN = 5
"""Minimum number of turns that showed a file before it counts as never used."""


class UsageFilter(Struct, frozen=True):
    """The turns that are counted: of a project, None for all, in a time."""

    project: str | None
    since: int
    until: int

    @property
    def values(self) -> dict[str, object]:
        """The parameters of the queries."""
        return {"project": self.project, "since": self.since, "until": self.until}


class UsageCounts(Struct):
    """The counts of a group of turns; `project` is "" for several."""

    key: str
    project: str = ""
    turns: int = 0
    tokens: int = 0
    bytes: int = 0
    tokens_before: int = 0
    sessions: int = 0
    places_shown: int = 0
    places_used: int = 0
    name: str = ""
    """The first prompt of a session."""


class Unused(Struct, frozen=True):
    """A file that was shown and never used."""

    path: str
    project: str
    shown: int


class UsageReport(Struct, frozen=True):
    """The counts by group and in total, files that were never used, and what was saved with its basis."""

    rows: tuple[UsageCounts, ...]
    total: UsageCounts
    never_used: tuple[Unused, ...]
    saved_characters: int
    saved_basis: str


def usage_report(database: Database, by: Grouping, wanted: UsageFilter) -> UsageReport:
    """Count the turns that a filter takes."""
    rows = _by_type(database, wanted) if by == "type" else _grouped(database, _KEYS[by], wanted)
    total = _total(_grouped(database, _KEYS["project"], wanted) if by == "type" else rows)
    (total.sessions,) = database.execute(_query(_SESSIONS), wanted.values).fetchone()
    if by == "day":
        rows.sort(key=lambda row: row.key)
        rows = rows[-ROWS_MAX:]
    else:
        rows.sort(key=lambda row: (-row.tokens, row.key))
        rows = rows[:ROWS_MAX]
    if by not in {"project", "session"}:
        for row in rows:
            row.project = ""
    if by == "session":
        for row in rows:
            row.name = _first_prompt(database, row.key)
    bounds = {"least": NEVER_USED_SHOWN, "limit": NEVER_USED_MAX}
    never = database.execute(_query(_NEVER_USED), {**wanted.values, **bounds})
    characters, files = database.execute(_query(_SAVED), wanted.values).fetchone()
    return UsageReport(tuple(rows), total, tuple(Unused(*row) for row in never), characters, _basis(files))


def _total(rows: Sequence[UsageCounts]) -> UsageCounts:
    """Return the sums of rows, of which a turn counts in one."""
    return UsageCounts(
        "total",
        turns=sum(row.turns for row in rows),
        tokens=sum(row.tokens for row in rows),
        bytes=sum(row.bytes for row in rows),
        tokens_before=sum(row.tokens_before for row in rows),
        places_shown=sum(row.places_shown for row in rows),
        places_used=sum(row.places_used for row in rows),
    )


def _basis(files: int) -> str:
    rest = (
        f"the size of each in bytes, at most {WHOLE_BYTES:,}, less all that was shown of it in its session."
        " An estimate: an agent may have read a part only, and files that it edited count nothing."
    )
    if not files:
        return (
            "No file yet that an agent named after it was shown, without reading or editing it in the"
            f" transcript. Counted is, for such files: {rest}"
        )
    noun = "file that an agent" if files == 1 else "files that agents"
    return (
        f"{files:,} {noun} named after it was shown, without reading or editing it in the transcript: {rest}"
    )


_KEYS = {
    "day": "date(t.at / 1000, 'unixepoch', 'localtime')",
    "project": "t.project",
    "host": "COALESCE(s.host, '')",
    "session": "COALESCE(s.name, '')",
}

_WANTED = "(:project IS NULL OR t.project = :project) AND t.at >= :since AND t.at < :until"

_TURNS = """
SELECT {key}, MAX(t.project), SUM(times), SUM(times * tokens), SUM(times * bytes),
    SUM(times * MAX(tokens_before, tokens)), COUNT(DISTINCT NULLIF(session, 0)),
    SUM(iif(s.observed, shown, 0)), SUM(iif(s.observed, used, 0))
FROM turns t LEFT JOIN sessions s ON s.id = t.session WHERE {wanted} GROUP BY 1
"""

_SESSIONS = "SELECT COUNT(DISTINCT NULLIF(session, 0)) FROM turns t WHERE {wanted}"

_TYPES = """
SELECT session, times, COALESCE(s.observed, 0), types
FROM turns t LEFT JOIN sessions s ON s.id = t.session WHERE {wanted}
"""

_NEVER_USED = """
SELECT path, project, shown FROM paths
WHERE used = 0 AND shown >= :least AND (:project IS NULL OR project = :project)
ORDER BY shown DESC, project, path LIMIT :limit
"""

_SAVED = """
SELECT COALESCE(SUM(saved), 0), COALESCE(SUM(saved_files), 0) FROM sessions
WHERE saved_files AND EXISTS (SELECT 1 FROM turns t WHERE session = sessions.id AND {wanted})
"""


def _first_prompt(database: Database, session_id: str) -> str:
    row = database.execute(
        "SELECT text FROM entries JOIN sessions ON id = session WHERE name = ? AND kind = 'prompt'"
        " AND text != '' ORDER BY entries.at, number LIMIT 1",
        (session_id,),
    ).fetchone()
    return row[0] if row else ""


def _query(query: str, key: str = "") -> str:
    """Return a query with the filter, and with the key of its groups."""
    return query.replace("{wanted}", _WANTED).replace("{key}", key)


def _grouped(database: Database, key: str, wanted: UsageFilter) -> list[UsageCounts]:
    return [UsageCounts(*row) for row in database.execute(_query(_TURNS, key), wanted.values)]


def _by_type(database: Database, wanted: UsageFilter) -> list[UsageCounts]:
    """Count turns by the types of their slices; a turn counts for each of its types."""
    found: dict[str, UsageCounts] = {}
    sessions: defaultdict[str, set[int]] = defaultdict(set)
    rows = database.execute(_query(_TYPES), wanted.values)
    for session, times, observed, types in rows:
        for name, (tokens, tokens_before, size, shown, used) in json.loads(types).items():
            row = found.setdefault(name, UsageCounts(name))
            row.turns += times
            row.tokens += times * tokens
            row.tokens_before += times * max(tokens_before, tokens)
            row.bytes += times * size
            if session:
                sessions[name].add(session)
            if observed:
                row.places_shown += shown
                row.places_used += used
    for name, row in found.items():
        row.sessions = len(sessions[name])
    return list(found.values())
