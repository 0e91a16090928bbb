"""The cost and use of contexts. Queries over the deliveries; a *turn* is a delivery that was no preview."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct

from ..core.storage import Database
from .delivery_tables import data_of, text_of
from .session_events import WHOLE_BYTES, first_prompt

Grouping = Literal["day", "project", "host", "session", "type"]

ROWS_MAX = 1_000
"""Maximum number of rows, those with the most tokens, or the latest days."""

NEVER_USED_MAX = 100
NEVER_USED_SHOWN = 5
"""Minimum number of turns that showed a file before it counts as never used."""


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


def usage_report(
    database: Database, by: Grouping, project: str | None, since: int, until: int
) -> UsageReport:
    """Count the turns of a project, None for all, in a time."""
    root = None if project is None else data_of(project)
    bounds: dict[str, object] = {"least": NEVER_USED_SHOWN, "limit": NEVER_USED_MAX}
    wanted = {"project": root, "since": since, "until": until, **bounds}
    rows = _rows(database, by, wanted)
    total = _total(_rows(database, "project", wanted) if by == "type" else rows)
    (total.sessions,) = database.execute(_query(_SESSIONS), wanted).fetchone()
    if by == "day":
        rows.sort(key=lambda row: row.key)
        rows = rows[-ROWS_MAX:]
    else:
        rows.sort(key=lambda row: (-row.tokens, row.key))
        rows = rows[:ROWS_MAX]
    if by == "session":
        for row in rows:
            row.name = first_prompt(database, row.key)
    never = database.execute(_query(_NEVER_USED), wanted)
    unused = tuple(Unused(text_of(path), text_of(project), shown) for path, project, shown in never)
    saved = database.execute(_query(_SAVED), wanted).fetchone()
    return UsageReport(tuple(rows), total, unused, saved[0], _basis(saved[1]))


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
    "day": "date(c.first_at / 1000, 'unixepoch', 'localtime')",
    "project": "c.project",
    "host": "COALESCE(s.host, '')",
    "session": "COALESCE(s.name, X'')",
}

_WANTED = (
    "turns > 0 AND (:project IS NULL OR c.project = :project) AND c.first_at >= :since"
    " AND c.first_at < :until"
)

_TURNS = """
SELECT {key}, MAX(c.project), SUM(turns), SUM(turns * tokens), SUM(turns * bytes),
    SUM(turns * MAX(tokens_before, tokens)), COUNT(DISTINCT NULLIF(session, 0)),
    SUM(iif(s.observed, shown, 0)), SUM(iif(s.observed, used, 0))
FROM contexts c LEFT JOIN sessions s ON s.id = session WHERE {wanted} GROUP BY 1
"""

_SESSIONS = "SELECT COUNT(DISTINCT NULLIF(session, 0)) FROM contexts c WHERE {wanted}"

_PLACES = "places JOIN contexts c ON c.number = context JOIN sessions s ON s.id = session"

_TYPES = """
SELECT t.key, X'', SUM(turns), SUM(turns * (value ->> 0)), SUM(turns * (value ->> 2)),
    SUM(turns * MAX(value ->> 1, value ->> 0)), COUNT(DISTINCT NULLIF(session, 0)),
    COALESCE(places_shown, 0), COALESCE(places_used, 0)
FROM contexts c JOIN json_each(types) t LEFT JOIN (
    SELECT type, COUNT(*) AS places_shown, COUNT(COALESCE(edited, read, named)) AS places_used FROM {places}
    WHERE {wanted} AND observed GROUP BY type) p ON p.type = t.key
WHERE {wanted} GROUP BY t.key
"""
"""A turn counts for each type of its slices."""

_NEVER_USED = """
SELECT path, f.project, COUNT(*) AS total FROM {places} JOIN files f ON f.id = file
WHERE file IN (
    SELECT file FROM places WHERE type != '' GROUP BY file
    HAVING COUNT(COALESCE(edited, read, named)) = 0 AND COUNT(*) >= :least)
AND type != '' AND turns > 0 AND observed AND (:project IS NULL OR f.project = :project)
GROUP BY file HAVING total >= :least ORDER BY total DESC, f.project, path LIMIT :limit
"""

_SAVED = """
SELECT COALESCE(SUM(saved), 0), COALESCE(SUM(saved_files), 0) FROM sessions
WHERE saved_files AND EXISTS (SELECT 1 FROM contexts c WHERE session = sessions.id AND {wanted})
"""


def _query(query: str, key: str = "") -> str:
    """Return a query with the filter, and with the key of its groups."""
    return query.replace("{wanted}", _WANTED).replace("{places}", _PLACES).replace("{key}", key)


def _rows(database: Database, by: Grouping, wanted: Mapping[str, object]) -> list[UsageCounts]:
    query = _query(_TYPES) if by == "type" else _query(_TURNS, _KEYS[by])
    has_project = by in {"project", "session"}
    rows = []
    for name, project, *counts in database.execute(query, wanted):
        label = text_of(name) if isinstance(name, bytes) else name
        rows.append(UsageCounts(label, text_of(project) if has_project else "", *counts))
    return rows
