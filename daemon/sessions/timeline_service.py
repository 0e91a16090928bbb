"""The timeline of sessions: takes what happens and which contexts are given, writes it in the background, and
answers what became of it."""

from __future__ import annotations

import asyncio
import logging
import os
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from msgspec import Struct

from ..context.assembly import Built
from ..context.requests import ContextRequest
from ..core.errors import FovealError, InvalidRequest, StateError
from ..core.record_file import RecordFile
from ..core.storage import Database
from ..core.system import System
from ..core.work import Work
from ..memory.experience import Experience
from ..transcripts.activity import Activity
from ..workspace.open_projects import OpenProjects
from . import timeline
from .scope import Scope
from .timeline import Entry, StoredEntry, TimelineKind, UsedPlace, UseSign
from .timeline_writer import (
    MASKED_CHARACTERS,
    PATHS_MAX,
    GivenContext,
    TranscriptPart,
    Waiting,
    milliseconds,
    store,
)
from .usage_report import Grouping, UsageFilter, UsageReport, usage_report

log = logging.getLogger(__name__)
K = TypeVar("K")
T = TypeVar("T")
V = TypeVar("V")

FILE = "timeline.sqlite"

WRITE_S = 0.5
"""Seconds until what happened is written; a killed daemon loses that much."""

RETRY_S = 5.0
DAY_MS = 86_400_000
PRUNE_FIRST_S = 20.0
PRUNE_EVERY_S = 86_400.0

WAITING_MAX = 10_000
"""Maximum number of unwritten entries and signs of use; more are dropped."""

TURNS_WAITING_MAX = 1_000
"""Maximum number of unwritten contexts, of some ten kilobytes each; more aren't counted."""

CONVERSATIONS_MAX = 1_000
"""Maximum number of conversations whose latest entry is remembered."""

MERGED_MS = 120_000
"""Milliseconds within which the edits of an agent become one entry, if nothing else happens in between."""


class Happening(Struct, frozen=True):
    """Something that happened in a session of a host. `paths` are as the host wrote them; `read` are files
    that a tool read."""

    session_id: str
    host: str
    cwd: str
    kind: TimelineKind
    agent_id: str = ""
    agent_name: str = ""
    text: str = ""
    paths: tuple[str, ...] = ()


class TimelinePage(Struct, frozen=True):
    """Entries of a session, the latest first, and the cursor of older ones or ""."""

    project: str
    entries: tuple[StoredEntry, ...]
    next: str


