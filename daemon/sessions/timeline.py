"""The records of what happened in sessions and of what became of shown places, and their tables.

A *turn* is a context that was given, a *place* a file that it showed. Times are milliseconds since the epoch.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct

from ..core.storage import Database

TimelineKind = Literal[
    "start", "prompt", "subagent", "edit", "read", "decision", "compaction", "resume", "end"
]
Use = Literal["edited", "read", "named"]

KEPT_MS = 30 * 86_400_000
"""Milliseconds for which entries and turns are kept: 30 days."""

ENTRIES_MAX = 2_000
"""Maximum number of entries of a session, the latest."""

TURNS_MAX = 50_000
"""Maximum number of turns, the latest: 1,600 a day; a turn with 20 places takes a kilobyte."""

PRUNED_AT_ONCE = 2_000
"""Maximum number of turns removed in a transaction, so that writers don't wait for long."""

REPORTED_MS = 60_000
"""Milliseconds between an edit in a hook's event and the same edit in the transcript."""

VERSION = 1
SCHEMA = """
CREATE TABLE sessions (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, project TEXT NOT NULL, host TEXT NOT NULL,
    observed INTEGER NOT NULL, mined INTEGER NOT NULL);
CREATE TABLE entries (
    number INTEGER PRIMARY KEY, session INTEGER NOT NULL, at INTEGER NOT NULL, kind TEXT NOT NULL,
    agent_id TEXT NOT NULL, agent_name TEXT NOT NULL, text TEXT NOT NULL, paths TEXT NOT NULL,
    context_id TEXT NOT NULL, request_id TEXT NOT NULL, experience_id TEXT NOT NULL, mark TEXT NOT NULL);
CREATE INDEX entries_by_session ON entries (session, at, number);
CREATE INDEX entries_by_age ON entries (at);
CREATE UNIQUE INDEX entries_by_mark ON entries (session, mark) WHERE mark != '';
CREATE TABLE turns (
    number INTEGER PRIMARY KEY, context_id TEXT NOT NULL UNIQUE, session INTEGER NOT NULL,
    project TEXT NOT NULL, at INTEGER NOT NULL, times INTEGER NOT NULL, tokens INTEGER NOT NULL,
    bytes INTEGER NOT NULL, tokens_before INTEGER NOT NULL, types TEXT NOT NULL);
CREATE INDEX turns_by_session ON turns (session);
CREATE INDEX turns_by_age ON turns (at);
CREATE TABLE paths (
    id INTEGER PRIMARY KEY, project TEXT NOT NULL, path TEXT NOT NULL, UNIQUE (project, path));
CREATE TABLE places (
    turn INTEGER NOT NULL, path INTEGER NOT NULL, type TEXT NOT NULL, characters INTEGER NOT NULL,
    size INTEGER NOT NULL, edited INTEGER, read INTEGER, named INTEGER,
    PRIMARY KEY (turn, path)) WITHOUT ROWID;
CREATE INDEX places_by_path ON places (path);
"""
"""`observed` is the time of the last sign of use in a session, and `mined` that of the last reading of its
transcript, 0 for none. `mark` identifies an entry that may be found again: such an entry is replaced.
`types` is JSON, see `Turn`. A place has the time of its first use of each kind."""


class Entry(Struct):
    """Something that happened in a session. `paths` are relative to the root, or as the host wrote them until
    they are stored."""

    number: int
    session_id: str
    at: int
    kind: TimelineKind
    agent_id: str = ""
    agent_name: str = ""
    text: str = ""
    paths: tuple[str, ...] = ()
    context_id: str = ""
    request_id: str = ""
    experience_id: str = ""
    mark: str = ""
    last: int = 0
    """For an entry of a transcript: the time of its last activity."""


class Place(Struct, frozen=True):
    """A file in a turn: the type of its slice, the characters shown of it, and its size in bytes, 0 if that
    isn't known."""

    path: str
    type: str
    characters: int
    size: int


class Turn(Struct, frozen=True):
    """A context that was given `times` since the last write, at first `at`."""

    context_id: str
    session_id: str
    project: str
    at: int
    times: int
    tokens: int
    bytes: int
    tokens_before: int
    types: dict[str, tuple[int, int, int]]
    """By type of slice: tokens, tokens before compression, bytes."""
    places: tuple[Place, ...]


class UseSign(Struct, frozen=True):
    """A sign that a file was used: `path` is relative to the root, or if it isn't `exact` perhaps only the
    last parts of that."""

    session_id: str
    how: Use
    path: str
    at: int
    exact: bool = True


class SessionRow(Struct, frozen=True):
    """What is stored of a session."""

    session_id: str
    project: str
    host: str = ""
    observed: int = 0
    mined: int = 0


class UsedPlace(Struct, frozen=True):
    """A used place of a context."""

    path: str
    how: Use
    at: int


