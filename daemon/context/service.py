"""The service behind GetContext: returns valid cached contexts, and shares builds between callers."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ..access.service import Permissions
from ..core.system import System
from ..core.work import Deadline, SharedWork, Work
from ..privacy.trust import TEMPLATE_FOLDER
from ..project.records import ProjectMetadata
from ..project.service import Tree
from ..rules.service import Items
from ..search.records import Hit, Need
from ..sessions.records import NOBODY, Scope, SessionState
from ..sessions.service import Sessions, conversation, new_context_id
from ..workspace.records import ProjectSnapshot
from ..workspace.service import Project, TreeFreshness, deadline_of
from .assembly import build
from .build_state import GatheredSources
from .built import SEARCH_UNFINISHED, Built, BuiltContexts, ContextReply, all_hold
from .caller import NO_CALLER, ContextJob, caller_of, capped, check_owner
from .context_log import ContextLog
from .delivered import past_context
from .explanations import ExplainService
from .focus import resolve_paths
from .item_plans import profiles_for
from .misses import verdict_of
from .prompts import PromptTemplates, TemplateFolder
from .requests import ContextRequest, Freshness
from .scope_turns import ScopeTurn, turns_of
from .scopes import ScopeTable, scopes_in
from .scoping import ScopeService
from .sources import LONG_S, CompressionService, ContextSources, Sources, leads_out
from .tool_help import ToolHelpService

ATTEMPTS = 3
"""Maximum number of builds for a request if shown files change during each; then the reply says that it is
stale."""

ITEMS_LEAST_S = 0.2
"""Minimum wait for rules in seconds, even after the deadline: a context without them is misleading."""

BUILD_SHARE, BUILD_S = 0.2, 0.4
"""Share of the time until the deadline that is reserved for the build, and its maximum in seconds:
eight times what building 100 KB takes."""

QUICK_SHARE, QUICK_S = 0.15, 0.2
"""The same for the quick build that replaces a build that takes too long. It takes 20 ms, or ten times that
while a first index is made."""

SPARE_SHARE = 4.0
"""A quick context is made beforehand if less than this many times the search's time is left for the build. On
caddy a build takes .5 to 3 times as long as the search before it."""

GIVEN_SHARE = 0.2
"""Share of the quick build's time that is left for the reply if the quick context is there already."""

QUICK = (
    "there was no time to read the index: files in focus are shown without what they define and import, and"
    " what was found is only named"
)


