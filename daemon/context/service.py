"""Owns the answers to GetContext: kept ones that still hold, builds shared by all who wait for the same."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ..core.system import System
from ..core.work import SharedWork, Work
from ..privacy.permissions import Permissions
from ..privacy.policy import Policy
from ..privacy.trust import TEMPLATE_FOLDER
from ..project.freshness import Deadline, TreeFreshness, deadline_of
from ..project.metadata import ProjectMetadata
from ..project.projects import Project
from ..project.tree import Tree
from ..rules.service import Items
from ..search.search import NOTHING_FOUND
from ..sessions.request_log_service import sent_of
from ..sessions.request_messages import conversation
from ..sessions.service import NOBODY, Sessions, SessionState
from .answer_fields import ContextReply
from .assembly import Built, build
from .caller import Caller, Callers, capped
from .compressing import Compressing
from .content import all_hold
from .context_log import ContextLog
from .focus import resolve_paths
from .gathered import GatheredSources
from .given_contexts import new_context_id
from .prompts import PromptTemplates, TemplateFolder
from .rendered import RenderedContexts, RenderedEntry
from .requests import ContextRequest, Freshness
from .scopes import Scope, ScopeTable
from .scoping import Scoping, has_hot
from .sources import LONG_S, SEARCH_UNFINISHED, ContextSources

ATTEMPTS = 3
"""Build attempts when shown files change meanwhile; after that the reply says that it is stale."""

ITEMS_LEAST_S = 0.2
"""Rules are waited for so long whatever the deadline: without them a context says too little."""

BUILD_SHARE, BUILD_S = 0.2, 0.4
"""Of the time until the deadline so much is kept for the build, at most so long: eight times what it takes to
build 100 KB."""

QUICK_SHARE, QUICK_S = 0.15, 0.2
"""And so much for the context that is built where even that isn't enough: 20 ms, ten times that on a machine
that is busy with a first index."""

QUICK = "there was no time to read the index: files in focus are shown without what they define and import"


class Contexts:
    """The contexts of all scopes. On the event loop only; they are built in a thread."""

    def __init__(
        self,
        scopes: ScopeTable,
        rendered: RenderedContexts,
        scoping: Scoping,
        freshness: TreeFreshness,
        sources: ContextSources,
        items: Items,
        sessions: Sessions,
        permissions: Permissions,
        log: ContextLog,
        compressing: Compressing,
        work: Work,
        config_dir: str,
        system: System,
    ) -> None:
        self._scopes = scopes
        self._rendered = rendered
        self._scoping = scoping
        self._freshness = freshness
        self._sources = sources
        self._items = items
        self._sessions = sessions
        self._permissions = permissions
        self._log = log
        self._compressing = compressing
        self._work = work
        self._own_templates = TemplateFolder(os.path.join(config_dir, "templates"))
        self._system = system
        self._callers = Callers()
        self._building = SharedWork[tuple[object, ...], Built](work)

    def get_nowait(
        self, project: Project, scope: Scope, request: ContextRequest, fresh: Freshness
    ) -> dict[str, Any] | None:
        """Return the answer if it is known and still holds: the path that has to be fast."""
        started = time.perf_counter()
        known = self._find_nowait(project, scope, request, fresh)
        if known is None:
            return None
        caller, built = known
        degraded = tuple(filter(None, (caller.problem, self._scoping.problem)))
        missing = _missing(project, caller.policy)
        reply = _answer(project, built, missing, project.clock, cached=True, degraded=degraded)
        return self._log.given(project, scope, request, caller, built, reply, started)

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
        started = time.perf_counter()
        scope, caller, built, reply = await self._get(project, scope, request, fresh, deadline_ms)
        return self._log.given(project, scope, request, caller, built, reply, started)

    async def _get(
        self,
        project: Project,
        scope: Scope,
        request: ContextRequest,
        fresh: Freshness,
        deadline_ms: int | None,
    ) -> tuple[Scope, Caller, Built, dict[str, Any]]:
        """Return what was answered, and what it is of."""
        times = _Times.until(deadline_of(project, deadline_ms))
        degraded: list[str] = []
        # Rules of folders and what the project says of itself are looked up by names.
        await self._freshness.wait_named(project, times.gathered)
        compared: Tree | None = None
        if fresh == "tree":
            compared = await self._freshness.sync(project, times.gathered)
            if compared is None:
                degraded.append(
                    "the tree was not compared with the disk in time: files changed just now may be missing"
                )
        refreshed = self._items.refresh(project)
        if await self._sources.within(times.gathered, refreshed, "refresh items", ITEMS_LEAST_S) is None:
            degraded.append("rules and references were not compared with the disk in time")
        # Waited for whatever the deadline: it may say who asks, and so what may be shown.
        met = await self._sessions.find(scope.session_id) if scope.session_id else NOBODY
        caller = self._caller(project, scope, request, met)
        request = capped(request, caller.policy)
        if request.is_long:
            await self._work.in_builder(lambda: request.key)  # and it is remembered
        await self._permissions.prepare(project, caller.policy)
        degraded += filter(None, (caller.problem, self._scoping.problem))
        scope = self._scoping.with_hot(project, scope)
        project.settle_feedback()
        # Before it is looked up, so that all who ask now ask for the same.
        metadata = await self._sources.metadata(project, times.gathered)
        built = self._kept(project, scope, request, caller, fresh, compared)
        if built is not None:
            clock = project.clock if compared is None else project.clock_at(compared.generation)
            missing = _missing(project, caller.policy, compared)
            reply = _answer(project, built, missing, clock, cached=True, degraded=degraded)
            return scope, caller, built, reply
        validity = self._validity(project, scope, request, caller, compared)
        generation = None if compared is None else compared.generation
        key = (scope.id, scope.revision, request.key, validity, fresh, generation, deadline_ms)
        begin = partial(self._build, project, scope, request, caller, metadata, times, compared)
        try:
            async with asyncio.timeout(times.built.left(LONG_S)):
                joined = key in self._building
                built = await self._building.run(key, begin, f"context {scope.id}")
                if joined and fresh != "no" and not all_hold(built.shown, self._system):
                    # It was begun before this was asked, and may have read what changed between the two.
                    built = await self._building.run(key, begin, f"context {scope.id}")
        except TimeoutError:  # it goes on, and the next request finds it
            built = await self._build_quickly(project, scope, request, caller)
        if built.stale:
            named = ", ".join(built.stale[:5])
            degraded.append(
                f"{named} changed and could not be read again in time: their definitions are left out"
            )
        clock = project.clock_at(built.generation)
        missing = _missing(project, caller.policy, compared)
        reply = _answer(project, built, missing, clock, cached=False, degraded=degraded)
        return scope, caller, built, reply

    def prepare(
        self,
        project: Project,
        scope: Scope,
        request: ContextRequest,
        fresh: Freshness,
        deadline_ms: int | None,
    ) -> None:
        """Begin to build a context in the background, for a request that follows."""
        work = self._prepare(project, scope, request, fresh, deadline_ms)
        self._work.start_unheard(work, f"prepare {scope.id}")

    async def _prepare(
        self,
        project: Project,
        scope: Scope,
        request: ContextRequest,
        fresh: Freshness,
        deadline_ms: int | None,
    ) -> None:
        await self._get(project, scope, request, fresh, deadline_ms)
        self._sources.warm(project)

    async def _build(
        self,
        project: Project,
        scope: Scope,
        request: ContextRequest,
        caller: Caller,
        metadata: ProjectMetadata | None,
        times: _Times,
        tree: Tree | None,
    ) -> Built:
        """Build a context of a tree, the last one where None is given, and keep it if that can be done."""
        deadline, started = times.gathered, time.perf_counter()
        if not project.searchable:
            self._sources.load_search()
        if project.tree.pending:
            await self._freshness.refresh(project, _unread_focus(project, scope), deadline)
        if request.prompt.strip() or scope.focus_paths or scope.expanded:
            await self._freshness.wait_searchable(project, deadline)  # the rest needs names only
        self._sources.prefer(project, scope)
        sources = await self._sources.sources(project, request, caller, deadline)
        for _ in range(ATTEMPTS):
            await self._sources.within(deadline, self._items.refresh(project), "refresh items")
            plan = await self._sources.plan(project, scope, request, caller, deadline)
            planned_of = project.items
            # Both at the same moment, so that what is kept says what it was built from.
            validity = self._validity(project, scope, request, caller, tree)
            snapshot = project.snapshot(caller.policy, tree)
            found = NOTHING_FOUND if sources.found is None else sources.found
            need = found.need if request.news and project.searchable else None
            gathered = GatheredSources(
                snapshot,
                scope,
                request,
                self._scopes.constraints_above(scope),
                found.hits if need is None or need.is_probable else (),
                plan,
                sources.degraded,
                sources.unfinished,
                metadata=metadata,
                meaning=sources.meanings.scores,
                resident=caller.resident,
                boosts=project.feedback.boosts if request.prompt and project.config.context.feedback else {},
                templates=self._templates(project),
                compress=self._compressing.compress(),
                need=need,
            )
            built = await self._work.in_builder(partial(_built, gathered))
            if not built.stale or not await self._freshness.refresh(project, built.stale, deadline):
                break
            tree = None  # of these files a later one knows more
            # The file that changed may not be what was looked for any more, or just that.
            sources = await self._sources.sources(project, request, caller, deadline)
        self._compressing.ask_later(project, built.compressible)
        # What could not be asked may be asked the next time.
        settled = sources.is_whole and metadata is not None
        settled = settled and (not request.prompt or self._sources.is_settled(project))
        settled = settled and not plan.degraded and planned_of is project.items
        if built.lasting and not built.stale and settled and scope.id in self._scopes:
            self._rendered.put(scope.id, request.key, RenderedEntry(scope.revision, validity, built))
        self._log.announce(scope, request, caller.agent_name(request, scope), built, started)
        return built

    async def _build_quickly(
        self, project: Project, scope: Scope, request: ContextRequest, caller: Caller
    ) -> Built:
        """Build what needs neither a search nor the index, in a thread that waits for nobody."""
        gathered = GatheredSources(
            project.snapshot(caller.policy),
            scope,
            request,
            self._scopes.constraints_above(scope),
            plan=await self._sources.plan_unsearched(project, scope, request, caller),
            unfinished=(SEARCH_UNFINISHED, QUICK) if request.prompt.strip() else (QUICK,),
            quick=True,
            metadata=None if project.metadata is None else project.metadata[1],
            resident=caller.resident,
            templates=self._templates(project),
        )
        return await asyncio.to_thread(_built, gathered)

    def _templates(self, project: Project) -> tuple[TemplateFolder, ...]:
        """Return where templates of prompts lie: the project's, as far as they are trusted, the user's."""
        trusted = project.trusted

        def allows(name: str, data: bytes) -> bool:
            return trusted.covers(f"{TEMPLATE_FOLDER}/{name}", data)

        return TemplateFolder(os.path.join(project.root, TEMPLATE_FOLDER), allows), self._own_templates

    def _caller(self, project: Project, scope: Scope, request: ContextRequest, met: SessionState) -> Caller:
        """Return who asks, with what that conversation holds already where it says that it keeps it."""
        caller = self._callers.of(project, scope, request, met)
        if not request.delta or not scope.session_id:
            return caller
        return replace(caller, resident=self._log.windows.of(scope.session_id, scope.agent_id))

    def _find_nowait(
        self, project: Project, scope: Scope, request: ContextRequest, fresh: Freshness
    ) -> tuple[Caller, Built] | None:
        if fresh == "tree" or not project.settings_hold() or not has_hot(project, scope):
            return None
        now = asyncio.get_running_loop().time()
        if fresh == "shown" and not (self._items.holds(project, now) and project.metadata_holds(now)):
            return None
        met = self._sessions.known(scope.session_id) if scope.session_id else NOBODY
        if met is None:
            return None
        caller = self._caller(project, scope, request, met)
        built = self._kept(project, scope, capped(request, caller.policy), caller, fresh)
        return None if built is None else (caller, built)

    def _kept(
        self,
        project: Project,
        scope: Scope,
        request: ContextRequest,
        caller: Caller,
        fresh: Freshness,
        tree: Tree | None = None,
    ) -> Built | None:
        """Return a rendered context whose files are as they were: on the disk, or as far as is known."""
        hold = project.know if fresh == "no" else partial(all_hold, system=self._system)
        validity = self._validity(project, scope, request, caller, tree)
        return self._rendered.find(scope.id, request.key, scope.revision, validity, hold)

    def _validity(
        self,
        project: Project,
        scope: Scope,
        request: ContextRequest,
        caller: Caller,
        tree: Tree | None = None,
    ) -> tuple[object, ...]:
        """Return what a context depends on beside its scope, its request and the files that it shows."""
        known = project.validity(prompted=bool(request.prompt), tree=tree)
        return (
            *known,
            self._scopes.constraints_above(scope),
            caller.key,
            self._log.reports if request.prompt else 0,
            caller.agent_name(request, scope),
            caller.policy,
            None if caller.resident is None else caller.resident.key,
            PromptTemplates(self._templates(project), self._system).key(request.task_type)
            if request.format in {"prompts", "messages"}
            else (),
        )


class _Times(Struct, frozen=True):
    """When what a context is made of must be there, and when it must be built; the rest is for the answer."""

    gathered: Deadline
    built: Deadline

    @staticmethod
    def until(deadline: Deadline) -> _Times:
        """Divide the time until a deadline."""
        total = deadline.left(LONG_S)
        build_s, quick_s = min(total * BUILD_SHARE, BUILD_S), min(total * QUICK_SHARE, QUICK_S)
        return _Times(Deadline(deadline.at - build_s - quick_s), Deadline(deadline.at - quick_s))


def _built(gathered: GatheredSources) -> Built:
    """Build a context and name it, in a thread; in the format `messages` with the messages and tools."""
    generation = gathered.snapshot.tree.generation
    built = replace(build(gathered), context_id=new_context_id(), generation=generation)
    if gathered.request.format != "messages":
        return built
    reply: Mapping[str, Any] = {**built.reply, **conversation(sent_of(gathered.request, built))}
    return replace(built, reply=reply)


def _answer(
    project: Project, built: Built, missing: str, clock: str, *, cached: bool, degraded: Sequence[str] = ()
) -> dict[str, Any]:
    partial_answer = bool(built.stale or built.unfinished or missing) or project.state == "scanning"
    reply: dict[str, Any]
    if missing or degraded:
        reply = {**built.reply, "gaps": [*built.reply["gaps"], *filter(None, (missing,))]}
        reply["degraded"] = [*reply["degraded"], *degraded]
    else:
        reply = ContextReply(built.reply)
    reply["partial"], reply["cached"], reply["clock"] = partial_answer, cached, clock
    return reply


def _missing(project: Project, policy: Policy, compared: Tree | None = None) -> str:
    """Say what may be missing as the project isn't indexed completely, or nothing.

    All is known of a tree that was compared with the disk for the request.
    """
    return "" if compared is not None else project.unsettled(policy)


def _unread_focus(project: Project, scope: Scope) -> list[str]:
    """Return the files in focus that the index hasn't read yet."""
    files = project.tree.files
    nodes, _ = resolve_paths(project.tree, (*scope.focus_paths, *scope.expanded), "focus")
    return [node.path for node in nodes if node.path not in files or not files[node.path].digest]
