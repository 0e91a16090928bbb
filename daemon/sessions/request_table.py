"""The tables of the request log: requests, counts of items by day, and the index of similar queries."""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Sequence

from msgspec import Struct

from ..core.storage import Database
from ..rules.items import ItemKey
from .request_record import RequestRecord, UsedItem, record_in, record_map

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
CREATE TABLE items (
    id INTEGER PRIMARY KEY, project BLOB NOT NULL, type TEXT NOT NULL, name BLOB NOT NULL,
    server_name BLOB NOT NULL, UNIQUE (project, type, name, server_name));
CREATE TABLE item_days (
    item INTEGER NOT NULL, include TEXT NOT NULL, day TEXT NOT NULL, requests INTEGER NOT NULL,
    reported INTEGER NOT NULL, referred INTEGER NOT NULL, PRIMARY KEY (item, include, day)) WITHOUT ROWID;
CREATE INDEX item_days_by_day ON item_days (day);
CREATE TABLE query_terms (
    term INTEGER NOT NULL, request INTEGER NOT NULL, PRIMARY KEY (term, request)) WITHOUT ROWID;
"""
"""A list reads all columns but the last, `record`, which is compressed JSON. `pruned` says why the contents
are gone; `referred` is a JSON list of positions of the record's items that a reply referred to. Texts that
may have half surrogates, as file names do, are stored as bytes: SQLite accepts none in texts.

Counts of items outlive the requests that they were counted of, so that a share over time isn't a share of
what was kept. `sketch` and `query_terms` are of former versions, which compared messages."""

GZIP = 31
"""The `wbits` of zlib for gzip, which has a CRC-32."""

_EITHER = 47
"""The `wbits` that read gzip, or zlib with an Adler-32 as earlier versions wrote."""


class RequestSummary(Struct, frozen=True):
    """A request in a list. `items`, `considered` and `degraded` are counts; `pruned` says why the contents
    are gone, or is empty; `referred` is a count, None while no reply was reported."""

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
    """A row: the summary, its number, and the positions of items that a reply referred to."""

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
    """Return a record with the fields of a summary only."""
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


def insert(database: Database, record: RequestRecord, packed: bytes) -> int | None:
    """Insert a row and return its number; None if the session has this request. Needs a transaction."""
    row = summary_of(record)
    cursor = database.execute(
        "INSERT OR IGNORE INTO requests VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '', NULL, X'', ?)",
        (data_of(row.session_id), data_of(row.project_root), data_of(row.id), row.at, row.message_hash,
         row.tokens, row.bytes, row.elapsed_ms, row.items, row.considered, row.degraded, packed),
    )  # fmt: skip
    return cursor.lastrowid if cursor.rowcount else None


def packed_record(record: RequestRecord) -> bytes:
    """Return a record as compressed JSON. Raises `ValueError` or `TypeError` if it can't be JSON."""
    plain = json.dumps(record_map(record), separators=(",", ":"), allow_nan=False)
    return zlib.compress(plain.encode("ascii"), wbits=GZIP)


def read_record(database: Database, number: int) -> RequestRecord | None:
    """Return the record of a request, None if it is damaged, by a checksum."""
    (data,) = database.execute("SELECT record FROM requests WHERE number = ?", (number,)).fetchone()
    try:
        return record_in(json.loads(zlib.decompress(data, _EITHER)))
    except Exception:  # noqa: BLE001 - any exception means damage or another version
        return None


def find(database: Database, session_id: str, request_id: str) -> RequestRow | None:
    """Return the row of a request."""
    where = "WHERE session = ? AND id = ?"
    return next(iter(_rows(database, where, (data_of(session_id), data_of(request_id)))), None)


def at_number(database: Database, number: int) -> RequestRow | None:
    """Return the row with this number."""
    return next(iter(_rows(database, "WHERE number = ?", (number,))), None)


def of_session(database: Database, session_id: str, limit: int, below: int | None) -> list[RequestRow]:
    """Return a session's rows below a number, the latest first."""
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
    """Return rows of a session, a project or all, in the order of writing.

    `times` are the first time and the exclusive end, empty for any.
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
    """Set why the contents are gone. Needs a transaction."""
    database.execute("UPDATE requests SET pruned = ? WHERE number = ?", (reason, number))


def set_referred(database: Database, number: int, positions: Collection[int]) -> None:
    """Set which items a reply referred to. Needs a transaction."""
    data = json.dumps(sorted(set(positions)))
    database.execute("UPDATE requests SET referred = ? WHERE number = ?", (data, number))


def remove(database: Database, number: int) -> None:
    """Remove a row. Needs a transaction."""
    database.execute("DELETE FROM requests WHERE number = ?", (number,))


def data_of(text: str) -> bytes:
    """Return a text, which may have half surrogates, as bytes for the table."""
    return text.encode("utf-8", "surrogatepass")


def text_of(data: bytes) -> str:
    """Return the text of bytes; damaged bytes are escaped."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "backslashreplace")


