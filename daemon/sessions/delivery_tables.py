"""The tables of deliveries.sqlite: deliveries with their requests and contents, the places that they showed,
the events of sessions, and counts of items. Here is what is written and removed."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct, to_builtins

from ..core.storage import Database, select_in, settle_times
from ..core.system import FUTURE
from ..core.times import milliseconds_of, timestamp_of
from ..rules.records import ItemKey
from .delivered_context import DeliveredContext, Delivery, ShownPlace
from .request_record import LAYOUT, ItemPart, RequestRecord, Sent, SentMessage, UsedItem, record_map

FILE = "deliveries.sqlite"
VERSION = 1
SCHEMA = """
CREATE TABLE sessions (
    id INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE, project BLOB NOT NULL, host TEXT NOT NULL,
    observed INTEGER NOT NULL DEFAULT 0, mined INTEGER NOT NULL DEFAULT 0,
    saved INTEGER NOT NULL DEFAULT 0, saved_files INTEGER NOT NULL DEFAULT 0);
CREATE TABLE contents (
    number INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, sent BLOB NOT NULL, record BLOB NOT NULL);
CREATE INDEX contents_by_age ON contents (at);
CREATE TABLE contexts (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id BLOB NOT NULL UNIQUE, content INTEGER NOT NULL,
    scope_id BLOB NOT NULL, session INTEGER NOT NULL, project BLOB NOT NULL, agent_name BLOB NOT NULL,
    access INTEGER NOT NULL, first_at INTEGER NOT NULL, at INTEGER NOT NULL, times INTEGER NOT NULL,
    turns INTEGER NOT NULL, last_elapsed_ms REAL NOT NULL, cached INTEGER NOT NULL, preview INTEGER NOT NULL,
    request_id BLOB NOT NULL, previous BLOB NOT NULL, is_same INTEGER NOT NULL, digest BLOB NOT NULL,
    tokens INTEGER NOT NULL, bytes INTEGER NOT NULL, tokens_before INTEGER NOT NULL, types TEXT NOT NULL,
    shown INTEGER NOT NULL, used INTEGER NOT NULL, summary TEXT NOT NULL);
CREATE INDEX contexts_by_age ON contexts (at);
CREATE INDEX contexts_by_content ON contexts (content);
CREATE INDEX contexts_by_project ON contexts (project, at);
CREATE INDEX contexts_by_session ON contexts (session, at);
CREATE INDEX contexts_by_scope ON contexts (scope_id, at);
CREATE TABLE access (id INTEGER PRIMARY KEY, data TEXT NOT NULL UNIQUE);
CREATE TABLE files (
    id INTEGER PRIMARY KEY, path BLOB NOT NULL, project BLOB NOT NULL, UNIQUE (path, project));
CREATE TABLE places (
    context INTEGER NOT NULL, file INTEGER NOT NULL, type TEXT NOT NULL, characters INTEGER NOT NULL,
    size INTEGER NOT NULL, edited INTEGER, read INTEGER, named INTEGER,
    PRIMARY KEY (context, file)) WITHOUT ROWID;
CREATE INDEX places_by_file ON places (file, type, edited, read, named);
CREATE TABLE requests (
    number INTEGER PRIMARY KEY AUTOINCREMENT, session INTEGER NOT NULL, id BLOB NOT NULL,
    project BLOB NOT NULL, at INTEGER NOT NULL, content INTEGER NOT NULL, pruned TEXT NOT NULL,
    referred TEXT, summary TEXT NOT NULL, record BLOB NOT NULL, UNIQUE (session, id));
CREATE INDEX requests_by_age ON requests (at);
CREATE INDEX requests_by_content ON requests (content);
CREATE INDEX requests_by_project ON requests (project, number);
CREATE TABLE items (
    id INTEGER PRIMARY KEY, project BLOB NOT NULL, type TEXT NOT NULL, name BLOB NOT NULL,
    server_name BLOB NOT NULL, UNIQUE (project, type, name, server_name));
