"""The sources of a context besides files: search, items, experiences, metadata and the compression model.

A source that fails or takes too long is left out and reported; the others don't wait for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from functools import partial
from typing import Any, TypeVar

from msgspec import Struct, structs
from msgspec.structs import replace

from ..access.service import Permissions, visible_session
from ..compression.records import Compress, Wanted
from ..compression.service import LaterCompressor, ModelCompressor, compress
from ..config.settings import CompressionConfig, Environment
from ..core.system import System
from ..core.work import Deadline, SharedWork, Work
from ..memory.records import WAIT_S, Meanings
from ..memory.service import CommitMarks, ExperienceMeaning
from ..project.records import ProjectMetadata
from ..project.service import metadata_key, read_metadata
from ..rules.records import AgentItems, ItemPlan
from ..rules.service import ItemSearch, rule_files
from ..search.records import NOTHING_FOUND, Asked, Hit, ProjectCall, SearchQuery, SearchResult
from ..search.service import SearchAnswers, SearchService, lowered, placed_hit, shifts
from ..sessions.records import Scope, Session
from ..workspace.records import ProjectSnapshot
from ..workspace.service import Project
from .built import SEARCH_UNFINISHED
from .caller import Caller, ContextJob
from .item_plans import ITEMS_WAIT_S, plan_items, profiles_for
from .requests import ContextRequest

T = TypeVar("T")

LONG_S = 3_600.0
"""A number of seconds above that of any deadline."""

METADATA_WAIT_S = 0.5
"""Maximum wait for metadata in seconds; git usually needs some milliseconds."""

DECISIONS_WAIT_S = 0.5
"""Maximum wait in seconds for the commits of decisions; git usually needs some milliseconds, and only after a
commit."""


class Sources(Struct, frozen=True):
    """The results for a prompt: search hits (None if the time ran out) and similar experiences."""

    found: SearchResult | None
    meanings: Meanings
    linked: tuple[Asked, ...] = ()
    """What was found in each linked project, which is in `found` too."""
    late: tuple[str, ...] = ()
    """The linked projects that could not be asked, and what may be missing of others, in words."""

    @property
    def projects(self) -> dict[str, Project]:
        """The linked projects that were asked, by the prefixes of their paths."""
        return {each.linked.prefix: each.call.project for each in self.linked if each.linked is not None}

    @property
    def snapshots(self) -> dict[str, ProjectSnapshot]:
        """Their current states, limited to what the agent may see there."""
        return {each.linked.prefix: each.call.snapshot for each in self.linked if each.linked is not None}

    @property
    def degraded(self) -> tuple[str, ...]:
        """Sources that failed, in words."""
        return (*(() if self.found is None else self.found.degraded), *self.meanings.degraded, *self.late)

    @property
    def is_whole(self) -> bool:
        """Whether asking the sources again would give the same results."""
        return self.found is not None and not self.degraded and not self.meanings.pending

    @property
    def unfinished(self) -> tuple[str, ...]:
        """Sources that ran out of time, in words."""
        return (SEARCH_UNFINISHED,) if self.found is None else ()


class ContextSources:
    """Queries the sources. On the event loop only."""

    def __init__(
        self,
        searching: SearchService,
        answers: SearchAnswers,
        item_search: ItemSearch,
        meaning: ExperienceMeaning,
        permissions: Permissions,
        commit_marks: CommitMarks,
        work: Work,
        system: System,
    ) -> None:
        self.searching = searching
        self._answers = answers
        self._item_search = item_search
        self._meaning = meaning
        self._permissions = permissions
        self._commit_marks = commit_marks
        self._work = work
        self._system = system
        self._reading = SharedWork[str, ProjectMetadata](work)

    async def sources(self, job: ContextJob, deadline: Deadline) -> Sources:
        """Query all sources for a prompt concurrently; without a prompt the results are empty."""
        meaning = self._meaning.near(job.project, job.request.prompt, deadline.left(WAIT_S))
        near = self._work.start(meaning, "compare experiences")
        late: list[str] = []
        linked = self._work.start(self._elsewhere(job, deadline, late), "search linked projects")
        result, asked = await self._search(job, deadline), await linked
        if result is not None and asked:
            late += [why for each in asked for why in each.said(result.degraded)]
            result = _together(result, asked)
        return Sources(result, await near, tuple(asked), tuple(late))

    def warm(self, project: Project) -> None:
        """Start embedding the texts of a project's items in the background."""
        self._item_search.warm(project.root, project.instructions.items.items)

    async def metadata(self, project: Project, deadline: Deadline) -> ProjectMetadata | None:
        """Return the metadata of a project, read again if its manifests or its commit changed.

        None if that takes too long; the reading goes on, and the next request uses it.
        """
        now = asyncio.get_running_loop().time()
        if project.metadata.value is not None and project.metadata.holds(project.tree, now):
            return project.metadata.value
        left = Deadline(min(deadline.at, now + METADATA_WAIT_S))
        read = self._reading.run(project.root, partial(self._read_metadata, project), "metadata")
        return await self.within(left, read, "read metadata")

    async def settle_decisions(self, project: Project, deadline: Deadline) -> None:
        """Look whether what was decided is committed, undone or came here from another work tree, for some
        time at most."""
        left = Deadline(min(deadline.at, asyncio.get_running_loop().time() + DECISIONS_WAIT_S))
        await self.within(left, self._commit_marks.settle(project), "settle decisions")

    async def plan(self, job: ContextJob, sources: Sources, deadline: Deadline) -> ItemPlan:
        """Return the items of a request; those of mode `agent` are searched within the deadline."""
        planning = self._plan(job, job.request, deadline.left(ITEMS_WAIT_S))
        plan = await self.within(deadline, planning, "plan items")
        if plan is None:
            plan = await self.plan_unsearched(job)
            problem = "items were not searched: there was no time"
            plan = replace(plan, degraded=(*plan.degraded, problem))
        return plan

    async def plan_unsearched(self, job: ContextJob) -> ItemPlan:
        """Return the items of a request that need no search."""
        return await self._plan(job, replace(job.request, prompt="", history=()), 0.0)

    async def within(
        self, deadline: Deadline, work: Coroutine[Any, Any, T], name: str, least_s: float = 0.0
    ) -> T | None:
        """Return the result of work, or None after the deadline; the work goes on in the background."""
        future = self._work.start(work, name)
        await asyncio.wait({future}, timeout=max(deadline.left(LONG_S), least_s))
        if future.done():
            return future.result()
        future.add_done_callback(lambda late: late.cancelled() or late.exception())
        return None

    async def _search(self, job: ContextJob, deadline: Deadline) -> SearchResult | None:
        limit = job.project.config.context.hits_max
        if not job.request.prompt.strip() or not limit:
            return NOTHING_FOUND
        edited = tuple(node.path for node in job.scope.hot if node.is_edited)
        query = SearchQuery(job.request.prompt, limit, definitions=True, recent=edited)
        work = self.searching.search(job.project, query, deadline, job.caller.policy)
        return await self.within(deadline, work, "search for a context")

    async def _elsewhere(self, job: ContextJob, deadline: Deadline, late: list[str]) -> list[Asked]:
        """Return what is found in linked projects. Without a prompt only those in focus are opened."""
        project, policy = job.project, job.caller.policy
        others = await self._permissions.linked(project, job.agent, policy)
        if not job.request.prompt.strip():
            others = [each for each in others if leads_out(job.scope, each.linked.prefix)]
        limit = project.config.context.hits_max
        query = SearchQuery(job.request.prompt if limit else "", limit, definitions=True)
        call = ProjectCall(project, policy, job.fresh, deadline)
        return await self._answers.elsewhere(others, call, query, late)

    async def _read_metadata(self, project: Project) -> ProjectMetadata:
        tree = project.tree
        key = await self._work.in_builder(partial(metadata_key, tree, self._system))
        cached = project.metadata
        if cached.value is not None and cached.key == key:
            return cached.value
        denials = self._system.denials
        metadata = await self._work.in_builder(partial(read_metadata, tree, self._system))
        if self._system.denials == denials:
            cached.set(key, metadata)
        return metadata

    async def _plan(self, job: ContextJob, request: ContextRequest, within_s: float) -> ItemPlan:
        profiles = profiles_for(job.project.config, job.agent_name, job.caller.selection)
        items, session = await self._visible(job.project, job.caller)
        return await plan_items(items, session, request, profiles, self._item_search, within_s)

    async def _visible(self, project: Project, caller: Caller) -> tuple[AgentItems, Session | None]:
        """Return the items and the session without what the agent may not see."""
        items = project.instructions.items
        visible = await self._permissions.items(project, caller.policy)
        if caller.session is None:
            return visible, None
        denied = frozenset(items.by_key.keys() - visible.by_key.keys())
        return visible, visible_session(caller.policy, caller.session, denied)


