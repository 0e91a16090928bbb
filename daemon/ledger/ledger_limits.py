"""Owns the bounds of the ledger, and what is forgotten to stay within them: content first, then records."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from ..core.lazy_dataclass import dataclass
from ..core.storage import Database
from ..session.sessions import timestamp_of
from . import body_table, item_counts, query_table, request_table

ROUND = 200
"""So many requests are looked at in one transaction, so that a reader waits some milliseconds at most."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is kept. What was sent goes first, the oldest before the others, and the record says so.

    `max_bytes` is what the file has in use, records included: some 80,000 requests
    with contexts of 30 KB, which take 6 KB each in a conversation that goes from file to file.
    """

    content_days: int = 30
    record_days: int = 180
    count_days: int = 365
    max_bytes: int = 512 * 1024 * 1024
    max_per_session: int = 1_000
    max_requests: int = 200_000


def prune_round(database: Database, limits: Limits, now: datetime) -> int:
    """Forget what is too old or too much, `ROUND` requests at most; returns how many were touched.

    Needs a transaction. What comes back as 0 is within the bounds.
    """
    by_age = _select(database, "at < ? ORDER BY at", (_days_before(now, limits.record_days),))
    by_count = _select(database, "number <= (SELECT MAX(number) - ? FROM requests)", (limits.max_requests,))
    done = _each(database, dict.fromkeys((*by_age, *by_count)), forget)
    reason = f"it was older than {limits.content_days} days"
    old = _select(database, "at < ? AND pruned = '' ORDER BY at", (_days_before(now, limits.content_days),))
    done += _each(database, old, lambda database, number: forget_sent(database, number, reason))
    item_counts.remove_before(database, _days_before(now, limits.count_days)[:10])
    return done or _prune_bytes(database, limits)


def prune_session(database: Database, session_id: str, limits: Limits) -> None:
    """Forget the oldest requests of a session that has too many. Needs a transaction."""
    surplus = _select(
        database,
        "session = (SELECT id FROM sessions WHERE name = ?) ORDER BY number DESC",
        (session_id.encode("utf-8", "surrogatepass"),),
        after=limits.max_per_session,
    )
    _each(database, surplus, forget)


def forget(database: Database, number: int) -> None:
    """Forget a request; what its items count stays. Needs a transaction."""
    row = request_table.at_number(database, number)
    if row is not None:
        query_table.remove(database, row.project, row.sketch, number)
    body_table.remove(database, number)
    request_table.remove(database, number)


def forget_sent(database: Database, number: int, reason: str) -> None:
    """Forget what was sent for a request and note why. Needs a transaction."""
    body_table.remove_sent(database, number)
    request_table.set_pruned(database, number, reason)


def used_bytes(database: Database) -> int:
    """Return how much of the file is in use. Takes no time."""
    pages = _pragma(database, "page_count") - _pragma(database, "freelist_count")
    return pages * _pragma(database, "page_size")


_STEP = 20
"""Between two looks at what is in use, which is not known in advance: pieces are shared."""


def _prune_bytes(database: Database, limits: Limits) -> int:
    """Forget the oldest content, and when there is none, the oldest records, until the rest fits."""
    reason = f"the record of requests is limited to {limits.max_bytes:,} bytes"
    done = 0
    while used_bytes(database) > limits.max_bytes and done < ROUND:
        oldest = _select(database, "pruned = '' ORDER BY at", ())[:_STEP]
        done += _each(database, oldest, lambda database, number: forget_sent(database, number, reason))
        if not oldest:
            oldest = _select(database, "TRUE ORDER BY at", ())[:_STEP]
            done += _each(database, oldest, forget)
        if not oldest:
            break
    return done


def _select(database: Database, where: str, values: tuple[object, ...], after: int = 0) -> list[int]:
    query = f"SELECT number FROM requests WHERE {where} LIMIT ? OFFSET ?"  # noqa: S608 - from this file
    return [number for (number,) in database.execute(query, (*values, ROUND, after))]


def _each(database: Database, numbers: Iterable[int], action: Callable[[Database, int], None]) -> int:
    done = 0
    for number in numbers:
        action(database, number)
        done += 1
    return done


def _days_before(now: datetime, days: int) -> str:
    return timestamp_of(now - timedelta(days=days))


def _pragma(database: Database, name: str) -> int:
    return int(database.execute(f"PRAGMA {name}").fetchone()[0])