CREATE TABLE item_days (
    item INTEGER NOT NULL, include TEXT NOT NULL, day TEXT NOT NULL, requests INTEGER NOT NULL,
    reported INTEGER NOT NULL, referred INTEGER NOT NULL, PRIMARY KEY (item, include, day)) WITHOUT ROWID;
CREATE TABLE entries (
    number INTEGER PRIMARY KEY AUTOINCREMENT, session INTEGER NOT NULL, at INTEGER NOT NULL,
    kind TEXT NOT NULL, mark TEXT NOT NULL, context_id BLOB NOT NULL, data TEXT NOT NULL,
    UNIQUE (session, mark));
CREATE INDEX entries_by_session ON entries (session, at, number);
CREATE INDEX entries_by_age ON entries (at);
"""
"""Times are in milliseconds since 1970. What a client may have written, with half surrogates, is a BLOB of
UTF-8 where it is looked up, else JSON in ASCII.

A row of `contexts` counts the deliveries of one context, `turns` those that weren't previews. Its text lies
in `contents`: `sent` as compressed JSON, X'' once it is lost, and `record`, what it was made of. A request
refers to the content of its context; `pruned` says why that is gone. When a content is removed, so are its
contexts. `session` is 0 without one. Who may see a context is stored once for all contexts of an agent.

A place has the time of its first use of each kind. `observed` is the time of the last sign of use in a
session, `mined` that of the last reading of its transcript; `saved` and `saved_files` are an estimate of
former versions. `shown` and `used` count the places of a context, so that sums are
fast. Counts of items outlive the requests that they were counted of, so that a share over time isn't a share
of what was kept."""

GZIP = 31
"""The `wbits` of zlib for gzip, which has a CRC-32."""

_EITHER = 47
"""The `wbits` that read gzip, or zlib with an Adler-32 as earlier versions wrote."""

ROUND = 200
"""Maximum number of rows of a table removed in one transaction, so that readers wait some milliseconds."""

_STEP = 20
"""Number of contents removed between checks of the used bytes."""

RECORD_DAYS = 180
"""Days for which the records of requests are kept at least."""


class DeliveryLimits(Struct, frozen=True):
    """The limits of the store. Contents go first, with their contexts, and requests say so.

    `max_bytes` is for the file, records included: some 60,000 requests with contexts of 24 KB.
    """

    content_days: int = 30
    record_days: int = RECORD_DAYS
    count_days: int = 365
    max_bytes: int = 512 * 1024 * 1024
    max_per_session: int = 1_000
    max_requests: int = 200_000
    max_contexts: int = 200_000
    entries_per_session: int = 2_000


def data_of(text: str) -> bytes:
    """Return a text, which may have half surrogates, as bytes for the table."""
    return text.encode("utf-8", "surrogatepass")


def text_of(data: bytes) -> str:
    """Return the text of bytes; damaged bytes are escaped."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "backslashreplace")


def clean(text: str) -> str:
    """Return a text as SQLite takes it: without half surrogates, as the names of files may have them."""
    return text.encode("utf-8", "replace").decode()


def packed(value: object) -> bytes:
    """Return plain values as compressed JSON. Raises `ValueError` or `TypeError` if they can't be JSON."""
    plain = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return zlib.compress(plain.encode("ascii"), wbits=GZIP)


def unpacked(data: bytes) -> Any:
    """Return the plain values of compressed JSON, None if they are damaged, by a checksum."""
    try:
        return json.loads(zlib.decompress(data, _EITHER))
    except Exception:  # noqa: BLE001 - any exception means damage
        return None


def packed_sent(sent: Sent) -> bytes:
    """Return what was sent as compressed JSON."""
    items = [
        [[item.key.type, item.key.name, item.key.server_name, item.text, item.schema] for item in some]
        for some in (sent.references, sent.rules, sent.tools)
    ]
    history = [[message.role, message.content] for message in sent.history]
    return packed([LAYOUT, sent.context, sent.system_prompt, sent.user_prompt, history, *items])