class Contexts:
    """The contexts of all scopes. On the event loop only; builds run in threads."""

    def __init__(
        self,
        scopes: ScopeTable,
        cached: BuiltContexts,
        scoping: ScopeService,
        freshness: TreeFreshness,
        sources: ContextSources,
        items: Items,
        sessions: Sessions,
        permissions: Permissions,
        log: ContextLog,
        compressing: CompressionService,
        work: Work,
        config_dir: str,
        system: System,
    ) -> None:
        self._scopes = scopes
        self._built = cached
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
        self._building = SharedWork[tuple[object, ...], Built](work)
        self._spares: dict[tuple[object, ...], asyncio.Future[Built]] = {}
        """Quick contexts for running builds that may end too late, by their keys."""

    def get_nowait(
        self, project: Project, scope: Scope, request: ContextRequest, fresh: Freshness
    ) -> dict[str, Any] | None:
        """Return the reply if it is cached and valid. This path has to be fast."""
        cached = self._find_nowait(project, scope, request, fresh)
        if cached is None:
            return None
        job, built = cached
        missing = project.index_state.unsettled(project.tree, job.caller.policy)
        reply = _reply(job, built, missing, [*filter(None, (job.caller.problem, self._scoping.problem))])
        reply["cached"], reply["clock"] = True, project.clock_at(project.tree.generation)
        return self._log.given(job, built, reply)

    def is_ready(self, project: Project, scope: Scope, request: ContextRequest, fresh: Freshness) -> bool:
        """Whether the reply is cached and valid."""
        return self._find_nowait(project, scope, request, fresh) is not None

    async def get(
        self,
        project: Project,
        scope: Scope,
        request: ContextRequest,
        fresh: Freshness,
        deadline_ms: int | None,
    ) -> dict[str, Any]:
        """Return a context, building it if needed. Equal concurrent requests share one build."""
        job = ContextJob(project, scope, request, fresh, NO_CALLER, time.perf_counter())
        return self._log.given(*await self._get(job, deadline_ms))

    async def look(
        self, project: Project, scope: Scope, request: ContextRequest, deadline_ms: int | None
    ) -> dict[str, Any]:
        """Return the context that a request would get now, with its near misses. Nothing is logged."""
        job = ContextJob(project, scope, request, "shown", NO_CALLER, time.perf_counter(), silent=True)
        _, built, reply = await self._get(job, deadline_ms)
        return {**reply, "near": built.near}

    async def _get(
        self, job: ContextJob, deadline_ms: int | None
    ) -> tuple[ContextJob, Built, dict[str, Any]]:
        """Return the job with its caller, the context and the reply."""
        project, scope, fresh = job.project, job.scope, job.fresh
        times = _Times.until(deadline_of(project, deadline_ms))
        degraded: list[str] = []
        # Rules of folders and the project's metadata need the names of all files.
        await self._freshness.wait_named(project, times.gathered)
        compared: Tree | None = None
        if fresh == "tree":
            compared = await self._freshness.sync(project, times.gathered)
            if compared is None:
                degraded.append(
                    "the tree was not compared with the disk in time: files changed just now may be missing"
                )
        # Known instruction files are checked at every request, the places of new ones twice a second.
        if fresh == "tree" or not self._items.holds(project, asyncio.get_running_loop().time()):
            refreshed = self._items.refresh(project)
            if await self._sources.within(times.gathered, refreshed, "refresh items", ITEMS_LEAST_S) is None:
                degraded.append("rules and references were not compared with the disk in time")
        # Without a deadline: the session may name the agent, whose policy decides what may be shown.
        session = await self._sessions.find(scope.session_id) if scope.session_id else NOBODY
        job = self._with_caller(job, session)
        if job.request.is_long:
            await self._work.in_builder(lambda: job.request.key)  # computes and caches the key in a thread
        await self._permissions.prepare(project, job.caller.policy)
        degraded += filter(None, (job.caller.problem, self._scoping.problem))
        job = replace(job, scope=self._scoping.with_hot(project, scope))
        # Before the cache is read, since the cache key depends on it.
        metadata = await self._sources.metadata(project, times.gathered)
        await self._sources.settle_decisions(project, times.gathered)
        if fresh == "tree":
            linked = self._permissions.linked_now(project, job.agent, job.caller.policy)
            syncing = [
                self._freshness.sync(other, times.gathered) for _, other in linked if other is not None
            ]
            await asyncio.gather(*syncing)
        validity = self._validity(job, compared)
        built = self._cached(job, validity)
        cached = built is not None
        if built is None:
            generation = None if compared is None else compared.generation
            key = (
                job.scope.id,
                job.request.key,
                validity,
                fresh,
                generation,
                deadline_ms,
                job.silent,
            )
            begin = partial(self._build, key, job, metadata, times, compared)
            try:
                async with asyncio.timeout(times.built.left(LONG_S)):
                    joined = key in self._building
                    built = await self._building.run(key, begin, f"context {job.scope.id}")
                    if joined and fresh != "no" and not all_hold(built.shown, self._system):
                        # The shared build began before this request, and files changed since.
                        built = await self._building.run(key, begin, f"context {job.scope.id}")
            except TimeoutError:  # the build goes on, and the next request uses it
                built = await self._in_time(key, job, times)
            if built.stale:
                named = ", ".join(built.stale[:5])
                degraded.append(
                    f"{named} changed and could not be read again in time: their definitions are left out"
                )
        # A tree that was compared with the disk for this request is complete.
        missing = (
            "" if compared is not None else project.index_state.unsettled(project.tree, job.caller.policy)
        )
        reply = _reply(job, built, missing, degraded)
        latest = project.tree if compared is None else compared
        generation = latest.generation if cached else built.generation
        reply["cached"], reply["clock"] = cached, project.clock_at(generation)
        return job, built, reply

    def prepare(
        self,
        project: Project,
        scope: Scope,
        request: ContextRequest,
        fresh: Freshness,
        deadline_ms: int | None,
    ) -> None:
        """Start to build a context in the background for a later request."""
        job = ContextJob(project, scope, request, fresh, NO_CALLER, time.perf_counter())
        self._work.start_background(self._get(job, deadline_ms), f"prepare {scope.id}")
        self._sources.warm(project)

    async def _build(
        self,
        key: tuple[object, ...],
        job: ContextJob,
        metadata: ProjectMetadata | None,
        times: _Times,
        tree: Tree | None,
    ) -> Built:
        """Build a context of a tree (None: the latest) and cache it if it is complete."""
        try:
            return await self._build_whole(key, job, metadata, times, tree)
        finally:
            self._spares.pop(key, None)  # who waits for it holds it

    async def _build_whole(
        self,
        key: tuple[object, ...],
        job: ContextJob,
        metadata: ProjectMetadata | None,
        times: _Times,
        tree: Tree | None,
    ) -> Built:
        project, scope, request = job.project, job.scope, job.request
        deadline, started = times.gathered, time.perf_counter()
        if not project.index_state.searchable or not request.prompt.strip():
            self._sources.searching.load()  # the next request may have a prompt
        if project.tree.pending:
            await self._freshness.refresh(project, _unread_focus(project, scope), deadline)
        if request.prompt.strip() or scope.focus_paths or scope.expanded:
            await self._freshness.wait_searchable(
                project, deadline
            )  # other contexts only need the names of files
        self._sources.searching.prefer(project, (*scope.focus_paths, *scope.expanded))
        sources = await self._sources.sources(job, deadline)
        # Of a very long prompt even the words take long, and two builds at once take longer.
        if not request.is_long and times.built.left(LONG_S) < SPARE_SHARE * (time.perf_counter() - started):
            hits, need = _needed(project, request, sources)
            quick = self._build_quickly(job, hits, need, sources.snapshots)
            self._spares[key] = self._work.start(quick, "spare context")
            await asyncio.wait((self._spares[key],))
        for _ in range(ATTEMPTS):
            if not self._items.holds(project, asyncio.get_running_loop().time()):
                await self._sources.within(deadline, self._items.refresh(project), "refresh items")
            plan = await self._sources.plan(job, sources, deadline)
            planned_of = project.instructions.items
            # Both at the same moment, so that the validity key fits the snapshot.
            validity = self._validity(job, tree)
            snapshot = project.snapshot(job.caller.policy, tree)
            hits, need = _needed(project, request, sources)
            gathered = GatheredSources(
                snapshot,
                scope,
                request,
                self._scopes.constraints_above(scope),
                hits or (),
                plan,
                sources.degraded,
                sources.unfinished,
                is_foreign=job.is_foreign,
                metadata=metadata,
                meaning=sources.meanings.scores,
                resident=job.caller.resident,
                templates=self._templates(project),
                compress=self._compressing.compress(),
                need=need,
                unneeded=() if hits or sources.found is None else sources.found.hits,
                linked=sources.snapshots,
            )
            built = await self._work.in_builder(partial(_built, gathered))
            if not built.stale or not await self._refresh(project, sources, built.stale, deadline):
                break
            tree = None  # a later tree has the new state of these files
            # The change may have turned the file into a search hit, or made it one no longer.
            sources = await self._sources.sources(job, deadline)
        self._compressing.ask_later(project, built.compressible)
        # Don't cache a context whose sources were incomplete: they may answer the next time.
        settled = sources.is_whole and metadata is not None
        settled = settled and (not request.prompt or self._sources.searching.is_settled(project))
        settled = settled and not plan.degraded and planned_of is project.instructions.items
        if built.lasting and not built.stale and settled and scope.id in self._scopes:
            self._built.put((scope.id, request.key), (validity, built), built.memory_bytes)
        if not job.silent:
            self._log.announce(job, built, started)
        return built

    async def _refresh(
        self, project: Project, sources: Sources, stale: Sequence[str], deadline: Deadline
    ) -> bool:
        """Let files be read again, also of linked projects; return False if that took too long or failed."""
        own = tuple(path for path in stale if not path.startswith("../"))
        done = [await self._freshness.refresh(project, own, deadline)]
        for prefix, other in sources.projects.items():
            there = [path.removeprefix(f"{prefix}/") for path in stale if path.startswith(f"{prefix}/")]
            done.append(await self._freshness.refresh(other, there, deadline))
        return all(done)

    async def _in_time(self, key: tuple[object, ...], job: ContextJob, times: _Times) -> Built:
        """Return a context although its build takes too long: the build's, if a spare allows to wait for it
        longer, or a quick one."""
        spare, whole = self._spares.get(key), self._building.running(key)
        if spare is None or whole is None:
            return await self._build_quickly(job, None, None)
        await asyncio.wait((whole,), timeout=times.given.left(LONG_S))
        if whole.done() and not whole.cancelled() and whole.exception() is None:
            return whole.result()
        return await asyncio.shield(spare)

    async def _build_quickly(
        self,
        job: ContextJob,
        hits: Sequence[Hit] | None,
        need: Need | None,
        linked: Mapping[str, ProjectSnapshot] = MappingProxyType({}),
    ) -> Built:
        """Build a context without search and index, in a thread outside of the builders' pool.

        What was found for the prompt, if the search has ended, is named in likely places."""
        project, request = job.project, job.request
        unfinished = [QUICK]
        if hits is None and request.prompt.strip():
            unfinished.insert(0, SEARCH_UNFINISHED)
        gathered = GatheredSources(
            project.snapshot(job.caller.policy),
            job.scope,
            request,
            self._scopes.constraints_above(job.scope),
            hits or (),
            plan=await self._sources.plan_unsearched(job),
            unfinished=unfinished,
            is_foreign=job.is_foreign,
            quick=True,
            metadata=project.metadata.value,
            resident=job.caller.resident,
            templates=self._templates(project),
            need=need,
            linked=linked,
        )
        return await asyncio.to_thread(_built, gathered)

    def _templates(self, project: Project) -> tuple[TemplateFolder, ...]:
        """Return the folders of prompt templates: the project's trusted ones and the user's."""
        trusted = project.settings.trusted

        def allows(name: str, data: bytes) -> bool:
            return trusted.covers(f"{TEMPLATE_FOLDER}/{name}", data)

        return TemplateFolder(os.path.join(project.root, TEMPLATE_FOLDER), allows), self._own_templates

    def _with_caller(self, job: ContextJob, session: SessionState) -> ContextJob:
        """Return a job with its caller, limited by the caller's policy.

        For a request with `delta` the caller has the content that the conversation holds.
        """
        scope, request = job.scope, job.request
        caller = caller_of(job.project, scope, request, session)
        if request.delta and scope.session_id:
            caller = replace(caller, resident=self._log.windows.of(scope.session_id, scope.agent_id))
        most = caller.policy.max_tokens
        if most is not None and request.max_tokens > most:
            request = capped(request, most)
        return replace(job, request=request, caller=caller)

    def _find_nowait(
        self, project: Project, scope: Scope, request: ContextRequest, fresh: Freshness
    ) -> tuple[ContextJob, Built] | None:
        """Return a cached context if its validity can be checked without waiting."""
        started = time.perf_counter()
        if fresh == "tree" or not project.settings.hold():
            return None
        hot = project.hot_files.among(project.tree.files)
        if scope.hot != hot and project.state == "ready":
            return None
        now = asyncio.get_running_loop().time()
        if fresh == "shown" and not (
            self._items.holds(project, now) and project.metadata.holds(project.tree, now)
        ):
            return None
        session = self._sessions.known(scope.session_id) if scope.session_id else NOBODY
        if session is None:
            return None
        job = self._with_caller(ContextJob(project, scope, request, fresh, NO_CALLER, started), session)
        built = self._cached(job, self._validity(job))
        return None if built is None else (job, built)

    def _cached(self, job: ContextJob, validity: tuple[object, ...]) -> Built | None:
        """Return a cached context whose files are unchanged on disk, or for fresh `no` in the tree."""
        valid, built = self._built.get((job.scope.id, job.request.key)) or (None, None)
        if built is None or valid != validity:
            return None
        hold = job.project.knows if job.fresh == "no" else partial(all_hold, system=self._system)
        return built if hold(built.shown) else None

    def _validity(self, job: ContextJob, tree: Tree | None = None) -> tuple[object, ...]:
        """Return the key of all that a context depends on besides request and shown files."""
        scope, request, caller = job.scope, job.request, job.caller
        prompted = bool(request.prompt)
        linked: tuple[object, ...] = ()
        if job.project.config.linked.projects and (prompted or leads_out(scope)):
            linked = tuple(
                (each, other and other.validity(prompted=prompted))
                for each, other in self._permissions.linked_now(job.project, job.agent, caller.policy)
            )
        return (
            scope.revision,
            linked,
            *job.project.validity(prompted=prompted, tree=tree),
            self._scopes.constraints_above(scope) if scope.parent_id or scope.inherited else (),
            caller.key,
            job.agent_name,
            caller.policy,
            None if caller.resident is None else caller.resident.key,
            PromptTemplates(self._templates(job.project), self._system).key(request.task_type)
            if request.format in {"prompts", "messages"}
            else (),
        )


