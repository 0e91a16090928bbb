"""Owns the daemon's one mutable state: open projects, scopes, rendered contexts; knows no wire."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Awaitable, Callable, Collection, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from .config import Environment, UserConfig
from .config_file import load_project_config
from .context.assembly import Built, build
from .context.content import still_holds
from .context.focus import resolve_paths
from .context.instructions import discover
from .context.requests import ContextRequest, Freshness
from .context.scopes import Scope, ScopeStore, ScopeTable, identity_of
from .errors import Busy, ConfigError, FovealError, IndexerDied, NotFound
from .events import EventHub, iso
from .experience.draft import Draft
from .experience.experience import Experience
from .experience.pool import GraftResult, Pool
from .index.link import IndexerLink
from .index.messages import (
    CloseProject,
    Event,
    OpenProject,
    ProjectProgress,
    Refreshed,
    RefreshFiles,
    Reindex,
    SyncTree,
    TreeDelta,
)
from .index.store import Activity
from .nodes import describe_node
from .project.roots import check_named_root, find_root
from .project.tree import FileRecord, Tree
from .projects import Project, known_roots, load, project_folder, read_tree
from .rendered import Entry, RenderedContexts
from .system import Stamp, System

log = logging.getLogger(__name__)
T = TypeVar("T")

BUILD_THREADS = 2
"""Builds read files and SQLite, which give way to each other; more threads would only share two cores."""

ATTEMPTS = 3
"""So often a context is built when the files that it shows change meanwhile; then it says so."""

NAMES_WAIT_S = 5.0
NEW_WAIT_S = 0.7
REFRESH_WAIT_S = 2.0
SYNC_WAIT_S = 5.0
"""How long a request without a deadline waits for the names of a new project, after its opening for a small
one to be read whole, for files that changed to be read again, and for the tree to be compared with the
disk."""

ROOT_CACHE_S = 1.0
"""The root of a folder is looked up on the disk again after this long."""

ROOTS_MAX = 4_096

_UNREAD = FileRecord("", Stamp(0, 0, 0, 0))


@dataclass(frozen=True, slots=True)
class ScopeSelector:
    """How a request names its scope: by id, or by what makes two requests mean the same one.

    None means that the caller didn't say: what the scope has stays as it is.
    """

    scope_id: str = ""
    session_id: str = ""
    agent_id: str = ""
    agent_name: str = ""
    focus_paths: tuple[str, ...] | None = None
    constraints: tuple[str, ...] | None = None
    parent_scope_id: str = ""
    task_type: str = ""


@dataclass(frozen=True, slots=True)
class Deadline:
    """When an answer must be there, on the event loop's clock; `given` says that the caller set it."""

    at: float
    given: bool

    def left(self, most: float) -> float:
        """Return the seconds left, at most so many."""
        return min(self.at - asyncio.get_running_loop().time(), most)


