"""The history of delivered contexts: written in the background, read from the disk, across restarts."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from itertools import islice
from typing import Any

from msgspec import Struct, convert, to_builtins
from msgspec.structs import replace

from ..core.errors import StateError
from ..core.storage import Database
from ..core.system import System
from ..core.work import Work
from ..privacy.policy import Policy
from ..privacy.secret_gate import mask_said
from ..privacy.secret_values import mask_piece
from ..sessions import context_table, stored_contents
from ..sessions.context_table import (
    ContextFilter,
    ContextRow,
    Deliveries,
    KeptContext,
    microseconds_of,
)
from ..sessions.request_log_service import RequestLog, masked, sent_of
from ..sessions.request_record import Sent, conversation
from ..sessions.scope import Scope
from ..sessions.stored_contents import OF_CONTEXTS
from .assembly import Built
from .caller import Caller, ContextJob
from .requests import ContextRequest

log = logging.getLogger(__name__)

WRITE_S = 0.5
"""Seconds after a delivery until it is written, together with those in between."""

RETRY_S = 2.0
"""Seconds after a failed write until the next attempt."""

WAITING_BYTES = 32 << 20
"""Maximum bytes of contexts that wait to be written; above it, the oldest are lost."""

RECORD_BYTES = 20_000
"""Estimated bytes of a waiting context without its texts."""

KNOWN_MAX = 10_000
"""Maximum number of contexts that are known to be written: further deliveries of others are written as if
they were new, and counted on the disk."""

SCOPES_MAX = 10_000
"""Maximum number of scopes whose latest context is remembered; that of others is looked up on the disk."""

PROMPT_CHARACTERS = 200
"""Maximum characters of a prompt's first line in a list."""

TEXT_FIELDS = ("context", "system_prompt", "user_prompt", "messages", "tools")
"""Fields of a reply that hold its text; the others are its record."""


def new_context_id() -> str:
    """Return a new random id of 64 bits."""
    return f"c_{secrets.token_hex(8)}"


class Access(Struct, frozen=True):
    """What decides who may see a context: its project, the names of its agent in scope and session, and the
    policy that it was built under."""

    project: str
    agent_names: tuple[str, ...]
    policy: Policy


class Given(Struct, frozen=True):
    """A delivered context: its row in lists, scope, request and reply as they were then.

    What the caller wrote is masked. `request` has no history. `reply` has the texts if they are kept.
    """

    row: ContextRow
    scope: Scope
    request: ContextRequest
    reply: dict[str, Any]
    access: Access

    @property
    def id(self) -> str:
        """The id of the context."""
        return self.row.id

    @property
    def policy(self) -> Policy:
        """The policy that the context was built under."""
        return self.access.policy

    @property
    def has_text(self) -> bool:
        """Whether the texts of the reply are kept."""
        return "context" in self.reply


class _Waiting(Struct):
    """Unwritten deliveries of a context with their size in bytes, and for one that isn't known to be written
    how to keep it."""

    more: Deliveries
    kept: Callable[[], tuple[KeptContext, Sent | None]] | None = None
    size: int = 500


