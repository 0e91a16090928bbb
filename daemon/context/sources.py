"""Owns the sources of a context: what it is built from beside its files, each asked by itself.

One that fails or takes too long is left out and named; the others don't wait for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from functools import partial
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ..core.errors import StateError
from ..core.system import System
from ..core.work import SharedWork, Work
from ..memory.experience_meaning import WAIT_S, ExperienceMeaning, Meanings
from ..privacy.permissions import Permissions
from ..privacy.visible import visible_session
from ..project.freshness import Deadline
from ..project.metadata import ProjectMetadata, metadata_key, read_metadata
from ..project.projects import Project
from ..rules.agent_items import AgentItems
from ..rules.item_keys import ItemKey
from ..rules.item_plan import ItemPlan
from ..rules.item_plans import ITEMS_WAIT_S, plan_items, profiles_for
from ..rules.item_searching import ItemSearching
from ..search.search import NOTHING_FOUND, SearchQuery, SearchResult
from ..search.service import SearchService
from ..sessions.request_log_service import RequestLog
from ..sessions.sessions import Session
from .caller import Caller
from .requests import ContextRequest
from .scopes import Scope

T = TypeVar("T")

LONG_S = 3_600.0
"""Longer than any deadline."""

SEARCH_UNFINISHED = "retrieval was not finished in time: what the prompt is about is missing"

METADATA_WAIT_S = 0.5
"""Git needs some milliseconds for the last commits; a slow disk isn't waited for."""


class Sources(Struct, frozen=True):
    """What a prompt brought: hits, None where there was no time, and how near experiences are."""

    found: SearchResult | None
    meanings: Meanings

    @property
    def degraded(self) -> tuple[str, ...]:
        """What could not be asked, in words."""
        return (*(() if self.found is None else self.found.degraded), *self.meanings.degraded)

    @property
    def is_whole(self) -> bool:
        """Whether asked again the sources would say the same."""
        return self.found is not None and not self.degraded and not self.meanings.pending

    @property
    def unfinished(self) -> tuple[str, ...]:
        """What there was no time for, in words."""
        return (SEARCH_UNFINISHED,) if self.found is None else ()


