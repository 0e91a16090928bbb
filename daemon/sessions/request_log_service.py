"""The daemon's request log: after each answer it records what the context consisted of, and returns it
later."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar, cast

from msgspec import Struct, convert
from msgspec.structs import replace

from ..context.assembly import Built
from ..context.requests import ContextRequest
from ..core.errors import NotFound, StateError
from ..core.system import System
from ..core.work import Work
from ..privacy.secret_gate import gate_of
from ..rules.items import ItemKey, key_of
from .item_usage import Reported, Usage
from .request_log import Ledger, Recalled, RecalledPage
from .request_log_file import LedgerFile
from .request_record import (
    ConsideredItem,
    DroppedSlice,
    ItemPart,
    LeftOut,
    RecordedSlice,
    RequestRecord,
    Said,
    Sent,
    UsedItem,
    message_hash,
    new_request_id,
    sent,
)
from .request_table import RequestSummary
from .scope import Scope
from .session import timestamp_of
from .stored_contents import LedgerLimits

log = logging.getLogger(__name__)
T = TypeVar("T")

FILE = "requests.sqlite"

PRUNE_FIRST_S = 10.0
"""Seconds after the start until the first pruning, when the first requests are answered."""

RETRY_S = 2.0
"""Seconds after a failed write until the next attempt."""

PRUNE_EVERY_S = 86_400.0
"""Seconds between prunings; the limits are in days."""


class _Open(Struct, frozen=True):
    file: LedgerFile
    ledger: Ledger
    usage: Usage


class RequestLog:
    """The requests of all sessions. On the event loop only; blocking work runs in threads.

    If the file can't be opened nothing is recorded, and methods raise the reason.
    """

    def __init__(
        self, state_dir: str, work: Work, system: System, limits: LedgerLimits | None = None
    ) -> None:
        self._path = os.path.join(state_dir, FILE)
        self._limits = limits
        self._work = work
        self._system = system
        self._opened: _Open | None = None
        self._problem = "the daemon is still starting"
        self._behind = ""
        self._retry: asyncio.TimerHandle | None = None
        self._waiting = False
        self._writing = False
        self._pruning: asyncio.TimerHandle | None = None

    @property
    def opened(self) -> tuple[LedgerFile, Ledger] | None:
        """The open file and the requests in it, None if nothing is recorded."""
        return None if self._opened is None else (self._opened.file, self._opened.ledger)

    @property
    def problem(self) -> str:
        """Why records wait in memory, in words; empty while they are written."""
        return self._behind

    async def load(self) -> str:
        """Open the file; returns a warning or an empty text."""
        try:
            self._opened = await self._work.in_writer(self._open)
        except StateError as error:
            self._problem = str(error)
            return self._problem
        self._pruning = asyncio.get_running_loop().call_later(PRUNE_FIRST_S, self._begin_pruning)
        return " ".join(self._opened.file.take_warnings())

    async def close(self) -> None:
        """Write waiting requests and close the file."""
        for timer in filter(None, (self._pruning, self._retry)):
            timer.cancel()
        if self._opened is not None:
            opened, self._opened, self._problem = self._opened, None, "the daemon is shutting down"
            try:
                await self._work.in_writer(partial(_close, opened))
            except StateError as error:
                log.warning("the last requests are not recorded: %s", error)  # no client is left to tell

    def record(
        self,
        scope: Scope,
        request: ContextRequest,
        built: Built,
        reply: Mapping[str, Any],
        agent_name: str,
        elapsed_ms: float,
    ) -> str | None:
        """Record a request that is answered with `reply`; returns its id, or None if nothing is recorded.

        Takes microseconds; it is written in the background.
        """
        if self._opened is None or built.conversation is None:
            return None
        at = timestamp_of(self._system.now())
        record = _record(scope, request, built, reply, agent_name, elapsed_ms, at)
        self._opened.ledger.add(record, sent_of(request, built))
        self._begin_writing()
        return record.id

    async def list(self, session_id: str, limit: int, before: str) -> tuple[RequestSummary, ...]:
        """Return a session's requests, the latest first; see `Ledger.list`."""
        return await self._ask(lambda log: log.ledger.list(session_id, limit, before))

    async def get(self, session_id: str, request_id: str) -> Recalled:
        """Return a request with the exact texts that were sent. Raises `NotFound`."""
        return await self._ask(lambda log: log.ledger.get(session_id, request_id))

    async def export(
        self,
        *,
        session_id: str | None,
        project_root: str | None,
        since: str,
        before: str,
        limit: int,
        content: bool,
    ) -> RecalledPage:
        """Return a page of requests, the oldest first; see `Ledger.export`."""
        return await self._ask(
            lambda log: log.ledger.export(
                session_id=session_id,
                project_root=project_root,
                since=since,
                before=before,
                limit=limit,
                content=content,
            )
        )

    async def prune(self) -> int:
        """Remove requests over the limits; returns the number of requests that were removed or shortened."""
        # In another thread than the writer's, as in `_write`.
        return await asyncio.to_thread(self._usable().ledger.prune)

    async def counts_of(self, project_root: str) -> tuple[int, int]:
        """Return how many requests and contexts a project has."""
        return await self._ask(lambda log: log.ledger.counts_of(project_root))

    async def forget_project(self, project_root: str) -> None:
        """Remove all requests and contexts of a project."""
        await asyncio.to_thread(self._usable().ledger.forget_project, project_root)

    async def report(self, session_id: str, request_id: str, reply: str, used: Sequence[ItemKey]) -> Reported:
        """Record which items of a request a reply referred to. Raises `NotFound`."""
        opened = self._usable()
        work = partial(opened.usage.report, session_id, request_id, reply=reply, used=used)
        return await self._work.in_writer(work)

    async def ask_usage(self, question: Callable[[Usage], T]) -> T:
        """Return the result of a function that reads the usage of items."""
        return await self._ask(lambda log: question(log.usage))

    def _begin_writing(self) -> None:
        self._waiting = True
        if not self._writing:
            self._writing = True
            self._work.start_unheard(self._write(), "write requests")

    def _begin_pruning(self) -> None:
        """Prune in the background, and again every day, even if nothing is written."""
        self._pruning = asyncio.get_running_loop().call_later(PRUNE_EVERY_S, self._begin_pruning)
        self._work.start_unheard(self.prune(), "prune requests")

    async def _ask(self, question: Callable[[_Open], T]) -> T:
        return await self._work.in_builder(partial(question, self._usable()))

    async def _write(self) -> None:
        """Write until no request waits. A failure is retried, and reported until then."""
        if self._retry is not None:
            self._retry.cancel()
        try:
            while self._opened is not None and self._waiting:
                self._waiting = False
                # In another thread than the writer's, so that durable changes there don't wait for it.
                await asyncio.to_thread(self._opened.ledger.write)
                self._behind = ""
        except StateError as error:
            self._behind = f"records of requests are not on the disk: {error}"
            self._retry = asyncio.get_running_loop().call_later(RETRY_S, self._begin_writing)
            raise
        finally:
            self._writing = False

    def _usable(self) -> _Open:
        if self._opened is None:
            raise StateError(f"no requests are recorded: {self._problem}")
        return self._opened

    def _open(self) -> _Open:
        file = LedgerFile(self._path, self._system)
        ledger = Ledger(file, self._system, self._limits, kept_of=kept_of)
        return _Open(file, ledger, Usage(ledger, file))


