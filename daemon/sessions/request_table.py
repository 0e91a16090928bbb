"""Owns the table of requests in the ledger: what a list shows of each, and the ways to find one."""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Sequence

from msgspec import Struct

from ..core.storage import Database
from .request_record import RequestRecord, record_in, record_map

SCHEMA = """
CREATE TABLE requests (
    number INTEGER PRIMARY KEY AUTOINCREMENT, session BLOB NOT NULL, project BLOB NOT NULL,
    id BLOB NOT NULL, at TEXT NOT NULL, message_hash TEXT NOT NULL, tokens INTEGER NOT NULL,
    bytes INTEGER NOT NULL, elapsed_ms REAL NOT NULL, items INTEGER NOT NULL, considered INTEGER NOT NULL,
    degraded INTEGER NOT NULL, pruned TEXT NOT NULL, referred TEXT, sketch BLOB NOT NULL,
    record BLOB NOT NULL, UNIQUE (session, id));
CREATE INDEX requests_by_session ON requests (session, number);
CREATE INDEX requests_by_project ON requests (project, number);
CREATE INDEX requests_by_age ON requests (at);
CREATE INDEX requests_with_content ON requests (at) WHERE pruned = '';
"""
"""A list reads all but `record`, JSON that is compressed and stands last. `pruned` says why what was sent
isn't kept any more; `referred` is a JSON list of the record's items that a reply referred to, by position.
Texts that may hold half surrogates, as file names do, are stored as bytes: SQLite takes none."""

GZIP = 31
"""What zlib is told so that it writes and compares a CRC-32."""

_EITHER = 47
"""What it is told to read that, or what an earlier version wrote, with an Adler-32."""


class RequestSummary(Struct, frozen=True):
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


class RequestRow(Struct, frozen=True):
    """A row with what isn't for a list: its number, and the positions of items that were referred to."""

    number: int
    summary: RequestSummary
    referred: tuple[int, ...] | None


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


def bare(summary: RequestSummary) -> RequestRecord:
    """Return the record as far as a list knows it."""
    return RequestRecord(
        summary.id,
        summary.session_id,
        summary.project_root,
        summary.at,
        summary.message_hash,
        tokens=summary.tokens,
        bytes=summary.bytes,
        elapsed_ms=summary.elapsed_ms,
    )


def insert(database: Database, record: RequestRecord, packed: bytes, sketch: bytes) -> int | None:
    """Write a row and return its number; None if the session has one with this id. Needs a transaction."""
    one = summary_of(record)
    cursor = database.execute(
        "INSERT OR IGNORE INTO requests VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '', NULL, ?, ?)",
        (data_of(one.session_id), data_of(one.project_root), data_of(one.id), one.at, one.message_hash,
         one.tokens, one.bytes, one.elapsed_ms, one.items, one.considered, one.degraded, sketch, packed),
    )  # fmt: skip
    return cursor.lastrowid if cursor.rowcount else None


def packed_record(record: RequestRecord) -> bytes:
    """Return a record as it is kept. Raises `ValueError` or `TypeError` for what JSON has no form for."""
    plain = json.dumps(record_map(record), separators=(",", ":"), allow_nan=False)
    return zlib.compress(plain.encode("ascii"), wbits=GZIP)


def read_record(database: Database, number: int) -> RequestRecord | None:
    """Return the record of a request, None if it is damaged: zlib compares a checksum."""
    (data,) = database.execute("SELECT record FROM requests WHERE number = ?", (number,)).fetchone()
    try:
        return record_in(json.loads(zlib.decompress(data, _EITHER)))
    except Exception:  # noqa: BLE001 - whatever it raises, it is damaged or another version wrote it
        return None


def find(database: Database, session_id: str, request_id: str) -> RequestRow | None:
    """Return the row of a request."""
    where = "WHERE session = ? AND id = ?"
    return next(iter(_rows(database, where, (data_of(session_id), data_of(request_id)))), None)


def at_number(database: Database, number: int) -> RequestRow | None:
    """Return the row with this number."""
    return next(iter(_rows(database, "WHERE number = ?", (number,))), None)


def of_session(database: Database, session_id: str, limit: int, below: int | None) -> list[RequestRow]:
    """Return a session's rows, the latest first, only those with a number below the one given."""
    where = "WHERE session = ? AND number < ?"
    values = (data_of(session_id), _LAST if below is None else below, limit)
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
        where += " AND session = ?"
    elif project_root is not None:
        where += " AND project = ?"
    name = session_id if session_id is not None else project_root
    named = () if name is None else (data_of(name),)
    return _rows(database, f"{where} ORDER BY number LIMIT ?", (*values, *named, limit))


def counts(database: Database) -> dict[str, int]:
    """Return how many requests each session has."""
    rows = database.execute("SELECT session, COUNT(*) FROM requests GROUP BY session")
    return {text_of(name): total for name, total in rows}


def set_pruned(database: Database, number: int, reason: str) -> None:
    """Note why what was sent isn't kept any more. Needs a transaction."""
    database.execute("UPDATE requests SET pruned = ? WHERE number = ?", (reason, number))


def set_referred(database: Database, number: int, positions: Collection[int]) -> None:
    """Note which items a reply referred to. Needs a transaction."""
    data = json.dumps(sorted(set(positions)))
    database.execute("UPDATE requests SET referred = ? WHERE number = ?", (data, number))


def remove(database: Database, number: int) -> None:
    """Remove a row. Needs a transaction."""
    database.execute("DELETE FROM requests WHERE number = ?", (number,))


def data_of(text: str) -> bytes:
    """Return a text that may hold half surrogates as the table has it."""
    return text.encode("utf-8", "surrogatepass")


def text_of(data: bytes) -> str:
    """Return the text of bytes; of a name that is damaged the rest can be read."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "backslashreplace")


_LAST = 2**63 - 1
_NEVER = "~"
"""Sorts behind every time."""
_COLUMNS = """
SELECT number, referred, session, project, id, at, message_hash, tokens, bytes, elapsed_ms, items, considered,
    degraded, pruned
FROM requests """


def _rows(database: Database, where: str, values: Sequence[object]) -> list[RequestRow]:
    found = []
    for number, noted, session, project, name, *rest in database.execute(_COLUMNS + where, values):
        referred = None if noted is None else _positions(noted)
        rest.append(None if referred is None else len(referred))
        summary = RequestSummary(text_of(name), text_of(session), text_of(project), *rest)
        found.append(RequestRow(number, summary, referred))
    return found


def _positions(text: object) -> tuple[int, ...]:
    """Return the positions that were noted; none of a note that makes no sense, which costs a count."""
    try:
        return tuple(map(int, json.loads(str(text))))
    except Exception:  # noqa: BLE001 - whatever it raises, it is damaged
        return ()