class ContextSources:
    """Asks the sources. On the event loop only."""

    def __init__(
        self,
        searching: SearchService,
        item_search: ItemSearching,
        meaning: ExperienceMeaning,
        permissions: Permissions,
        requests: RequestLog,
        work: Work,
        system: System,
    ) -> None:
        self._searching = searching
        self._item_search = item_search
        self._meaning = meaning
        self._permissions = permissions
        self._requests = requests
        self._work = work
        self._system = system
        self._reading = SharedWork[str, ProjectMetadata](work)

    async def sources(
        self, project: Project, request: ContextRequest, caller: Caller, deadline: Deadline
    ) -> Sources:
        """Ask what a prompt is about, all at once; nothing without one, or where nothing may enter."""
        meaning = self._meaning.near(project, request.prompt, deadline.left(WAIT_S))
        near = self._work.start(meaning, "compare experiences")
        found = await self._search(project, request, caller, deadline)
        return Sources(found, await near)

    def is_settled(self, project: Project) -> bool:
        """Whether a search now finds all that there is to find."""
        return self._searching.is_settled(project)

    def prefer(self, project: Project, scope: Scope) -> None:
        """Have what is in focus embedded first."""
        self._searching.prefer(project, (*scope.focus_paths, *scope.expanded))

    def load_search(self) -> None:
        """Have the first search find its code loaded."""
        self._searching.load()

    def warm(self, project: Project) -> None:
        """Have the texts of a project's items embedded in the background."""
        self._item_search.warm(project.root, project.items.items)

    async def metadata(self, project: Project, deadline: Deadline) -> ProjectMetadata | None:
        """Return what a project says of itself, read again if its manifests or its commit changed.

        None where that can't be had in time; then the next request finds it.
        """
        now = asyncio.get_running_loop().time()
        if project.metadata is not None and project.metadata_holds(now):
            return project.metadata[1]
        left = Deadline(min(deadline.at, now + METADATA_WAIT_S))
        read = self._reading.run(project.root, partial(self._read_metadata, project), "metadata")
        return await self.within(left, read, "read metadata")

    async def plan(
        self, project: Project, scope: Scope, request: ContextRequest, caller: Caller, deadline: Deadline
    ) -> ItemPlan:
        """Return the items of a request; items of mode `agent` are searched as long as there is time."""
        work = self._plan_searched(project, scope, request, caller, deadline)
        plan = await self.within(deadline, work, "plan items")
        if plan is None:
            plan = await self.plan_unsearched(project, scope, request, caller)
            problem = "items were not searched: there was no time"
            plan = replace(plan, degraded=(*plan.degraded, problem))
        return plan

    async def plan_unsearched(
        self, project: Project, scope: Scope, request: ContextRequest, caller: Caller
    ) -> ItemPlan:
        """Return the items of a request that need no search, at once."""
        profiles = profiles_for(project.config, caller.agent_name(request, scope), caller.selection)
        silent = replace(request, prompt="", history=())
        known, session = await self._visible(project, caller)
        return await plan_items(known, session, silent, profiles, {}, self._item_search, 0.0)

    async def within(
        self, deadline: Deadline, work: Coroutine[Any, Any, T], name: str, least_s: float = 0.0
    ) -> T | None:
        """Return what becomes of work, or None where it takes longer; then it goes on by itself."""
        future = self._work.start(work, name)
        await asyncio.wait({future}, timeout=max(deadline.left(LONG_S), least_s))
        if future.done():
            return future.result()
        future.add_done_callback(lambda late: late.cancelled() or late.exception())
        return None

    async def _search(
        self, project: Project, request: ContextRequest, caller: Caller, deadline: Deadline
    ) -> SearchResult | None:
        limit = project.config.context.hits_max
        if not request.prompt.strip() or not limit:
            return NOTHING_FOUND
        work = self._searching.search(
            project, SearchQuery(request.prompt, limit, definitions=True), deadline, caller.policy
        )
        return await self.within(deadline, work, "search for a context")

    async def _read_metadata(self, project: Project) -> ProjectMetadata:
        tree = project.tree
        key = await self._work.in_builder(partial(metadata_key, tree, self._system))
        known = project.metadata
        if known is not None and known[0] == key:
            return known[1]
        denials = self._system.denials
        metadata = await self._work.in_builder(partial(read_metadata, tree, self._system))
        if self._system.denials == denials:
            project.set_metadata(key, metadata)
        return metadata

    async def _plan_searched(
        self, project: Project, scope: Scope, request: ContextRequest, caller: Caller, deadline: Deadline
    ) -> ItemPlan:
        profiles = profiles_for(project.config, caller.agent_name(request, scope), caller.selection)
        served: Mapping[ItemKey, float] = {}
        problem: tuple[str, ...] = ()
        if request.prompt.strip():
            try:
                served = await self._requests.served(project.root, request.prompt)
            except StateError as error:
                problem = (f"what served earlier requests isn't known: {error}",)
        within_s = deadline.left(ITEMS_WAIT_S)
        known, session = await self._visible(project, caller)
        plan = await plan_items(known, session, request, profiles, served, self._item_search, within_s)
        return replace(plan, degraded=(*plan.degraded, *problem)) if problem else plan

    async def _visible(self, project: Project, caller: Caller) -> tuple[AgentItems, Session | None]:
        """Return the items and the session as the agent may see them."""
        items = project.items
        known = await self._permissions.items(project, caller.policy)
        if caller.session is None:
            return known, None
        denied = frozenset(items.by_key.keys() - known.by_key.keys())
        return known, visible_session(caller.policy, caller.session, denied)
