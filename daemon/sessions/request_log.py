"""The request log: what was used and sent for each request, written in the background, returned exactly."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ..core.errors import InvalidRequest, NotFound
from ..core.storage import Database, compact, erasure
from ..core.system import System
from ..rules.items import ItemKey
from . import context_table, request_table
from . import stored_contents as contents
from .request_log_file import LedgerFile
from .request_record import RequestRecord, Sent
from .request_table import (
    RequestRow,
    RequestSummary,
    bare,
    packed_record,
    summary_of,
)
from .session import moment_in, timestamp_of
from .stored_contents import LedgerLimits

_PAGE = 100
_CONTENT_PAGE = 10
"""Number of requests read at once for an export; with contents fewer, since a content may fill a frame."""


MAX_WAITING_BYTES = 64 * 1024 * 1024
"""Maximum bytes of unwritten requests: some thousand ordinary ones, or four whose history fills a frame."""

RECORD_BYTES = 4_000
"""Estimated size of a record in memory."""

ENTRY_CHARACTERS = 200
"""Estimated size of an item or slice in a reply, besides its names and paths."""


class Recalled(Struct, frozen=True):
    """A request from the log. `problem` is empty if `sent` is exactly what was sent; else it says what is
    lost or damaged: everything (`sent` is None), or some parts, which are empty. `referred` are the items
    that a reply referred to, None while no reply was reported."""

    record: RequestRecord
    sent: Sent | None
    problem: str = ""
    referred: tuple[ItemKey, ...] | None = None

    @property
    def characters(self) -> int:
        """The estimated size of this request in a reply, in characters."""
        record = self.record
        lists = record.items, record.considered, record.slices, record.dropped
        entries = ENTRY_CHARACTERS * (1 + sum(map(len, lists)))
        keys = (*(item.key for item in record.items), *(item.key for item in record.considered))
        entries += sum(len(key.name) + len(key.server_name) for key in keys)
        entries += sum(len(entry.id) + len(entry.path) + len(entry.source) for entry in record.slices)
        entries += sum(len(entry.id) for entry in record.dropped) + sum(map(len, record.degraded))
        return entries + (0 if self.sent is None else self.sent.framed_characters)


PAGE_CHARACTERS = 3_000_000
"""Characters after which a page ends: a frame of 16 MiB has room for them and one more request, even at four
bytes each. Packing them takes 2 to 4 ms, ten times as long for many short messages."""

REQUEST_CHARACTERS = 1_000_000
"""Maximum characters of a request's contents in an export; larger ones are left out, so that a page always
fits."""

_CURSOR = "#"
"""Prefix of a page's cursor; no time begins with it."""


class RecalledPage(Struct, frozen=True):
    """Some requests, and the cursor of the next page, to be given as `since`; empty after the last page."""

    requests: tuple[Recalled, ...]
    next: str


_Key = tuple[str, str]


class _Waiting(Struct, frozen=True, eq=False):
    """An unwritten request, and its estimated size in bytes."""

    record: RequestRecord
    sent: Sent
    size: int


