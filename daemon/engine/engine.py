"""The composition root: the daemon's parts, started and stopped together."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Mapping
from typing import Any

from ..access.service import Permissions
from ..config.files import config_problems
from ..config.settings import Environment, UserConfig
from ..context.records import BYTES_MAX, BuiltContexts
from ..context.service import (
    CompressionService,
    ContextLog,
    Contexts,
    ContextSources,
    ExplainService,
    ScopeService,
    ScopeTable,
    ToolHelpService,
)
from ..core import metric_history
from ..core.events import EventHub
from ..core.metric_history import Gauges, MetricHistory, Metrics, SampleFile
from ..core.quarantine import QuarantineLog
from ..core.storage import DatabaseError
from ..core.system import System, descriptor_problem, disk_problem, resident_bytes
from ..core.work import Work
from ..embedding.service import EmbedderClient
from ..memory.service import CommitMarks, ExperienceMeaning, Experiences
from ..rules.records import AgentItems
from ..rules.service import Items, ItemSearch, ToolLister
from ..search.service import SearchAnswers, SearchService
from ..sessions.records import RECORD_DAYS, DeliveryLimits, Session
from ..sessions.service import Deliveries, Sessions, Timeline
from ..transcripts.service import GraftService
from ..workspace.records import IndexSize
from ..workspace.service import IndexerClient, OpenProjects, Project, TreeFreshness, deadline_of
from .project_eraser import ProjectEraser

log = logging.getLogger(__name__)


class Engine:
    """All state of a daemon.

    Every method must be called on the event loop; blocking work runs in threads. `run` must be running as a
    task while requests are served, and `close` ends it.
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
        self._built = BuiltContexts(min(BYTES_MAX, config.scopes.max_memory_bytes))
        self._work = Work()
        self._stopped = asyncio.Event()
        self.semantics = EmbedderClient(config.embedding, environment.state_dir, self._work, self.events)
        self.indexing = IndexerClient(self._work, self.events, self.semantics)
        self.projects = OpenProjects(environment, config, system, self._work, self.indexing)
        self.experiences = Experiences(self._work, self.events, system)
        self.commit_marks = CommitMarks(self._work, self.experiences, system)
        self.grafting = GraftService(self._work, self.events, system)
        self.scoping = ScopeService(self.scopes, self.projects, self._work, self.events, system)
        self._freshness = TreeFreshness(self._work, self.indexing)
        self._searching = SearchService(self._work, self.indexing, self.semantics)
        self.answers = SearchAnswers(self._searching, self._freshness, self._work)
        lister = ToolLister(environment.variables, environment.home, system)
        self.items = Items(environment, system, self._work, lister)
        self.item_search = ItemSearch(self.semantics, self._work)
        self.sessions = Sessions(
            environment,
            self.projects.open_root,
            self.items,
            self._work,
            self.events,
            system,
            config.applet.url,
        )
        self.permissions = Permissions(self.projects, self.sessions.find, config, self._work)
        days = config.history.days
        limits = DeliveryLimits(days, max(days, RECORD_DAYS), max_bytes=config.history.max_mb << 20)
        self.deliveries = Deliveries(environment.state_dir, self.projects.root_of, self._work, system, limits)
        self.timeline = Timeline(self.deliveries)
        self.compressing = CompressionService(config.compression, environment, system, self._work)
        self.forgetting = ProjectEraser(
            environment.state_dir,
            self.projects,
            self.scopes,
            self.scoping,
            self.sessions,
            self.deliveries,
            self.timeline,
            self.semantics,
            self.items,
            self._work,
            system,
        )
        self.context_log = ContextLog(
            self.sessions, self.deliveries, self.timeline, self.metrics, self.events
        )
        meaning = ExperienceMeaning(self.semantics, self._work)
        sources = ContextSources(
            self._searching,
            self.answers,
            self.item_search,
            meaning,
            self.permissions,
            self.commit_marks,
            self._work,
            system,
        )
        self.contexts = Contexts(
            self.scopes,
            self._built,
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
        samples = SampleFile(os.path.join(environment.state_dir, metric_history.FILE), system)
        self.history = MetricHistory(self.metrics, self.gauges, system, file=samples)
        self.tool_help = ToolHelpService(self._searching, self._work)
        self.explaining = ExplainService(self.scopes, self._searching, self.permissions, self._work)

    # Life

    async def run(self, started: asyncio.Event) -> None:
        """Load the scopes, start the indexer, and keep both until `close`."""
        await self.projects.load()
        stores = self.deliveries.load(), self.history.load()
        warnings = await self.scoping.load(self.state_dir), *[await load for load in stores]
        self.warnings = (*self.warnings, *filter(None, warnings))
        async with asyncio.TaskGroup() as tasks:
            self._work.begin(tasks)
            tasks.create_task(self.indexing.link.run(), name="indexer")
            tasks.create_task(self.semantics.run(), name="embedder")
            history = tasks.create_task(self.history.run(), name="metric history")
            trees = tasks.create_task(self.forgetting.run(), name="removed work trees")
            started.set()
            await self._stopped.wait()
            history.cancel()
            trees.cancel()

    async def close(self, deadline_s: float) -> None:
        """Finish what is being written, end the indexer, close every file."""
        self._work.cancel()
        self.items.close()
        try:
            await self.scoping.persist()
        except DatabaseError as error:  # no client is left to tell, and the other parts must still be closed
            log.warning("the last scopes are not kept: %s", error)
        self.projects.close_all()  # first, so that the indexer closes each index last and empties its log
        await asyncio.gather(self.indexing.link.stop(deadline_s), self.semantics.stop(deadline_s))
        self._stopped.set()
        await self.scoping.close()
        await self.deliveries.close()
        await self.history.close()
        self._work.close()

    async def problems(self) -> tuple[str, ...]:
        """Return the problems that keep the daemon from its work now, in words; they clear by themselves."""
        disk = await asyncio.to_thread(disk_problem, self.state_dir, self._system)
        descriptors = await asyncio.to_thread(descriptor_problem)
        path = self._environment.config_path
        config = await asyncio.to_thread(config_problems, path, self._config, self._system)
        unwritten = self.scoping.problem, self.deliveries.problem
        said = (*self.warnings, disk, descriptors, *config, *unwritten)
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
        return self.scopes.memory_bytes + self._built.size

    # Projects, nodes, files

    async def close_project(self, path: str) -> bool:
        """Close a project; its index and scopes stay on the disk. False if it wasn't open."""
        project = await self.projects.close(path)
        if project is None:
            return False
        self._built.clear()
        return True

    async def begin_session(
        self,
        project: Project,
        session_id: str,
        *,
        name: str = "",
        agent_name: str = "",
        selection: str | Mapping[str, Any] | None = None,
    ) -> Session:
        """Begin a session of an agent, whose window holds nothing yet."""
        session = await self.sessions.create(
            project, session_id, name=name, agent_name=agent_name, selection=selection
        )
        self.item_search.warm(project.root, project.instructions.items.items)
        self.context_log.forget_window(session.id)
        return session

    async def size(self, project: Project) -> IndexSize:
        """Return the size of a project's index."""
        return await self._work.in_builder(project.index.read_size)

    async def items_of(self, project: Project, deadline_ms: int | None = None) -> AgentItems:
        """Return a project's items. Waits until the scan knows the rules of its folders."""
        await self._freshness.wait_named(project, deadline_of(project, deadline_ms))
        return await self.items.refresh(project)

    def note_file(self, project: Project, path: str, event: str, text: str | None) -> None:
        """Record an editor's event about a file; `text` is its unsaved text, if any."""
        if event == "closed":
            project.hot_files.note_closed(path)
            project.unsaved.set(path, None)
            return
        project.hot_files.note_opened(path)
        if text is not None:
            project.unsaved.set(path, text)
        elif event == "changed":
            self._note_changed(project, path)

    def note_written(self, project: Project, path: str) -> None:
        """Record that an agent wrote a file, whether or not an editor has it open."""
        project.hot_files.note_edited((path,))
        self._note_changed(project, path)

    def _note_changed(self, project: Project, path: str) -> None:
        project.unsaved.set(path, None)
        refresh = self._freshness.refresh(project, (path,), deadline_of(project, None))
        self._work.start_background(refresh, f"refresh {path}")


class EngineMethods:
    """Methods over one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