class Timeline:
    """What happens in sessions, and what becomes of shown places. On the event loop only.

    Whatever takes something needs microseconds and never raises. All is kept for some `days`; if the
    file can't be opened nothing is kept, and questions raise the reason.
    """

    def __init__(
        self, state_dir: str, projects: OpenProjects, work: Work, system: System, days: int = 30
    ) -> None:
        self._file = RecordFile(os.path.join(state_dir, FILE), timeline.SCHEMA, timeline.VERSION, system)
        self._projects = projects
        self._work = work
        self._system = system
        self._days = days
        self._waiting = Waiting()
        self._next = 0
        """The number of the next entry; 0 until the file was read."""
        self._open: OrderedDict[tuple[str, str], Entry] = OrderedDict()
        """The latest entry of each conversation that has no context yet, by session and agent."""
        self._latest: OrderedDict[str, Entry] = OrderedDict()
        """The latest entry of each session."""
        self._tasks: OrderedDict[tuple[str, str], Entry] = OrderedDict()
        """The first entry of each subagent, by session and agent."""
        self._last_context: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._writing = asyncio.Lock()
        self._timer: asyncio.TimerHandle | None = None
        self._pruning: asyncio.TimerHandle | None = None
        self.problem = ""
        """Why what happened isn't written, in words."""

    async def load(self) -> str:
        """Open the file; returns a warning or an empty text."""
        try:
            self._next = 1 + await self._work.in_writer(partial(self._read, timeline.last_number))
        except StateError as error:
            return f"what happens in sessions isn't kept: {error}"
        self._pruning = asyncio.get_running_loop().call_later(PRUNE_FIRST_S, self._begin_pruning)
        return " ".join(
            f"The timeline of earlier sessions is lost: {one}." for one in self._file.take_warnings()
        )

    async def close(self) -> None:
        """Write what waits, and close the file."""
        for timer in filter(None, (self._timer, self._pruning)):
            timer.cancel()
        try:
            await self._flush()
        except StateError as error:
            log.warning("the last entries of the timeline are not kept: %s", error)
        self._next = 0
        await self._work.in_writer(self._file.close)

    # What happens

    def happened(self, happening: Happening) -> None:
        """Take something that happened in a session."""
        session_id, agent = happening.session_id, happening.agent_id
        if not self._next or not session_id:
            return
        self._waiting.hosts[session_id] = happening.host, happening.cwd
        latest = self._latest.get(session_id)
        if happening.kind in {"edit", "read"} and happening.paths:
            self._touched(happening, latest)
            return
        key = session_id, agent
        begun, task = self._open.get(key), self._tasks.get(key)
        if happening.kind == "resume" and begun is not None and begun.kind == "compaction":
            return  # the start that follows a compaction
        if (
            happening.kind == "prompt"
            and task is not None
            and task.text.strip() in {"", happening.text.strip()}
        ):
            task.text = happening.text  # some hosts send a subagent's task once more as a prompt
            self._waiting.entries[task.number] = task
            self._begin()
            return
        entry = self._entry(happening)
        if happening.kind == "subagent" and agent:
            _remember(self._tasks, key, entry)
        if happening.kind in {"start", "resume", "prompt", "subagent", "compaction"}:
            _remember(self._open, key, entry)
        self._begin()

    def given(
        self, scope: Scope, request: ContextRequest, built: Built, reply: Mapping[str, Any], agent_name: str
    ) -> None:
        """Take a context that was given; a repeated one takes a microsecond or two."""
        if not self._next:
            return
        now = self._now()
        given = self._waiting.turns.get(built.context_id)
        if given is None:
            if len(self._waiting.turns) >= TURNS_WAITING_MAX:
                return
            given = self._waiting.turns[built.context_id] = GivenContext(scope, built, reply, now)
        given.times += 1
        if scope.session_id:
            self._attach(scope, request, reply, agent_name, now)
        self._begin()

    def too_late(self, session_id: str, agent_id: str) -> bool:
        """Take that what was prepared for a conversation's latest prompt or start wasn't ready in time; a
        context that follows nevertheless takes that back. Returns whether there is such an entry."""
        entry = self._open.get((session_id, agent_id))
        if entry is None or entry.mark:
            return False
        entry.mark = f"{timeline.LATE_MARK}{entry.number}"
        self._waiting.entries[entry.number] = entry
        self._begin()
        return True

    def decided(self, root: str, experiences: Iterable[Experience]) -> None:
        """Take new decisions of a project."""
        for experience in experiences:
            if self._next and experience.session_id:
                self._waiting.hosts.setdefault(experience.session_id, ("", root))
                entry = Entry(
                    0,
                    experience.session_id,
                    milliseconds(experience.timestamp, self._now()),
                    "decision",
                    agent_name=experience.agent_id,
                    text=experience.decision,
                    paths=experience.files_touched[:PATHS_MAX],
                    experience_id=experience.id,
                    mark=experience.id,
                )
                self._add(entry)
        self._begin()

    def read_transcript(self, root: str, session_id: str, cwd: str, activity: Sequence[Activity]) -> None:
        """Take the activities in the new part of the transcript of a project's session."""
        if self._next and session_id and len(self._waiting.transcripts) < WAITING_MAX:
            self._waiting.hosts.setdefault(session_id, ("", root))
            self._waiting.transcripts.append(TranscriptPart(session_id, cwd, tuple(activity), self._now()))
            self._begin()

    def has_shown(self, session_id: str) -> bool:
        """Whether this daemon gave the session a context, so that its transcript tells of use."""
        return any(session == session_id for session, _ in self._last_context)

    def named(self, session_id: str, paths: Iterable[str]) -> None:
        """Take paths that an agent's reply names."""
        if self._next and len(self._waiting.signs) < WAITING_MAX:
            now = self._now()
            self._waiting.signs += [UseSign(session_id, "named", path, now) for path in paths]
            self._begin()

    # Questions

    async def page(self, session_id: str, limit: int, before: str) -> TimelinePage:
        """Return entries of a session, the latest first. Raises `InvalidRequest` for an unusable cursor."""
        start = _cursor_in(before)

        def ask(database: Database) -> TimelinePage:
            session = timeline.session_row(database, session_id)
            entries = timeline.entries_of(database, session_id, limit + 1, start)
            more = f"{entries[limit - 1].at}-{entries[limit - 1].number}" if len(entries) > limit else ""
            return TimelinePage(session.project if session else "", tuple(entries[:limit]), more)

        return await self._ask(ask)

    async def used(self, context_id: str) -> list[UsedPlace]:
        """Return the places of a context that were used; none if nothing is kept."""
        if not self._next:
            return []
        return await self._ask(lambda database: timeline.used_places(database, context_id))

    async def usage(self, by: Grouping, project: str | None, since: str, until: str) -> UsageReport:
        """Return the cost and use of contexts. Raises `InvalidRequest` for an unusable time."""
        wanted = UsageFilter(
            project and timeline.clean(project), _bound(since, "since", 0), _bound(until, "until", 2**62)
        )
        return await self._ask(lambda database: usage_report(database, by, wanted))

    async def count_of(self, root: str) -> int:
        """Return how many entries there are of a project."""
        return await self._ask(lambda database: timeline.count_of(database, root))

    async def forget_project(self, root: str) -> None:
        """Remove all of a project."""
        await self._flush()
        gone = await asyncio.to_thread(self._read, partial(timeline.sessions_of, project=root))
        by_agent: tuple[OrderedDict[tuple[str, str], Any], ...] = self._open, self._tasks, self._last_context
        for known in by_agent:
            for key in [key for key in known if key[0] in gone]:
                del known[key]
        for session_id in gone:
            self._latest.pop(session_id, None)
        await asyncio.to_thread(self._forget, root)

    def _forget(self, root: str) -> None:
        """Remove all of a project in steps, between which others write. Blocks."""
        while self._change(partial(timeline.forget_round, project=root)):
            pass
        self._file.compact()

    # Taking

    def _entry(self, happening: Happening, paths: tuple[str, ...] = ()) -> Entry:
        entry = Entry(
            0,
            happening.session_id,
            self._now(),
            happening.kind,
            happening.agent_id,
            happening.agent_name,
            happening.text,
            paths,
        )
        _remember(self._latest, entry.session_id, entry)
        self._add(entry)
        return entry

    def _add(self, entry: Entry) -> None:
        """Give an entry the next number, and let it be written."""
        entry.number = self._next
        self._next += 1
        if len(self._waiting.entries) < WAITING_MAX:
            self._waiting.entries[entry.number] = entry

    def _touched(self, happening: Happening, latest: Entry | None) -> None:
        """Take files that an agent edited or read: as an entry, and as a sign of their use."""
        now = self._now()
        paths = tuple(os.path.join(happening.cwd, path) for path in happening.paths)
        if len(self._waiting.signs) < WAITING_MAX:
            how: timeline.Use = "edited" if happening.kind == "edit" else "read"
            self._waiting.signs += [UseSign(happening.session_id, how, path, now) for path in paths]
        continues = (
            latest is not None
            and (latest.kind, latest.agent_id) == (happening.kind, happening.agent_id)
            and now - latest.at < MERGED_MS
        )
        if continues and latest is not None:
            latest.paths = tuple(dict.fromkeys((*latest.paths, *paths)))[:PATHS_MAX]
            self._waiting.entries[latest.number] = latest
        else:
            self._entry(happening, paths[:PATHS_MAX])
        self._begin()

    def _attach(
        self, scope: Scope, request: ContextRequest, reply: Mapping[str, Any], agent_name: str, now: int
    ) -> None:
        """Give a context to the entry that it was asked for, or make one for a client without hooks."""
        key = scope.session_id, scope.agent_id
        entry = self._open.pop(key, None)
        context_id = reply["context_id"]
        if entry is None:
            if self._last_context.get(key) == context_id:
                return
            kind: TimelineKind = "prompt" if request.prompt.strip() else "start"
            entry = Entry(0, scope.session_id, now, kind, scope.agent_id)
            _remember(self._latest, entry.session_id, entry)
            self._add(entry)
        entry.text = entry.text or request.prompt[:MASKED_CHARACTERS]
        entry.agent_name = entry.agent_name or agent_name
        entry.context_id, entry.request_id, entry.mark = context_id, reply.get("request_id", ""), ""
        self._waiting.entries[entry.number] = entry
        _remember(self._last_context, key, context_id)

    def _now(self) -> int:
        return int(self._system.now().timestamp() * 1000)

    # Writing

    def _begin(self) -> None:
        if self._timer is None and not self._waiting.is_empty:
            self._timer = asyncio.get_running_loop().call_later(WRITE_S, self._start_writing)

    def _start_writing(self) -> None:
        self._timer = None
        self._work.start_unheard(self._write(), "write timeline")

    async def _write(self) -> None:
        """Write what waits; what can't be written is tried again later."""
        try:
            await self._flush()
            self.problem = ""
        except StateError as error:
            self.problem = f"what happens in sessions is not on the disk: {error}"
            if self._timer is None:
                self._timer = asyncio.get_running_loop().call_later(RETRY_S, self._start_writing)

    async def _flush(self) -> None:
        async with self._writing:
            waiting, self._waiting = self._waiting, Waiting()
            if not self._next or waiting.is_empty:
                return
            try:
                for session_id, (_, cwd) in waiting.hosts.items():
                    with suppress(FovealError):  # a folder without a project
                        waiting.roots[session_id] = await self._projects.root_of(cwd)
            except BaseException:
                self._put_back(waiting)
                raise
            numbers = self._next
            self._next += sum(len(transcript.activity) for transcript in waiting.transcripts)
            # In another thread than the writer's, so that durable changes there don't wait for it.
            writing = asyncio.ensure_future(asyncio.to_thread(store, self._file, waiting, numbers))
            try:
                await asyncio.shield(writing)
            except asyncio.CancelledError:  # the thread goes on: what it wrote mustn't be written again
                await asyncio.wait((writing,))
                if writing.exception() is not None:
                    self._put_back(waiting)
                raise
            except StateError:
                self._put_back(waiting)
                raise

    def _put_back(self, waiting: Waiting) -> None:
        """Let what could not be written wait again, with what came in between."""
        later, self._waiting = self._waiting, waiting
        waiting.entries |= later.entries
        waiting.hosts |= later.hosts
        for context_id, given in later.turns.items():
            if context_id in waiting.turns:
                waiting.turns[context_id].times += given.times
            elif len(waiting.turns) < TURNS_WAITING_MAX:
                waiting.turns[context_id] = given
        waiting.signs = [*waiting.signs, *later.signs][:WAITING_MAX]
        waiting.transcripts = [*waiting.transcripts, *later.transcripts][:WAITING_MAX]

    def _begin_pruning(self) -> None:
        self._pruning = asyncio.get_running_loop().call_later(PRUNE_EVERY_S, self._begin_pruning)
        self._work.start_unheard(asyncio.to_thread(self.prune), "prune timeline")

    def prune(self) -> None:
        """Remove all that is too old or too much. Blocks."""
        oldest = self._now() - self._days * DAY_MS
        while self._change(partial(timeline.prune_round, oldest=oldest, now=self._now())):
            pass

    async def _ask(self, question: Callable[[Database], T]) -> T:
        if not self._next:
            raise StateError("no timeline is kept: its file can't be opened, or the daemon is shutting down")
        await self._flush()
        return await self._work.in_builder(partial(self._read, question))

    def _read(self, question: Callable[[Database], T]) -> T:
        with self._file.reading() as database:
            return question(database)

    def _change(self, change: Callable[[Database], T]) -> T:
        with self._file.writing() as database:
            return change(database)


def _bound(text: str, name: str, otherwise: int) -> int:
    """Return a time or a day of a request in milliseconds. Raises `InvalidRequest`."""
    if not text:
        return otherwise
    try:
        moment = datetime.fromisoformat(text)
        return int((moment if moment.tzinfo else moment.astimezone()).timestamp() * 1000)
    except (ValueError, OverflowError, OSError) as error:
        message = f"{name} must be a time such as 2026-01-31T12:00:00Z or a day, not {text!r:.60}"
        raise InvalidRequest(message, name) from error


def _cursor_in(before: str) -> tuple[int, int] | None:
    """Return the time and the number in a cursor. Raises `InvalidRequest`."""
    if not before:
        return None
    at, _, number = before.partition("-")
    if not (at.isdecimal() and number.isdecimal() and len(before) < 40 and before.isascii()):
        raise InvalidRequest(f"before is no next of a page: {before!r:.60}", "before")
    return int(at), int(number)


def _remember(known: OrderedDict[K, V], key: K, value: V) -> None:
    """Put a value last, and forget the oldest above `CONVERSATIONS_MAX`."""
    known[key] = value
    known.move_to_end(key)
    if len(known) > CONVERSATIONS_MAX:
        known.popitem(last=False)
