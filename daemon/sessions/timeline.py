"""The records of what happened in sessions and of what became of shown places, and their tables.

A *turn* is a context that was given, a *place* a file that it showed. Times are milliseconds since the epoch.
"""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Literal

from msgspec import Struct

from ..core.storage import Database, settle_times

TimelineKind = Literal[
    "start", "prompt", "subagent", "edit", "read", "decision", "compaction", "resume", "end"
]
Use = Literal["edited", "read", "named"]
Outcome = Literal["", "too late"]
"""What became of the context for an entry, if it isn't as usual: it wasn't ready when the agent went on."""

LATE_MARK = "late:"
"""The beginning of the mark of an entry whose context came too late; its number follows."""

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
    observed INTEGER NOT NULL DEFAULT 0, mined INTEGER NOT NULL DEFAULT 0,
    saved INTEGER NOT NULL DEFAULT 0, saved_files INTEGER NOT NULL DEFAULT 0);
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
    bytes INTEGER NOT NULL, tokens_before INTEGER NOT NULL, shown INTEGER NOT NULL,
    used INTEGER NOT NULL DEFAULT 0, types TEXT NOT NULL);
CREATE INDEX turns_by_session ON turns (session);
CREATE INDEX turns_by_age ON turns (at);
CREATE TABLE paths (
    id INTEGER PRIMARY KEY, project TEXT NOT NULL, path TEXT NOT NULL, shown INTEGER NOT NULL DEFAULT 0,
    used INTEGER NOT NULL DEFAULT 0, UNIQUE (project, path));
CREATE INDEX paths_unused ON paths (shown) WHERE used = 0;
CREATE TABLE places (
    turn INTEGER NOT NULL, path INTEGER NOT NULL, type TEXT NOT NULL, characters INTEGER NOT NULL,
    size INTEGER NOT NULL, edited INTEGER, read INTEGER, named INTEGER,
    PRIMARY KEY (turn, path)) WITHOUT ROWID;
CREATE INDEX places_by_path ON places (path);
"""
"""`observed` is the time of the last sign of use in a session, and `mined` that of the last reading of its
transcript, 0 for none. `mark` identifies an entry that may be found again: such an entry is replaced. It
also marks an entry whose context came too late.
A place has the time of its first use of each kind.

