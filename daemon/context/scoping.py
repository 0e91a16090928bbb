"""The service behind the scope methods: finds, creates, changes, expands, releases and stores scopes."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ..core.errors import PermissionDenied
from ..core.events import EventHub
from ..core.storage import DatabaseError
from ..core.system import System
from ..core.times import timestamp_of
from ..core.work import Work
from ..project.service import Tree, split_node_id
from ..search.service import describe_node
from ..sessions.records import Scope
from ..workspace.records import ProjectSnapshot
from ..workspace.service import OpenProjects, Project
from .focus import GLOBS_MAX, resolve_paths
from .scopes import ScopeStore, ScopeTable

log = logging.getLogger(__name__)

RETRY_S = 2.0
"""Seconds between attempts to write scopes after a failed write, which may have been a full disk."""

_GLOB_MARKS = frozenset("*?[{")


def anybodys(scope: Scope) -> bool:
    """Say that a scope may be changed."""
    return True


class ScopeSelector(Struct, frozen=True):
    """How a request names its scope: by id, or by the parameters that identify one (see `identity`).

    None means that the request doesn't set the field; the scope keeps its value.
    """

    scope_id: str = ""
    session_id: str = ""
    agent_id: str = ""
    agent_name: str = ""
    focus_paths: tuple[str, ...] | None = None
    constraints: tuple[str, ...] | None = None
    parent_scope_id: str = ""
    task_type: str = ""

    def identity(self, root: str) -> str:
        """Return a digest that is equal for requests that mean the same scope of a project.

        It covers (project, session, agent) with a session, else (project, focus, constraints, parent, name).
        """
        focus, constraints = sorted(self.focus_paths or ()), self.constraints or ()
        parts: list[object] = (
            ["session", root, self.session_id, self.agent_id]
            if self.session_id
            else ["focus", root, focus, constraints, self.parent_scope_id, self.agent_name]
        )
        return hashlib.blake2b(json.dumps(parts).encode(), digest_size=16).hexdigest()


class ScopeService:
    """The operations on the table of scopes, each durable when it returns. On the event loop only."""

    def __init__(
        self,
        scopes: ScopeTable,
        projects: OpenProjects,
        work: Work,
        events: EventHub,
        system: System,
    ) -> None:
        self._scopes = scopes
        self._projects = projects
        self._work = work
        self._events = events
        self._system = system
        self._store: ScopeStore | None = None
        self._last_write: asyncio.Future[None] | None = None
        self.problem = ""
        """Why scopes could not be written, "" if they could; writing is retried."""

    # Start and end

    async def load(self, state_dir: str) -> str:
        """Load the stored scopes, as many as the limits allow; return a warning or "".

        Evicted ones are deleted with the next write. If the database can't be opened, scopes live in memory
        until the daemon ends.
        """
        path = os.path.join(state_dir, "scopes.sqlite")
        try:
            store, scopes = await self._work.in_writer(partial(_open_store, path, self._system))
        except (DatabaseError, OSError) as error:
            return f"scopes are not kept: {path} can't be opened ({error})"
        self._store = store
        self._scopes.load(scopes)
        self._evict()
        unreadable = (
            f"{store.unreadable} scopes in {path} can't be read and were left out; kept as {store.kept}"
        )
        return "; ".join(filter(None, (store.replaced, unreadable if store.unreadable else "")))

    async def close(self) -> None:
        """Close the file; call `persist` first."""
        if self._store is not None:
            await self._work.in_writer(self._store.close)

    async def persist(self) -> None:
        """Write all changed scopes to the disk.

        Raises `DatabaseError` if that fails; the scopes stay marked as changed, and writing is retried.
        """
        changes = self._scopes.take_changes()
        if changes and self._store is not None:
            # One thread writes in order, so waiting for the last write waits for all.
            write = self._work.in_writer(partial(self._store.write, changes))
            self._last_write = asyncio.ensure_future(self._written(changes, write))
            self._last_write.add_done_callback(lambda done: done.cancelled() or done.exception())
        if self._last_write is not None:
            await asyncio.shield(self._last_write)

    # The scope of a request

    def find(self, root: str, selector: ScopeSelector) -> Scope | None:
        """Return the scope of a selector if it exists and the request doesn't change it."""
        scope = (
            self._scopes.get(selector.scope_id)
            if selector.scope_id
            else self._scopes.find(selector.identity(root))
        )
        return scope if scope is not None and _updated(scope, selector) is scope else None

    async def scope_for(
        self, project: Project, selector: ScopeSelector, may_change: Callable[[Scope], bool] = anybodys
    ) -> Scope:
        """Return the scope of a selector, created or updated as needed.

        Raises `PermissionDenied` if it would be updated and `may_change` says no.
        """
        scope = self._selected(project, selector, self._create)
        changed = self._changed(scope, selector, may_change)
        if changed is not scope:
            scope = self._change(changed)
        if scope.revision == 0 or changed is not scope:
            # The context can be delivered without storing the scope; `problem` reports that.
            with suppress(DatabaseError):
                await self.persist()
        return scope

    async def previewed(
        self, project: Project, selector: ScopeSelector, may_change: Callable[[Scope], bool] = anybodys
    ) -> Scope:
        """Return the scope of a selector as a request would make or change it. Nothing of it stays with a
        session or a scope that is named. Raises as `scope_for` does."""
        if not (selector.scope_id or selector.session_id):  # such a scope is the request's own
            return await self.scope_for(project, selector, may_change)
        scope = self._selected(project, selector, self._new)
        changed = self._changed(scope, selector, may_change)
        if changed is scope and scope.id in self._scopes:
            return scope
        # Contexts are kept by revision, and this one has none of the numbers that stored scopes get.
        parts = (
            *(changed.focus_paths, changed.constraints, changed.parent_id, changed.task_type),
            changed.agent_name,
        )
        digest = hashlib.blake2b(repr(parts).encode(), digest_size=6).digest()
        return replace(changed, revision=-1 - int.from_bytes(digest, "big"))

    def _changed(self, scope: Scope, selector: ScopeSelector, may_change: Callable[[Scope], bool]) -> Scope:
        """Return the scope with the values of the selector, the same object if nothing changes."""
        changed = _updated(scope, selector)
        if changed is not scope and not may_change(scope):
            if _updated(scope, replace(selector, agent_name="")) is not scope:
                raise PermissionDenied(
                    f"the scope {scope.id} belongs to an agent that may see more than this one: leave out"
                    " focus_paths, constraints, task_type and parent_scope_id, or leave out scope_id"
                )
            changed = scope  # it keeps its owner
        if changed.parent_id != scope.parent_id:
            self._scopes.get(changed.parent_id)  # raises `NotFound` with a hint
            changed = replace(changed, inherited=self._scopes.constraints_above(changed))
        return changed

    def with_hot(self, project: Project, scope: Scope) -> Scope:
        """Return the scope with the files that are being worked on now, once these are known."""
        hot = project.hot_nodes()
        if project.state != "ready" or scope.hot == hot or scope.id not in self._scopes:
            return scope
        if self._scopes.get(scope.id) is not scope:
            return scope
        return self._scopes.update(replace(scope, hot=hot))

    # Methods of clients

    async def expand(self, scope_id: str, node_ids: Sequence[str]) -> dict[str, list[str]]:
        """Add nodes to a scope's focus; return which were added, already there, and unknown.

        At most `GLOBS_MAX` of them may be globs; the others count as unknown.
        """
        project = await self._projects.open_root(self._scopes.get(scope_id).root)
        known = await self._work.in_builder(partial(_existing_nodes, project, tuple(node_ids)))
        scope = self._scopes.get(scope_id)  # read again: another request may have changed it
        present = {*scope.expanded, *scope.focus_paths}
        unique = list(dict.fromkeys(node_ids))
        added = [node for node in unique if node in known and node not in present]
        if added:
            project.hot_files.note_asked(tuple(added))
            self._change(replace(scope, expanded=(*scope.expanded, *added)))
            await self.persist()
        return {
            "expanded": added,
            "already": [node for node in unique if node in present],
            "unknown": [node for node in unique if node not in known and node not in present],
        }

    async def contract(self, scope_id: str, node_ids: Sequence[str]) -> dict[str, list[str]]:
        """Remove nodes from a scope's focus; return which were removed and which weren't in it."""
        scope = self._scopes.get(scope_id)
        present = {*scope.expanded, *scope.focus_paths}
        unique = list(dict.fromkeys(node_ids))
        gone = [node for node in unique if node in present]
        if gone:
            left_out = frozenset(gone)
            changed = replace(
                scope,
                expanded=_without(scope.expanded, left_out),
                focus_paths=_without(scope.focus_paths, left_out),
            )
            self._change(changed)
            await self.persist()
        return {"contracted": gone, "unknown": [node for node in unique if node not in present]}

    async def release(self, scope_id: str) -> None:
        """Remove a scope."""
        self._forget(self._scopes.remove(scope_id), evicted=False)
        await self.persist()

    async def forget_project(self, root: str) -> None:
        """Remove all scopes of a project, also from the free space of the file and its log."""
        for scope in self._scopes.of_project(root):
            self._forget(self._scopes.remove(scope.id), evicted=False)
        await self.persist()
        if self._store is not None:
            await self._work.in_writer(self._store.compact)

    # Helpers

    def _selected(
        self, project: Project, selector: ScopeSelector, make: Callable[[Project, str, ScopeSelector], Scope]
    ) -> Scope:
        """Return the scope that a selector names or finds, else a made one."""
        if selector.scope_id:
            return self._scopes.get(selector.scope_id)
        identity = selector.identity(project.root)
        return self._scopes.find(identity) or make(project, identity, selector)

    def _new(self, project: Project, identity: str, selector: ScopeSelector) -> Scope:
        """Return a scope that isn't in the table, under the same id for the same identity."""
        if selector.parent_scope_id:
            self._scopes.get(selector.parent_scope_id)  # raises `NotFound` with a hint
        scope = Scope(
            id=f"s_{identity[:16]}",
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
            created_at=timestamp_of(self._system.now()),
        )
        return replace(scope, inherited=self._scopes.constraints_above(scope))

    def _create(self, project: Project, identity: str, selector: ScopeSelector) -> Scope:
        scope = self._scopes.add(self._new(project, identity, selector))
        project.hot_files.note_asked(scope.focus_paths)
        self._events.publish("scope.created", {"scope_id": scope.id, "project": scope.root})
        self._evict(scope.id)
        return scope

    def _change(self, scope: Scope) -> Scope:
        """Replace a scope by a changed one and publish that."""
        scope = self._scopes.update(scope)
        self._events.publish("scope.changed", {"scope_id": scope.id, "project": scope.root})
        return scope

    def _evict(self, keep: str = "") -> None:
        for scope in self._scopes.evict(keep):
            self._forget(scope, evicted=True)

    def _forget(self, scope: Scope, *, evicted: bool) -> None:
        self._events.publish(
            "scope.released", {"scope_id": scope.id, "project": scope.root, "evicted": evicted}
        )

    async def _written(self, changes: Iterable[str], write: Awaitable[None]) -> None:
        try:
            await write
        except BaseException as error:
            self._scopes.mark_changed(changes)
            if isinstance(error, DatabaseError):
                if not self.problem:
                    log.warning("scopes can't be written: %s", error)
                    self._work.start_background(self._retry(), "write scopes again")
                self.problem = f"scopes are not on the disk and end with the daemon: {error}"
            raise
        if not self._scopes.changed:
            self.problem = ""

    async def _retry(self) -> None:
        """Write again until it succeeds."""
        while self.problem:
            await asyncio.sleep(RETRY_S)
            with suppress(DatabaseError):  # reported by `problem`
                await self.persist()