class ContextHistory:
    """The delivered contexts on the disk. On the event loop only; reading and writing run in threads.

    They lie in the file of the request log. `note` takes microseconds; a crash loses what was delivered in
    the last half second. If the file can't be opened or written, contexts wait in memory, and lists have
    only what is on the disk.
    """

    def __init__(self, requests: RequestLog, work: Work, system: System) -> None:
        self._requests = requests
        self._work = work
        self._system = system
        self._waiting: dict[str, _Waiting] = {}
        self._waiting_bytes = 0
        self._known: dict[str, None] = {}
        self._last: dict[str, str] = {}
        """The id of the latest context of each scope."""
        self._writing = asyncio.Lock()
        self._timer: asyncio.TimerHandle | None = None
        self.problem = ""
        """Why contexts wait in memory, in words; empty while they are written."""
        self.lost = 0
        """The number of contexts that were never written."""

    def note(
        self, job: ContextJob, agent_name: str, built: Built, reply: Mapping[str, Any], elapsed_ms: float
    ) -> None:
        """Note a delivery; a repeated one takes a microsecond or two."""
        context_id, scope_id, preview = built.context_id, job.scope.id, job.request.preview
        at, cached = microseconds_of(self._system.now()), reply["cached"]
        request_id = reply.get("request_id", "")
        waiting = self._waiting.get(context_id)
        if waiting is None:
            waiting = _Waiting(Deliveries(at, elapsed_ms, cached, preview, request_id))
            if context_id not in self._known:
                previous = self._last.get(scope_id, "")
                logged = {**reply, "limit": built.limit, "near": built.near}
                waiting.kept = partial(_kept, job, agent_name, built, logged, previous, at, elapsed_ms)
                waiting.size = RECORD_BYTES + 2 * (len(reply["context"]) + len(job.request.prompt))
            self._wait(context_id, waiting)
        else:
            more = waiting.more
            more.at, more.last_elapsed_ms, more.cached = at, elapsed_ms, cached
            more.preview = more.preview and preview
            more.request_id = request_id or more.request_id
            more.times += 1
        if len(self._last) >= SCOPES_MAX:
            self._last.clear()
        self._last[scope_id] = context_id

    async def page(
        self,
        chosen: ContextFilter,
        limit: int,
        before: str,
        may_see: Callable[[Access], Awaitable[bool]],
    ) -> list[ContextRow]:
        """Return the contexts of a list, the one that was delivered last first; `may_see` says which the
        caller may see. `before` is the id of the entry before the page. Raises `StateError` if the file can't
        be read."""
        await self._flush()
        seen: dict[int, bool] = {}
        while True:
            rows: list[ContextRow]
            rows, rights = await self._read(partial(_page, chosen, limit, before, frozenset(seen)))
            for number in dict.fromkeys(row.access for row in rows):
                if number not in seen:
                    access = rights.get(number)
                    seen[number] = access is not None and await may_see(access)
            hidden = frozenset(number for number, visible in seen.items() if not visible)
            if hidden <= chosen.hidden:
                return rows
            chosen = replace(chosen, hidden=hidden)

    async def get(self, context_id: str) -> Given | None:
        """Return a delivered context, None if it isn't kept. Raises `StateError` if it is damaged."""
        await self._flush()
        waiting = self._waiting.get(context_id)  # the disk refused it
        if waiting is not None and waiting.kept is not None:
            return await self._work.in_builder(partial(self._given_now, waiting.kept, waiting.more))
        found = await self._read(partial(_find, context_id=context_id))
        return None if found is None else await self._work.in_builder(partial(self._given, *found))

    async def write(self) -> None:
        """Write what waits now; if the disk refuses, it waits on."""
        await self._flush()

    async def forget_project(self, root: str, scope_ids: Iterable[str]) -> None:
        """Remove all contexts of a project with these scopes, and its requests."""
        await self._flush()
        self._known.clear()  # those of other projects are looked up again
        for scope_id in scope_ids:
            self._last.pop(scope_id, None)
        await self._requests.forget_project(root)

    def _wait(self, context_id: str, waiting: _Waiting) -> None:
        self._waiting[context_id] = waiting
        self._waiting_bytes += waiting.size
        while self._waiting_bytes > WAITING_BYTES and len(self._waiting) > 1:
            self._waiting_bytes -= self._waiting.pop(next(iter(self._waiting))).size
            self.lost += 1
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(WRITE_S, self._begin_writing)

    def _begin_writing(self) -> None:
        self._timer = None
        self._work.start_unheard(self._flush(), "write contexts")

    async def _flush(self) -> None:
        """Write what waits; a failure is retried, and reported until then."""
        async with self._writing:
            opened = self._requests.opened
            if not self._waiting or opened is None:
                return
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            waiting, self._waiting, self._waiting_bytes = self._waiting, {}, 0
            # In another thread than the writer's, so that durable changes there don't wait for it.
            writing = asyncio.ensure_future(asyncio.to_thread(self._write, waiting))
            try:
                self.lost += await asyncio.shield(writing)
            except asyncio.CancelledError:  # the thread goes on: what it wrote mustn't be counted again
                await asyncio.wait((writing,))
                if writing.exception() is not None:
                    self._restore(waiting)
                raise
            except StateError as error:
                self._restore(waiting)
                self.problem = f"past contexts are not on the disk: {error}"
                self._timer = asyncio.get_running_loop().call_later(RETRY_S, self._begin_writing)
                log.info("%s", self.problem)
                return
            except BaseException:
                self._restore(waiting)
                raise
            self.problem = ""
            self._known.update(dict.fromkeys(waiting))
            for context_id in list(islice(self._known, max(len(self._known) - KNOWN_MAX, 0))):
                del self._known[context_id]

    def _restore(self, waiting: dict[str, _Waiting]) -> None:
        """Put deliveries back that could not be written, before those that came meanwhile."""
        for context_id, later in self._waiting.items():
            earlier = waiting.get(context_id)
            if earlier is None:
                waiting[context_id] = later
            else:
                later.more.times += earlier.more.times
                later.more.preview = later.more.preview and earlier.more.preview
                later.more.request_id = later.more.request_id or earlier.more.request_id
                earlier.more = later.more
        self._waiting = waiting
        self._waiting_bytes = sum(each.size for each in waiting.values())

    def _write(self, waiting: Mapping[str, _Waiting]) -> int:
        """Write deliveries, and return how many could not be kept."""
        opened = self._requests.opened
        if opened is None:
            raise StateError("the file of requests is closed")
        file, ledger = opened
        ledger.write()  # the texts of most contexts are those of their requests
        kept = {}
        lost = 0
        for context_id, each in waiting.items():
            if each.kept is not None:
                try:
                    kept[context_id] = each.kept()
                except Exception:
                    log.exception("the context %s can't be kept", context_id)
                    lost += 1
        with file.writing() as database:
            for context_id, each in waiting.items():
                if context_id in kept:
                    _insert(database, *kept[context_id])
                context_table.note(database, context_id, each.more)
        ledger.prune_round()
        return lost

    def _given(self, row: ContextRow, record: Mapping[str, Any], access: Access, sent: Sent | None) -> Given:
        """Return a context in its stored form. Blocks."""
        scope, request = convert(record["scope"], Scope), convert(record["request"], ContextRequest)
        if sent is None and row.request_id and self._requests.opened is not None:
            sent = self._requests.opened[1].read_sent(row.session_id, row.request_id)
        texts = {} if sent is None else _texts(sent)
        reply = record["reply"] | {name: texts[name] for name in record["texts"] if name in texts}
        return Given(row, scope, request, reply, access)

    def _given_now(self, kept: Callable[[], tuple[KeptContext, Sent | None]], more: Deliveries) -> Given:
        """Return a context that isn't on the disk. Blocks."""
        stored, sent = kept()
        row = replace(stored.row, **to_builtins(more))
        return self._given(row, stored.record, convert(stored.access, Access), sent)

    async def _read(self, question: Callable[[Database], Any]) -> Any:
        opened = self._requests.opened
        if opened is None:
            raise StateError("no past contexts can be read: the file of requests isn't open")
        file = opened[0]

        def read() -> Any:
            with file.reading() as database:
                return question(database)

        return await self._work.in_builder(read)