So that sums are fast, counts are kept: `shown` and `used` of a turn count its places, those of a path its
places in observed sessions, and `types` has them by type of slice, as JSON: tokens, tokens before
compression, bytes, shown, used. `saved` are the characters that reading `saved_files` files would have
taken."""

WHOLE_BYTES = 50_000
"""Maximum bytes of a file that count as saved: about what the tools of hosts read at once."""


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
    outcome: Outcome
    paths_json: str


def clean(text: str) -> str:
    """Return a text as SQLite takes it: without half surrogates, as the names of files may have them."""
    return text.encode("utf-8", "replace").decode()


def put_session(database: Database, session: SessionRow) -> int:
    """Store what is known of a session; returns its number."""
    (number,) = database.execute(
        "INSERT INTO sessions (name, project, host) VALUES (?, ?, ?)"
        " ON CONFLICT (name) DO UPDATE SET project = iif(project = '', excluded.project, project),"
        " host = iif(excluded.host = '', host, excluded.host) RETURNING id",
        (clean(session.session_id), clean(session.project), clean(session.host)),
    ).fetchone()
    return int(number)


def observe(database: Database, session: int, at: int, *, mined: bool = False) -> None:
    """Note that use can be observed in a session, and whether its transcript was read."""
    if not _is_observed(database, session):
        database.execute(
            "UPDATE paths SET shown = paths.shown + counted.places FROM (SELECT path, COUNT(*) AS places"
            " FROM turns JOIN places ON turn = number WHERE session = ? GROUP BY path) AS counted"
            " WHERE id = counted.path",
            (session,),
        )
    database.execute(
        "UPDATE sessions SET observed = max(observed, ?1), mined = max(mined, iif(?2, ?1, 0)) WHERE id = ?3",
        (at, mined, session),
    )


def _is_observed(database: Database, session: int) -> bool:
    row = database.execute("SELECT observed FROM sessions WHERE id = ?", (session,)).fetchone()
    return row is not None and row[0] > 0


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
            clean(entry.agent_id),
            clean(entry.agent_name),
            clean(entry.text),
            json.dumps(paths),
            clean(entry.context_id),
            clean(entry.request_id),
            clean(entry.experience_id),
            clean(entry.mark),
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
    kinds = Counter(place.type for place in turn.places)
    (number, times) = database.execute(
        "INSERT INTO turns (context_id, session, project, at, times, tokens, bytes, tokens_before, shown,"
        " types) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (context_id) DO UPDATE SET"
        " times = times + excluded.times RETURNING number, times",
        (
            clean(turn.context_id),
            session,
            clean(turn.project),
            turn.at,
            turn.times,
            turn.tokens,
            turn.bytes,
            turn.tokens_before,
            len(turn.places),
            json.dumps({name: (*sums, kinds[name], 0) for name, sums in turn.types.items()}),
        ),
    ).fetchone()
    if times > turn.times:
        return
    database.executemany(
        "INSERT OR IGNORE INTO paths (project, path) VALUES (?, ?)",
        [(clean(turn.project), place.path) for place in turn.places],
    )
    database.executemany(
        "INSERT OR IGNORE INTO places SELECT ?, id, ?, ?, ?, NULL, NULL, NULL FROM paths"
        " WHERE project = ? AND path = ?",
        [
            (number, place.type, place.characters, place.size, clean(turn.project), place.path)
            for place in turn.places
        ],
    )
    if _is_observed(database, session):
        database.execute(
            "UPDATE paths SET shown = shown + 1 WHERE id IN (SELECT path FROM places WHERE turn = ?)",
            (number,),
        )


_UNUSED = """
SELECT turn, type FROM places WHERE COALESCE(edited, read, named) IS NULL
AND path = ? AND turn IN (SELECT number FROM turns WHERE session = ? AND at <= ?)
"""
_MARK_USED = """
UPDATE places SET {how} = ? WHERE {how} IS NULL
AND path = ? AND turn IN (SELECT number FROM turns WHERE session = ? AND at <= ?)
"""


def mark_used(database: Database, session: int, signs: Sequence[UseSign]) -> None:
    """Mark the places of a session that were shown before they were used."""
    if not signs:
        return
    shown = _ShownPaths(database, session)
    observe(database, session, max(sign.at for sign in signs))
    for sign in signs:
        for path in shown.meant(sign):
            before = (path, session, sign.at)
            newly_used = database.execute(_UNUSED, before).fetchall()
            database.execute(_MARK_USED.replace("{how}", sign.how), (sign.at, *before))
            _count_used(database, path, newly_used)


def _count_used(database: Database, path: int, places: Sequence[tuple[int, str]]) -> None:
    """Count places of a path, by turn and type of slice, as used."""
    database.execute("UPDATE paths SET used = used + ? WHERE id = ?", (len(places), path))
    for turn, kind in places:
        (types,) = database.execute("SELECT types FROM turns WHERE number = ?", (turn,)).fetchone()
        counts = json.loads(types)
        if kind in counts:
            counts[kind][-1] += 1
        database.execute(
            "UPDATE turns SET used = used + 1, types = ? WHERE number = ?", (json.dumps(counts), turn)
        )


def count_saved(database: Database, session: int) -> None:
    """Count what an agent didn't have to read: the sizes of files that it named, and that the transcript
    doesn't show it reading or editing, less all that was shown of them.

    An edit without a reading tells nothing: what it needed was read in some way that wasn't seen, or written
    blindly. Only uses before the last reading of the transcript count: the next may show a reading.
    """
    database.execute(
        "UPDATE sessions SET (saved, saved_files) = (SELECT COALESCE(SUM(saved), 0), COUNT(*) FROM ("
        "SELECT MAX(MIN(MAX(size), ?) - SUM(characters), 0) AS saved FROM turns JOIN places ON turn = number"
        " WHERE session = sessions.id GROUP BY path"
        " HAVING MAX(read) IS NULL AND MAX(edited) IS NULL AND MIN(named) <= sessions.mined)) WHERE id = ?",
        (WHOLE_BYTES, session),
    )


class _ShownPaths:
    """The paths that a session was shown."""

    def __init__(self, database: Database, session: int) -> None:
        self._database = database
        self._session = session

    def meant(self, sign: UseSign) -> list[int]:
        """Return the number of the file that a sign means: the file itself, else of the shown files the only
        one that ends in the same parts."""
        if sign.exact:
            query = "SELECT p.id FROM paths p JOIN sessions s USING (project) WHERE s.id = ? AND path = ?"
            return [number for (number,) in self._database.execute(query, (self._session, sign.path))]
        named = self._by_name.get(os.path.basename(sign.path), {})
        if sign.path in named:
            return [named[sign.path]]
        ending = [number for path, number in named.items() if f"/{path}".endswith(f"/{sign.path}")]
        return ending if len(ending) == 1 else []

    @cached_property
    def _by_name(self) -> Mapping[str, dict[str, int]]:
        """The numbers of the shown files by path, by their last part."""
        found: defaultdict[str, dict[str, int]] = defaultdict(dict)
        rows = self._database.execute(
            "SELECT DISTINCT p.path, p.id FROM turns JOIN places ON turn = number JOIN paths p"
            " ON p.id = places.path WHERE session = ?",
            (self._session,),
        )
        for path, number in rows:
            found[os.path.basename(path)][path] = number
        return found


def prune_session(database: Database, session: int) -> None:
    """Remove the oldest entries above `ENTRIES_MAX`."""
    database.execute(
        "DELETE FROM entries WHERE number IN (SELECT number FROM entries WHERE session = ?"
        " ORDER BY at DESC, number DESC LIMIT -1 OFFSET ?)",
        (session, ENTRIES_MAX),
    )


def prune_round(database: Database, oldest: int, now: int) -> int:
    """Remove some of what is older than a time or too much; returns how many turns and entries were
    removed."""
    for table in ("entries", "turns"):
        settle_times(database, table, now, now)
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


def count_of(database: Database, project: str) -> int:
    """Return the number of entries of a project."""
    query = "SELECT COUNT(*) FROM entries WHERE session IN (SELECT id FROM sessions WHERE project = ?)"
    return int(database.execute(query, (clean(project),)).fetchone()[0])


def sessions_of(database: Database, project: str) -> set[str]:
    """Return the ids of a project's sessions."""
    rows = database.execute("SELECT name FROM sessions WHERE project = ?", (clean(project),))
    return {name for (name,) in rows}


