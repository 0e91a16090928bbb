"""The sessions of all projects: look-ups by requests, changes by clients, and events about them.

Every change is durable when it returns. The store is used in threads; sessions are cached for a moment, so
that a request in a session needs no thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from msgspec import Struct

from ..config.settings import Environment
from ..core.errors import NotFound, ProjectUnavailable, StateError
from ..core.events import EventHub
from ..core.system import System
from ..core.work import Work
from ..rules.records import AgentItems, IncludeMode, ItemKey, ItemOwner
from ..rules.service import Items
from . import delivery_tables
from .context_sets import (
    Applet,
    Resume,
    SetMode,
    SetOutcome,
    applet_in,
    given_applet,
    name_warnings,
    replace_context,
    resume_text,
    set_context,
)
from .delivered_context import new_context_id
from .deliveries import Deliveries
from .former_stores import move_former
from .request_record import conversation, message_hash, new_request_id, record_map, sent
from .session import (
    NOBODY,
    ItemOutcome,
    Session,
    SessionState,
    idle,
    is_id,
    item_is_not_there,
    observed,
    unknown_item,
    with_always,
    with_fields,
    with_item,
    without_item,
)
from .session_store import SessionList, SessionStore, session_in
from .timeline import Timeline

T = TypeVar("T")

FOLDER = "sessions"

CACHED_S = 0.5
"""Seconds for which a session is cached, as a project's rules are. Changes by clients count at once; only a
person who edits a session's file waits."""

SEEN_MAX = 4_096
"""Maximum number of cached sessions, and of ids without one."""

USE_NOTED_S = 60.0
"""Seconds between writes of a session's last use."""


class SessionChange(Struct, frozen=True):
    """The changes of UpdateSession, all or nothing; None leaves a field unchanged."""

    name: str | None = None
    current_intent: str | None = None
    env_hint: str | None = None
    selection: Mapping[str, object] | str | None = None
    context: Mapping[str, Sequence[str]] | None = None
    sets: tuple[tuple[str, Sequence[str], SetMode], ...] = ()


class _Seen(Struct, frozen=True):
    state: SessionState
    at: float