def _kept(
    job: ContextJob,
    agent_name: str,
    built: Built,
    reply: Mapping[str, Any],
    previous: str,
    at: int,
    elapsed_ms: float,
) -> tuple[KeptContext, Sent | None]:
    """Return the stored form of a context, and what was sent if no request has it. For threads: masking may
    take some milliseconds."""
    scope, request, request_id = job.scope, job.request, reply.get("request_id", "")
    prompt = mask_said(request.prompt).text
    sent = None if request_id else _sent(request, built)
    row = ContextRow(
        id=built.context_id,
        scope_id=scope.id,
        session_id=scope.session_id,
        project=scope.root,
        agent_name=agent_name,
        request_id=request_id,
        first_at=at,
        at=at,
        times=0,  # its deliveries are counted when they are written
        elapsed_ms=elapsed_ms,
        last_elapsed_ms=elapsed_ms,
        cached=reply["cached"],
        preview=request.preview,
        previous=previous,
        prompt=_heading(prompt),
        task_type=request.task_type,
        format=request.format,
        model=request.model,
        tokens_before=built.tokens_before,
        max_tokens=request.max_tokens,
        reserve_tokens=request.reserve_tokens,
        max_bytes=request.max_bytes,
        packed=sent is not None,
        digest=hashlib.blake2b(reply["context"].encode("utf-8", "surrogatepass"), digest_size=16).digest(),
        tokens=reply["tokens"],
        bytes=reply["bytes"],
        partial=reply["partial"],
        truncated=reply["truncated"],
        **reply["layers"],
        slices=len(reply["slices"]),
        dropped=len(reply.get("dropped", ())),
        gaps=len(reply["gaps"]),
        degraded=len(reply["degraded"]),
    )
    constraints = tuple(mask_piece(text).text for text in scope.constraints)
    inherited = tuple(mask_piece(text).text for text in scope.inherited)
    record = {
        "scope": to_builtins(replace(scope, constraints=constraints, inherited=inherited)),
        "request": to_builtins(replace(request, prompt=prompt, history=())),
        "reply": {name: value for name, value in reply.items() if name not in TEXT_FIELDS},
        "texts": [name for name in TEXT_FIELDS if name in reply],
    }
    access = Access(scope.root, _known_names(scope, job.caller), job.caller.policy)
    paths = tuple(item["path"] for item in reply["slices"] if item.get("path"))
    return KeptContext(row, record, to_builtins(access), paths), sent


