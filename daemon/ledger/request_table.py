"""Owns the table of requests in the ledger: what a list shows of each, and the ways to find one."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import replace

from ..core.lazy_dataclass import dataclass
from ..core.storage import Database
from .query_sketch import Sketch, sketch_bytes, sketch_in
from .request_record import RequestRecord

SCHEMA = """
CREATE TABLE sessions (id INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE);
CREATE TABLE projects (id INTEGER PRIMARY KEY, root BLOB NOT NULL UNIQUE);
CREATE TABLE requests (
    number INTEGER PRIMARY KEY AUTOINCREMENT, session INTEGER NOT NULL, project INTEGER NOT NULL,
    id BLOB NOT NULL, at TEXT NOT NULL, message_hash TEXT NOT NULL, tokens INTEGER NOT NULL,
    bytes INTEGER NOT NULL, elapsed_ms REAL NOT NULL, items INTEGER NOT NULL, considered INTEGER NOT NULL,
    degraded INTEGER NOT NULL, pruned TEXT NOT NULL, referred TEXT, sketch BLOB NOT NULL,
    UNIQUE (session, id));
CREATE INDEX requests_by_session ON requests (session, number);
CREATE INDEX requests_by_project ON requests (project, number);
CREATE INDEX requests_by_age ON requests (at);
CREATE INDEX requests_with_content ON requests (at) WHERE pruned = '';
"""
"""A list reads this table alone; the bodies lie in another. `pruned` says why what was sent isn't kept any
more; `referred` is a JSON list of the record's items that a reply referred to, by position. Texts that may
hold half surrogates, as file names do, are stored as bytes: SQLite takes none."""


@dataclass(frozen=True, slots=True)
class RequestSummary:
    """What a list says of a request. `items`, `considered` and `degraded` count; `pruned` says why what was
    sent is gone, or is empty; `referred` counts too and is None while no reply was reported."""

    id: str
    session_id: str
    project_root: str
    at: str
    message_hash: str
    tokens: int
    bytes: int
    elapsed_ms: float
    items: int
    considered: int
    degraded: int
    pruned: str = ""
    referred: int | None = None


@dataclass(frozen=True, slots=True)
class RequestRow:
    """A row with all that isn't for a list: numbers, and the positions of items that were referred to."""

    number: int
    project: int
    summary: RequestSummary
    referred: tuple[int, ...] | None
    sketch: Sketch


def summary_of(record: RequestRecord) -> RequestSummary:
    """Return the summary of a record."""
    return RequestSummary(
        record.id,
        record.session_id,
        record.project_root,
        record.at,
        record.message_hash,
        record.tokens,
        record.bytes,
        record.elapsed_ms,
        len(record.items),
        len(record.considered),
        len(record.degraded),
    )


def insert(database: Database, one: RequestSummary, sketch: Sketch) -> RequestRow | None:
    """Write a row; None if the session has one with this id. Needs a transaction."""
    session = _number(database, "sessions", "name", one.session_id)
    project = _number(database, "projects", "root", one.project_root)
    cursor = database.execute(
        "INSERT OR IGNORE INTO requests VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '', NULL, ?)",
        (session, project, _data(one.id), one.at, one.message_hash, one.tokens, one.bytes, one.elapsed_ms,
         one.items, one.considered, one.degraded, sketch_bytes(sketch)),
    )  # fmt: skip
    if not cursor.rowcount or cursor.lastrowid is None:
        return None
    return RequestRow(cursor.lastrowid, project, one, None, sketch)


def find(database: Database, session_id: str, request_id: str) -> RequestRow | None:
    """Return the row of a request."""
    where = "WHERE sessions.name = ? AND requests.id = ?"
    return next(iter(_rows(database, where, (_data(session_id), _data(request_id)))), None)


def at_number(database: Database, number: int) -> RequestRow | None:
    """Return the row with this number."""
    return next(iter(_rows(database, "WHERE number = ?", (number,))), None)


def of_session(database: Database, session_id: str, limit: int, below: int | None) -> list[RequestRow]:
    """Return a session's rows, the latest first, only those with a number below the one given."""
    where = "WHERE session = (SELECT id FROM sessions WHERE name = ?) AND number < ?"
    values = (_data(session_id), _LAST if below is None else below, limit)
    return _rows(database, f"{where} ORDER BY number DESC LIMIT ?", values)