class Engine:
    """All state of a daemon. Every method belongs on the event loop; what blocks runs in its threads.

    `run` must be running as a task while requests are served, and `close` ends it.
    """

    def __init__(self, environment: Environment, config: UserConfig, system: System) -> None:
        self.environment = environment
        self.config = config
        self.system = system
        self.events = EventHub(system)
        self.rendered = RenderedContexts()
        self.projects: dict[str, Project] = {}
        self.warnings: tuple[str, ...] = ()
        self.scopes = ScopeTable(config.scopes.max_memory_bytes, config.scopes.max_count)
        self.link = IndexerLink(self._on_event, self._on_indexer_started, self._on_indexer_died)
        self._scope_store: ScopeStore | None = None
        self._known: set[str] = set()
        self._roots: dict[str, tuple[float, str]] = {}
        self._finding: dict[str, asyncio.Future[str]] = {}
        self._opening: dict[str, asyncio.Future[Project]] = {}
        self._building: dict[tuple[object, ...], asyncio.Future[Built]] = {}
        self._syncs: dict[str, list[asyncio.Future[Refreshed | None]]] = {}
        self._last_write: asyncio.Future[None] | None = None
        self._builders = ThreadPoolExecutor(BUILD_THREADS, thread_name_prefix="build")
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="write")
        self._tasks: asyncio.TaskGroup | None = None
        self._unheard: set[asyncio.Task[None]] = set()
        self._closing = False
        self._stopped = asyncio.Event()

    # Life

    async def run(self, started: asyncio.Event) -> None:
        """Load the scopes, start the indexer, and keep both until `close`."""
        await self._in_writer(self._load_scopes)
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            tasks.create_task(self.link.run(), name="indexer")
            started.set()
            await self._stopped.wait()
        self._tasks = None

    async def close(self, deadline_s: float) -> None:
        """Finish what is being written, end the indexer, close every file."""
        self._closing = True
        started: list[asyncio.Future[Any]] = [
            *self._finding.values(),
            *self._opening.values(),
            *self._building.values(),
        ]
        for task in (*started, *self._unheard):
            task.cancel()
        await self._persist()
        await self.link.stop(deadline_s)
        for project in self.projects.values():
            project.close()
        self._stopped.set()
        if self._scope_store is not None:
            await self._in_writer(self._scope_store.close)
        self._builders.shutdown(wait=True, cancel_futures=True)
        self._writer.shutdown(wait=True)

    # Projects

    async def project_at(self, cwd: str) -> Project:
        """Return the project that a folder belongs to; it is opened if it isn't."""
        project = self.project_at_nowait(cwd)
        return project or await self.open_root(await self.root_of(cwd))

    def project_at_nowait(self, cwd: str) -> Project | None:
        """Return the project of a folder if both are known at once."""
        now = asyncio.get_running_loop().time()
        seen, root = self._roots.get(cwd, (0.0, ""))
        return self.projects.get(root) if root and now - seen < ROOT_CACHE_S else None

    async def root_of(self, cwd: str) -> str:
        """Return the root that a folder belongs to, by the rules of identity."""
        finding = self._finding.get(cwd)
        if finding is None:
            # Shared, so that requests with the same folder go on in the order in which they came.
            finding = self._start(self._find_root(cwd), f"root of {cwd}")
            self._finding[cwd] = finding
            finding.add_done_callback(lambda _: self._finding.pop(cwd, None))
        return await asyncio.shield(finding)

    async def _find_root(self, cwd: str) -> str:
        root = await asyncio.to_thread(find_root, cwd, self.environment.home, sorted(self._known))
        if len(self._roots) >= ROOTS_MAX:
            self._roots.clear()
        self._roots[cwd] = (asyncio.get_running_loop().time(), root)
        return root

    async def open_named(self, path: str) -> Project:
        """Open a project whose root was named outright, which may be any folder."""
        root = await asyncio.to_thread(check_named_root, path)
        return await self.open_root(root)

    async def open_root(self, root: str) -> Project:
        """Return the open project of a root. Many callers at once share one opening."""
        project = self.projects.get(root)
        if project is not None:
            return project
        task = self._opening.get(root)
        if task is None:
            task = self._start(self._open(root), f"open {root}")
            self._opening[root] = task
            task.add_done_callback(lambda _: self._opening.pop(root, None))
        return await asyncio.shield(task)

    async def close_project(self, path: str) -> bool:
        """Close a project; its index and scopes stay on the disk. False if it wasn't open."""
        root = await asyncio.to_thread(os.path.realpath, path)
        project = self.projects.pop(root, None) or self.projects.pop(path, None)
        if project is None:
            return False
        with contextlib.suppress(IndexerDied):  # the next one isn't told of the project
            await self._ask(CloseProject(project.root))
        for scope in self.scopes.of_project(project.root):
            self.rendered.drop(scope.id)
        project.close()
        return True

    async def reindex(self, project: Project, *, full: bool) -> None:
        """Scan a project again, and with `full` read every file again."""
        await self._ask(Reindex(project.root, full))

    # Scopes

    def find_scope(self, root: str, selector: ScopeSelector) -> Scope | None:
        """Return the scope that a selector means if there is one and the request changes nothing about it."""
        scope = (
            self.scopes.get(selector.scope_id)
            if selector.scope_id
            else self.scopes.find(_identity(root, selector))
        )
        return scope if scope is not None and _updated(scope, selector) is scope else None

    async def scope_for(self, project: Project, selector: ScopeSelector) -> Scope:
        """Return the scope that a selector means, made or brought up to date; durable when this returns."""
        if selector.scope_id:
            scope = self.scopes.get(selector.scope_id)
        else:
            identity = _identity(project.root, selector)
            scope = self.scopes.find(identity) or self._create_scope(project, identity, selector)
        changed = _updated(scope, selector)
        if changed is not scope:
            scope = self.change_scope(project, changed)
        if scope.revision == 0 or changed is not scope:
            await self._persist()
        return scope

    def change_scope(self, project: Project, scope: Scope) -> Scope:
        """Put a changed scope in place; what is hot is taken anew with its focus."""
        scope = self.scopes.update(replace(scope, hot=project.hot_nodes(), settled=project.state == "ready"))
        self.events.publish("scope.changed", {"scope_id": scope.id, "project": scope.root})
        return scope

    async def expand(self, scope_id: str, node_ids: Sequence[str]) -> dict[str, list[str]]:
        """Add nodes to a scope's focus; returns which were added, already there, and unknown."""
        project = await self.open_root(self.scopes.get(scope_id).root)
        known = await self._in_builder(partial(_existing_nodes, project, tuple(node_ids)))
        scope = self.scopes.get(scope_id)  # as it is now: others may have expanded it meanwhile
        present = {*scope.expanded, *scope.focus_paths}
        added = [node for node in dict.fromkeys(node_ids) if node in known and node not in present]
        reply = {
            "expanded": added,
            "already": [node for node in dict.fromkeys(node_ids) if node in present],
            "unknown": [
                node for node in dict.fromkeys(node_ids) if node not in known and node not in present
            ],
        }
        if added:
            project.note_asked(tuple(added))
            self.change_scope(project, replace(scope, expanded=(*scope.expanded, *added)))
            await self._persist()
        return reply

    async def contract(self, scope_id: str, node_ids: Sequence[str]) -> dict[str, list[str]]:
        """Take nodes out of a scope's focus; returns which were taken out and which weren't in it."""
        project = await self.open_root(self.scopes.get(scope_id).root)
        scope = self.scopes.get(scope_id)
        present = {*scope.expanded, *scope.focus_paths}
        gone = [node for node in dict.fromkeys(node_ids) if node in present]
        if gone:
            changed = replace(
                scope,
                expanded=tuple(node for node in scope.expanded if node not in gone),
                focus_paths=tuple(path for path in scope.focus_paths if path not in gone),
            )
            self.change_scope(project, changed)
            await self._persist()
        return {
            "contracted": gone,
            "unknown": [node for node in dict.fromkeys(node_ids) if node not in present],
        }

    async def release(self, scope_id: str) -> None:
        """Forget a scope; durable when this returns."""
        scope = self.scopes.remove(scope_id)
        self.rendered.drop(scope_id)
        self.events.publish("scope.released", {"scope_id": scope_id, "project": scope.root, "evicted": False})
        await self._persist()

    # Contexts

    def ready_context(
        self, project: Project, scope: Scope, request: ContextRequest, fresh: Freshness
    ) -> dict[str, Any] | None:
        """Return the answer if it is known and still holds: the path that has to be fast."""
        if fresh == "tree" or not project.settings_hold() or (project.state == "ready" and not scope.settled):
            return None
        if fresh == "shown" and not project.rules_hold(asyncio.get_running_loop().time()):
            return None
        built = self._kept(project, scope, request, fresh)
        if built is None:
            return None
        return self._answer(project, built, cached=True, degraded=())

    async def context(
        self,
        project: Project,
        scope: Scope,
        request: ContextRequest,
        fresh: Freshness,
        deadline_ms: int | None,
    ) -> dict[str, Any]:
        """Return a context, built if need be. The same request by several callers is computed once."""
        deadline = self._deadline(project, deadline_ms)
        degraded: list[str] = []
        if fresh == "tree" and not await self._synced(project, deadline):
            degraded.append(
                "the tree was not compared with the disk in time: files changed just now may be missing"
            )
        await self._fresh_rules(project)
        scope = self._settled(project, scope)
        built = self._kept(project, scope, request, fresh)
        if built is not None:
            return self._answer(project, built, cached=True, degraded=degraded)
        key = (scope.id, scope.revision, request.key, self._validity(project, scope, request), fresh)
        task = self._building.get(key)
        if task is None:
            task = self._start(self._build(project, scope, request, deadline), f"context {scope.id}")
            self._building[key] = task
            task.add_done_callback(lambda _: self._building.pop(key, None))
        built = await asyncio.shield(task)
        if built.stale:
            named = ", ".join(built.stale[:5])
            degraded.append(
                f"{named} changed and could not be read again in time: their definitions are left out"
            )
        return self._answer(project, built, cached=False, degraded=degraded)

    def prepare(
        self,
        project: Project,
        scope: Scope,
        request: ContextRequest,
        fresh: Freshness,
        deadline_ms: int | None,
    ) -> None:
        """Begin to build a context in the background, for a request that follows."""
        self._start_unheard(self._prepare(project, scope, request, fresh, deadline_ms), f"prepare {scope.id}")

    async def _prepare(
        self,
        project: Project,
        scope: Scope,
        request: ContextRequest,
        fresh: Freshness,
        deadline_ms: int | None,
    ) -> None:
        await self.context(project, scope, request, fresh, deadline_ms)

    # Nodes, files, experiences

    async def node(
        self, project: Project, node_id: str, fresh: Freshness, deadline_ms: int | None
    ) -> dict[str, Any]:
        """Return a file or definition with what it imports and who imports it. Raises `NotFound`."""
        deadline = self._deadline(project, deadline_ms)
        degraded: list[str] = list(project.degraded)
        if fresh == "tree" and not await self._synced(project, deadline):
            degraded.append("the tree was not compared with the disk in time")
        await self._wait_named(project, deadline)
        for attempt in range(ATTEMPTS):
            node, stale = await self._in_builder(partial(describe_node, project.snapshot(), node_id))
            if not stale or fresh == "no":
                break
            if attempt == ATTEMPTS - 1 or not await self._refreshed(project, stale, deadline):
                degraded.append(f"{stale[0]} changed and could not be read again in time")
                break
        if node is None:
            raise NotFound(
                f"no node {node_id!r:.200} in {project.root}: name a file by its path relative to the root, "
                "a definition as path#Name, a section as path#Title/Subtitle"
            )
        return {**node, "degraded": degraded, "clock": project.clock}

    def note_file(self, project: Project, path: str, event: str, text: str | None) -> None:
        """Take in what an editor knows of a file before the disk does."""
        if event == "closed":
            project.note_closed(path)
            project.set_overlay(path, None)
            return
        project.note_opened(path)
        if text is not None:
            project.set_overlay(path, text)
        elif event == "changed":
            project.set_overlay(path, None)
            self._start_unheard(self._refresh_quietly(project, path), f"refresh {path}")

    async def graft(self, project: Project, draft: Draft) -> GraftResult:
        """Keep an experience; durable when this returns."""
        result = await self._in_writer(partial(project.pool.graft, [draft]))
        if result.grafted:
            data = {"project": project.root, "experience_ids": list(result.ids), "grafted": result.grafted}
            self.events.publish("experience.grafted", data)
        return result

    async def experiences(
        self, project: Project, limit: int, filters: dict[str, str | None]
    ) -> tuple[tuple[Experience, ...], int]:
        """Return a project's experiences, newest first, and how many match in all."""

        def query() -> tuple[tuple[Experience, ...], int]:
            project.pool.refresh()
            return project.pool.list(limit=limit, **filters)

        return await self._in_builder(query)

    # Building

    async def _build(
        self, project: Project, scope: Scope, request: ContextRequest, deadline: Deadline
    ) -> Built:
        await self._wait_named(project, deadline)
        scope = self._settled(project, scope)
        if project.tree.pending:
            await self._refreshed(project, _focus_files(project, scope), deadline)
        started = asyncio.get_running_loop().time()
        for _ in range(ATTEMPTS):
            await self._fresh_rules(project)
            # Both at the same moment, so that what is kept says what it was built from.
            validity, snapshot = self._validity(project, scope, request), project.snapshot()
            above = self.scopes.constraints_above(scope)
            built = await self._in_builder(partial(build, snapshot, scope, above, request))
            if not built.stale or not await self._refreshed(project, built.stale, deadline):
                break
        if built.lasting and not built.stale and scope.id in self.scopes:
            held = self.rendered.put(scope.id, request.key, Entry(scope.revision, validity, built))
            self.scopes.charge(scope.id, held)
            self._evict(scope.id)
        if self.events.wanted("context.built"):
            elapsed = (asyncio.get_running_loop().time() - started) * 1000
            self.events.publish("context.built", _built_event(scope, request, built, elapsed))
        return built

    def _kept(
        self, project: Project, scope: Scope, request: ContextRequest, fresh: Freshness
    ) -> Built | None:
        """Return a rendered context whose files are as they were: on the disk, or as far as is known."""
        holds = project.knows if fresh == "no" else partial(still_holds, system=self.system)
        return self.rendered.find(
            scope.id, request.key, scope.revision, self._validity(project, scope, request), holds
        )

    def _validity(self, project: Project, scope: Scope, request: ContextRequest) -> tuple[object, ...]:
        """Return what a context depends on beside its scope, its request and the files that it shows."""
        return (*project.validity(prompted=bool(request.prompt)), self.scopes.constraints_above(scope))

    async def _fresh_rules(self, project: Project) -> None:
        """Discover the rules again if a file that they came from, or could come from, changed."""
        if not project.rules_stale and await self._in_builder(partial(project.rules.unchanged, self.system)):
            return
        project.rules_stale = False
        project.set_rules(
            await self._in_builder(
                partial(discover, project.root, self.environment.home, project.tree.files, self.system)
            )
        )

    async def reload_settings(self, project: Project) -> None:
        """Read foveal.toml again if it changed; one that can't be used leaves the former settings."""
        if project.settings_hold():
            return
        async with project.settings_lock:
            if not project.settings_hold():
                await self._read_settings(project)

    async def _read_settings(self, project: Project) -> None:
        project.config_stale = False
        stamp, old = project.config_stamp_now(), project.config
        try:
            loaded = await self._in_builder(
                partial(load_project_config, project.root, self.config, self.system)
            )
        except ConfigError as error:
            project.problems["config"] = f"{error} The settings from before are in force."
        else:
            project.problems.pop("config", None)
            project.set_config(loaded.config, loaded.warnings)
        if project.config.scan != old.scan:
            with contextlib.suppress(FovealError):  # without an indexer there is none to close
                await self._ask(CloseProject(project.root))
            project.forget_progress()  # all is here that the former scan had to say, nothing of the next
            await self._open_index(project)
        project.config_stamp = stamp

    async def _wait_named(self, project: Project, deadline: Deadline) -> None:
        """Wait until a new project's names are known, and a moment for its contents, if there is time."""
        await self._wait_until(project, deadline, lambda: project.named)
        new_for = asyncio.get_running_loop().time() - project.opened_at
        if project.tree.pending and new_for < NEW_WAIT_S:
            await self._wait_until(project, deadline, lambda: not project.tree.pending, NEW_WAIT_S - new_for)

    async def _wait_until(
        self, project: Project, deadline: Deadline, known: Callable[[], bool], most: float = NAMES_WAIT_S
    ) -> None:
        try:
            async with asyncio.timeout(max(deadline.left(most), 0)):
                while not known() and "indexer" not in project.problems:
                    await project.wait_changed()
        except TimeoutError:
            return  # the context is built from what is known, and says so

    async def _refreshed(self, project: Project, paths: Sequence[str], deadline: Deadline) -> bool:
        """Have files read again, as long as there is time; False if they weren't."""
        if not paths:
            return True
        return await self._in_time(
            self._ask(RefreshFiles(project.root, tuple(paths))), deadline, REFRESH_WAIT_S
        )

    async def _synced(self, project: Project, deadline: Deadline) -> bool:
        """Have every change on the disk taken in; False if that wasn't done in time."""
        await self._wait_until(project, deadline, lambda: project.state != "scanning")
        refreshed = await self._in_time(self._shared_sync(project), deadline, SYNC_WAIT_S)
        return refreshed and project.state != "scanning"

    async def _shared_sync(self, project: Project) -> Refreshed | None:
        """Join the next comparison of the tree: one that began before the request proves nothing for it."""
        waiting = self._syncs.get(project.root)
        future: asyncio.Future[Refreshed | None] = asyncio.get_running_loop().create_future()
        if waiting is None:
            self._syncs[project.root] = []
            self._start_unheard(self._sync_rounds(project.root, future), f"sync {project.root}")
        else:
            waiting.append(future)
        return await future

    async def _sync_rounds(self, root: str, first: asyncio.Future[Refreshed | None]) -> None:
        """Sync for one request, then once for all that came meanwhile, until none came."""
        waiters = [first]
        while waiters:
            try:
                result = await self._ask(SyncTree(root))
            except FovealError as error:
                for waiter in waiters:
                    if not waiter.done():
                        waiter.set_exception(error)
            else:
                for waiter in waiters:
                    if not waiter.done():
                        waiter.set_result(result)
            waiters, self._syncs[root] = self._syncs[root], []
        del self._syncs[root]

    async def _in_time(self, work: Awaitable[Refreshed | None], deadline: Deadline, most: float) -> bool:
        """Wait for the indexer within the deadline; whether it did all that was asked.

        A failure isn't raised: the answer is made without it and says so in `degraded`.
        """
        try:
            async with asyncio.timeout(max(deadline.left(most), 0)):
                result = await work
        except TimeoutError:
            return False
        except FovealError as error:
            log.info("the indexer could not do what a request needed: %s", error)
            return False
        return result is None or result.complete

    async def _refresh_quietly(self, project: Project, path: str) -> None:
        await self._refreshed(project, (path,), self._deadline(project, None))

    def _answer(
        self, project: Project, built: Built, *, cached: bool, degraded: Sequence[str]
    ) -> dict[str, Any]:
        unread = project.unread
        partial = bool(built.stale or unread) or project.state == "scanning"
        reply = {**built.reply, "partial": partial, "cached": cached, "clock": project.clock}
        if unread:
            reply["gaps"] = [*reply["gaps"], *unread]
        if degraded:
            reply["degraded"] = [*reply["degraded"], *degraded]
        return reply

    def _deadline(self, project: Project, deadline_ms: int | None) -> Deadline:
        limit = project.config.context.deadline_ms if deadline_ms is None else deadline_ms
        return Deadline(asyncio.get_running_loop().time() + limit / 1000, deadline_ms is not None)

    # Scopes

    def _create_scope(self, project: Project, identity: str, selector: ScopeSelector) -> Scope:
        if selector.parent_scope_id:
            self.scopes.get(selector.parent_scope_id)  # raises with a hint
        scope = Scope(
            id="",
            root=project.root,
            identity=identity,
            session_id=selector.session_id,
            agent_id=selector.agent_id,
            agent_name=selector.agent_name,
            task_type=selector.task_type,
            focus_paths=selector.focus_paths or (),
            constraints=selector.constraints or (),
            parent_id=selector.parent_scope_id,
            hot=project.hot_nodes(),
            settled=project.state == "ready",
            created_at=iso(self.system),
        )
        scope = self.scopes.add(replace(scope, inherited=self.scopes.constraints_above(scope)))
        project.note_asked(scope.focus_paths)
        self.events.publish("scope.created", {"scope_id": scope.id, "project": scope.root})
        self._evict(scope.id)
        return scope

    def _settled(self, project: Project, scope: Scope) -> Scope:
        """Return a scope with what is hot, taken once as soon as that is known; then it stays as it is."""
        if scope.settled or project.state != "ready" or self.scopes.get(scope.id) is not scope:
            return scope
        return self.scopes.update(replace(scope, hot=project.hot_nodes(), settled=True))

    def _evict(self, keep: str) -> None:
        for scope in self.scopes.evict(keep):
            self.rendered.drop(scope.id)
            self.events.publish(
                "scope.released", {"scope_id": scope.id, "project": scope.root, "evicted": True}
            )

    async def _persist(self) -> None:
        """Write changed scopes; when this returns, everything that was changed before is on the disk."""
        changes = self.scopes.take_changes()
        store = self._scope_store
        if changes and store is not None:
            # One thread writes, in order: who waits for the last write has waited for all.
            self._last_write = asyncio.ensure_future(self._in_writer(partial(store.write, changes)))
            self._last_write.add_done_callback(partial(self._check_written, changes))
        if self._last_write is not None:
            await asyncio.shield(self._last_write)

    def _check_written(self, changes: Collection[str], write: asyncio.Future[None]) -> None:
        if write.cancelled() or write.exception() is not None:
            self.scopes.mark_changed(changes)  # whoever asked hears of it; the next one tries again

    def _load_scopes(self) -> None:
        self._known.update(known_roots(self.environment.state_dir))
        store = ScopeStore(os.path.join(self.environment.state_dir, "scopes.sqlite"), self.system)
        self.scopes.load(store.load())
        self._scope_store = store
        if store.replaced:
            self.warnings = (*self.warnings, store.replaced)

    # The indexer

    async def _open(self, root: str) -> Project:
        folder = project_folder(self.environment.state_dir, root)
        loaded = await self._in_builder(
            partial(load, root, folder, self.config, self.environment.home, self.system)
        )
        pool = await self._in_writer(
            partial(Pool, os.path.join(folder, "experiences.jsonl"), self.system, root=root)
        )
        project = Project(root, folder, loaded, pool, self.system)
        self.projects[root] = project
        self._known.add(root)
        await self._open_index(project)
        return project

    async def _open_index(self, project: Project) -> None:
        """Have a project indexed, and catch up where its index isn't what was read of it, or is a new one.

        A project that can't be indexed is served without, and says so.
        """
        async with project.index_lock:
            read: tuple[Tree | None, tuple[Activity, ...]] = None, ()
            project.hold_changes()
            try:
                opened = await self._ask(self._open_command(project))
                project.problems.pop("indexer", None)
                if opened is not None and opened.generation != project.tree.generation:
                    read = await self._in_builder(partial(read_tree, project.root, project.folder))
            except FovealError as error:
                project.problems["indexer"] = str(error)
            finally:
                project.take_changes(*read)

    def _open_command(self, project: Project) -> OpenProject:
        scan = project.config.scan
        return OpenProject(
            root=project.root,
            folder=project.folder,
            max_file_bytes=scan.max_file_bytes,
            exclude=scan.exclude,
            skip_folders_extra=scan.skip_folders_extra,
            poll_interval_ms=scan.poll_interval_ms,
            sweep_interval_s=scan.sweep_interval_s,
        )

    async def _ask(self, command: Any) -> Refreshed | None:
        return await self.link.request(command)

    def _on_event(self, event: Event) -> None:
        project = self.projects.get(event.root)
        if project is None:
            return
        if isinstance(event, TreeDelta):
            project.apply(event)
            if event.upserted or event.removed or event.resync:
                self._announce_change(project, event)
        elif isinstance(event, ProjectProgress):
            project.set_progress(event)
            self._announce_progress(project)
        else:
            self._start_unheard(self._load_activity(project), f"activity {project.root}")

    def _announce_progress(self, project: Project) -> None:
        if project.progress is not None:
            progress = replace(project.progress, state=project.state)
            self.events.publish("index.progress", progress_map(progress))

    def _announce_change(self, project: Project, delta: TreeDelta) -> None:
        if not self.events.wanted("project.changed"):
            return
        paths = sorted({*delta.removed, *(record.path for record in delta.upserted)})
        data = {"project": project.root, "clock": project.clock, "resync": delta.resync}
        data |= {"count": len(paths), "paths": paths[:100], "removed": sorted(delta.removed)[:100]}
        self.events.publish("project.changed", data)

    async def _load_activity(self, project: Project) -> None:
        before = project.state
        project.set_activity(await self._in_builder(project.read_activity))
        if project.state != before:
            self._announce_progress(project)

    async def _on_indexer_started(self) -> None:
        """Open the projects again in a new indexer."""
        for project in list(self.projects.values()):
            await self._open_index(project)

    def _on_indexer_died(self) -> None:
        for project in self.projects.values():
            project.problems["indexer"] = "the indexer process ended and is being started again"
            project.progress = None if project.progress is None else replace(project.progress, watch="off")

    # Threads and tasks

    def _start(self, work: Coroutine[Any, Any, T], name: str) -> asyncio.Future[T]:
        """Run work that requests wait for. If it fails, that is theirs to hear, and no end of the group."""
        if self._tasks is None or self._closing:
            work.close()
            raise Busy("the daemon is shutting down; try again when it has been started anew")
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        task = self._tasks.create_task(_settle(work, future), name=name)
        future.add_done_callback(lambda done: task.cancel() if done.cancelled() else None)
        return future

    def _start_unheard(self, work: Coroutine[Any, Any, None], name: str) -> None:
        """Run work that nobody waits for: a failure is logged. A daemon that shuts down begins none."""
        if self._tasks is None or self._closing:
            work.close()
            return
        task = self._tasks.create_task(_log_failure(work, name), name=name)
        self._unheard.add(task)
        task.add_done_callback(self._unheard.discard)

    async def _in_builder(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._builders, work)

    async def _in_writer(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._writer, work)