def _sent(request: ContextRequest, built: Built) -> Sent:
    if built.conversation is None:
        return Sent(built.reply["context"])
    return masked(sent_of(request, built))[0]


def _texts(sent: Sent) -> dict[str, Any]:
    """Return the texts of a reply."""
    texts = {"context": sent.context, "system_prompt": sent.system_prompt, "user_prompt": sent.user_prompt}
    return texts | conversation(sent)


def _insert(database: Database, kept: KeptContext, sent: Sent | None) -> None:
    if not kept.row.previous:  # the first of its scope since the daemon started
        previous = context_table.latest_of(database, kept.row.scope_id)
        kept = replace(kept, row=replace(kept.row, previous=previous))
    number = context_table.insert(database, kept)
    if number is not None and sent is not None:
        stored_contents.add(database, {number: sent}, OF_CONTEXTS)


def _page(
    chosen: ContextFilter, limit: int, before: str, known: frozenset[int], database: Database
) -> tuple[list[ContextRow], dict[int, Access]]:
    """Return rows, and who may see those whose access isn't known yet."""
    rows = context_table.page(database, chosen, limit, before)
    rights = context_table.access_in(database, {row.access for row in rows} - known)
    return rows, {number: convert(access, Access) for number, access in rights.items()}


def _find(
    database: Database, context_id: str
) -> tuple[ContextRow, Mapping[str, Any], Access, Sent | None] | None:
    """Return a context's row, record and access, and what was sent if no request has it.

    Raises `StateError` if they are damaged.
    """
    row = context_table.find(database, context_id)
    if row is None:
        return None
    record = context_table.record_of(database, row.number)
    access = context_table.access_in(database, [row.access]).get(row.access)
    if record is None or access is None:
        raise StateError(f"the record of the context {context_id} is damaged: only the list still has it")
    sent = stored_contents.read(database, [row.number], OF_CONTEXTS) if row.packed else {}
    return row, record, convert(access, Access), sent.get(row.number, (None, ""))[0]


def _heading(prompt: str) -> str:
    """Return the first line of a prompt, cut."""
    first = prompt.lstrip().partition("\n")[0].rstrip()
    return first if len(first) <= PROMPT_CHARACTERS else f"{first[: PROMPT_CHARACTERS - 1]}…"


def _known_names(scope: Scope, caller: Caller) -> tuple[str, ...]:
    """Return the agent's names in its scope and session, which requests don't change."""
    of_session = caller.session.agent_name if caller.session is not None else ""
    return tuple(filter(None, (scope.agent_name, of_session)))