def sent_in(data: bytes) -> tuple[Sent, str] | None:
    """Return what was sent, and a problem if messages are built differently now; None if it is damaged."""
    try:
        layout, context, system_prompt, user_prompt, history, *items = unpacked(data)
        references, rules, tools = (
            tuple(ItemPart(ItemKey(*key), text, schema) for *key, text, schema in some) for some in items
        )
        said = tuple(SentMessage(*message) for message in history)
        sent = Sent(context, system_prompt, user_prompt, said, references, rules, tools)
    except Exception:  # noqa: BLE001 - any exception means damage, or another version's list
        return None
    other = "The parts are exact, but another version of foveal made messages of them in its way."
    return sent, "" if layout == LAYOUT else other


# Writing; each needs a transaction.


def put_session(database: Database, session_id: str, project: str = "", host: str = "") -> int:
    """Store what is known of a session; returns its number."""
    (number,) = database.execute(
        "INSERT INTO sessions (name, project, host) VALUES (?, ?, ?)"
        " ON CONFLICT (name) DO UPDATE SET project = iif(project = X'', excluded.project, project),"
        " host = iif(excluded.host = '', host, excluded.host) RETURNING id",
        (data_of(session_id), data_of(project), clean(host)),
    ).fetchone()
    return int(number)


class PackedContext(Struct, frozen=True):
    """A described context with its texts and records as bytes, so that no error of theirs counts as one of
    the database."""

    described: DeliveredContext
    summary: str
    sent: bytes
    content: bytes
    access: str
    request: bytes


def packed_context(described: DeliveredContext) -> PackedContext:
    """Pack a context. Raises `ValueError` or `TypeError` if something in it can't be JSON."""
    content = {
        "scope": described.scope, "request": described.request, "reply": described.reply,
        "texts": described.texts,
    }  # fmt: skip
    record = described.record
    return PackedContext(
        described,
        json.dumps(to_builtins(described.summary)),
        packed_sent(described.sent),
        packed(content),
        json.dumps(to_builtins(described.access)),
        b"" if record is None else packed(record_map(record)),
    )


def put_delivery(database: Database, delivery: Delivery, context: PackedContext | None) -> None:
    """Count a delivery, and store its context if it isn't there, and its request. `context` is needed for
    these two."""
    turns, request_id = 0 if delivery.preview else delivery.times, data_of(delivery.request_id)
    row = database.execute(
        "UPDATE contexts SET times = times + ?, turns = turns + ?, at = ?, last_elapsed_ms = ?, cached = ?,"
        " preview = preview AND ?, request_id = iif(?7 = X'', request_id, ?7)"
        " WHERE id = ?8 RETURNING content",
        (delivery.times, turns, delivery.at, delivery.elapsed_ms, delivery.cached, delivery.preview,
         request_id, data_of(delivery.context_id)),
    ).fetchone()  # fmt: skip
    if context is None:
        return
    session_id = context.described.session_id
    session = put_session(database, session_id, context.described.project) if session_id else 0
    content = _insert_context(database, delivery, context, session) if row is None else int(row[0])
    if context.described.record is not None:
        put_request(database, session, context.described.record, content, context.request)


def _insert_context(database: Database, delivery: Delivery, context: PackedContext, session: int) -> int:
    """Insert a context with its content; returns the content's number."""
    described, summary = context.described, context.described.summary
    digest = hashlib.blake2b(data_of(described.sent.context), digest_size=16).digest()
    scope = data_of(described.scope_id)
    previous, same = database.execute(
        "SELECT id, digest FROM contexts WHERE scope_id = ? ORDER BY at DESC, number DESC LIMIT 1", (scope,)
    ).fetchone() or (b"", b"")
    content = put_content(database, delivery.at, context.sent, context.content)
    number = database.execute(
        f"INSERT INTO contexts VALUES (NULL{', ?' * 25})",  # noqa: S608 - marks only
        (data_of(delivery.context_id), content, scope, session, data_of(described.project),
         data_of(described.agent_name), _access(database, context.access), delivery.at, delivery.at,
         delivery.times, 0 if delivery.preview else delivery.times, delivery.elapsed_ms, delivery.cached,
         delivery.preview, data_of(delivery.request_id), previous, same == digest, digest, summary.tokens,
         summary.bytes, summary.tokens_before, json.dumps(described.types),
         sum(bool(place.type) for place in described.places), 0, context.summary),
    ).lastrowid  # fmt: skip
    assert number is not None
    put_places(database, number, described.project, described.places)
    return content