class Ledger:
    """The requests in a `LedgerFile`. Thread-safe; every method but `add` blocks for the disk.

    An added request is visible to `get` and `list` at once; a crash before `write` loses it. Raises
    `StateError` if the disk refuses. `kept_of` returns the stored form of a request, with secrets masked, and
    may be slow.
    """

    def __init__(
        self,
        file: LedgerFile,
        system: System,
        limits: LedgerLimits | None = None,
        max_waiting_bytes: int = MAX_WAITING_BYTES,
        kept_of: Callable[[RequestRecord, Sent], tuple[RequestRecord, Sent]] = lambda record, sent: (
            record,
            sent,
        ),
    ) -> None:
        self._file = file
        self._system = system
        self._limits = limits or LedgerLimits()
        self._max_waiting_bytes = max_waiting_bytes
        self._kept_of = kept_of
        self._writing = threading.Lock()
        self._lock = threading.Lock()  # of the three below, never held for long
        self._waiting: dict[_Key, _Waiting] = {}
        self._bytes = 0
        self.lost = 0
        """The number of requests that were never written."""

    def add(self, record: RequestRecord, sent: Sent) -> None:
        """Add a request to be written later. Never blocks, so it may be called on the event loop.

        If unwritten requests take more than `max_waiting_bytes`, the oldest are lost, and counted.
        """
        waiting = _Waiting(record, sent, RECORD_BYTES + sent.characters)
        with self._lock:
            self._take((record.session_id, record.id))
            self._waiting[record.session_id, record.id] = waiting
            self._bytes += waiting.size
            while self._bytes > self._max_waiting_bytes and len(self._waiting) > 1:
                self._take(next(iter(self._waiting)))
                self.lost += 1

    def write(self) -> int:
        """Write the waiting requests, and remove some of those over the limits; returns how many were
        written.

        Requests that could not be written keep waiting, except a record that can't be JSON: that is lost and
        raises `ValueError` or `TypeError`, since it would block all others.
        """
        with self._writing:
            with self._lock:
                waiting = dict(self._waiting)
            if not waiting:
                return 0
            rows = [self._row_of(key, request) for key, request in waiting.items()]
            with self._file.writing() as database:
                written = {}
                for record, parts, packed in rows:
                    number = request_table.insert(database, record, packed)
                    if number is not None:
                        written[number] = parts
                        request_table.count_items(database, record)
                contents.add(database, written)
                for session_id in {session_id for session_id, _ in waiting}:
                    contents.prune_session(database, session_id, self._limits)
            with self._lock:
                for key, request in waiting.items():
                    if self._waiting.get(key) is request:
                        self._take(key)
        self.prune_round()
        return len(waiting)

    def list(self, session_id: str, limit: int = 100, before: str = "") -> tuple[RequestSummary, ...]:
        """Return a session's requests, the latest first; with `before`, those older than that request.

        Raises `NotFound` if that request is gone.
        """
        with self._lock:
            waiting = [request.record for key, request in self._waiting.items() if key[0] == session_id]
        after = [record.id for record in waiting]
        if before in after:
            waiting, before = waiting[: after.index(before)], ""
        elif before:
            waiting = []
        with self._file.reading() as database:
            below = _row(database, session_id, before).number if before else None
            written = request_table.of_session(database, session_id, limit, below)
        known = {row.summary.id for row in written}
        new = [summary_of(record) for record in reversed(waiting) if record.id not in known]
        return (*new, *(row.summary for row in written))[:limit]

    def counts(self) -> dict[str, int]:
        """Return how many requests each session has on disk."""
        with self._file.reading() as database:
            return request_table.counts(database)

    def get(self, session_id: str, request_id: str) -> Recalled:
        """Return a request with the exact texts that were sent. Raises `NotFound`."""
        with self._lock:
            waiting = self._waiting.get((session_id, request_id))
        if waiting is not None:
            record, parts = self._kept_of(waiting.record, waiting.sent)
            return Recalled(record, parts, _masked_problem(record))
        with self._file.reading() as database:
            (found,) = self._recalled(database, [_row(database, session_id, request_id)], content=True)
            return found

    def export(
        self,
        *,
        session_id: str | None = None,
        project_root: str | None = None,
        since: str = "",
        before: str = "",
        limit: int = 100,
        content: bool = False,
    ) -> RecalledPage:
        """Return the requests of a session, of a project, or all, in the order in which they were written.

        `since` is a time or a day in ISO 8601 (UTC without a zone), or the `next` of the page before;
        `before` is an exclusive end. Sessions that were never made or are gone count too. Contents are read
        only with `content`, and left out if larger than `REQUEST_CHARACTERS`. Waiting requests are written
        first. Raises `InvalidRequest` for an unusable bound.
        """
        above, since = _start_of(since)
        times = since, _time_of(before, "before")
        self.write()
        found: list[Recalled] = []
        room = PAGE_CHARACTERS
        rows_read = _CONTENT_PAGE if content else _PAGE
        while len(found) < limit and room > 0:
            with self._file.reading() as database:
                rows = request_table.in_order(database, session_id, project_root, rows_read, above, times)
                some = self._recalled(database, rows, content=content)
            for row, request in zip(rows, some, strict=True):
                if len(found) == limit or room <= 0:
                    return RecalledPage(tuple(found), f"{_CURSOR}{above}")
                found.append(_bounded(request))
                above = row.number
                room -= found[-1].characters
            if not rows:
                return RecalledPage(tuple(found), "")
        return RecalledPage(tuple(found), f"{_CURSOR}{above}")

    def prune(self) -> int:
        """Remove everything over the limits; returns the number of requests that were removed or shortened.

        First moves over contents that an earlier version wrote.
        """
        self._file.move_former()
        total = 0
        while done := self.prune_round():
            total += done
        with self._file.writing() as database:
            context_table.remove_unused(database)
        return total

    def counts_of(self, project_root: str) -> tuple[int, int]:
        """Return how many requests and contexts a project has."""
        self.write()
        query = "SELECT (SELECT COUNT(*) FROM requests WHERE project = ?1), COUNT(*) FROM contexts"
        with self._file.reading() as database:
            data = request_table.data_of(project_root)
            requests, kept = database.execute(f"{query} WHERE project = ?1", (data,)).fetchone()
        return requests, kept

    def forget_project(self, project_root: str) -> None:
        """Remove all requests and contexts of a project, also from the free space of the file and its log."""
        self.write()
        self._file.move_former()
        done = contents.ROUND
        while done:
            with self._file.reading() as database, erasure(database):
                done = contents.forget_project(database, project_root)
        with self._file.writing() as database:
            request_table.forget_items(database, project_root)
            context_table.remove_unused(database)
        with self._file.reading() as database:
            compact(database)

    def read_sent(self, session_id: str, request_id: str) -> Sent | None:
        """Return what was sent for a request, None if that isn't kept."""
        try:
            return self.get(session_id, request_id).sent
        except NotFound:
            return None

    def prune_round(self) -> int:
        """Remove some of what is over the limits; returns how many requests and contexts that were."""
        with self._file.writing() as database:
            return contents.prune_round(database, self._limits, self._system.now())

    def _take(self, key: _Key) -> None:
        """Remove a request from the waiting ones. Needs the lock."""
        request = self._waiting.pop(key, None)
        self._bytes -= 0 if request is None else request.size

    def _row_of(self, key: _Key, request: _Waiting) -> tuple[RequestRecord, Sent, bytes]:
        """Return the stored form of a request, with its packed record; a record that can't be JSON is
        lost."""
        record, parts = self._kept_of(request.record, request.sent)
        try:
            return record, parts, packed_record(record)
        except (TypeError, ValueError):
            with self._lock:
                self._take(key)
                self.lost += 1
            raise

    def _recalled(
        self, database: Database, rows: Sequence[RequestRow], *, content: bool
    ) -> Sequence[Recalled]:
        """Return the requests of rows. Without `content`, contents aren't read, and are None."""
        numbers = [row.number for row in rows if content and not row.summary.pruned]
        sent = contents.read(database, numbers)
        found = []
        for row in rows:
            record, problems = request_table.read_record(database, row.number), []
            if record is None:
                record, problems = (
                    bare(row.summary),
                    ["The record is damaged: its items and slices are lost."],
                )
            parts: Sent | None = None
            if row.summary.pruned:
                problems.append(f"What was sent is not kept any more: {row.summary.pruned}.")
            elif content:
                parts, lost = sent.get(row.number) or (self._file.former_sent(database, row.number), "")
                problems += [contents.LOST if parts is None else lost, _masked_problem(record)]
            else:
                problems.append(_masked_problem(record))
            referred = None
            if row.referred is not None:
                referred = tuple(
                    record.items[position].key for position in row.referred if position < len(record.items)
                )
            found.append(Recalled(record, parts, " ".join(filter(None, problems)), referred))
        return found