def sent_of(request: ContextRequest, built: Built) -> Sent:
    """Return all parts of a reply, with their exact texts."""
    conversation = built.conversation
    if conversation is None:
        raise NotFound("this context was built without its conversation")
    return Sent(
        built.reply["context"],
        conversation.system_prompt,
        conversation.user_prompt,
        sent((), history=[Said(message.role, message.content) for message in request.history]).history,
        tuple(ItemPart(ItemKey("reference", item.name), text) for item, text in conversation.references),
        tuple(ItemPart(ItemKey("rule", item.name), text) for item, text in conversation.rules),
        sent(conversation.tools).tools,
    )


def kept_of(record: RequestRecord, sent: Sent) -> tuple[RequestRecord, Sent]:
    """Return the stored form of a request, with secrets masked and counted."""
    kept, count = masked(sent)
    return (replace(record, masked=count), kept) if count else (record, sent)


def masked(sent: Sent) -> tuple[Sent, int]:
    """Return the stored form of what is sent, with secrets masked, and their number. Takes some milliseconds
    for 100 KB, so never on the event loop. Texts of the project are masked already."""
    gate = gate_of((sent.user_prompt, *(message.content for message in sent.history)))
    prompt = gate.of_said(sent.user_prompt)
    system = gate.of_said(sent.system_prompt)  # a template may put the prompt into it
    said = [gate.of_said(message.content) for message in sent.history]
    count = prompt.count + system.count + sum(text.count for text in said)
    if not count:
        return sent, 0
    history = tuple(Said(message.role, text.text) for message, text in zip(sent.history, said, strict=True))
    return replace(sent, user_prompt=prompt.text, system_prompt=system.text, history=history), count


def _record(
    scope: Scope,
    request: ContextRequest,
    built: Built,
    reply: Mapping[str, Any],
    agent_name: str,
    elapsed_ms: float,
    at: str,
) -> RequestRecord:
    return RequestRecord(
        new_request_id(),
        scope.session_id,
        scope.root,
        at,
        message_hash(request.prompt),
        agent_name,
        request.format,
        items=tuple(UsedItem(key_of(item.item), item.include, item.score) for item in built.items),
        considered=tuple(
            ConsideredItem(key_of(item.item), item.score, cast("LeftOut", item.reason))
            for item in built.left_out
        ),
        slices=convert(reply["slices"], tuple[RecordedSlice, ...]),
        dropped=convert(reply.get("dropped", ()), tuple[DroppedSlice, ...]),
        tokens=reply["tokens"],
        bytes=reply["bytes"],
        elapsed_ms=elapsed_ms,
        degraded=tuple(reply["degraded"]),
    )


def _close(opened: _Open) -> None:
    try:
        opened.ledger.write()
    finally:
        opened.file.close()
