"""The composition root: the daemon's parts, started and stopped together."""

from __future__ import annotations

import asyncio
import logging
import os
from functools import partial
from typing import Any

from ..config.last_valid import config_problems
from ..config.settings import Environment, UserConfig
from ..context.context_log import ContextLog
from ..context.explanations import Explaining
from ..context.rendered import BYTES_MAX, RenderedContexts
from ..context.requests import Freshness
from ..context.scopes import ScopeTable
from ..context.scoping import Scoping
from ..context.service import Contexts
from ..context.sources import Compressing, ContextSources
from ..core.errors import NotFound
from ..core.events import EventHub
from ..core.metrics import Metrics
from ..core.quarantine import QuarantineLog
from ..core.resources import descriptor_problem, disk_problem, resident_bytes
from ..core.storage import DatabaseError
from ..core.system import System
from ..core.work import Work
from ..embedding.semantics import Semantics
from ..index.indexing import Indexing
from ..memory.commit_marks import CommitMarks
from ..memory.grafting import Grafting
from ..memory.service import ExperienceMeaning, Experiences
from ..privacy.permissions import Permissions
from ..privacy.policy import NO_POLICY, Policy
from ..project.freshness import Deadline, TreeFreshness, deadline_of
from ..project.index_view import IndexSize
from ..project.open_projects import OpenProjects
from ..project.project import Project
from ..project.snapshot import ProjectSnapshot
from ..rules.agent_items import AgentItems
from ..rules.item_search import WarmItemSearch
from ..rules.service import Items
from ..rules.tool_lists import ToolLister
from ..search.lookups import describe_node, describe_symbols, find_files
from ..search.query import DescribedHits, SearchQuery, SearchResult
from ..search.service import SearchService
from ..sessions.request_log_service import RequestLog
from ..sessions.service import Sessions
from .metric_history import Gauges, MetricHistory

log = logging.getLogger(__name__)

QUERY_ATTEMPTS = 3
NODE_ATTEMPTS = 3
"""Maximum attempts if files change meanwhile; after that the answer says so."""


