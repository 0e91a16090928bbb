"""The timeline of sessions: takes the events of hosts and agents, and answers what happened."""

from __future__ import annotations

import os
import secrets
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from msgspec import Struct

from ..core.errors import InvalidRequest, StateError
from ..core.storage import Database
from ..core.times import iso_of
from ..memory.records import Experience
from ..transcripts.records import Activity
from .deliveries import Deliveries
from .session_events import (
    HOOK_MARK,
    MASKED_CHARACTERS,
    PATHS_MAX,
    Entry,
    SessionOrigin,
    StoredEntry,
    TimelineKind,
    TranscriptPart,
    Use,
    UseSign,
    entries_of,
    is_answered,
    last_signs,
    milliseconds,
    project_of,
    sessions_of,
)

K = TypeVar("K")
V = TypeVar("V")

CONVERSATIONS_MAX = 1_000
"""Maximum number of conversations whose latest entry is remembered."""

MERGED_MS = 120_000
"""Milliseconds within which the edits of an agent become one entry, if nothing else happens in between."""


class SessionEvent(Struct, frozen=True):
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


ASKING = frozenset(("start", "resume", "prompt", "subagent", "compaction"))
"""The kinds of entries that a context answers."""


class Timeline:
    """What happens in sessions. On the event loop only.

    Whatever takes something needs microseconds and never raises; it is kept with the deliveries, or not at
    all if their file can't be opened.
    """

    def __init__(self, deliveries: Deliveries) -> None:
        self._deliveries = deliveries
        self._open: OrderedDict[tuple[str, str], Entry] = OrderedDict()
        """The latest entry of each conversation that has no context yet, by session and agent."""
        self._latest: OrderedDict[str, Entry] = OrderedDict()
        """The latest entry of each session."""
        self._tasks: OrderedDict[tuple[str, str], Entry] = OrderedDict()
        """The first entry of each subagent, by session and agent."""
        self._last_context: OrderedDict[tuple[str, str], str] = OrderedDict()

    def record(self, event: SessionEvent) -> None:
        """Take something that happened in a session."""
        session_id, agent = event.session_id, event.agent_id
        if not session_id:
            return
        self._deliveries.put(SessionOrigin(session_id, event.host, event.cwd))
        if event.kind in {"edit", "read"} and event.paths:
            self._touched(event, self._latest.get(session_id))
            return
        key = session_id, agent
        begun, task = self._open.get(key), self._tasks.get(key)
        if event.kind == "resume" and begun is not None and begun.kind == "compaction":
            return  # the start that follows a compaction
        if event.kind == "prompt" and task is not None and task.text.strip() in {"", event.text.strip()}:
            task.text = event.text  # some hosts send a subagent's task once more as a prompt
            self._deliveries.put(task)
            return
        entry = self._entry(session_id, event.kind, agent, event.agent_name, event.text)
        if event.kind == "subagent" and agent:
            _remember(self._tasks, key, entry)
        if event.kind in ASKING:
            _remember(self._open, key, entry)
        self._deliveries.put(entry)

    def attach(
        self, conversation: tuple[str, str], context_id: str, request_id: str, prompt: str, agent_name: str
    ) -> None:
        """Give a context to the entry that it was asked for in a session by an agent, or make one for a
        client without hooks. A context for another prompt leaves the entry as it is."""
        entry = self._open.get(conversation)
        if entry is not None and _is_asked_by(entry, prompt):
            del self._open[conversation]
        else:
            if self._last_context.get(conversation) == context_id:
                return
            if not prompt.strip() and self._is_begun(conversation):
                return
            entry = self._entry(conversation[0], "prompt" if prompt.strip() else "start", conversation[1])
        entry.text = entry.text or prompt[:MASKED_CHARACTERS]
        entry.agent_name = entry.agent_name or agent_name
        entry.context_id, entry.request_id, entry.outcome = context_id, request_id, ""
        self._deliveries.put(entry)
        _remember(self._last_context, conversation, context_id)

    def _is_begun(self, conversation: tuple[str, str]) -> bool:
        """Whether a conversation's latest entry is a prompt or a task that has its context: what hooks bring
        of the project beside a first one belongs to it."""
        latest = self._latest.get(conversation[0])
        if latest is None or not latest.context_id or latest.agent_id != conversation[1]:
            return False
        return latest.kind in {"prompt", "subagent"}

    def too_late(self, session_id: str, agent_id: str) -> bool:
        """Record that the context for a conversation's latest prompt or start wasn't ready in time, or went
        without what is about the prompt; a context that follows undoes this. Returns whether there is such an
        entry."""
        key = session_id, agent_id
        entry = self._open.get(key) or self._latest.get(session_id)
        if entry is None or entry.outcome or (entry.agent_id, entry.kind in ASKING) != (agent_id, True):
            return False
        entry.outcome = "too late"
        _remember(self._open, key, entry)
        self._deliveries.put(entry)
        return True

    def decided(self, root: str, experiences: Iterable[Experience]) -> None:
        """Take new decisions of a project."""
        for experience in experiences:
            if experience.session_id:
                self._deliveries.put(SessionOrigin(experience.session_id, "", root, root))
                at = milliseconds(experience.timestamp, self._deliveries.now())
                entry = Entry(
                    experience.session_id,
                    at,
                    "decision",
                    experience.id,
                    agent_name=experience.agent_id,
                    text=experience.decision,
                    paths=experience.files_touched[:PATHS_MAX],
                    experience_id=experience.id,
                )
                self._deliveries.put(entry)

    def read_transcript(self, root: str, session_id: str, cwd: str, activity: Sequence[Activity]) -> None:
        """Take the activities in the new part of the transcript of a project's session."""
        if session_id:
            self._deliveries.put(SessionOrigin(session_id, "", root, root))
            self._deliveries.put(TranscriptPart(session_id, cwd, tuple(activity), self._deliveries.now()))

    def has_shown(self, session_id: str) -> bool:
        """Whether this daemon gave the session a context, so that its transcript tells of use."""
        return any(session == session_id for session, _ in self._last_context)

    async def is_answered(self, session_id: str, prompt: str) -> bool:
        """Whether a prompt is the latest of a session's main agent, and its window has the context."""
        return await self._deliveries.read(lambda database: is_answered(database, session_id, prompt))

    async def heard(self, session_id: str = "") -> dict[str, str]:
        """Return the time of the latest sign of each session that there is one of, or of one session."""
        try:
            signs = await self._deliveries.read(lambda database: last_signs(database, session_id))
        except StateError:  # sessions are told without it
            return {}
        return {name: iso_of(at) for name, at in signs.items()}

    def named(self, session_id: str, paths: Iterable[str]) -> None:
        """Take paths that an agent's reply names."""
        self._sign(session_id, "named", paths)

    async def page(self, session_id: str, limit: int, before: str) -> TimelinePage:
        """Return entries of a session, the latest first. Raises `InvalidRequest` for an unusable cursor."""
        start = _cursor_in(before)

        def ask(database: Database) -> TimelinePage:
            entries = entries_of(database, session_id, limit + 1, start)
            more = (
                f"{entries[limit - 1].entry.at}-{entries[limit - 1].number}" if len(entries) > limit else ""
            )
            return TimelinePage(project_of(database, session_id), tuple(entries[:limit]), more)

        return await self._deliveries.read(ask)

    async def forget_project(self, root: str) -> None:
        """Remove all of a project: its requests, its contexts, and what happened in its sessions."""
        gone = await self._deliveries.read(lambda database: sessions_of(database, root))
        by_agent: tuple[OrderedDict[tuple[str, str], Any], ...] = self._open, self._tasks, self._last_context
        for known in by_agent:
            for key in [key for key in known if key[0] in gone]:
                del known[key]
        for session_id in gone:
            self._latest.pop(session_id, None)
        await self._deliveries.forget_project(root)

    def _entry(
        self, session_id: str, kind: TimelineKind, agent_id: str, agent_name: str = "", text: str = ""
    ) -> Entry:
        mark = f"{HOOK_MARK}{secrets.token_hex(8)}"
        entry = Entry(session_id, self._deliveries.now(), kind, mark, agent_id, agent_name, text)
        _remember(self._latest, session_id, entry)
        return entry

    def _touched(self, event: SessionEvent, latest: Entry | None) -> None:
        """Take files that an agent edited or read: as an entry, and as a sign of their use."""
        paths = tuple(os.path.join(event.cwd, path) for path in event.paths)
        self._sign(event.session_id, "edited" if event.kind == "edit" else "read", paths)
        if (
            latest is None
            or (latest.kind, latest.agent_id) != (event.kind, event.agent_id)
            or self._deliveries.now() - latest.at >= MERGED_MS
        ):
            latest = self._entry(event.session_id, event.kind, event.agent_id, event.agent_name, event.text)
        latest.paths = tuple(dict.fromkeys((*latest.paths, *paths)))[:PATHS_MAX]
        self._deliveries.put(latest)

    def _sign(self, session_id: str, how: Use, paths: Iterable[str]) -> None:
        at = self._deliveries.now()
        for path in paths:
            self._deliveries.put(UseSign(session_id, how, path, at))


def _is_asked_by(entry: Entry, prompt: str) -> bool:
    """Whether a context for a prompt is that of an entry: of the same text, as far as both go."""
    asked, said = prompt.strip(), entry.text.strip()
    if entry.kind != "prompt" or not asked or "<" in said:  # hooks ask without what hosts put into tags
        return True
    return not said or said.startswith(asked) or asked.startswith(said)


def _cursor_in(before: str) -> tuple[int, int] | None:
    """Return the time and the number in a cursor. Raises `InvalidRequest`."""
    if not before:
        return None
    at, _, number = before.partition("-")
    if not (at.isdecimal() and number.isdecimal() and len(before) < 40 and before.isascii()):
        raise InvalidRequest(f"before is no next of a page: {before!r:.60}", "before")
    return int(at), int(number)


def _remember(cache: OrderedDict[K, V], key: K, value: V) -> None:
    """Put a value last, and forget the oldest above `CONVERSATIONS_MAX`."""
    cache[key] = value
    cache.move_to_end(key)
    if len(cache) > CONVERSATIONS_MAX:
        cache.popitem(last=False)
