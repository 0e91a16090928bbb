"""The stored contents of requests and contexts (what was sent), several compressed together, and their
pruning."""

from __future__ import annotations

import json
import lzma
import zlib
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from msgspec import Struct

from ..core.storage import Database, settle_times
from ..core.system import FUTURE
from ..rules.items import ItemKey
from . import context_table, request_table
from .context_table import microseconds_of, moment_of
from .request_record import LAYOUT, ItemPart, Said, Sent
from .request_table import GZIP
from .session import timestamp_of

SCHEMA = """
CREATE TABLE packs (
    first INTEGER PRIMARY KEY, last INTEGER NOT NULL, requests INTEGER NOT NULL, size INTEGER NOT NULL,
    data BLOB NOT NULL);
"""
"""A pack has the requests with numbers from `first` to `last`; `size` is in bytes before compression."""

CONTEXT_SCHEMA = SCHEMA.replace("packs", "context_packs")
"""The same for contexts that no request has the text of."""


class Packs(Struct, frozen=True):
    """A table of packs, and the query of those numbers in a range whose contents are kept."""

    table: str
    kept: str


OF_REQUESTS = Packs("packs", "SELECT number FROM requests WHERE number BETWEEN ? AND ? AND pruned = ''")
OF_CONTEXTS = Packs("context_packs", "SELECT number FROM contexts WHERE number BETWEEN ? AND ? AND packed")

PACK_REQUESTS = 16
"""Number of requests packed together; new ones are packed alone until there are enough. Contexts of a
conversation are similar: 234 requests of ten conversations on two projects take .67 MB packed and 1.34 MB
alone; those of a conversation about the same files .20 and 1.79 MB. Packs of twice as many save a sixth but
read more slowly: 16 take 1.7 ms."""

PACK_BYTES = 1024 * 1024
"""Maximum bytes of a pack before compression; only a single large request is larger."""

ROUND = 200
"""Maximum number of requests pruned in one transaction, so that readers wait some milliseconds at most."""

LOST = "What was sent is lost: its record is damaged."

_STEP = 20
"""Number of requests removed between checks of the used bytes."""


RECORD_DAYS = 180
"""Days for which the records of requests are kept at least."""


class LedgerLimits(Struct, frozen=True):
    """The limits of the request log. Contents are removed first, the oldest first, and the record says so.

    `max_bytes` is for the file, records included: some 120,000 requests with contexts of 24 KB. Delivered
    contexts are removed with the contents of their time.
    """

    content_days: int = 30
    record_days: int = RECORD_DAYS
    count_days: int = 365
    max_bytes: int = 512 * 1024 * 1024
    max_per_session: int = 1_000
    max_requests: int = 200_000
    max_contexts: int = 200_000


def add(database: Database, sent: Mapping[int, Sent], packs: Packs = OF_REQUESTS) -> None:
    """Store the contents of requests with higher numbers than all before. Needs a transaction."""
    for number, parts in sent.items():
        _insert(database, {number: line_of(parts)}, packs)
        _pack_latest(database, packs)


def add_pack(database: Database, sent: Mapping[int, Sent]) -> None:
    """Store the contents of consecutive requests, anywhere in the order. Needs a transaction."""
    if sent:
        _insert(database, {number: line_of(parts) for number, parts in sent.items()}, OF_REQUESTS)


def read(
    database: Database, numbers: Iterable[int], packs: Packs = OF_REQUESTS
) -> dict[int, tuple[Sent, str]]:
    """Return the contents of requests that are stored and whole, each with a problem if messages are built
    differently now."""
    found, lines, last = {}, dict[int, bytes](), 0
    for number in sorted(numbers):
        if number > last:
            query = f"SELECT last, data FROM {packs.table} WHERE first <= ? ORDER BY first DESC LIMIT 1"  # noqa: S608 - from this file
            row = database.execute(query, (number,)).fetchone()
            last, lines = (row[0], _unpacked(row[1])) if row else (0, {})
        if number in lines and (parts := sent_in(lines[number])):
            found[number] = parts
    return found


def forget(database: Database, numbers: Iterable[int], reason: str = "") -> int:
    """Remove the contents of requests for a reason, or without one the whole requests; counts of items stay.
    Returns the number of requests. Needs a transaction."""
    several = tuple(numbers)
    database.execute("DELETE FROM query_terms")  # a former version kept hashes of messages' words there
    for number in several:
        if reason:
            request_table.set_pruned(database, number, reason)
        else:
            request_table.remove(database, number)
    for number in several:
        _repack(database, number, OF_REQUESTS)
    return len(several)


