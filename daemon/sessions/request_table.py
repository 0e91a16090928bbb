"""The tables of the request log: requests, counts of items by day, and the index of similar queries."""

from __future__ import annotations

import hashlib
import json
import re
import struct
import zlib
from collections.abc import Collection, Sequence
from functools import lru_cache
from math import ceil

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
what was kept. `query_terms` has only requests whose reply was reported: others are no evidence."""

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


def insert(database: Database, record: RequestRecord, packed: bytes, sketch: bytes) -> int | None:
    """Insert a row and return its number; None if the session has this request. Needs a transaction."""
    row = summary_of(record)
    cursor = database.execute(
        "INSERT OR IGNORE INTO requests VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '', NULL, ?, ?)",
        (data_of(row.session_id), data_of(row.project_root), data_of(row.id), row.at, row.message_hash,
         row.tokens, row.bytes, row.elapsed_ms, row.items, row.considered, row.degraded, sketch, packed),
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


MAX_NEAR = 16
"""Maximum number of nearly equal queries weighed, the most equal and latest."""

SKETCH_TERMS = 64
"""Maximum number of words in a sketch, those with the smallest hashes. Few messages have more; of a longer
one it is a fair sample (bottom-k sketch, Cohen and Kaplan 2007)."""

MIN_TERMS = 3
"""Minimum number of words: shorter queries ("go on", "fix it") mean something else each time."""

NEARLY_EQUAL = 0.8
"""Minimum share of common words of nearly equal queries: one word in ten may differ. Near-duplicate detection
commonly uses 0.8 to 0.9."""

_TEXT_CHARACTERS = 20_000
"""Maximum characters of a query that count: half from its beginning, half from its end."""

Sketch = tuple[int, ...]
"""Hashes of words, ascending, each once. Empty for a query that is too short to be compared."""


def sketch_of(query: str) -> Sketch:
    """Return the sketch of a query. Case, order, repetition, punctuation and function words don't count."""
    if len(query) > _TEXT_CHARACTERS:
        half = _TEXT_CHARACTERS // 2
        query = f"{query[:half]} {query[-half:]}"
    words = set(_WORD.findall(query.casefold())) - _FUNCTION_WORDS
    return () if len(words) < MIN_TERMS else tuple(sorted({_hash(word) for word in words})[:SKETCH_TERMS])


def similarity(sketch: Sketch, other: Sketch) -> float:
    """Return the share of common words of two queries (Jaccard), 0 to 1.

    Exact up to `SKETCH_TERMS` different words, an estimate above: of the smallest hashes of both together.
    """
    if not sketch or not other:
        return 0.0
    both = sorted({*sketch, *other})[:SKETCH_TERMS]
    common = {*sketch}.intersection(other)
    return sum(term in common for term in both) / len(both)


def prefix(sketch: Sketch) -> Sketch:
    """Return the terms of which nearly equal queries share at least one.

    Two sets that share the part t of their union share at least one among the first n - ceil(t n) + 1 of
    each in any fixed order (prefix filtering, Chaudhuri, Ganti and Kaushik 2006): so looking these few up
    misses none.
    """
    return sketch[: len(sketch) - ceil(NEARLY_EQUAL * len(sketch)) + 1] if sketch else ()


def sketch_bytes(sketch: Sequence[int]) -> bytes:
    """Return a sketch as bytes, four for a term."""
    return struct.pack(f"<{len(sketch)}I", *sketch)


def sketch_in(data: bytes) -> Sketch:
    """Return the sketch in bytes, ignoring an incomplete last term."""
    return struct.unpack(f"<{len(data) // 4}I", data[: len(data) // 4 * 4])


def add_query(database: Database, request: int) -> None:
    """Index the query of a request, once. Needs a transaction."""
    database.executemany("INSERT OR IGNORE INTO query_terms VALUES (?, ?)", _terms(database, request))


def remove_query(database: Database, request: int) -> None:
    """Remove the query of an existing request from the index. Needs a transaction."""
    database.executemany("DELETE FROM query_terms WHERE term = ? AND request = ?", _terms(database, request))


def nearest_queries(database: Database, project: bytes, sketch: Sketch) -> list[tuple[int, float]]:
    """Return the requests of nearly equal queries with their similarity, the most equal and latest first."""
    shares: dict[int, float] = {}
    for term in prefix(sketch):
        rows = database.execute(
            "SELECT request, sketch FROM query_terms JOIN requests ON number = request"
            " WHERE term = ? AND project = ? ORDER BY request DESC LIMIT ?",
            (term, project, _MAX_CANDIDATES),
        )
        shares |= {
            number: similarity(sketch, sketch_in(data)) for number, data in rows if number not in shares
        }
    found = [(number, share) for number, share in shares.items() if share >= NEARLY_EQUAL]
    return sorted(found, key=lambda request: (-request[1], -request[0]))[:MAX_NEAR]


def _terms(database: Database, request: int) -> list[tuple[int, int]]:
    row = database.execute("SELECT sketch FROM requests WHERE number = ?", (request,)).fetchone()
    return [(term, request) for term in prefix(sketch_in(row[0]))] if row else []


_MAX_CANDIDATES = 64
"""Maximum number of queries compared for each word, the latest; with at most 13 words, 832 in all."""

_WORD = re.compile(r"\w[\w'-]*\w")
_FUNCTION_WORDS = frozenset(
    # A list of ninety strings would be twenty times as long to read.
    """an the and or but if of in on at to for from by with as is are was were be been it its this that these
    those there here what which who how why when where do does did can could should would will shall may
    might must have has had not no so than then too very please me my we our us you your they their he she
    about into just also""".split()  # noqa: SIM905 - see above
)


@lru_cache(maxsize=16_384)
def _hash(word: str) -> int:
    digest = hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=4).digest()
    return int.from_bytes(digest, "big")
