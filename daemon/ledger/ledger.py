"""Owns the ledger: what was used and sent for each request, written behind, given back exactly as it was."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import replace

from ..core.errors import NotFound
from ..core.lazy_dataclass import dataclass
from ..core.storage import Database, database_bytes
from ..core.system import System
from . import body_table, item_counts, request_table
from .ledger_file import LedgerFile
from .ledger_limits import Limits, prune_round, prune_session, used_bytes
from .manifest import texts_of
from .messages import Sent
from .query_sketch import sketch_of
from .recalled import Recalled, masked_problem, recalled
from .request_queue import RequestQueue, Waiting
from .request_record import RequestRecord, record_map
from .request_table import RequestRow, RequestSummary, summary_of

_PAGE = 100
_CONTENT_PAGE = 10
"""Requests that are read in one go when there may be many; of what was sent fewer, since that may fill a
frame."""


@dataclass(frozen=True, slots=True)
class LedgerStatistics:
    """Requests and sessions on disk, requests that wait to be written or were lost before they were, and the
    file's size and what of it is in use, in bytes."""

    requests: int
    sessions: int
    waiting: int
    lost: int
    bytes: int
    used_bytes: int


class Ledger:
    """The requests in a `LedgerFile`. Thread-safe; every method but `add` blocks for the disk.

    A request that was added is seen by `get` and `list` at once; a crash before `write` loses it. Raises
    `StateError` for what the disk refuses. `kept_of` says what is kept of a request, and may take time.
    """

    def __init__(
        self,
        file: LedgerFile,
        system: System,
        limits: Limits | None = None,
        queue: RequestQueue | None = None,
        kept_of: Callable[[RequestRecord, Sent], tuple[RequestRecord, Sent]] = lambda record, sent: (
            record,
            sent,
        ),
    ) -> None:
        self._file = file
        self._system = system
        self._limits = limits or Limits()
        self._queue = queue or RequestQueue()
        self._kept_of = kept_of
        self._writing = threading.Lock()

    def add(self, record: RequestRecord, sent: Sent) -> None:
        """Take a request to be written later. Waits for nothing, so it may be called on the event loop.

        Where the disk takes nothing for long, the requests that waited longest are lost, and counted.
        """
        self._queue.add(record, sent)

    def write(self) -> int:
        """Write what waits, and forget some of what is too old or too much; returns how many were written.

        What could not be written goes on waiting, but for a record that JSON has no form for: that is lost
        and raises `ValueError` or `TypeError`, as it would hold up all others.
        """
        with self._writing:
            waiting = self._queue.all()
            if not waiting:
                return 0
            kept = [self._kept(one) for one in waiting]
            bodies = [self._encoded(one, whole) for one, whole in zip(kept, waiting, strict=True)]
            with self._file.writing() as database:
                for one, body in zip(kept, bodies, strict=True):
                    _insert(database, one, body)
                for session_id in {one.record.session_id for one in waiting}:
                    prune_session(database, session_id, self._limits)
            self._queue.remove(waiting)
        self._prune_round()
        return len(waiting)

    def list(self, session_id: str, limit: int = 100, before: str = "") -> tuple[RequestSummary, ...]:
        """Return a session's requests, the latest first; with `before`, those behind the one with that id.

        Raises `NotFound` if that isn't there any more.
        """
        waiting = self._queue.all(session_id)
        after = [one.record.id for one in waiting]
        if before in after:
            waiting, before = waiting[: after.index(before)], ""
        elif before:
            waiting = []
        with self._file.reading() as database:
            below = _row(database, session_id, before).number if before else None
            written = request_table.of_session(database, session_id, limit, below)
        known = {row.summary.id for row in written}
        new = [summary_of(one.record) for one in reversed(waiting) if one.record.id not in known]
        return (*new, *(row.summary for row in written))[:limit]

    def counts(self) -> dict[str, int]:
        """Return how many requests each session has on disk."""
        with self._file.reading() as database:
            return request_table.counts(database)

    def get(self, session_id: str, request_id: str) -> Recalled:
        """Return a request as it was used, with the exact texts that were sent. Raises `NotFound`."""
        waiting = self._queue.find(session_id, request_id)
        if waiting is not None:
            kept = self._kept(waiting)
            return Recalled(kept.record, kept.sent, masked_problem(kept.record))
        with self._file.reading() as database:
            return recalled(database, _row(database, session_id, request_id))

    def after(
        self,
        number: int,
        times: tuple[str, str],
        session_id: str | None = None,
        project_root: str | None = None,
        *,
        content: bool = False,
    ) -> tuple[tuple[int, Recalled], ...]:
        """Return some requests behind a number with theirs, in order: of a session, of a project, or all.

        `times` are the first time and the first time that is too late, as sessions have them; empty for any.
        None are returned when there are no more. Without `content` what was sent is not read.
        """
        page = _CONTENT_PAGE if content else _PAGE
        with self._file.reading() as database:
            rows = request_table.in_order(database, session_id, project_root, page, number, times)
            return tuple((row.number, recalled(database, row, content=content)) for row in rows)

    def prune(self) -> int:
        """Forget all that is too old or too much; returns how many requests that touched."""
        total = 0
        while done := self._prune_round():
            total += done
        return total

    def statistics(self) -> LedgerStatistics:
        """Return the counts."""
        with self._file.reading() as database:
            requests, sessions = database.execute(
                "SELECT (SELECT COUNT(*) FROM requests), (SELECT COUNT(*) FROM sessions)"
            ).fetchone()
            used = used_bytes(database)
        return LedgerStatistics(
            requests, sessions, *self._queue.counts(), database_bytes(self._file.path), used
        )

    def _prune_round(self) -> int:
        with self._file.writing() as database:
            return prune_round(database, self._limits, self._system.now())

    def _kept(self, one: Waiting) -> Waiting:
        record, sent = self._kept_of(one.record, one.sent)
        return replace(one, record=record, sent=sent)

    def _encoded(self, one: Waiting, whole: Waiting) -> bytes:
        """Return the record of what is kept of a request; one that JSON has no form for is lost."""
        try:
            return json.dumps(record_map(one.record), separators=(",", ":"), allow_nan=False).encode("ascii")
        except (TypeError, ValueError):
            self._queue.lose(whole)
            raise


def _row(database: Database, session_id: str, request_id: str) -> RequestRow:
    row = request_table.find(database, session_id, request_id)
    if row is None:
        raise NotFound(
            f"the session {session_id!r:.130} has no request {request_id!r:.80}: it was removed as too old,"
            " or never existed. ListRequests names those that there are."
        )
    return row


def _insert(database: Database, one: Waiting, body: bytes) -> None:
    row = request_table.insert(database, summary_of(one.record), sketch_of(one.sent.user_prompt))
    if row is not None:
        body_table.insert(database, row.number, body, one.sent, texts_of(one.sent))
        item_counts.count(database, row.project, one.record)