def forget_contexts(database: Database, numbers: Iterable[int]) -> int:
    """Remove contexts with their texts. Returns the number of contexts. Needs a transaction."""
    several = tuple(numbers)
    context_table.remove(database, several)
    for number in several:
        _repack(database, number, OF_CONTEXTS)
    return len(several)


def forget_project(database: Database, project_root: str) -> int:
    """Remove some of the requests and contexts of a project, and return how many. Needs a transaction."""
    project = (request_table.data_of(project_root),)
    contexts = f"SELECT number FROM contexts WHERE project = ? LIMIT {ROUND}"  # noqa: S608 - from this file
    done = forget(database, _select(database, "project = ?", project))
    return done + forget_contexts(database, [number for (number,) in database.execute(contexts, project)])


def prune_round(database: Database, limits: LedgerLimits, now: datetime) -> int:
    """Remove what is over the limits, `ROUND` requests at most; returns how many were changed.

    Needs a transaction. Returns 0 if everything is within the limits.
    """
    _settle_times(database, now)
    by_age = _select(database, "at < ? ORDER BY at", (_days_before(now, limits.record_days),))
    by_count = _select(database, "number <= (SELECT MAX(number) - ? FROM requests)", (limits.max_requests,))
    done = forget(database, dict.fromkeys((*by_age, *by_count)))
    old = _select(database, "at < ? AND pruned = '' ORDER BY at", (_days_before(now, limits.content_days),))
    done += forget(database, old, f"it was older than {limits.content_days} days")
    done += forget_contexts(database, _old_contexts(database, limits, now))
    request_table.remove_counts_before(database, _days_before(now, limits.count_days)[:10])
    reason = f"the record of requests is limited to {limits.max_bytes:,} bytes"
    while used_bytes(database) > limits.max_bytes and done < ROUND:
        oldest, contexts = _oldest(database)
        if oldest or contexts:
            done += forget(database, oldest, reason) + forget_contexts(database, contexts)
        elif oldest := _select(database, "TRUE ORDER BY at", ())[:_STEP]:
            done += forget(database, oldest)
        else:
            break
    return done


def _settle_times(database: Database, now: datetime) -> None:
    """Give what is dated more than a day ahead, as by a wrong clock, the present time, so that it grows old
    too. The records keep the time that they have."""
    settle_times(database, "requests", timestamp_of(now), timestamp_of(now + FUTURE))
    settle_times(database, "contexts", microseconds_of(now), microseconds_of(now + FUTURE))


def prune_session(database: Database, session_id: str, limits: LedgerLimits) -> None:
    """Remove the oldest requests of a session with too many. Needs a transaction."""
    session = request_table.data_of(session_id)
    where = "session = ? ORDER BY number DESC"
    forget(database, _select(database, where, (session,), after=limits.max_per_session))


def used_bytes(database: Database) -> int:
    """Return the used bytes of the file, from SQLite's counters."""
    pages = _pragma(database, "page_count") - _pragma(database, "freelist_count")
    return pages * _pragma(database, "page_size")


def line_of(parts: Sent) -> bytes:
    """Return parts as a line of JSON, which keeps even half surrogates."""
    items = [
        [[item.key.type, item.key.name, item.key.server_name, item.text, item.schema] for item in some]
        for some in (parts.references, parts.rules, parts.tools)
    ]
    history = [[message.role, message.content] for message in parts.history]
    plain = [LAYOUT, parts.context, parts.system_prompt, parts.user_prompt, history, *items]
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def sent_in(line: bytes) -> tuple[Sent, str] | None:
    """Return the parts of a line, and a problem if messages are built differently now."""
    try:
        layout, context, system_prompt, user_prompt, history, *items = json.loads(
            line.decode("utf-8", "surrogatepass")
        )
        references, rules, tools = (
            tuple(ItemPart(ItemKey(*key), text, schema) for *key, text, schema in some) for some in items
        )
        said = tuple(Said(*message) for message in history)
        parts = Sent(context, system_prompt, user_prompt, said, references, rules, tools)
    except Exception:  # noqa: BLE001 - any exception means another version's line
        return None
    other = "The parts are exact, but another version of foveal made messages of them in its way."
    return parts, "" if layout == LAYOUT else other


