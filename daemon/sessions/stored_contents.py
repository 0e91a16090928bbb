"""Owns what was sent for requests, on disk: several compressed together, and what of it is forgotten."""

from __future__ import annotations

import json
import lzma
import zlib
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from msgspec import Struct

from ..core.storage import Database
from ..rules.items import ItemKey
from . import request_table
from .request_record import LAYOUT, ItemPart, Said, Sent
from .request_table import GZIP
from .session import timestamp_of

SCHEMA = """
CREATE TABLE packs (
    first INTEGER PRIMARY KEY, last INTEGER NOT NULL, requests INTEGER NOT NULL, size INTEGER NOT NULL,
    data BLOB NOT NULL);
"""
"""A pack holds requests from `first` to `last`, by number; `size` is that before compression, in bytes."""

PACK_REQUESTS = 16
"""New requests are packed alone, and so many together once they are there. Contexts of one conversation are
much alike: 234 requests of ten conversations on two projects take .67 MB so and 1.34 MB each alone; those of
a conversation about the same files .20 and 1.79 MB. Twice as many in a pack save a sixth, and are slower to
read: 1.7 ms for 16."""

PACK_BYTES = 1024 * 1024
"""A pack with so many bytes before compression gets no more; one with more holds a single large request."""

ROUND = 200
"""Maximum number of requests looked at in one transaction, so that a reader waits some milliseconds at
most."""

LOST = "What was sent is lost: its record is damaged."

_STEP = 20
"""Between two looks at what is in use, which is not known in advance."""


class LedgerLimits(Struct, frozen=True):
    """How much is kept. What was sent goes first, the oldest before the others, and the record says so.

    `max_bytes` is what the file has in use, records included: some 120,000 requests with contexts of 24 KB.
    """

    content_days: int = 30
    record_days: int = 180
    count_days: int = 365
    max_bytes: int = 512 * 1024 * 1024
    max_per_session: int = 1_000
    max_requests: int = 200_000


def add(database: Database, sent: Mapping[int, Sent]) -> None:
    """Write what was sent for requests, which have higher numbers than all before. Needs a transaction."""
    for number, parts in sent.items():
        _insert(database, {number: line_of(parts)})
        _pack_latest(database)


def add_pack(database: Database, sent: Mapping[int, Sent]) -> None:
    """Write what was sent for requests in a row, wherever in the order they are. Needs a transaction."""
    if sent:
        _insert(database, {number: line_of(parts) for number, parts in sent.items()})


def read(database: Database, numbers: Iterable[int]) -> dict[int, tuple[Sent, str]]:
    """Return what was sent for those of the requests of which it is there and whole, each with the problem if
    messages are made of it in another way now."""
    found, lines, last = {}, dict[int, bytes](), 0
    for number in sorted(numbers):
        if number > last:
            row = database.execute(
                "SELECT last, data FROM packs WHERE first <= ? ORDER BY first DESC LIMIT 1", (number,)
            ).fetchone()
            last, lines = (row[0], _unpacked(row[1])) if row else (0, {})
        if number in lines and (parts := sent_in(lines[number])):
            found[number] = parts
    return found


def forget(database: Database, numbers: Iterable[int], reason: str = "") -> int:
    """Forget what was sent for requests and note why, or forget all of them where no reason is given; what
    their items count stays. Returns how many there were. Needs a transaction."""
    several = tuple(numbers)
    for number in several:
        if reason:
            request_table.set_pruned(database, number, reason)
        else:
            request_table.remove_query(database, number)
            request_table.remove(database, number)
    for number in several:
        _repack(database, number)
    return len(several)


def prune_round(database: Database, limits: LedgerLimits, now: datetime) -> int:
    """Forget what is too old or too much, `ROUND` requests at most; returns how many were touched.

    Needs a transaction. What comes back as 0 is within the bounds.
    """
    by_age = _select(database, "at < ? ORDER BY at", (_days_before(now, limits.record_days),))
    by_count = _select(database, "number <= (SELECT MAX(number) - ? FROM requests)", (limits.max_requests,))
    done = forget(database, dict.fromkeys((*by_age, *by_count)))
    old = _select(database, "at < ? AND pruned = '' ORDER BY at", (_days_before(now, limits.content_days),))
    done += forget(database, old, f"it was older than {limits.content_days} days")
    request_table.remove_counts_before(database, _days_before(now, limits.count_days)[:10])
    reason = f"the record of requests is limited to {limits.max_bytes:,} bytes"
    while used_bytes(database) > limits.max_bytes and done < ROUND:
        if oldest := _select(database, "pruned = '' ORDER BY at", ())[:_STEP]:
            done += forget(database, oldest, reason)
        elif oldest := _select(database, "TRUE ORDER BY at", ())[:_STEP]:
            done += forget(database, oldest)
        else:
            break
    return done


def prune_session(database: Database, session_id: str, limits: LedgerLimits) -> None:
    """Forget the oldest requests of a session that has too many. Needs a transaction."""
    session = request_table.data_of(session_id)
    where = "session = ? ORDER BY number DESC"
    forget(database, _select(database, where, (session,), after=limits.max_per_session))