def _masked_problem(record: RequestRecord) -> str:
    """Return the sentence that says how many secrets are masked in the stored texts, or ""."""
    if not record.masked:
        return ""
    values = "A value that looks like a secret is"
    if record.masked > 1:
        values = f"{record.masked:,} values that look like secrets are"
    return f"{values} kept as [masked]; the answer to the agent had its own text unchanged."


def _row(database: Database, session_id: str, request_id: str) -> RequestRow:
    row = request_table.find(database, session_id, request_id)
    if row is None:
        raise NotFound(
            f"the session {session_id!r:.130} has no request {request_id!r:.80}: it was removed as too old,"
            " or never existed.",
            "ListRequests names those that there are.",
        )
    return row


def _bounded(request: Recalled) -> Recalled:
    """Return a request, without its contents if they are too large for a page."""
    sent = request.sent
    if sent is None or sent.framed_characters <= REQUEST_CHARACTERS:
        return request
    size = sent.framed_characters
    left_out = f"What was sent takes {size:,} characters, too many for an export; GetRequest has it."
    return replace(request, sent=None, problem=" ".join(filter(None, (request.problem, left_out))))


def _start_of(since: str) -> tuple[int, str]:
    """Return the number after which a page begins, and the time from which it begins."""
    if not since.startswith(_CURSOR):
        return 0, _time_of(since, "since")
    digits = since.removeprefix(_CURSOR)
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= 18):
        raise InvalidRequest(f"since is no time and no next of a page: {since!r:.60}", "since")
    return int(digits), ""


def _time_of(text: str, field: str) -> str:
    if not text:
        return ""
    try:
        return timestamp_of(moment_in(text))
    except (ValueError, OverflowError) as error:
        raise InvalidRequest(
            f"{field} must be a time such as 2026-01-31T12:00:00Z or a day, not {text!r:.60}", field
        ) from error