def _old_contexts(database: Database, limits: LedgerLimits, now: datetime) -> list[int]:
    """Return contexts that are too old or too many."""
    since = microseconds_of(now - timedelta(days=limits.content_days))
    query = (
        "SELECT number FROM contexts WHERE at < ?1 UNION SELECT number FROM contexts"
        " WHERE number <= (SELECT MAX(number) - ?2 FROM contexts) LIMIT ?3"
    )
    return [number for (number,) in database.execute(query, (since, limits.max_contexts, ROUND))]


def _oldest(database: Database) -> tuple[list[int], list[int]]:
    """Return the oldest requests with contents and the oldest contexts, `_STEP` together."""
    requests = "SELECT at, number FROM requests WHERE pruned = '' ORDER BY at LIMIT ?"
    contexts = "SELECT at, number FROM contexts ORDER BY at LIMIT ?"
    found = [(at, True, number) for at, number in database.execute(requests, (_STEP,))]
    for at, number in database.execute(contexts, (_STEP,)):
        found.append((timestamp_of(moment_of(at)), False, number))
    oldest = sorted(found)[:_STEP]
    return (
        [number for _, is_request, number in oldest if is_request],
        [number for _, is_request, number in oldest if not is_request],
    )


def _insert(database: Database, lines: Mapping[int, bytes], packs: Packs) -> None:
    data = b"\n".join(b"%d %b" % line for line in lines.items())
    # For one request zlib is as small as XZ in a third of the time; for several, XZ's fastest preset is 4 %
    # larger than the next. Both have a checksum, which shows damage.
    packed = zlib.compress(data, wbits=GZIP) if len(lines) == 1 else lzma.compress(data, preset=0)
    row = (min(lines), max(lines), len(lines), len(data), packed)
    database.execute(f"INSERT INTO {packs.table} VALUES (?, ?, ?, ?, ?)", row)  # noqa: S608 - from this file


def _unpacked(data: bytes) -> dict[int, bytes]:
    """Return the lines of a pack by number; none if it is damaged."""
    try:
        single = data.startswith(b"\x1f\x8b")
        lines = zlib.decompress(data, GZIP) if single else lzma.decompress(data)
        pairs = (line.split(b" ", 1) for line in lines.split(b"\n"))
        return {int(number): line for number, line in pairs}
    except Exception:  # noqa: BLE001 - any exception means damage
        return {}


def _pack_latest(database: Database, packs: Packs) -> None:
    """Pack the latest requests together once there are enough; damaged ones are lost."""
    table = packs.table
    query = f"SELECT first, requests, size FROM {table} ORDER BY first DESC LIMIT ?"  # noqa: S608 - from this file
    several, total = [], 0
    for first, requests, size in database.execute(query, (PACK_REQUESTS,)):
        if requests >= PACK_REQUESTS or size >= PACK_BYTES:
            break
        several.append(first)
        total += size
    if len(several) > 1 and (len(several) >= PACK_REQUESTS or total >= PACK_BYTES):
        query = f"SELECT data FROM {table} WHERE first >= ? ORDER BY first"  # noqa: S608 - from this file
        rows = database.execute(query, (several[-1],))
        lines = {number: line for (data,) in rows for number, line in _unpacked(data).items()}
        database.execute(f"DELETE FROM {table} WHERE first >= ?", (several[-1],))  # noqa: S608 - as above
        if lines:
            _insert(database, lines, packs)


def _repack(database: Database, number: int, packs: Packs) -> None:
    """Remove requests without contents from the pack of a number."""
    query = (
        f"SELECT first, last, requests, data FROM {packs.table} WHERE first <= ? AND last >= ?"  # noqa: S608 - from this file
        " ORDER BY first DESC LIMIT 1"
    )
    row = database.execute(query, (number, number)).fetchone()
    if row is None:
        return
    first, last, requests, data = row
    kept = {n for (n,) in database.execute(packs.kept, (first, last))}
    if len(kept) < requests:
        database.execute(f"DELETE FROM {packs.table} WHERE first = ?", (first,))  # noqa: S608 - from this file
        if lines := {n: line for n, line in _unpacked(data).items() if n in kept} if kept else {}:
            _insert(database, lines, packs)


def _select(database: Database, where: str, values: tuple[object, ...], after: int = 0) -> list[int]:
    query = f"SELECT number FROM requests WHERE {where} LIMIT ? OFFSET ?"  # noqa: S608 - from this file
    return [number for (number,) in database.execute(query, (*values, ROUND, after))]


def _days_before(now: datetime, days: int) -> str:
    return timestamp_of(now - timedelta(days=days))


def _pragma(database: Database, name: str) -> int:
    return int(database.execute(f"PRAGMA {name}").fetchone()[0])