async def _settle(work: Coroutine[Any, Any, T], future: asyncio.Future[T]) -> None:
    """Hand what becomes of work to those who wait for it."""
    try:
        result = await work
    except asyncio.CancelledError:
        future.cancel()
        raise
    except Exception as error:  # noqa: BLE001 - it isn't handled here but raised where the future is awaited
        if not future.done():
            future.set_exception(error)
    else:
        if not future.done():
            future.set_result(result)


async def _log_failure(work: Coroutine[Any, Any, None], name: str) -> None:
    try:
        await work
    except FovealError as error:
        # Foreseen, and nobody waits for it: who asks for the same meets the same error.
        log.info("%s: %s", name, error)
    except Exception:
        log.exception("%s failed", name)


def progress_map(progress: ProjectProgress) -> dict[str, Any]:
    """Return a project's progress as events and Status show it."""
    return {
        "project": progress.root,
        "state": progress.state,
        "watch": progress.watch,
        "files": progress.total,
        "files_pending": progress.pending,
        "degraded": list(progress.degraded),
    }


def _identity(root: str, selector: ScopeSelector) -> str:
    return identity_of(
        root,
        session_id=selector.session_id,
        agent_id=selector.agent_id,
        agent_name=selector.agent_name,
        focus_paths=selector.focus_paths or (),
        constraints=selector.constraints or (),
        parent_id=selector.parent_scope_id,
    )