class StoredEntry(Struct, frozen=True):
    """An entry as it is read; `tokens`, `shown` and `used` are of its context, None if they aren't known.
    `paths_json` is a list of paths as JSON."""

    number: int
    at: int
    kind: TimelineKind
    agent_id: str
    agent_name: str
    text: str
    context_id: str
    request_id: str
    experience_id: str
    tokens: int | None
    shown: int | None
    used: int | None
    paths_json: str


def put_session(database: Database, session: SessionRow) -> int:
    """Store what is known of a session; returns its number."""
    (number,) = database.execute(
        "INSERT INTO sessions (name, project, host, observed, mined) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (name) DO UPDATE SET project = iif(project = '', excluded.project, project),"
        " host = iif(excluded.host = '', host, excluded.host),"
        " observed = max(observed, excluded.observed), mined = max(mined, excluded.mined) RETURNING id",
        (session.session_id, session.project, session.host, session.observed, session.mined),
    ).fetchone()
    return int(number)


def put_entry(database: Database, session: int, entry: Entry) -> None:
    """Store an entry, in the place of the one with its number or its mark. Of an entry of a transcript the
    paths are left out that a hook reported at that time; an entry without any other isn't stored."""
    paths = entry.paths
    if entry.mark and entry.kind in {"edit", "read"}:
        known = _reported(database, session, entry)
        paths = tuple(path for path in paths if path not in known)
        if not paths:
            return
    database.execute(
        "INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            entry.number,
            session,
            entry.at,
            entry.kind,
            entry.agent_id,
            entry.agent_name,
            entry.text,
            json.dumps(paths),
            entry.context_id,
            entry.request_id,
            entry.experience_id,
            entry.mark,
        ),
    )


def _reported(database: Database, session: int, entry: Entry) -> set[str]:
    """Return the paths of the entries of the same kind that came from hooks at that time."""
    rows = database.execute(
        "SELECT paths FROM entries WHERE session = ? AND at BETWEEN ? AND ? AND kind = ? AND mark = ''",
        (session, entry.at - REPORTED_MS, max(entry.last, entry.at) + REPORTED_MS, entry.kind),
    )
    return {path for (paths,) in rows for path in json.loads(paths)}


def put_turn(database: Database, session: int, turn: Turn) -> None:
    """Store a turn with its places, or count it once more."""
    (number, times) = database.execute(
        "INSERT INTO turns (context_id, session, project, at, times, tokens, bytes, tokens_before, types)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (context_id) DO UPDATE SET"
        " times = times + excluded.times RETURNING number, times",
        (
            turn.context_id,
            session,
            turn.project,
            turn.at,
            turn.times,
            turn.tokens,
            turn.bytes,
            turn.tokens_before,
            json.dumps(turn.types),
        ),
    ).fetchone()
    if times > turn.times:
        return
    database.executemany(
        "INSERT OR IGNORE INTO paths (project, path) VALUES (?, ?)",
        [(turn.project, place.path) for place in turn.places],
    )
    database.executemany(
        "INSERT OR IGNORE INTO places SELECT ?, id, ?, ?, ?, NULL, NULL, NULL FROM paths"
        " WHERE project = ? AND path = ?",
        [
            (number, place.type, place.characters, place.size, turn.project, place.path)
            for place in turn.places
        ],
    )


_MARK_USED = {
    "edited": "UPDATE places SET edited = ? WHERE path = ? AND edited IS NULL AND turn IN"
    " (SELECT number FROM turns WHERE session = ? AND at <= ?)",
    "read": "UPDATE places SET read = ? WHERE path = ? AND read IS NULL AND turn IN"
    " (SELECT number FROM turns WHERE session = ? AND at <= ?)",
    "named": "UPDATE places SET named = ? WHERE path = ? AND named IS NULL AND turn IN"
    " (SELECT number FROM turns WHERE session = ? AND at <= ?)",
}


def mark_used(database: Database, session: int, signs: Sequence[UseSign]) -> None:
    """Mark the places of a session that were shown before they were used."""
    if not signs:
        return
    shown = _ShownPaths(
        database.execute(
            "SELECT DISTINCT p.path, p.id FROM turns JOIN places ON turn = number JOIN paths p"
            " ON p.id = places.path WHERE session = ?",
            (session,),
        )
    )
    observed = max(sign.at for sign in signs)
    database.execute("UPDATE sessions SET observed = max(observed, ?) WHERE id = ?", (observed, session))
    for sign in signs:
        for path in shown.meant(sign):
            database.execute(_MARK_USED[sign.how], (sign.at, path, session, sign.at))


class _ShownPaths:
    """The paths that a session was shown, by number, also by their last part."""

    def __init__(self, rows: Iterable[tuple[str, int]]) -> None:
        self._numbers = dict(rows)
        self._by_name: dict[str, list[str]] = defaultdict(list)
        for path in self._numbers:
            self._by_name[os.path.basename(path)].append(path)

    def meant(self, sign: UseSign) -> list[int]:
        """Return the number of the shown file that a sign means: the file itself, else the only one that ends
        in the same parts; none for a file that wasn't shown."""
        if sign.path in self._numbers:
            return [self._numbers[sign.path]]
        named = () if sign.exact else self._by_name.get(os.path.basename(sign.path), ())
        ending = [known for known in named if f"/{known}".endswith(f"/{sign.path}")]
        return [self._numbers[known] for known in ending] if len(ending) == 1 else []