def leads_out(scope: Scope, prefix: str = "..") -> bool:
    """Whether anything in the focus of a scope lies in a linked project, or in the one with a prefix."""
    return any(path.startswith(f"{prefix}/") for path in (*scope.focus_paths, *scope.expanded))


def _together(own: SearchResult, asked: Sequence[Asked]) -> SearchResult:
    """Return what was found in a project and in linked ones, without files of rules there; of the
    probabilities that the prompt needs code the highest counts."""
    hits = list[Hit]()
    by_own, *by_others = shifts([own, *(each.result for each in asked)])
    for each, by in zip(asked, by_others, strict=True):
        snapshot = each.call.snapshot
        rules = rule_files(snapshot.tree.root, snapshot.rules.sources, ())
        shown = [hit for hit in lowered(each.result, by).hits if hit.path not in rules]
        if each.linked is not None:
            hits += (placed_hit(each.linked, hit) for hit in shown)
    needs = [each for each in (own.need, *(other.result.need for other in asked)) if each is not None]
    need = max(needs, key=lambda each: each.probability, default=None)
    return replace(own, hits=(*lowered(own, by_own).hits, *hits), need=need)


class CompressionService:
    """Provides a compressor for each build and runs the model afterwards. On the event loop only."""

    def __init__(
        self, config: CompressionConfig, environment: Environment, system: System, work: Work
    ) -> None:
        self._config = config
        self._work = work
        self._model = ModelCompressor(config, system, environment.variables) if config.enabled else None
        self._asked: set[tuple[str, str, int]] = set()
        """Documents being compressed now: project, path, characters."""

    def compress(self) -> Compress:
        """Return the compressor for the documents of one context."""
        return compress if self._model is None else LaterCompressor(self._model)

    def ask_later(self, project: Project, wanted: Sequence[Wanted]) -> None:
        """Let the model shorten documents in the background, for later contexts."""
        new = [
            document
            for document in wanted
            if (project.root, document.path, document.characters) not in self._asked
        ]
        if self._model is not None and new:
            self._asked.update((project.root, document.path, document.characters) for document in new)
            self._work.start_background(self._ask(project, self._model, new), f"compress for {project.root}")

    def describe(self) -> dict[str, Any] | None:
        """Describe the model and its statistics for Status; None if no model is enabled."""
        if self._model is None:
            return None
        settings = {"endpoint": self._config.endpoint, "model": self._config.model}
        return {**settings, **structs.asdict(self._model.statistics())}

    async def _ask(self, project: Project, model: ModelCompressor, wanted: Sequence[Wanted]) -> None:
        made = False
        try:
            for document in wanted:
                work = asyncio.to_thread(model.compress, *structs.astuple(document))
                made |= bool((await work).model)
        finally:
            self._asked.difference_update(
                (project.root, document.path, document.characters) for document in wanted
            )
        if made:
            project.note_compressed()