class _Times(Struct, frozen=True):
    """The deadlines for gathering the sources, for the build, and for a build with a spare, before that of
    the reply."""

    gathered: Deadline
    built: Deadline
    given: Deadline

    @staticmethod
    def until(deadline: Deadline) -> _Times:
        """Divide the time until the deadline of the reply."""
        total = deadline.left(LONG_S)
        build_s, quick_s = min(total * BUILD_SHARE, BUILD_S), min(total * QUICK_SHARE, QUICK_S)
        return _Times(
            Deadline(deadline.at - build_s - quick_s),
            Deadline(deadline.at - quick_s),
            Deadline(deadline.at - quick_s * GIVEN_SHARE),
        )


def _built(gathered: GatheredSources) -> Built:
    """Build a context with an id, in a thread; in the format `messages` with the messages and tools."""
    generation = gathered.snapshot.tree.generation
    built = replace(build(gathered), context_id=new_context_id(), generation=generation)
    if gathered.request.format != "messages":
        return built
    assert built.sent is not None
    return replace(built, reply={**built.reply, **conversation(built.sent)})


def _reply(job: ContextJob, built: Built, missing: str, degraded: Sequence[str]) -> dict[str, Any]:
    """Return the reply; `missing` says what may be missing because the index is incomplete."""
    reply: dict[str, Any]
    if missing or degraded:
        reply = {**built.reply, "gaps": [*built.reply["gaps"], *filter(None, (missing,))]}
        reply["degraded"] = [*reply["degraded"], *degraded]
    else:
        reply = ContextReply(built.reply)
        reply.built = built
    reply["partial"] = bool(built.stale or built.unfinished or missing) or job.project.state == "scanning"
    return reply


def _needed(
    project: Project, request: ContextRequest, sources: Sources
) -> tuple[Sequence[Hit] | None, Need | None]:
    """Return the hits that a context shows, None if the search isn't finished, and a hook's need for them; of
    other requests' the hint, if nothing was found."""
    if sources.found is None:
        return None, None
    need = sources.found.need
    if not request.news:
        need = replace(need, probability=1.0) if need and need.hint and not sources.found.hits else None
    elif not project.index_state.searchable:
        need = None
    return sources.found.hits if need is None or need.is_probable else (), need


def _unread_focus(project: Project, scope: Scope) -> list[str]:
    """Return the files in focus that the index has not read yet."""
    files = project.tree.files
    own = [path for path in (*scope.focus_paths, *scope.expanded) if not path.startswith("../")]
    nodes, _ = resolve_paths(project.tree, own, "focus")
    return [node.path for node in nodes if node.path not in files or not files[node.path].digest]