def prune_session(database: Database, session: int) -> None:
    """Remove the oldest entries above `ENTRIES_MAX`."""
    database.execute(
        "DELETE FROM entries WHERE number IN (SELECT number FROM entries WHERE session = ?"
        " ORDER BY at DESC, number DESC LIMIT -1 OFFSET ?)",
        (session, ENTRIES_MAX),
    )


def prune_round(database: Database, now: int) -> int:
    """Remove some of what is too old or too much; returns how many turns and entries were removed."""
    oldest = now - KEPT_MS
    entries = database.execute("DELETE FROM entries WHERE at < ?", (oldest,)).rowcount
    turns = database.execute(
        "SELECT number FROM turns WHERE at < ?1 UNION SELECT number FROM"
        " (SELECT number FROM turns ORDER BY number DESC LIMIT -1 OFFSET ?2) LIMIT ?3",
        (oldest, TURNS_MAX, PRUNED_AT_ONCE),
    ).fetchall()
    _remove_turns(database, turns)
    if not turns:
        _remove_unneeded(database)
    return entries + len(turns)


def forget(database: Database, project: str) -> dict[str, int]:
    """Remove all of a project; returns how many entries and turns there were."""
    turns = database.execute("SELECT number FROM turns WHERE project = ?", (project,)).fetchall()
    _remove_turns(database, turns)
    entries = database.execute(
        "DELETE FROM entries WHERE session IN (SELECT id FROM sessions WHERE project = ?)", (project,)
    ).rowcount
    _remove_unneeded(database)
    return {"entries": entries, "turns": len(turns)}


def _remove_turns(database: Database, turns: Sequence[tuple[int]]) -> None:
    database.executemany("DELETE FROM places WHERE turn = ?", turns)
    database.executemany("DELETE FROM turns WHERE number = ?", turns)


def _remove_unneeded(database: Database) -> None:
    """Remove paths without a place, and sessions without a turn or an entry."""
    database.execute("DELETE FROM paths WHERE id NOT IN (SELECT path FROM places)")
    database.execute(
        "DELETE FROM sessions WHERE id NOT IN (SELECT session FROM turns)"
        " AND id NOT IN (SELECT session FROM entries)"
    )


def last_number(database: Database) -> int:
    """Return the number of the latest entry, 0 for none."""
    return int(database.execute("SELECT COALESCE(MAX(number), 0) FROM entries").fetchone()[0])


def session_row(database: Database, session_id: str) -> SessionRow | None:
    """Return what is stored of a session, None for nothing."""
    row = database.execute(
        "SELECT name, project, host, observed, mined FROM sessions WHERE name = ?", (session_id,)
    ).fetchone()
    return None if row is None else SessionRow(*row)


def entries_of(
    database: Database, session_id: str, limit: int, before: tuple[int, int] | None
) -> list[StoredEntry]:
    """Return entries of a session, the latest first; with `before`, a time and a number, only older ones."""
    rows = database.execute(
        "SELECT e.number, e.at, kind, agent_id, agent_name, text, e.context_id, request_id,"
        " experience_id, tokens, CASE WHEN t.number IS NOT NULL THEN"
        " (SELECT COUNT(*) FROM places WHERE turn = t.number) END,"
        " CASE WHEN t.number IS NOT NULL AND s.observed THEN (SELECT COUNT(*) FROM places"
        " WHERE turn = t.number AND COALESCE(edited, read, named) IS NOT NULL) END, paths"
        " FROM sessions s JOIN entries e ON e.session = s.id"
        " LEFT JOIN turns t ON e.context_id != '' AND t.context_id = e.context_id"
        " WHERE s.name = ? AND (e.at, e.number) < (?, ?) ORDER BY e.at DESC, e.number DESC LIMIT ?",
        (session_id, *(before or (2**62, 0)), limit),
    )
    return [StoredEntry(*row) for row in rows]


def used_places(database: Database, context_id: str) -> list[UsedPlace]:
    """Return the used places of a context, by path."""
    rows = database.execute(
        "SELECT p.path, edited, read, named FROM turns JOIN places ON turn = number"
        " JOIN paths p ON p.id = places.path WHERE context_id = ?"
        " AND COALESCE(edited, read, named) IS NOT NULL ORDER BY p.path",
        (context_id,),
    )
    found = []
    for path, edited, read, named in rows:
        how: Use = "edited" if edited is not None else "read" if read is not None else "named"
        found.append(UsedPlace(path, how, next(at for at in (edited, read, named) if at is not None)))
    return found
