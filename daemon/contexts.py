"""Owns the answers to GetContext: kept ones that still hold, builds shared by all who wait for the same."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from .config import Environment
from .context.assembly import Built, build
from .context.content import still_holds
from .context.focus import resolve_paths
from .context.instructions import discover
from .context.requests import ContextRequest, Freshness
from .context.scopes import Scope, ScopeTable
from .events import EventHub
from .freshness import Deadline, TreeFreshness, deadline_of
from .projects import Project
from .rendered import Entry, RenderedContexts
from .scoping import Scoping
from .searching import NOTHING_FOUND, Ask, Found, Searching, worth_showing
from .system import System
from .work import SharedWork, Work

ATTEMPTS = 3
"""So often a context is built when the files that it shows change meanwhile; then it says so."""


class Contexts:
    """The contexts of all scopes. On the event loop only; they are built in a thread."""

    def __init__(
        self,
        scopes: ScopeTable,
        rendered: RenderedContexts,
        scoping: Scoping,
        freshness: TreeFreshness,
        searching: Searching,
        work: Work,
        events: EventHub,
        environment: Environment,
        system: System,
    ) -> None:
        self._scopes = scopes
        self._rendered = rendered
        self._scoping = scoping
        self._freshness = freshness
        self._searching = searching
        self._work = work
        self._events = events
        self._home = environment.home
        self._system = system
        self._building = SharedWork[tuple[object, ...], Built](work)

    def get_nowait(
        self, project: Project, scope: Scope, request: ContextRequest, fresh: Freshness
    ) -> dict[str, Any] | None:
        """Return the answer if it is known and still holds: the path that has to be fast."""
        if fresh == "tree" or not project.settings_hold() or (project.state == "ready" and not scope.settled):
            return None
        if fresh == "shown" and not project.rules_hold(asyncio.get_running_loop().time()):
            return None
        built = self._kept(project, scope, request, fresh)
        return None if built is None else _answer(project, built, cached=True)

    async def get(
        self,
        project: Project,
        scope: Scope,
        request: ContextRequest,
        fresh: Freshness,
        deadline_ms: int | None,
    ) -> dict[str, Any]:
        """Return a context, built if need be. The same request by several callers is computed once."""
        deadline = deadline_of(project, deadline_ms)
        degraded: list[str] = []
        if fresh == "tree" and not await self._freshness.sync(project, deadline):
            degraded.append(
                "the tree was not compared with the disk in time: files changed just now may be missing"
            )
        await self._refresh_rules(project)
        scope = self._scoping.settled(project, scope)
        built = self._kept(project, scope, request, fresh)
        if built is not None:
            return _answer(project, built, cached=True, degraded=degraded)
        key = (scope.id, scope.revision, request.key, self._validity(project, scope, request), fresh)
        begin = partial(self._build, project, scope, request, deadline)
        built = await self._building.run(key, begin, f"context {scope.id}")
        if built.stale:
            named = ", ".join(built.stale[:5])
            degraded.append(
                f"{named} changed and could not be read again in time: their definitions are left out"
            )
        return _answer(project, built, cached=False, degraded=degraded)

    def prepare(
        self,
        project: Project,
        scope: Scope,
        request: ContextRequest,
        fresh: Freshness,
        deadline_ms: int | None,
    ) -> None:
        """Begin to build a context in the background, for a request that follows."""
        work = self.get(project, scope, request, fresh, deadline_ms)
        self._work.start_unheard(work, f"prepare {scope.id}")

    async def _build(
        self, project: Project, scope: Scope, request: ContextRequest, deadline: Deadline
    ) -> Built:
        await self._freshness.wait_named(project, deadline)
        scope = self._scoping.settled(project, scope)
        if project.tree.pending:
            await self._freshness.refresh(project, _unread_focus(project, scope), deadline)
        started = asyncio.get_running_loop().time()
        self._searching.prefer(project, (*scope.focus_paths, *scope.expanded))
        found = await self._search(project, request, deadline)
        for _ in range(ATTEMPTS):
            await self._refresh_rules(project)
            # Both at the same moment, so that what is kept says what it was built from.
            validity, snapshot = self._validity(project, scope, request), project.snapshot()
            above = self._scopes.constraints_above(scope)
            work = partial(build, snapshot, scope, above, request, found.hits, found.degraded)
            built = await self._work.in_builder(work)
            if not built.stale or not await self._freshness.refresh(project, built.stale, deadline):
                break
            # The file that changed may not be what was looked for any more, or just that.
            found = await self._search(project, request, deadline)
        # What could not be asked may be asked the next time.
        settled = not found.degraded and (not request.prompt or self._searching.is_settled(project))
        if built.lasting and not built.stale and settled and scope.id in self._scopes:
            held = self._rendered.put(scope.id, request.key, Entry(scope.revision, validity, built))
            self._scoping.charge(scope.id, held)
        if self._events.wanted("context.built"):
            elapsed = (asyncio.get_running_loop().time() - started) * 1000
            self._events.publish("context.built", _built_event(scope, request, built, elapsed))
        return built

    async def _search(self, project: Project, request: ContextRequest, deadline: Deadline) -> Found:
        """Return what is found for a prompt; nothing without one, or where nothing may enter."""
        limit = project.config.context.hits_max
        if not request.prompt.strip() or not limit:
            return NOTHING_FOUND
        found = await self._searching.search(project, Ask(request.prompt, limit), deadline)
        return replace(found, hits=worth_showing(found.hits))

    def _kept(
        self, project: Project, scope: Scope, request: ContextRequest, fresh: Freshness
    ) -> Built | None:
        """Return a rendered context whose files are as they were: on the disk, or as far as is known."""
        holds = project.knows if fresh == "no" else partial(still_holds, system=self._system)
        validity = self._validity(project, scope, request)
        return self._rendered.find(scope.id, request.key, scope.revision, validity, holds)

    def _validity(self, project: Project, scope: Scope, request: ContextRequest) -> tuple[object, ...]:
        """Return what a context depends on beside its scope, its request and the files that it shows."""
        return (*project.validity(prompted=bool(request.prompt)), self._scopes.constraints_above(scope))

    async def _refresh_rules(self, project: Project) -> None:
        """Discover the rules again if a file that they came from, or could come from, changed."""
        unchanged = partial(project.rules.unchanged, self._system)
        if not project.rules_stale and await self._work.in_builder(unchanged):
            return
        project.rules_stale = False
        found = partial(discover, project.root, self._home, project.tree.files, self._system)
        project.set_rules(await self._work.in_builder(found))


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