_LAST = 2**63 - 1
_NEVER = "~"
"""Sorts after every time."""
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
    """Return the stored positions, none if damaged: that only costs a count."""
    try:
        return tuple(map(int, json.loads(str(text))))
    except Exception:  # noqa: BLE001 - any exception means damage
        return ()


class ItemCounts(Struct, frozen=True):
    """The number of requests with an item, of those with a reported reply, and of those whose reply referred
    to it. `last_day` is the day of the latest request."""

    key: ItemKey
    requests: int
    reported: int
    referred: int
    last_day: str


class UsageShare(Struct, frozen=True):
    """The usage of items chosen by a search on one day, counted once for each request."""

    day: str
    selected: int
    reported: int
    referred: int

    @property
    def share(self) -> float | None:
        """The share of selected items that a reply referred to; None while no reply was reported."""
        return self.referred / self.reported if self.reported else None


def count_items(database: Database, record: RequestRecord) -> None:
    """Count the items of a new request. Needs a transaction."""
    _count_each(database, record, record.items, "requests")


def count_reply(database: Database, record: RequestRecord, referred: Collection[int], *, first: bool) -> None:
    """Count the items that a reply referred to, by position. Needs a transaction.

    `first` says that no reply to this request was counted before.
    """
    if first:
        _count_each(database, record, record.items, "reported")
    _count_each(database, record, [record.items[position] for position in sorted(set(referred))], "referred")


def item_totals(database: Database, project_root: str, since: str) -> list[ItemCounts]:
    """Return the counts of a project's items since a day, the most frequent first."""
    rows = database.execute(
        "SELECT type, name, server_name, SUM(requests), SUM(reported), SUM(referred), MAX(day)"
        " FROM items JOIN item_days ON item = id WHERE project = ? AND day >= ?"
        " GROUP BY id ORDER BY SUM(requests) DESC, type, name, server_name",
        (data_of(project_root), since),
    )
    return [
        ItemCounts(ItemKey(kind, text_of(name), text_of(server)), *counts)
        for kind, name, server, *counts in rows
    ]


def day_shares(database: Database, project_root: str, since: str) -> list[UsageShare]:
    """Return the usage of selected items by day, in order."""
    rows = database.execute(
        "SELECT day, SUM(requests), SUM(reported), SUM(referred)"
        " FROM items JOIN item_days ON item = id WHERE project = ? AND day >= ? AND include = 'agent'"
        " GROUP BY day ORDER BY day",
        (data_of(project_root), since),
    )
    return [UsageShare(*row) for row in rows]


def remove_counts_before(database: Database, day: str) -> None:
    """Remove the counts before a day, and items without later ones. Needs a transaction."""
    if database.execute("DELETE FROM item_days WHERE day < ?", (day,)).rowcount:
        database.execute("DELETE FROM items WHERE id NOT IN (SELECT item FROM item_days)")


def forget_items(database: Database, project_root: str) -> None:
    """Remove the counts of a project's items. Needs a transaction."""
    project = (data_of(project_root),)
    database.execute("DELETE FROM item_days WHERE item IN (SELECT id FROM items WHERE project = ?)", project)
    database.execute("DELETE FROM items WHERE project = ?", project)


def _count_each(database: Database, record: RequestRecord, used: Collection[UsedItem], column: str) -> None:
    """Add one to a count of each item."""
    values = [int(name == column) for name in ("requests", "reported", "referred")]
    project = data_of(record.project_root)
    for key, include in dict.fromkeys((item.key, item.include) for item in used):
        fields = (project, key.type, data_of(key.name), data_of(key.server_name))
        database.execute("INSERT OR IGNORE INTO items VALUES (NULL, ?, ?, ?, ?)", fields)
        database.execute(
            "INSERT INTO item_days SELECT id, ?, ?, ?, ?, ? FROM items"
            " WHERE project = ? AND type = ? AND name = ? AND server_name = ? ON CONFLICT DO UPDATE SET"
            " requests = requests + excluded.requests, reported = reported + excluded.reported,"
            " referred = referred + excluded.referred",
            (include, record.at[:10], *values, *fields),
        )