def put_content(database: Database, at: int, sent: bytes, record: bytes) -> int:
    """Insert a content; returns its number."""
    number = database.execute("INSERT INTO contents VALUES (NULL, ?, ?, ?)", (at, sent, record)).lastrowid
    assert number is not None
    return number


def put_places(database: Database, context: int, project: str, places: Iterable[ShownPlace]) -> None:
    """Insert the places of a context."""
    root = data_of(project)
    for place in places:
        file = data_of(place.path), root
        database.execute("INSERT OR IGNORE INTO files VALUES (NULL, ?, ?)", file)
        database.execute(
            "INSERT OR IGNORE INTO places SELECT ?, id, ?, ?, ?, NULL, NULL, NULL FROM files"
            " WHERE path = ? AND project = ?",
            (context, place.type, place.characters, place.size, *file),
        )


def put_request(
    database: Database, session: int, record: RequestRecord, content: int, data: bytes
) -> int | None:
    """Insert a request with its packed record, and count its items; returns its number, None if the session
    has this request."""
    summary = {
        "message_hash": record.message_hash, "tokens": record.tokens, "bytes": record.bytes,
        "elapsed_ms": record.elapsed_ms, "items": len(record.items), "considered": len(record.considered),
        "degraded": len(record.degraded),
    }  # fmt: skip
    cursor = database.execute(
        "INSERT OR IGNORE INTO requests VALUES (NULL, ?, ?, ?, ?, ?, '', NULL, ?, ?)",
        (session, data_of(record.id), data_of(record.project_root), record.milliseconds, content,
         json.dumps(summary), data),
    )  # fmt: skip
    if not cursor.rowcount:
        return None
    count_items(database, record, record.items, "requests")
    return cursor.lastrowid


def count_items(database: Database, record: RequestRecord, used: Iterable[UsedItem], column: str) -> None:
    """Add one to a count (`requests`, `reported` or `referred`) of items of a request."""
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


def _access(database: Database, data: str) -> int:
    database.execute("INSERT OR IGNORE INTO access VALUES (NULL, ?)", (data,))
    return int(database.execute("SELECT id FROM access WHERE data = ?", (data,)).fetchone()[0])


# Removing; each needs a transaction.


def prune_session(database: Database, session: int, limits: DeliveryLimits) -> None:
    """Remove the oldest requests and entries of a session with too many."""
    for table, order, most in (
        ("requests", "number", limits.max_per_session),
        ("entries", "at DESC, number", limits.entries_per_session),
    ):
        database.execute(
            f"DELETE FROM {table} WHERE number IN (SELECT number FROM {table} WHERE session = ?"  # noqa: S608 - from above
            f" ORDER BY {order} DESC LIMIT -1 OFFSET ?)",
            (session, most),
        )


def prune_round(database: Database, limits: DeliveryLimits, now: datetime) -> int:
    """Remove what is over the limits, some of each; returns how much was removed, 0 if nothing is over."""
    for table in ("contents", "contexts", "requests", "entries"):
        # What a wrong clock dated ahead gets the present time, so that it grows old too.
        settle_times(database, table, milliseconds_of(now), milliseconds_of(now + FUTURE))
    old = _before(now, limits.content_days)
    contents = _numbers(database, "SELECT number FROM contents WHERE at < ?", old)
    done = _remove_contents(database, contents, f"it was older than {limits.content_days} days")
    contents = _numbers(
        database, "SELECT number FROM contents WHERE number <= (SELECT MAX(number) - ? FROM contents)",
        limits.max_contexts,
    )  # fmt: skip
    reason = f"at most {limits.max_contexts:,} contexts are kept"
    done += _remove_contents(database, contents, reason)
    done += _remove(database, "requests", "at < ?", _before(now, limits.record_days))
    most = "number <= (SELECT MAX(number) - ? FROM requests)"
    done += _remove(database, "requests", most, limits.max_requests)
    done += _remove(database, "entries", "at < ?", old)
    day = timestamp_of(now - timedelta(days=limits.count_days))[:10]
    database.execute("DELETE FROM item_days WHERE day < ?", (day,))
    reason = f"the record of requests is limited to {limits.max_bytes:,} bytes"
    while _used_bytes(database) > limits.max_bytes and done < ROUND:
        contents = _numbers(database, "SELECT number FROM contents WHERE TRUE ORDER BY at, number")[:_STEP]
        removed = _remove_contents(database, contents, reason) or _remove(database, "requests", "TRUE")
        if not removed:
            break
        done += removed
    return done


