"""Owns the answers to GetContext: kept ones that still hold, builds shared by all who wait for the same."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from .context.assembly import Built, build
from .context.content import still_holds
from .context.focus import resolve_paths
from .context.item_plan import ItemPlan
from .context.requests import ContextRequest, Freshness
from .context.scopes import Scope, ScopeTable
from .errors import StateError
from .events import EventHub
from .freshness import Deadline, TreeFreshness, deadline_of
from .item.item_keys import ItemKey
from .item_plans import ITEMS_WAIT_S, plan_items, profiles_for
from .item_searching import ItemSearching
from .items import Items
from .ledger.messages import conversation
from .projects import Project
from .rendered import Entry, RenderedContexts
from .request_log import RequestLog, sent_of
from .retrieval.hits import Hit
from .scoping import Scoping
from .searching import NOTHING_FOUND, Ask, Found, Searching, worth_showing
from .session.sessions import Session
from .sessions import Sessions
from .snapshot import ProjectSnapshot
from .system import System
from .work import SharedWork, Work

ATTEMPTS = 3
"""So often a context is built when the files that it shows change meanwhile; then it says so."""

TALKS_MAX = 1_000
"""Of so many sessions it is remembered what their contexts depend on."""


class Contexts:
    """The contexts of all scopes. On the event loop only; they are built in a thread."""

    def __init__(
        self,
        scopes: ScopeTable,
        rendered: RenderedContexts,
        scoping: Scoping,
        freshness: TreeFreshness,
        searching: Searching,
        items: Items,
        item_search: ItemSearching,
        sessions: Sessions,
        requests: RequestLog,
        work: Work,
        events: EventHub,
        system: System,
    ) -> None:
        self._scopes = scopes
        self._rendered = rendered
        self._scoping = scoping
        self._freshness = freshness
        self._searching = searching
        self._items = items
        self._item_search = item_search
        self._sessions = sessions
        self._requests = requests
        self._work = work
        self._events = events
        self._system = system
        self._talks: dict[str, _Talk] = {}
        self._building = SharedWork[tuple[object, ...], Built](work)

    def get_nowait(
        self, project: Project, scope: Scope, request: ContextRequest, fresh: Freshness
    ) -> dict[str, Any] | None:
        """Return the answer if it is known and still holds: the path that has to be fast."""
        started = asyncio.get_running_loop().time()
        known = self._find_nowait(project, scope, request, fresh)
        if known is None:
            return None
        talk, built = known
        reply = _answer(project, built, cached=True)
        return self._recorded(reply, scope, request, talk, built, started) if scope.session_id else reply

    def is_ready(self, project: Project, scope: Scope, request: ContextRequest, fresh: Freshness) -> bool:
        """Whether the answer is known and still holds."""
        return self._find_nowait(project, scope, request, fresh) is not None

    async def get(
        self,
        project: Project,
        scope: Scope,
        request: ContextRequest,
        fresh: Freshness,
        deadline_ms: int | None,
    ) -> dict[str, Any]:
        """Return a context, built if need be. The same request by several callers is computed once."""
        started = asyncio.get_running_loop().time()
        scope, talk, built, reply = await self._get(project, scope, request, fresh, deadline_ms)
        return self._recorded(reply, scope, request, talk, built, started) if scope.session_id else reply

    async def _get(
        self,
        project: Project,
        scope: Scope,
        request: ContextRequest,
        fresh: Freshness,
        deadline_ms: int | None,
    ) -> tuple[Scope, _Talk, Built, dict[str, Any]]:
        """Return what was answered, and what it is of."""
        deadline = deadline_of(project, deadline_ms)
        degraded: list[str] = []
        if fresh == "tree" and not await self._freshness.sync(project, deadline):
            degraded.append(
                "the tree was not compared with the disk in time: files changed just now may be missing"
            )
        await self._items.refresh(project)
        session = await self._sessions.find(scope.session_id) if scope.session_id else None
        talk = self._talk(project, session)
        scope = self._scoping.settled(project, scope)
        built = self._kept(project, scope, request, talk, fresh)
        if built is not None:
            return scope, talk, built, _answer(project, built, cached=True, degraded=degraded)
        key = (scope.id, scope.revision, request.key, self._validity(project, scope, request, talk), fresh)
        begin = partial(self._build, project, scope, request, talk, deadline)
        built = await self._building.run(key, begin, f"context {scope.id}")
        if built.stale:
            named = ", ".join(built.stale[:5])
            degraded.append(
                f"{named} changed and could not be read again in time: their definitions are left out"
            )
        return scope, talk, built, _answer(project, built, cached=False, degraded=degraded)

    def prepare(
        self,
        project: Project,
        scope: Scope,
        request: ContextRequest,
        fresh: Freshness,
        deadline_ms: int | None,
    ) -> None:
        """Begin to build a context in the background, for a request that follows."""
        work = self._get(project, scope, request, fresh, deadline_ms)
        self._work.start_unheard(work, f"prepare {scope.id}")

    async def _build(
        self, project: Project, scope: Scope, request: ContextRequest, talk: _Talk, deadline: Deadline
    ) -> Built:
        await self._freshness.wait_named(project, deadline)
        scope = self._scoping.settled(project, scope)
        if project.tree.pending:
            await self._freshness.refresh(project, _unread_focus(project, scope), deadline)
        started = asyncio.get_running_loop().time()
        self._searching.prefer(project, (*scope.focus_paths, *scope.expanded))
        found = await self._search(project, request, deadline)
        for _ in range(ATTEMPTS):
            await self._items.refresh(project)
            plan, planned_of = await self._plan(project, scope, request, talk, deadline), project.items
            # Both at the same moment, so that what is kept says what it was built from.
            validity, snapshot = self._validity(project, scope, request, talk), project.snapshot()
            above = self._scopes.constraints_above(scope)
            work = partial(_built, snapshot, scope, above, request, found.hits, found.degraded, plan)
            built = await self._work.in_builder(work)
            if not built.stale or not await self._freshness.refresh(project, built.stale, deadline):
                break
            # The file that changed may not be what was looked for any more, or just that.
            found = await self._search(project, request, deadline)
        # What could not be asked may be asked the next time.
        settled = not found.degraded and (not request.prompt or self._searching.is_settled(project))
        settled = settled and not plan.degraded and planned_of is project.items
        if built.lasting and not built.stale and settled and scope.id in self._scopes:
            held = self._rendered.put(scope.id, request.key, Entry(scope.revision, validity, built))
            self._scoping.charge(scope.id, held)
        if self._events.wanted("context.built"):
            elapsed = (asyncio.get_running_loop().time() - started) * 1000
            self._events.publish("context.built", _built_event(scope, request, built, elapsed))
        return built

    async def _plan(
        self, project: Project, scope: Scope, request: ContextRequest, talk: _Talk, deadline: Deadline
    ) -> ItemPlan:
        """Return the items of a request; items of mode `agent` are searched as long as there is time."""
        profiles = profiles_for(project.config, _agent_name(scope, talk), talk.session)
        served: Mapping[ItemKey, float] = {}
        problem: tuple[str, ...] = ()
        if request.prompt.strip():
            try:
                served = await self._requests.served(project.root, request.prompt)
            except StateError as error:
                problem = (f"what served earlier requests isn't known: {error}",)
        within_s = deadline.left(ITEMS_WAIT_S)
        plan = await plan_items(
            project.items, talk.session, request, profiles, served, self._item_search, within_s
        )
        return replace(plan, degraded=(*plan.degraded, *problem)) if problem else plan

    async def _search(self, project: Project, request: ContextRequest, deadline: Deadline) -> Found:
        """Return what is found for a prompt; nothing without one, or where nothing may enter."""
        limit = project.config.context.hits_max
        if not request.prompt.strip() or not limit:
            return NOTHING_FOUND
        found = await self._searching.search(project, Ask(request.prompt, limit), deadline)
        return replace(found, hits=worth_showing(found.hits))

    def _find_nowait(
        self, project: Project, scope: Scope, request: ContextRequest, fresh: Freshness
    ) -> tuple[_Talk, Built] | None:
        if fresh == "tree" or not project.settings_hold() or (project.state == "ready" and not scope.settled):
            return None
        if fresh == "shown" and not self._items.holds(project, asyncio.get_running_loop().time()):
            return None
        session = None
        if scope.session_id:
            session, is_known = self._sessions.known(scope.session_id)
            if not is_known:
                return None
        talk = self._talk(project, session)
        built = self._kept(project, scope, request, talk, fresh)
        return None if built is None else (talk, built)

    def _kept(
        self, project: Project, scope: Scope, request: ContextRequest, talk: _Talk, fresh: Freshness
    ) -> Built | None:
        """Return a rendered context whose files are as they were: on the disk, or as far as is known."""
        holds = project.knows if fresh == "no" else partial(still_holds, system=self._system)
        validity = self._validity(project, scope, request, talk)
        return self._rendered.find(scope.id, request.key, scope.revision, validity, holds)

    def _validity(
        self, project: Project, scope: Scope, request: ContextRequest, talk: _Talk
    ) -> tuple[object, ...]:
        """Return what a context depends on beside its scope, its request and the files that it shows."""
        known = project.validity(prompted=bool(request.prompt))
        reports = self._requests.reports if request.prompt else 0
        return (*known, self._scopes.constraints_above(scope), talk.key, reports)

    def _talk(self, project: Project, session: Session | None) -> _Talk:
        """Return the session of a request; that of another project has no items here."""
        if session is None or session.project_root != project.root:
            return _NO_TALK
        talk = self._talks.get(session.id)
        if talk is None or talk.session is not session:
            if len(self._talks) >= TALKS_MAX:
                self._talks.clear()
            talk = self._talks[session.id] = _Talk(session, _session_key(session))
        return talk

    def _recorded(
        self,
        reply: dict[str, Any],
        scope: Scope,
        request: ContextRequest,
        talk: _Talk,
        built: Built,
        started: float,
    ) -> dict[str, Any]:
        """Record an answer in a session, each time that it is given; returns it with its `request_id`."""
        if talk.session is not None:
            self._sessions.note_use(talk.session)
        if request.prompt.strip():
            elapsed_ms = round((asyncio.get_running_loop().time() - started) * 1000, 3)
            agent_name = _agent_name(scope, talk)
            request_id = self._requests.record(scope, request, built, reply, agent_name, elapsed_ms)
            if request_id is not None:
                reply["request_id"] = request_id
        return reply


@dataclass(frozen=True, slots=True)
class _Talk:
    """The session that a request is of, as it was when it came, and what its context depends on of it."""

    session: Session | None = None
    key: str = ""


_NO_TALK = _Talk()


def _session_key(session: Session) -> str:
    """Return what a context depends on of a session: not when it was last used, nor what it is called."""
    parts = (
        [[one.key.type, one.key.name, one.key.server_name, one.include] for one in session.items],
        [[key.type, key.name, key.server_name] for key in session.removed],
        session.context.get("files", ()),
        session.selection,
    )
    return json.dumps(parts, sort_keys=True)


def _agent_name(scope: Scope, talk: _Talk) -> str:
    return scope.agent_name or (talk.session.agent_name if talk.session else "")


def _built(
    snapshot: ProjectSnapshot,
    scope: Scope,
    above: Sequence[str],
    request: ContextRequest,
    hits: Sequence[Hit],
    degraded: Sequence[str],
    plan: ItemPlan,
) -> Built:
    """Build a context, in a thread; in the format `messages` with the messages and tools."""
    built = build(snapshot, scope, above, request, hits, degraded, plan)
    if request.format != "messages":
        return built
    reply: Mapping[str, Any] = {**built.reply, **conversation(sent_of(request, built))}
    return replace(built, reply=reply)


def _answer(project: Project, built: Built, *, cached: bool, degraded: Sequence[str] = ()) -> dict[str, Any]:
    unread = project.unread
    partial_answer = bool(built.stale or unread) or project.state == "scanning"
    reply = {**built.reply, "partial": partial_answer, "cached": cached, "clock": project.clock}
    if unread:
        reply["gaps"] = [*reply["gaps"], *unread]
    if degraded:
        reply["degraded"] = [*reply["degraded"], *degraded]
    return reply


def _unread_focus(project: Project, scope: Scope) -> list[str]:
    """Return the files in focus that the index hasn't read yet."""
    files = project.tree.files
    nodes, _ = resolve_paths(project.tree, (*scope.focus_paths, *scope.expanded), "focus")
    return [node.path for node in nodes if node.path not in files or not files[node.path].digest]


def _built_event(scope: Scope, request: ContextRequest, built: Built, elapsed_ms: float) -> dict[str, Any]:
    types: dict[str, int] = {}
    for one in built.reply["slices"]:
        types[one["type"]] = types.get(one["type"], 0) + 1
    return {
        "project": scope.root,
        "scope_id": scope.id,
        "session_id": scope.session_id,
        "agent_name": scope.agent_name,
        "task_type": request.task_type,
        "tokens": built.reply["tokens"],
        "slices": types,
        "elapsed_ms": round(elapsed_ms, 3),
    }
