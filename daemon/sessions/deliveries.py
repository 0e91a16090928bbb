"""The one store of what was delivered to whom, what happened in sessions, and what was of use.

Writes are queued and run in the background, in order; every question is answered from one file.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TypeVar

from ..core.errors import FovealError, StateError
from ..core.record_file import RecordFile
from ..core.storage import Database, select_in
from ..core.system import System
from ..core.times import bound_in, milliseconds_of
from ..core.work import Work
from ..core.write_behind import WriteBehind
from ..rules.records import IncludeMode, ItemKey
from . import delivery_tables as tables
from . import request_log
from .context_history import access_of, get_context, list_contexts
from .delivered_context import Access, ContextFilter, ContextRow, Delivery, StoredContext
from .delivery_tables import DeliveryLimits, PackedContext, packed_context, put_delivery, put_session
from .former_stores import waits_to_be_moved
from .item_usage import ItemUsage, Reported, item_usage, report
from .request_log import ExportQuery, LoggedRequest, RequestPage, RequestSummary
from .session_events import (
    Entry,
    SessionOrigin,
    TranscriptPart,
    UsedPlace,
    UseSign,
    masked_entry,
    put_entry,
    put_sign,
    put_transcript,
    used_places,
)
from .usage_report import Grouping, UsageReport, usage_report

log = logging.getLogger(__name__)
T = TypeVar("T")

Value = Delivery | SessionOrigin | Entry | UseSign | TranscriptPart
"""What is written behind the answers."""

VALUE_BYTES = 1_000
"""Estimated size of a waiting value besides its texts."""

CONTEXT_BYTES = 20_000
"""Estimated size of a waiting context besides its texts."""

PRUNE_FIRST_S = 10.0
"""Seconds after the start until the first pruning, when the first requests are answered."""

PRUNE_EVERY_S = 86_400.0
"""Seconds between prunings; the limits are in days."""


class Deliveries:
    """The deliveries of all projects. On the event loop only; blocking work runs in threads.

    `root_of` finds the root of the project that a folder lies in. If the file can't be opened nothing is
    kept, and questions raise the reason.
    """

    def __init__(
        self,
        state_dir: str,
        root_of: Callable[[str], Awaitable[str]],
        work: Work,
        system: System,
        limits: DeliveryLimits | None = None,
    ) -> None:
        self._file = RecordFile(os.path.join(state_dir, tables.FILE), tables.SCHEMA, tables.VERSION, system)
        self._root_of = root_of
        self._work = work
        self._system = system
        self._limits = limits or DeliveryLimits()
        self._closed = "the daemon is still starting"
        self._pruning: asyncio.TimerHandle | None = None
        self._queue = WriteBehind[Value](work, "records of contexts", self._write, self._find_roots)

    @property
    def is_open(self) -> bool:
        """Whether deliveries are kept."""
        return not self._closed

    @property
    def problem(self) -> str:
        """Why deliveries wait in memory, in words; empty while they are written."""
        return self._queue.problem

    @property
    def lost(self) -> int:
        """The number of deliveries and events that were never written."""
        return self._queue.lost

    def now(self) -> int:
        """Return the time in milliseconds since 1970."""
        return milliseconds_of(self._system.now())

    async def load(self) -> str:
        """Open the file; returns a warning or an empty text."""
        try:
            await self._work.in_writer(self._open)
        except StateError as error:
            self._closed = str(error)
            return f"requests, contexts and what happens in sessions aren't kept: {error}"
        self._closed = ""
        self._pruning = asyncio.get_running_loop().call_later(PRUNE_FIRST_S, self._begin_pruning)
        lost = "The record of earlier requests, contexts and sessions is lost"
        return " ".join(f"{lost}: {warning}." for warning in self._file.take_warnings())

    async def close(self) -> None:
        """Write what waits and close the file."""
        if self._pruning is not None:
            self._pruning.cancel()
        await self._queue.close()
        self._closed = self._closed or "the daemon is shutting down"
        await self._work.in_writer(self._file.close)

    def deliver(self, delivery: Delivery, size: int) -> None:
        """Queue the record of a delivered context with texts of `size` bytes; takes two microseconds."""
        latest = self._queue.latest
        if (
            isinstance(latest, Delivery)
            and not delivery.request_id
            and (latest.context_id, latest.preview) == (delivery.context_id, delivery.preview)
        ):
            latest.times += delivery.times
            latest.at, latest.elapsed_ms, latest.cached = delivery.at, delivery.elapsed_ms, delivery.cached
        elif self.is_open:
            self._queue.put(delivery, size + (VALUE_BYTES if delivery.cached else CONTEXT_BYTES))

    def put(self, value: Value) -> None:
        """Queue an event of a session; takes a microsecond."""
        if self.is_open:
            self._queue.put(value, VALUE_BYTES)

    async def flush(self) -> None:
        """Write the queue now; what the disk refuses stays in the queue."""
        await self._queue.flush()

    async def read(self, question: Callable[[Database], T]) -> T:
        """Write the queue, then return the result of a function that reads the file."""
        self._check_open()
        await self._queue.flush()
        return await self._work.in_builder(partial(self._ask, question))

    # Requests

    async def requests(self, session_id: str, limit: int, before: str) -> tuple[RequestSummary, ...]:
        """Return a session's requests, the latest first; see `list_requests`."""
        return await self.read(
            lambda database: request_log.list_requests(database, session_id, limit, before)
        )

    async def request(self, session_id: str, request_id: str) -> LoggedRequest:
        """Return a request with the exact texts that were sent. Raises `NotFound`."""
        return await self.read(lambda database: request_log.get_request(database, session_id, request_id))

    async def export(self, query: ExportQuery) -> RequestPage:
        """Return a page of requests, the oldest first; see `export_requests`."""
        return await self.read(lambda database: request_log.export_requests(database, query))

    async def report(self, session_id: str, request_id: str, reply: str, used: Sequence[ItemKey]) -> Reported:
        """Record which items of a request a reply referred to. Raises `NotFound`."""
        self._check_open()
        await self._queue.flush()
        change = partial(report, session_id=session_id, request_id=request_id, reply=reply, used=used)
        return await self._work.in_writer(partial(self._change, change))

    async def item_usage(self, root: str, modes: Mapping[ItemKey, IncludeMode], since: str) -> ItemUsage:
        """Return how often a project's items were sent and referred to; `modes` are of the current items."""
        return await self.read(lambda database: item_usage(database, root, modes, since))

    # Contexts

    async def contexts(
        self,
        chosen: ContextFilter,
        limit: int,
        before: str,
        may_see: Callable[[Access], Awaitable[bool]],
    ) -> list[ContextRow]:
        """Return the contexts of a list, the one that was delivered last first; `may_see` says which the
        caller may see. `before` is the id of the entry before the page."""
        seen: dict[int, bool] = {}
        while True:
            hidden = frozenset(number for number, visible in seen.items() if not visible)
            rows, rights = await self.read(partial(_page, chosen, hidden, limit, before, frozenset(seen)))
            for number in {row.access for row in rows} - seen.keys():
                seen[number] = number in rights and await may_see(rights[number])
            if all(seen[row.access] for row in rows):
                return rows

    async def context(self, context_id: str) -> StoredContext | None:
        """Return a delivered context, None if it isn't kept. Raises `StateError` if it is damaged."""
        return await self.read(lambda database: get_context(database, context_id))

    async def used_places(self, context_id: str) -> list[UsedPlace]:
        """Return the places of a context that were used."""
        return await self.read(lambda database: used_places(database, context_id))

    async def usage(self, by: Grouping, project: str | None, since: str, until: str) -> UsageReport:
        """Return the cost and use of contexts. Raises `InvalidRequest` for an unusable time."""
        start = bound_in(since, "since", 0, local=True)
        end = bound_in(until, "until", 2**62, local=True)
        return await self.read(lambda database: usage_report(database, by, project, start, end))

    # A project

    async def counts_of(self, project_root: str) -> tuple[int, int, int]:
        """Return how many requests, contexts and entries of timelines a project has."""
        root = tables.data_of(project_root)
        counts = await self.read(lambda database: database.execute(_COUNTS, (root,)).fetchone())
        return int(counts[0]), int(counts[1]), int(counts[2])

    async def forget_project(self, root: str) -> None:
        """Remove all of a project, also from the free space of the file and its log."""
        self._check_open()
        await self._queue.flush()

        def forget() -> None:
            while self._change(partial(tables.forget_round, project_root=root)):
                pass  # others write between two rounds
            self._change(tables.remove_unused)
            self._file.compact()

        await asyncio.to_thread(forget)

    async def prune(self) -> int:
        """Remove what is over the limits; returns how much was removed."""
        self._check_open()
        await self._queue.flush()

        def prune() -> int:
            total = 0
            while done := self._change(self._prune_round):
                total += done
            self._change(tables.remove_unused)
            return total

        return await asyncio.to_thread(prune)

    def _open(self) -> None:
        """Open the file. Raises `StateError`."""
        if waits_to_be_moved(os.path.dirname(self._file.path)):
            raise StateError(
                f"what the version before kept isn't moved to {self._file.path} yet, as there was no room on"
                " the disk; make some, then: foveal down"
            )
        self._ask(lambda _: None)

    def _begin_pruning(self) -> None:
        """Prune in the background, and again every day, even if nothing is written."""
        self._pruning = asyncio.get_running_loop().call_later(PRUNE_EVERY_S, self._begin_pruning)
        self._work.start_background(self.prune(), "prune requests and contexts")

    def _prune_round(self, database: Database) -> int:
        return tables.prune_round(database, self._limits, self._system.now())

    # Writing

    async def _find_roots(self, values: Sequence[Value]) -> None:
        """Find the roots of the projects in whose folders sessions work."""
        roots: dict[str, str] = {}
        for value in values:
            if isinstance(value, SessionOrigin) and not value.root:
                if value.cwd not in roots:
                    roots[value.cwd] = ""
                    with suppress(FovealError):  # a folder without a project
                        roots[value.cwd] = await self._root_of(value.cwd)
                value.root = roots[value.cwd]

    def _write(self, values: Sequence[Value]) -> int:
        """Write values, and return how many could not be kept. Blocks; raises `StateError`."""
        if not self.is_open:
            raise StateError(self._closed)
        ids = [tables.data_of(value.context_id) for value in values if isinstance(value, Delivery)]
        query = "SELECT id FROM contexts WHERE id IN ({marks})"
        stored = self._ask(
            lambda database: {tables.text_of(row[0]) for row in select_in(database, query, ids)}
        )
        # Before the file is used: an error in there counts as damage.
        ready: list[tuple[Value, PackedContext | None]] = []
        for value in values:
            context = None
            try:
                if isinstance(value, Entry):
                    value = masked_entry(value)  # noqa: PLW2901 - the form that is kept
                elif isinstance(value, Delivery) and (value.request_id or value.context_id not in stored):
                    context = packed_context(value.describe())
                    stored.add(value.context_id)
            except Exception:
                log.exception("a record can't be kept")
            else:
                ready.append((value, context))
        with self._file.writing() as database:
            for value, context in ready:
                _put(database, value, context)
            for session_id in {_session_of(value, context) for value, context in ready} - {""}:
                tables.prune_session(database, put_session(database, session_id), self._limits)
        self._change(self._prune_round)
        return len(values) - len(ready)

    def _check_open(self) -> None:
        if self._closed:
            raise StateError(f"no requests, contexts and events are kept: {self._closed}")

    def _ask(self, question: Callable[[Database], T]) -> T:
        with self._file.reading() as database:
            return question(database)

    def _change(self, change: Callable[[Database], T]) -> T:
        with self._file.writing() as database:
            return change(database)


_COUNTS = """
SELECT (SELECT COUNT(*) FROM requests WHERE project = ?1), (SELECT COUNT(*) FROM contexts WHERE project = ?1),
    (SELECT COUNT(*) FROM entries JOIN sessions ON id = session WHERE project = ?1)
"""


def _put(database: Database, value: Value, context: PackedContext | None) -> None:
    match value:
        case Delivery():
            put_delivery(database, value, context)
        case SessionOrigin():
            put_session(database, value.session_id, value.root, value.host)
        case Entry():
            put_entry(database, value)
        case UseSign():
            put_sign(database, value)
        case TranscriptPart():
            put_transcript(database, value)


def _session_of(value: Value, context: PackedContext | None) -> str:
    if isinstance(value, Delivery):
        return "" if context is None else context.described.session_id
    return value.session_id


def _page(
    chosen: ContextFilter,
    hidden: frozenset[int],
    limit: int,
    before: str,
    known: frozenset[int],
    database: Database,
) -> tuple[list[ContextRow], dict[int, Access]]:
    """Return rows, and who may see those whose access isn't known yet."""
    rows = list_contexts(database, chosen, hidden, limit, before)
    return rows, access_of(database, {row.access for row in rows} - known)