def forget_round(database: Database, project_root: str) -> int:
    """Remove some of a project, also from sessions that worked in several; returns how much was removed."""
    root = data_of(project_root)
    contents = _numbers(
        database, "SELECT content FROM contexts WHERE project = ?1 UNION"
        " SELECT content FROM requests WHERE project = ?1 AND content IN (SELECT number FROM contents)", root,
    )  # fmt: skip
    mine = "SELECT id FROM contexts WHERE content IN ({marks})"
    ids = [row[0] for row in select_in(database, mine, contents)]
    for _ in select_in(database, "DELETE FROM entries WHERE context_id IN ({marks})", ids):
        pass
    done = _remove_contents(database, contents, "its project was forgotten")
    done += _remove(database, "requests", "project = ?", root)
    done += _remove(database, "entries", "session IN (SELECT id FROM sessions WHERE project = ?)", root)
    database.execute("DELETE FROM item_days WHERE item IN (SELECT id FROM items WHERE project = ?)", (root,))
    return done


def remove_unused(database: Database) -> None:
    """Remove what nothing refers to any more."""
    database.execute("DELETE FROM files WHERE id NOT IN (SELECT file FROM places)")
    database.execute("DELETE FROM access WHERE id NOT IN (SELECT access FROM contexts)")
    database.execute("DELETE FROM items WHERE id NOT IN (SELECT item FROM item_days)")
    used = " UNION ".join(f"SELECT session FROM {table}" for table in ("contexts", "requests", "entries"))  # noqa: S608 - from this line
    database.execute(f"DELETE FROM sessions WHERE id NOT IN ({used})")  # noqa: S608 - from above


def _remove_contents(database: Database, contents: Collection[int], reason: str) -> int:
    """Remove contents with their contexts for a reason, which requests tell; returns their number."""
    places = (
        "DELETE FROM places WHERE context IN (SELECT number FROM contexts WHERE content IN ({marks}))",
        "DELETE FROM contexts WHERE content IN ({marks})",
        "DELETE FROM contents WHERE number IN ({marks})",
    )
    told = "UPDATE requests SET pruned = ? WHERE pruned = '' AND content IN ({marks})"
    for query, before in ((told, (reason,)), *((query, ()) for query in places)):
        for _ in select_in(database, query, contents, before=before):
            pass
    return len(contents)


def _remove(database: Database, table: str, where: str, *values: object) -> int:
    some = f"SELECT number FROM {table} WHERE {where} ORDER BY number LIMIT {ROUND}"  # noqa: S608 - from this file
    return database.execute(f"DELETE FROM {table} WHERE number IN ({some})", values).rowcount  # noqa: S608 - as above


def _numbers(database: Database, query: str, *values: object) -> list[int]:
    return [number for (number,) in database.execute(f"{query} LIMIT {ROUND}", values)]


def _before(now: datetime, days: int) -> int:
    return milliseconds_of(now - timedelta(days=days))


def _used_bytes(database: Database) -> int:
    """Return the used bytes of the file, from SQLite's counters."""
    count, free, size = (
        int(database.execute(f"PRAGMA {name}").fetchone()[0])
        for name in ("page_count", "freelist_count", "page_size")
    )
    return (count - free) * size