def used_bytes(database: Database) -> int:
    """Return how much of the file is in use. Takes no time."""
    pages = _pragma(database, "page_count") - _pragma(database, "freelist_count")
    return pages * _pragma(database, "page_size")


def line_of(parts: Sent) -> bytes:
    """Return parts as a line of JSON: also texts that are no Unicode come back as they are."""
    items = [
        [[item.key.type, item.key.name, item.key.server_name, item.text, item.schema] for item in some]
        for some in (parts.references, parts.rules, parts.tools)
    ]
    history = [[message.role, message.content] for message in parts.history]
    plain = [LAYOUT, parts.context, parts.system_prompt, parts.user_prompt, history, *items]
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def sent_in(line: bytes) -> tuple[Sent, str] | None:
    """Return the parts in a line, and the problem if they aren't exactly those that an agent had."""
    try:
        layout, context, system_prompt, user_prompt, history, *items = json.loads(
            line.decode("utf-8", "surrogatepass")
        )
        references, rules, tools = (
            tuple(ItemPart(ItemKey(*key), text, schema) for *key, text, schema in some) for some in items
        )
        said = tuple(Said(*message) for message in history)
        parts = Sent(context, system_prompt, user_prompt, said, references, rules, tools)
    except Exception:  # noqa: BLE001 - whatever it raises, another version wrote it
        return None
    other = "The parts are exact, but another version of foveal made messages of them in its way."
    return parts, "" if layout == LAYOUT else other


def _insert(database: Database, lines: Mapping[int, bytes]) -> None:
    data = b"\n".join(b"%d %b" % line for line in lines.items())
    # Of one alone zlib makes as little as XZ does, in a third of the time; the fastest preset of XZ makes 4 %
    # more of several than the next. Both have a checksum, by which damage is met.
    packed = zlib.compress(data, wbits=GZIP) if len(lines) == 1 else lzma.compress(data, preset=0)
    row = (min(lines), max(lines), len(lines), len(data), packed)
    database.execute("INSERT INTO packs VALUES (?, ?, ?, ?, ?)", row)


def _unpacked(data: bytes) -> dict[int, bytes]:
    """Return the lines of a pack by number; none of a damaged one."""
    try:
        single = data.startswith(b"\x1f\x8b")
        lines = zlib.decompress(data, GZIP) if single else lzma.decompress(data)
        pairs = (line.split(b" ", 1) for line in lines.split(b"\n"))
        return {int(number): line for number, line in pairs}
    except Exception:  # noqa: BLE001 - whatever it raises, it is damaged
        return {}


def _pack_latest(database: Database) -> None:
    """Pack the latest requests together once there are enough; what of them is damaged is gone then."""
    query = "SELECT first, requests, size FROM packs ORDER BY first DESC LIMIT ?"
    several, total = [], 0
    for first, requests, size in database.execute(query, (PACK_REQUESTS,)):
        if requests >= PACK_REQUESTS or size >= PACK_BYTES:
            break
        several.append(first)
        total += size
    if len(several) > 1 and (len(several) >= PACK_REQUESTS or total >= PACK_BYTES):
        rows = database.execute("SELECT data FROM packs WHERE first >= ? ORDER BY first", (several[-1],))
        lines = {number: line for (data,) in rows for number, line in _unpacked(data).items()}
        database.execute("DELETE FROM packs WHERE first >= ?", (several[-1],))
        if lines:
            _insert(database, lines)


def _repack(database: Database, number: int) -> None:
    """Take out of the pack with a number what of it is not to be kept any more."""
    row = database.execute(
        "SELECT first, last, requests, data FROM packs WHERE first <= ? AND last >= ?"
        " ORDER BY first DESC LIMIT 1",
        (number, number),
    ).fetchone()
    if row is None:
        return
    first, last, requests, data = row
    kept = {n for (n,) in _rows_with_content(database, first, last)}
    if len(kept) < requests:
        database.execute("DELETE FROM packs WHERE first = ?", (first,))
        if lines := {n: line for n, line in _unpacked(data).items() if n in kept} if kept else {}:
            _insert(database, lines)


def _rows_with_content(database: Database, first: int, last: int) -> Iterable[tuple[int]]:
    query = "SELECT number FROM requests WHERE number BETWEEN ? AND ? AND pruned = ''"
    return database.execute(query, (first, last))


def _select(database: Database, where: str, values: tuple[object, ...], after: int = 0) -> list[int]:
    query = f"SELECT number FROM requests WHERE {where} LIMIT ? OFFSET ?"  # noqa: S608 - from this file
    return [number for (number,) in database.execute(query, (*values, ROUND, after))]


def _days_before(now: datetime, days: int) -> str:
    return timestamp_of(now - timedelta(days=days))


def _pragma(database: Database, name: str) -> int:
    return int(database.execute(f"PRAGMA {name}").fetchone()[0])