def _updated(scope: Scope, selector: ScopeSelector) -> Scope:
    """Return the scope as the selector wants it, or the very same object if it is so already."""
    wanted: dict[str, Any] = {}
    if selector.focus_paths is not None and selector.focus_paths != scope.focus_paths:
        wanted["focus_paths"] = selector.focus_paths
    if selector.constraints is not None and selector.constraints != scope.constraints:
        wanted["constraints"] = selector.constraints
    for name in ("agent_name", "task_type"):
        value = getattr(selector, name)
        if value and value != getattr(scope, name):
            wanted[name] = value
    return replace(scope, **wanted) if wanted else scope


def _focus_files(project: Project, scope: Scope) -> list[str]:
    nodes, _ = resolve_paths(project.tree, (*scope.focus_paths, *scope.expanded), "focus")
    return [node.path for node in nodes if not project.tree.files.get(node.path, _UNREAD).digest]


def _existing_nodes(project: Project, node_ids: Sequence[str]) -> set[str]:
    """Return those of the node ids that name a file, a folder, a glob with matches or a definition."""
    snapshot = project.snapshot()
    found = set()
    for node_id in node_ids:
        nodes, _ = resolve_paths(snapshot.tree, [node_id], "expansion")
        if not nodes:
            continue
        if nodes[0].symbol and describe_node(snapshot, node_id)[0] is None:
            continue
        found.add(node_id)
    return found


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