class Sessions:
    """The sessions of all projects. On the event loop only. `open_project` opens the one with a root."""

    def __init__(
        self,
        environment: Environment,
        open_project: Callable[[str], Awaitable[ItemOwner]],
        items: Items,
        work: Work,
        events: EventHub,
        system: System,
        applet_url: str = "",
    ) -> None:
        self._home = environment.home
        self._applet_url = applet_url
        self._open_project = open_project
        self._items = items
        self._work = work
        self._events = events
        self._store = SessionStore(os.path.join(environment.state_dir, FOLDER), system)
        self._seen: OrderedDict[str, _Seen] = OrderedDict()
        self._observed: dict[str, float] = {}

    # Look-ups

    def known(self, session_id: str) -> SessionState | None:
        """Return the cached state of a session, None if there is none."""
        seen = self._seen.get(session_id)
        if seen is None or asyncio.get_running_loop().time() - seen.at >= CACHED_S:
            return None
        return seen.state

    async def find(self, session_id: str) -> SessionState:
        """Return the state of an id; clients may use ids without a session.

        Never raises for damage: `problem` says why an existing session can't be read.
        """
        state = self.known(session_id)
        if state is None and is_id(session_id):
            state = await self._work.in_builder(partial(self._read_state, session_id))
            self._cache(session_id, state)
        return state or NOBODY

    def note_use(self, session: Session) -> None:
        """Note that a session is in use; written in the background, and not every time."""
        now = asyncio.get_running_loop().time()
        if now - self._observed.get(session.id, -USE_NOTED_S) < USE_NOTED_S:
            return
        if len(self._observed) >= SEEN_MAX:
            self._observed.clear()
        self._observed[session.id] = now
        self._work.start_background(self._observe(session.id), f"note use of session {session.id}")

    # Sessions

    async def create(
        self,
        project: ItemOwner,
        session_id: str,
        *,
        name: str,
        agent_name: str,
        selection: Mapping[str, object] | str | None,
    ) -> Session:
        """Make a session that takes the items of mode `always`."""
        items = await self._items.refresh(project)
        create = partial(
            self._store.create,
            project.root,
            _always(items),
            session_id=session_id,
            name=name,
            agent_name=agent_name,
            selection=selection,
        )
        session = self._cached(await self._work.in_writer(create))
        self._publish_change(session)
        return session

    async def get(self, session_id: str) -> Session:
        """Return a session. Raises `NotFound`."""
        return self._cached(await self._work.in_builder(partial(self._store.get, session_id)))

    async def list(self, root: str | None, heard: Mapping[str, str] | None = None) -> SessionList:
        """Return the sessions of a project, or all, the last used first; `heard` are later signs of some."""
        return await self._work.in_builder(partial(self._store.list, root, heard))

    async def update(self, session_id: str, change: SessionChange) -> tuple[Session, tuple[SetOutcome, ...]]:
        """Change a session, all or nothing; returns it and the outcome of each named set."""

        def apply(session: Session) -> tuple[Session, tuple[SetOutcome, ...]]:
            session = with_fields(
                session,
                name=change.name,
                current_intent=change.current_intent,
                env_hint=change.env_hint,
                selection=change.selection,
            )
            outcomes: list[SetOutcome] = []
            if change.context is not None:
                given = {name: self._given(name, entries) for name, entries in change.context.items()}
                session, replaced = replace_context(session, given, self._home)
                outcomes += replaced
            for set_name, entries, mode in change.sets:
                entries = self._given(set_name, entries)  # noqa: PLW2901 - the form that is kept
                session, outcome = set_context(session, set_name, entries, mode, self._home)
                outcomes.append(outcome)
            return session, tuple(outcomes)

        return await self._apply(session_id, apply)

    async def resume(self, session_id: str, *, is_heard: bool = True) -> tuple[Session, Resume]:
        """Resume a session, even an ended one; it gets new items of mode `always`. Without `is_heard` a
        person asked, which is no sign of its agent."""
        always: list[ItemKey] = []
        # The session's text can be returned even if the project is unavailable.
        with contextlib.suppress(ProjectUnavailable):
            always = _always(await self._items_of(await self.get(session_id)))
        at = self._store.now()

        def apply(session: Session) -> tuple[Session, None]:
            heard = at if is_heard else session.last_observed
            return observed(with_always(session, always), heard), None

        session, _ = await self._apply(session_id, apply)
        resume = await self._work.in_builder(partial(resume_text, session, self._applet_url))
        data = {"missing_files": list(resume.missing_files), "added": {}, "removed": {}}
        self._events.publish("context.resumed", _event(session) | data)
        return session, resume

    def applet_of(self, session: Session) -> Applet | None:
        """Return the applet of a session with the address that opens it again."""
        return applet_in(session.context.get("applet", ()), self._applet_url)

    async def idle(self, session_id: str) -> None:
        """Note that a turn of a session ended."""
        at = self._store.now()
        await self._apply(session_id, lambda session: (idle(session, at), None))

    async def end(self, session_id: str) -> Session:
        """End a session; it is kept and can be resumed."""
        session = self._cached(await self._work.in_writer(partial(self._store.end, session_id)))
        self._publish_change(session)
        return session

    async def forget_project(self, root: str) -> None:
        """Remove all sessions of a project for good."""
        for summary in (await self.list(root)).sessions:
            await self._work.in_writer(partial(self._store.remove, summary.id))
            self._seen.pop(summary.id, None)

    # Items of a session

    async def add_item(self, session_id: str, key: ItemKey) -> tuple[Session, ItemOutcome]:
        """Add an item by hand. Raises `NotFound` for an unknown item."""
        item = (await self._items_of(await self.get(session_id))).get(key)
        mode = None if item is None else item.include
        return await self._apply(session_id, lambda session: with_item(session, key, mode))

    async def remove_item(self, session_id: str, key: ItemKey) -> tuple[Session, ItemOutcome]:
        """Remove an item by hand; it doesn't come back by itself."""
        mode: IncludeMode | None = None
        # An item of the session can be removed even if the project is unavailable.
        with contextlib.suppress(ProjectUnavailable):
            item = (await self._items_of(await self.get(session_id))).get(key)
            mode = None if item is None else item.include
        return await self._apply(session_id, lambda session: without_item(session, key, mode))

    # Helpers

    def _given(self, set_name: str, entries: Sequence[str]) -> Sequence[str]:
        """Return a set's entries as given, the address of an applet as its slug and parameters."""
        return given_applet(entries, self._applet_url) if set_name.strip() == "applet" else entries

    def _read_state(self, session_id: str) -> SessionState:
        """Read the state of a session. Blocks."""
        try:
            return SessionState(self._store.find(session_id))
        except (NotFound, StateError) as error:
            return SessionState(None, f"the session {session_id} can't be read: {error}")

    async def _items_of(self, session: Session) -> AgentItems:
        return await self._items.refresh(await self._open_project(session.project_root))

    async def _apply(
        self, session_id: str, change: Callable[[Session], tuple[Session, T]]
    ) -> tuple[Session, T]:
        """Change a session, and publish events about it."""
        before: list[Session] = []

        def noted(session: Session) -> tuple[Session, T]:
            before[:] = [session]
            return change(session)

        session, outcome = await self._work.in_writer(partial(self._store.apply, session_id, noted))
        self._cached(session)
        if before[0].context != session.context:
            self._events.publish(
                "context.changed",
                _event(session)
                | {"added": _beyond(session, before[0]), "removed": _beyond(before[0], session)},
            )
        if _published(before[0]) != _published(session):
            self._publish_change(session)
        return session, outcome

    def _publish_change(self, session: Session) -> None:
        self._events.publish("session.changed", {"session_id": session.id, "project": session.project_root})

    async def _observe(self, session_id: str) -> None:
        at = self._store.now()
        try:
            update = partial(self._store.update, session_id, lambda session: observed(session, at))
            self._cached(await self._work.in_writer(update))
        except NotFound:
            # It was removed as one of too many, or is damaged: the next look-up says which.
            self._seen.pop(session_id, None)

    def _cached(self, session: Session) -> Session:
        self._cache(session.id, SessionState(session))
        return session

    def _cache(self, session_id: str, state: SessionState) -> None:
        """Cache a state, unless a newer revision was cached while it was read."""
        cached = self.known(session_id)
        former = cached.session if cached else None
        if former is not None and state.session is not None and former.revision > state.session.revision:
            return
        now = asyncio.get_running_loop().time()
        self._seen[session_id] = _Seen(state, now)
        self._seen.move_to_end(session_id)
        # Expired states are dropped at once: a session takes some kilobytes.
        while self._seen and (
            len(self._seen) > SEEN_MAX or now - next(iter(self._seen.values())).at >= CACHED_S
        ):
            self._seen.popitem(last=False)


def _always(items: AgentItems) -> list[ItemKey]:
    return [key for key, item in items.by_key.items() if item.include == "always"]


def _published(session: Session) -> tuple[object, ...]:
    """Return the fields whose change is published; sets have their own event."""
    return (
        session.name,
        session.current_intent,
        session.env_hint,
        session.items,
        session.removed,
        session.selection,
        bool(session.ended),
    )


def _event(session: Session) -> dict[str, Any]:
    """Return an event's data: the sets, the files, and the parsed applet."""
    applet = applet_in(session.context.get("applet", ()))
    return {
        "session_id": session.id,
        "project": session.project_root,
        "context": {name: list(entries) for name, entries in session.context.items()},
        "files": list(session.context.get("files", ())),
        "applet": applet and {"slug": applet.slug, "parameters": dict(applet.parameters)},
    }


def _beyond(session: Session, other: Session) -> dict[str, list[str]]:
    """Return the entries of a session's sets that another session lacks."""
    found = {
        name: [entry for entry in entries if entry not in other.context.get(name, ())]
        for name, entries in session.context.items()
    }
    return {name: entries for name, entries in found.items() if entries}