def forget_round(database: Database, project: str) -> int:
    """Remove some of a project, also from sessions that worked in several; returns how many turns and entries
    were removed."""
    project = clean(project)
    some = "FROM turns WHERE project = ? ORDER BY number LIMIT ?"
    turns = database.execute(f"SELECT number {some}", (project, PRUNED_AT_ONCE)).fetchall()
    entries = database.execute(
        f"DELETE FROM entries WHERE context_id != '' AND context_id IN (SELECT context_id {some})",  # noqa: S608 - from above
        (project, PRUNED_AT_ONCE),
    ).rowcount
    _remove_turns(database, turns)
    entries += database.execute(
        "DELETE FROM entries WHERE number IN (SELECT number FROM entries WHERE session IN"
        " (SELECT id FROM sessions WHERE project = ?) LIMIT ?)",
        (project, PRUNED_AT_ONCE),
    ).rowcount
    if not turns and not entries:
        _remove_unneeded(database)
    return entries + len(turns)


def _remove_turns(database: Database, turns: Sequence[tuple[int]]) -> None:
    database.executemany(
        "UPDATE paths SET shown = paths.shown - 1, used = paths.used - gone.used FROM (SELECT path,"
        " COALESCE(edited, read, named) IS NOT NULL AS used FROM places JOIN turns ON number = turn"
        " JOIN sessions ON id = session WHERE turn = ? AND observed > 0) AS gone WHERE id = gone.path",
        turns,
    )
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
        "SELECT name, project, host FROM sessions WHERE name = ?", (clean(session_id),)
    ).fetchone()
    return None if row is None else SessionRow(*row)


def entries_of(
    database: Database, session_id: str, limit: int, before: tuple[int, int] | None
) -> list[StoredEntry]:
    """Return entries of a session, the latest first; with `before`, a time and a number, only older ones."""
    rows = database.execute(
        "SELECT e.number, e.at, kind, agent_id, agent_name, text, e.context_id, request_id,"
        " experience_id, tokens, t.shown, iif(s.observed, t.used, NULL),"
        " iif(mark GLOB ?, 'too late', ''), paths"
        " FROM sessions s JOIN entries e ON e.session = s.id"
        " LEFT JOIN turns t ON e.context_id != '' AND t.context_id = e.context_id"
        " WHERE s.name = ? AND (e.at, e.number) < (?, ?) ORDER BY e.at DESC, e.number DESC LIMIT ?",
        (f"{LATE_MARK}*", clean(session_id), *(before or (2**62, 0)), limit),
    )
    return [StoredEntry(*row) for row in rows]


def used_places(database: Database, context_id: str) -> list[UsedPlace]:
    """Return the used places of a context, by path."""
    rows = database.execute(
        "SELECT p.path, edited, read, named FROM turns JOIN places ON turn = number"
        " JOIN paths p ON p.id = places.path WHERE context_id = ?"
        " AND COALESCE(edited, read, named) IS NOT NULL ORDER BY p.path",
        (clean(context_id),),
    )
    found = []
    for path, edited, read, named in rows:
        how: Use = "edited" if edited is not None else "read" if read is not None else "named"
        found.append(UsedPlace(path, how, next(at for at in (edited, read, named) if at is not None)))
    return found