class Engine:
    """All state of a daemon.

    Every method belongs on the event loop; blocking work runs in threads. `run` must be running as a task
    while requests are served, and `close` ends it.
    """

    def __init__(self, environment: Environment, config: UserConfig, system: System) -> None:
        self.warnings: tuple[str, ...] = ()
        self._quarantine = QuarantineLog(environment.state_dir, system)
        self.events = EventHub(system)
        self.metrics = Metrics()
        self.scopes = ScopeTable(config.scopes.max_memory_bytes, config.scopes.max_count)
        self.state_dir = environment.state_dir
        self._environment = environment
        self._config = config
        self._system = system
        self._rendered = RenderedContexts(min(BYTES_MAX, config.scopes.max_memory_bytes))
        self._work = Work()
        self._stopped = asyncio.Event()
        self.semantics = Semantics(config.embedding, environment.state_dir, self._work, self.events)
        self.indexing = Indexing(self._work, self.events, self.semantics)
        self.projects = OpenProjects(environment, config, system, self._work, self.indexing)
        self.experiences = Experiences(self._work, self.events, system)
        self.commit_marks = CommitMarks(self._work, self.experiences, system)
        self.grafting = Grafting(self._work, self.events, system)
        self.scoping = Scoping(self.scopes, self._rendered, self.projects, self._work, self.events, system)
        self._freshness = TreeFreshness(self._work, self.indexing)
        self._searching = SearchService(self._work, self.indexing, self.semantics)
        lister = ToolLister(environment.variables, environment.home, system)
        self.items = Items(environment, system, self._work, lister)
        self.item_search = WarmItemSearch(self.semantics, self._work)
        self.sessions = Sessions(environment, self.projects, self.items, self._work, self.events, system)
        self.permissions = Permissions(self.projects, self.sessions, config, self._work, system)
        self.requests = RequestLog(environment.state_dir, self._work, system)
        self.compressing = Compressing(config.compression, environment, system, self._work)
        self.context_log = ContextLog(self.sessions, self.requests, self.metrics, self.events, system)
        meaning = ExperienceMeaning(self.semantics, self._work)
        sources = ContextSources(
            self._searching, self.item_search, meaning, self.permissions, self.requests, self._work, system
        )
        self.contexts = Contexts(
            self.scopes,
            self._rendered,
            self.scoping,
            self._freshness,
            sources,
            self.items,
            self.sessions,
            self.permissions,
            self.context_log,
            self.compressing,
            self._work,
            environment.config_dir,
            system,
        )
        self.history = MetricHistory(self.metrics, self.gauges, system)
        self.explaining = Explaining(self.scopes, self._searching, self.permissions, self._work)

    # Life

    async def run(self, started: asyncio.Event) -> None:
        """Load the scopes, start the indexer, and keep both until `close`."""
        await self.projects.load()
        await self.compressing.load()
        warnings = await self.scoping.load(self.state_dir), await self.requests.load()
        self.warnings = (*self.warnings, *filter(None, warnings))
        async with asyncio.TaskGroup() as tasks:
            self._work.begin(tasks)
            tasks.create_task(self.indexing.link.run(), name="indexer")
            tasks.create_task(self.semantics.run(), name="embedder")
            history = tasks.create_task(self.history.run(), name="metric history")
            started.set()
            await self._stopped.wait()
            history.cancel()

    async def close(self, deadline_s: float) -> None:
        """Finish what is being written, end the indexer, close every file."""
        self._work.cancel()
        self.items.close()
        try:
            await self.scoping.persist()
        except DatabaseError as error:  # nobody is left to be told, and the rest is to end in good order
            log.warning("the last scopes are not kept: %s", error)
        await self.projects.save_all_feedback()
        self.projects.close_all()  # before the indexer ends: what it closes then is sealed
        await asyncio.gather(self.indexing.link.stop(deadline_s), self.semantics.stop(deadline_s))
        self._stopped.set()
        await self.scoping.close()
        await self.requests.close()
        self._work.close()
        self.compressing.close()

    async def problems(self) -> tuple[str, ...]:
        """Return the problems that keep the daemon from its work now, in words; they clear by themselves."""
        disk = await asyncio.to_thread(disk_problem, self.state_dir, self._system)
        descriptors = await asyncio.to_thread(descriptor_problem)
        path = self._environment.config_path
        config = await asyncio.to_thread(config_problems, path, self._config, self._system)
        said = (*self.warnings, disk, descriptors, *config, self.scoping.problem, self.requests.problem)
        quarantined = await asyncio.to_thread(self._quarantine.problem, said)
        return tuple(filter(None, (*said, quarantined)))

    def gauges(self) -> Gauges:
        """Return queue lengths, numbers of scopes and subscribers, and the memory of each process. Takes
        some ten microseconds."""
        pids = {
            "daemon": os.getpid(),
            "indexer": self.indexing.link.pid,
            "embedder": self.semantics.child.pid,
        }
        progress = [self.semantics.progress(project.root) for project in self.projects]
        return Gauges(
            files_pending=sum(project.tree.pending for project in self.projects),
            chunks_pending=sum(vectors.pending for vectors in progress if vectors is not None),
            scopes=len(self.scopes),
            subscribers=len(self.events),
            memory_bytes={name: pid and resident_bytes(pid) for name, pid in pids.items()},
        )

    @property
    def scopes_bytes(self) -> int:
        """Estimated memory of the scopes and their cached contexts."""
        return self.scopes.memory_bytes + self._rendered.bytes

    # Projects, nodes, files

    async def close_project(self, path: str) -> bool:
        """Close a project; its index and scopes stay on the disk. False if it wasn't open."""
        project = await self.projects.close(path)
        if project is None:
            return False
        for scope in self.scopes.of_project(project.root):
            self._rendered.drop(scope.id)
        return True

    async def size(self, project: Project) -> IndexSize:
        """Return the size of a project's index."""
        return await self._work.in_builder(project.index.read_size)

    async def items_of(self, project: Project, deadline_ms: int | None = None) -> AgentItems:
        """Return a project's items. Waits until the scan knows the rules of its folders."""
        await self._freshness.wait_named(project, deadline_of(project, deadline_ms))
        return await self.items.refresh(project)

    async def node(
        self,
        project: Project,
        node_id: str,
        fresh: Freshness,
        deadline_ms: int | None,
        policy: Policy = NO_POLICY,
    ) -> dict[str, Any]:
        """Return a file or definition with what it imports and who imports it.

        Raises `NotFound`, or `PermissionDenied` where the agent may not see it.
        """
        deadline = deadline_of(project, deadline_ms)
        degraded: list[str] = list(project.snapshot(policy).degraded)
        degraded += await self._settle(project, fresh, deadline, policy)
        for attempt in range(NODE_ATTEMPTS):
            snapshot = project.snapshot(policy)
            node, stale = await self._work.in_builder(partial(describe_node, snapshot, node_id))
            if not stale or fresh == "no":
                break
            last = attempt == NODE_ATTEMPTS - 1
            if last or not await self._freshness.refresh(project, stale, deadline):
                degraded.append(f"{stale[0]} changed and could not be read again in time")
                break
        if node is None:
            raise NotFound(
                f"no node {node_id!r:.200} in {project.root}: name a file by its path relative to the root, "
                "a definition as path#Name, a section as path#Title/Subtitle"
            )
        return {**node, "degraded": degraded, "clock": project.clock}

    async def files(
        self, project: Project, query: str, limit: int, policy: Policy = NO_POLICY
    ) -> tuple[list[str], int]:
        """Return the files whose paths match, and their number, under a policy."""
        tree = project.snapshot(policy).tree
        return await self._work.in_builder(partial(find_files, tree.files, query, limit))

    async def symbols(
        self,
        project: Project,
        query: str,
        limit: int,
        deadline_ms: int | None,
        policy: Policy = NO_POLICY,
    ) -> dict[str, Any]:
        """Return the definitions whose names match, under a policy."""
        deadline = deadline_of(project, deadline_ms)
        degraded: list[str] = []
        await self._freshness.wait_searchable(project, deadline)
        for attempt in range(NODE_ATTEMPTS):
            snapshot = project.snapshot(policy)
            try:
                found, stale = await self._work.in_builder(partial(describe_symbols, snapshot, query, limit))
            except DatabaseError as error:
                found = []
                degraded.append(f"the index can't be read ({error}): ask again when it was built anew")
                break
            if not stale:
                break
            last = attempt == NODE_ATTEMPTS - 1
            if last or not await self._freshness.refresh(project, stale, deadline):
                degraded.append(f"{stale[0]} changed and could not be read again in time")
                break
        return {
            "project": project.root,
            "symbols": found,
            "partial": project.state in {"scanning", "indexing"},
            "degraded": [*snapshot.degraded, *degraded],
            "clock": project.clock,
        }

    async def query(
        self,
        project: Project,
        ask: SearchQuery,
        fresh: Freshness,
        deadline_ms: int | None,
        policy: Policy = NO_POLICY,
    ) -> dict[str, Any]:
        """Answer a question about a project with hits and their snippets, under a policy."""
        deadline = deadline_of(project, deadline_ms)
        degraded = await self._settle(project, fresh, deadline, policy)
        for attempt in range(QUERY_ATTEMPTS):
            found = await self._searching.search(project, ask, deadline, policy, describes=True)
            snapshot = project.snapshot(policy)
            try:
                described = found.described
                if described is None:
                    described = await self._work.in_builder(partial(_describe, snapshot, ask, found))
                results, stale = described
            except DatabaseError as error:
                results = []
                degraded.append(f"the index can't be read ({error}): ask again when it was built anew")
                break
            if not stale or fresh == "no":
                break
            last = attempt == QUERY_ATTEMPTS - 1
            if last or not await self._freshness.refresh(project, stale, deadline, words=True):
                degraded.append(f"{stale[0]} changed and could not be read again in time")
                break
        reply = {
            "intent": found.intent,
            "route": found.route,
            "evidence": list(found.evidence),
            "results": results,
            "degraded": [*snapshot.degraded, *found.degraded, *degraded],
            "clock": project.clock,
        }
        return reply | ({"hint": found.hint} if found.hint else {})

    async def _settle(
        self, project: Project, fresh: Freshness, deadline: Deadline, policy: Policy
    ) -> list[str]:
        """Wait until the index is fresh enough; return what it may still miss, in words."""
        if fresh == "tree" and await self._freshness.sync(project, deadline):
            return []
        await self._freshness.wait_searchable(project, deadline)
        late = ["the tree was not compared with the disk in time"] if fresh == "tree" else []
        return [*late, *filter(None, (project.index_state.unsettled(project.tree, policy),))]

    def note_file(self, project: Project, path: str, event: str, text: str | None) -> None:
        """Take in what an editor knows of a file before the disk does."""
        if event == "closed":
            project.hot_files.note_closed(path)
            project.unsaved.set(path, None)
            return
        project.hot_files.note_opened(path)
        if text is not None:
            project.unsaved.set(path, text)
        elif event == "changed":
            project.unsaved.set(path, None)
            refresh = self._freshness.refresh(project, (path,), deadline_of(project, None))
            self._work.start_unheard(refresh, f"refresh {path}")


def _describe(snapshot: ProjectSnapshot, ask: SearchQuery, found: SearchResult) -> DescribedHits:
    # Here, in a thread, since what cuts words takes longer to load than the daemon to start.
    from ..search.results import describe_hits

    return describe_hits(snapshot, ask, found)