def in_order(
    database: Database,
    session_id: str | None,
    project_root: str | None,
    limit: int,
    above: int,
    times: tuple[str, str] = ("", ""),
) -> list[RequestRow]:
    """Return rows in the order in which they were written, of one session or project, or all.

    `times` are the first time and the first that is too late, empty for any.
    """
    where, values = "WHERE number > ? AND at >= ? AND at < ?", [above, times[0], times[1] or _NEVER]
    if session_id is not None:
        where += " AND session = (SELECT id FROM sessions WHERE name = ?)"
    elif project_root is not None:
        where += " AND project = (SELECT id FROM projects WHERE root = ?)"
    name = session_id if session_id is not None else project_root
    named = () if name is None else (_data(name),)
    return _rows(database, f"{where} ORDER BY number LIMIT ?", (*values, *named, limit))


def counts(database: Database) -> dict[str, int]:
    """Return how many requests each session has."""
    rows = database.execute(
        "SELECT name, total FROM sessions JOIN (SELECT session, COUNT(*) AS total FROM requests GROUP BY"
        " session) ON session = id"
    )
    return {_text(name): total for name, total in rows}


def set_pruned(database: Database, number: int, reason: str) -> None:
    """Note why what was sent isn't kept any more. Needs a transaction."""
    database.execute("UPDATE requests SET pruned = ? WHERE number = ?", (reason, number))


def set_referred(database: Database, number: int, positions: Collection[int]) -> None:
    """Note which items a reply referred to. Needs a transaction."""
    data = json.dumps(sorted(set(positions)))
    database.execute("UPDATE requests SET referred = ? WHERE number = ?", (data, number))


def remove(database: Database, number: int) -> None:
    """Remove a row, and its session's name if it was the last. Needs a transaction."""
    row = database.execute("DELETE FROM requests WHERE number = ? RETURNING session", (number,)).fetchone()
    if row is not None:
        database.execute(
            "DELETE FROM sessions WHERE id = ? AND NOT EXISTS (SELECT 1 FROM requests WHERE session = ?)",
            (row[0], row[0]),
        )


def project_number(database: Database, root: str) -> int | None:
    """Return the number of a project, None if nothing is known of it."""
    row = database.execute("SELECT id FROM projects WHERE root = ?", (_data(root),)).fetchone()
    return None if row is None else int(row[0])


_LAST = 2**63 - 1
_NEVER = "~"
"""Sorts behind every time."""
_COLUMNS = """
SELECT requests.id, sessions.name, projects.root, at, message_hash, tokens, bytes, elapsed_ms, items,
    considered, degraded, pruned, referred, number, projects.id, sketch
FROM requests JOIN sessions ON sessions.id = session JOIN projects ON projects.id = project """


def _rows(database: Database, where: str, values: Sequence[object]) -> list[RequestRow]:
    return [_row(row) for row in database.execute(_COLUMNS + where, values)]


def _row(row: Sequence[object]) -> RequestRow:
    names = (_text(one) for one in row[:3])
    summary = RequestSummary(*names, *row[3:12])  # type: ignore[arg-type]  # as the table declares them
    number, project, sketch = row[13:]
    assert isinstance(number, int)
    assert isinstance(project, int)
    assert isinstance(sketch, bytes)
    if row[12] is None:
        return RequestRow(number, project, summary, None, sketch_in(sketch))
    referred = _positions(row[12])
    return RequestRow(number, project, replace(summary, referred=len(referred)), referred, sketch_in(sketch))


def _positions(text: object) -> tuple[int, ...]:
    """Return the positions that were noted; none of a note that makes no sense, which costs a count."""
    try:
        return tuple(map(int, json.loads(str(text))))
    except Exception:  # noqa: BLE001 - whatever it raises, it is damaged
        return ()


def _number(database: Database, table: str, column: str, text: str) -> int:
    """Return the number of a name, given to it now if it has none."""
    select = f"SELECT id FROM {table} WHERE {column} = ?"  # noqa: S608 - two names from this file
    row = database.execute(select, (_data(text),)).fetchone()
    if row is None:
        insert_row = f"INSERT INTO {table} ({column}) VALUES (?) RETURNING id"  # noqa: S608 - as above
        row = database.execute(insert_row, (_data(text),)).fetchone()
    return int(row[0])


def _data(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(data: object) -> str:
    assert isinstance(data, bytes)
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "backslashreplace")  # of a name that is damaged the rest can be read
