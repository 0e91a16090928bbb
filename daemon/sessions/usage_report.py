"""The cost and use of contexts. Queries over the deliveries; a *turn* is a delivery that was no preview."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct

from ..core.storage import Database
from .delivery_tables import data_of, text_of
from .session_events import first_prompt

Grouping = Literal["day", "project", "host", "agent", "session", "type"]

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


class ReadAfterwards(Struct, frozen=True):
    """What agents read by themselves, in the sessions in which that can be observed: their number, the tokens
    that they were given, the files that these showed, those of them that an agent opened all the same after
    it was shown them, and the files that it read and wasn't shown. A file counts once in each session."""

    sessions: int
    tokens: int
    files_given: int
    read_again: int
    read_elsewhere: int


class UsageReport(Struct, frozen=True):
    """The counts by group and in total, files that were never used, and what agents read by themselves."""

    rows: tuple[UsageCounts, ...]
    total: UsageCounts
    never_used: tuple[Unused, ...]
    afterwards: ReadAfterwards


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
    afterwards = ReadAfterwards(*database.execute(_query(_AFTERWARDS), wanted).fetchone())
    return UsageReport(tuple(rows), total, unused, afterwards)


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


_KEYS = {
    "day": "date(c.first_at / 1000, 'unixepoch', 'localtime')",
    "project": "c.project",
    "host": "COALESCE(s.host, '')",
    "agent": "c.agent_name",
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

_AFTERWARDS = """
WITH chosen AS MATERIALIZED (
    SELECT s.id, SUM(turns * tokens) AS tokens FROM contexts c JOIN sessions s ON s.id = session
    WHERE observed AND {wanted} GROUP BY s.id),
given AS MATERIALIZED (
    SELECT c.session, file, MAX(read) AS read FROM chosen JOIN contexts c ON c.session = chosen.id
    JOIN places ON context = c.number WHERE type != '' AND {wanted} GROUP BY c.session, file),
opened AS (
    SELECT e.session, CAST(p.value AS BLOB) AS path, MIN(e.at) AS at FROM chosen
    JOIN entries e ON e.session = chosen.id JOIN json_each(e.data, '$.paths') p
    WHERE kind = 'read' AND e.at >= :since AND e.at < :until GROUP BY 1, 2),
shown AS MATERIALIZED (
    SELECT c.session, path, MIN(first_at) AS at FROM chosen JOIN contexts c ON c.session = chosen.id
    JOIN places ON context = c.number JOIN files f ON f.id = file
    WHERE type != '' AND turns > 0 GROUP BY 1, 2)
SELECT (SELECT COUNT(*) FROM chosen), (SELECT COALESCE(SUM(tokens), 0) FROM chosen),
    (SELECT COUNT(*) FROM given), (SELECT COUNT(read) FROM given),
    (SELECT COUNT(*) FROM opened o WHERE NOT EXISTS (
        SELECT 1 FROM shown WHERE shown.session = o.session AND shown.path = o.path AND shown.at <= o.at))
"""
"""A read counts in the time in which it was; what its session was shown counts from whenever it was."""


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