def _open_store(path: str, system: System) -> tuple[ScopeStore, list[Scope]]:
    store = ScopeStore(path, system)
    return store, store.load()


def _updated(scope: Scope, selector: ScopeSelector) -> Scope:
    """Return the scope with the values of the selector; the same object if nothing changes.

    Focus paths in another order are no change, since a scope's identity doesn't depend on their order.
    """
    wanted: dict[str, Any] = {}
    focus_paths = selector.focus_paths
    if (
        focus_paths is not None
        and focus_paths != scope.focus_paths
        and set(focus_paths) != set(scope.focus_paths)
    ):
        wanted["focus_paths"] = focus_paths
    if selector.parent_scope_id and selector.parent_scope_id != scope.parent_id:
        wanted["parent_id"] = selector.parent_scope_id
    if selector.constraints is not None and selector.constraints != scope.constraints:
        wanted["constraints"] = selector.constraints
    if selector.agent_name and not scope.agent_name:  # a name is never replaced, since rules depend on it
        wanted["agent_name"] = selector.agent_name
    if selector.task_type and selector.task_type != scope.task_type:
        wanted["task_type"] = selector.task_type
    return replace(scope, **wanted) if wanted else scope


def _without(nodes: Sequence[str], gone: frozenset[str]) -> tuple[str, ...]:
    return tuple(node for node in nodes if node not in gone)


def _existing_nodes(project: Project, node_ids: Sequence[str]) -> set[str]:
    """Return the node ids that name an existing file, folder, definition, or a glob with matches."""
    snapshot = project.snapshot()
    found = set()
    globs = 0
    for node_id in dict.fromkeys(node_ids):
        if _may_be_glob(snapshot.tree, node_id):
            globs += 1
            if globs > GLOBS_MAX:
                continue
        nodes, _ = resolve_paths(snapshot.tree, [node_id], "expansion")
        if not nodes:
            continue
        in_linked = nodes[0].path.startswith("../")  # whose definitions the context looks up
        if nodes[0].symbol and not in_linked and not _is_node(snapshot, node_id):
            continue
        found.add(node_id)
    return found


def _is_node(snapshot: ProjectSnapshot, node_id: str) -> bool:
    try:
        return describe_node(snapshot, node_id)[0] is not None
    except PermissionDenied:  # a file of secrets, which no agent may see
        return False


def _may_be_glob(tree: Tree, node_id: str) -> bool:
    """Whether a node id may be a glob: it has glob characters and isn't itself the path of a file."""
    return not _GLOB_MARKS.isdisjoint(node_id) and split_node_id(tree.files, node_id)[0] not in tree.files
