"""The daemon's client of the indexer process: sends it commands and handles its events."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
from collections import Counter
from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace

from ..core.child import ChildProcess
from ..core.errors import ChildDied, FovealError, ProjectUnavailable
from ..core.events import EventHub
from ..core.work import Work
from ..embedding.service import EmbedderClient
from ..index.records import (
    ActiveProject,
    CloseProject,
    Command,
    Event,
    FileActivity,
    OpenProject,
    Parsed,
    ParseTexts,
    ProjectProgress,
    Refreshed,
    Reindex,
    SyncTree,
    TreeDelta,
)
from ..languages.shared.records import Symbol
from ..project.service import Tree
from .index_view import read_tree
from .project import Project

log = logging.getLogger(__name__)

ARGV = (sys.executable, "-m", "foveal.daemon.index.worker")

DEATHS_MAX = 5
"""Number of times that the indexer may die at work on a project within `DEATHS_WITHIN_S` before the project
is no longer indexed. A file that kills the indexer is skipped after two deaths, so that one or two such files
don't cost a project its index."""

DEATHS_WITHIN_S = 900.0
"""Seconds after which a death of the indexer no longer counts."""

REOPEN_S = 30.0
"""Minimum seconds between two openings of an index that a reader found damaged."""

DISTRUST_S = 3_600.0
"""Minimum seconds between two rebuilds of an index that only a reader found damaged. Damage that a check of
the index confirms always leads to a rebuild."""

PARSED_AT_ONCE = 10
"""Number of texts parsed with one command, between which the indexer serves others: some 50 ms."""

PATHS_MAX = 100
"""Maximum number of changed paths that an event names; its `count` gives the full number."""


class IndexerClient:
    """Has the indexer process index the daemon's projects. Used on the event loop only.

    `link.run` must be running as a task. All projects are opened again in a new indexer process.
    """

    def __init__(self, work: Work, events: EventHub, semantics: EmbedderClient) -> None:
        self.link = ChildProcess[Event]("indexer", ARGV, self._on_event, self._on_started, self._on_died)
        self._work = work
        self._events = events
        self._semantics = semantics
        semantics.on_index_damage = self.note_damage
        self._projects: dict[str, Project] = {}
        self._begun = asyncio.Event()
        """Set when the first indexer has started, or failed to."""
        self._opened: set[Project] = set()
        """The projects that the running process has opened."""
        self._held: dict[Project, list[Event]] = {}
        """Events of projects that the indexer is opening."""
        self._at_work = ""
        """The root of the project that the indexer works on."""
        self._left_out: set[str] = set()
        """The roots of projects that are no longer indexed, because the indexer died too often on them."""
        self._deaths: dict[str, list[float]] = {}
        """Times at which the indexer died at work on a project, by root, on the event loop's clock."""
        self._closing: Counter[str] = Counter()
        """Number of unconfirmed close commands by root; until they are confirmed, events of that root are
        outdated."""
        self._reopened: dict[str, float] = {}
        """Times from which a damaged index may be opened again, by root, on the event loop's clock."""
        self._distrusted: dict[str, float] = {}
        """Times from which an index may be rebuilt because of a reader, by root, on the same clock."""

    async def ask(self, command: Command) -> Refreshed | None:
        """Send the indexer a command and return its reply. Raises `ChildDied` or the indexer's
        `FovealError`."""
        reply: Refreshed | None = await self.link.request(command)
        return reply

    async def parse(self, texts: Sequence[tuple[str, str]]) -> list[tuple[Symbol, ...]]:
        """Return the definitions of texts, each given with its path. Raises as `ask` does."""
        found: list[tuple[Symbol, ...]] = []
        for start in range(0, len(texts), PARSED_AT_ONCE):
            parsed: Parsed = await self.link.request(ParseTexts(tuple(texts[start : start + PARSED_AT_ONCE])))
            found += parsed.symbols
        return found

    async def sync(self, project: Project) -> Tree | None:
        """Wait until every change on the disk is indexed, and return the tree that includes these changes.

        A newer tree may exist by the time that this returns. Returns None if some contents are still unread.
        Raises as `ask` does.
        """
        trees: list[Tree] = []

        def take_tree() -> None:
            if project not in self._held:  # else events are held back and the tree is older
                trees.append(project.tree)

        reply: Refreshed = await self.link.request(SyncTree(project.root), take_tree)
        return trees[-1] if trees and reply.complete else None

    async def open(self, project: Project) -> None:
        """Have a project indexed. If that fails, it is served without an index and reports the problem."""
        self._projects[project.root] = project
        project.on_damage = partial(self.note_damage, project.root)
        if self._begun.is_set():  # before that, the first indexer will open all projects when it has started
            await self._open(project)

    def close(self, project: Project) -> None:
        """Stop indexing a project. The indexer closes the project's index later."""
        self._projects.pop(project.root, None)
        self._opened.discard(project)
        self._forgive(project.root)
        self._semantics.drop(project.root)
        self._work.start_background(self._close(project.root), f"close {project.root}")
        self._events.publish("project.changed", {"project": project.root, "closed": True})

    async def wait_closed(self, root: str) -> None:
        """Wait until the indexer has closed the files of a closed project."""
        with contextlib.suppress(FovealError):  # a process that ended has none open
            await self.ask(CloseProject(root))

    def is_left_out(self, project: Project) -> bool:
        """Whether a project isn't indexed because the indexer died too often at work on it."""
        return project.root in self._left_out

    async def retry(self, project: Project) -> None:
        """Index a project again that was left out after too many deaths of the indexer."""
        self._forgive(project.root)
        await self._open(project)

    def note_damage(self, root: str, problem: str) -> None:
        """Quarantine and rebuild the index that a reader found damaged, at most every `REOPEN_S`."""
        now, project = asyncio.get_running_loop().time(), self._projects.get(root)
        if project is None or self.is_left_out(project) or now < self._reopened.get(root, 0.0):
            return
        self._reopened[root] = now + REOPEN_S
        project.index_state.damage = f"the index could not be read ({problem}): it is checked and built anew"
        distrusted = problem if now >= self._distrusted.get(root, 0.0) else ""
        self._distrusted[root] = now + DISTRUST_S
        self._work.start_background(self._reopen(project, distrusted), f"reopen {root}")

    async def reopen(self, project: Project) -> None:
        """Open a project in the indexer again after its settings have changed."""
        self._forgive(project.root)
        await self._reopen(project)

    async def _reopen(self, project: Project, distrusted: str = "") -> None:
        """Open a project in the indexer again; its index is rebuilt if `distrusted` says why it must be."""
        async with project.index_state.lock:
            if self.is_left_out(project):
                return
            project.index_state.forget()
            await self._begin(project, distrusted)

    async def reindex(self, project: Project, *, full: bool) -> None:
        """Scan a project again, and with `full` read every file again.

        Raises as `ask` does, `ChildDied` also while an indexer is being started, and `ProjectUnavailable` if
        the indexer can't open the project.
        """
        await self._begun.wait()
        if self.is_left_out(project):
            self._forgive(project.root)
        await self._open(project)  # a new indexer process may not have opened the project yet
        if project not in self._opened:
            problem = project.index_state.indexer_problem or "it was closed meanwhile"
            if self.link.pid is None:
                raise ChildDied(f"{project.root} can't be indexed now: {problem}")
            raise ProjectUnavailable(f"{project.root} can't be indexed: {problem}")
        await self.ask(Reindex(project.root, full))

    async def _close(self, root: str) -> None:
        self._closing[root] += 1
        try:
            with contextlib.suppress(FovealError):  # the next process doesn't open the project
                await self.ask(CloseProject(root))
        finally:
            self._closing[root] -= 1
            if not self._closing[root]:
                del self._closing[root]

    def _forgive(self, root: str) -> None:
        """Forget how often the indexer died at work on a project, because a client requests it again."""
        self._left_out.discard(root)
        self._deaths.pop(root, None)

    def _recent_deaths(self, root: str) -> list[float]:
        """Return the times within `DEATHS_WITHIN_S` at which the indexer died at work on a project."""
        since = asyncio.get_running_loop().time() - DEATHS_WITHIN_S
        return [at for at in self._deaths.get(root, ()) if at > since]

    async def _open(self, project: Project) -> None:
        async with project.index_state.lock:
            if project not in self._opened:
                await self._begin(project)

    async def _begin(self, project: Project, distrusted: str = "") -> None:
        """Open a project in the indexer, and read its tree again if the index isn't the one read before.

        Called under the project's lock. Events that arrive meanwhile are held and applied afterwards, because
        they describe changes since the index was opened.
        """
        if self._projects.get(project.root) is not project:
            return  # it was closed meanwhile
        read: tuple[Tree | None, tuple[FileActivity, ...]] = None, ()
        held: list[Event] = []
        self._held[project] = held

        def forget_former() -> None:
            if self._projects.get(project.root) is project:
                self._opened.add(project)
            held.clear()
            project.index_state.expect_scan()

        try:
            command = _open_command(project, len(self._recent_deaths(project.root)), distrusted)
            opened: Refreshed = await self.link.request(command, forget_former)
            project.index_state.set_indexer_problem("")
            project.index_state.damage = ""
            if opened.generation != project.tree.generation:
                read = await self._work.in_builder(partial(read_tree, project.root, project.folder))
        except FovealError as error:
            project.index_state.set_indexer_problem(str(error))
            if not isinstance(error, ChildDied):  # after a death the next indexer process opens the project
                self._degrade(project)
        finally:
            del self._held[project]
            if self._projects.get(project.root) is project:
                project.take_index(*read)
        for event in held:
            self._on_event(event)
        if self._semantics.keeps(project.root):
            # The index may have been replaced by a new one.
            self._semantics.keep(project.root, project.folder)

    async def _on_started(self) -> None:
        """Open the projects in a new indexer process, first those on which no indexer has died recently."""
        self._begun.set()
        deaths = {root: len(self._recent_deaths(root)) for root in self._projects}
        for project in sorted(self._projects.values(), key=lambda project: deaths[project.root]):
            if not self.is_left_out(project) and self._projects.get(project.root) is project:
                await self._open(project)

    def _on_died(self, reason: str) -> None:
        self._begun.set()
        self._opened.clear()
        culprit, self._at_work = self._projects.get(self._at_work), ""
        if culprit is not None:
            deaths = [*self._recent_deaths(culprit.root), asyncio.get_running_loop().time()]
            self._deaths[culprit.root] = deaths
            log.warning("the indexer ended at work on %s (%d times)", culprit.root, len(deaths))
            if len(deaths) >= DEATHS_MAX:
                self._leave_out(culprit, reason)
        for project in self._projects.values():
            if self.is_left_out(project):
                continue
            project.index_state.set_indexer_problem(
                f"the indexer process {reason} and is being started again"
            )
            # Later changes stay unknown until the next indexer has compared the tree with the disk.
            project.index_state.expect_scan()
            self._announce_progress(project)

    def _leave_out(self, project: Project, reason: str) -> None:
        """Stop indexing a project, so that the indexer can serve the others, and report the reason."""
        self._left_out.add(project.root)
        project.index_state.set_indexer_problem(
            f"not indexed any more: the indexer ended {DEATHS_MAX} times at work on this project (at last it "
            f"{reason}), and other projects wait for it; try again with: foveal reindex {project.root}"
        )
        self._degrade(project)

    def _degrade(self, project: Project) -> None:
        """Report that a project isn't indexed; its problems name the reason."""
        progress = project.index_state.progress or ProjectProgress(
            project.root, "degraded", "off", (), len(project.tree.files), project.tree.pending, ()
        )
        project.index_state.set_progress(replace(progress, state="degraded", watch="off"))
        self._announce_progress(project)

    def _on_event(self, event: Event) -> None:
        if isinstance(event, ActiveProject):
            self._at_work = event.root
            return
        project = self._projects.get(event.root)
        if project is None or event.root in self._closing:
            return
        if project in self._held:
            self._held[project].append(event)
        elif isinstance(event, TreeDelta):
            project.apply(event)
            if event.replaced:  # readers must open the new index, in which all files are new
                self._work.start_background(self._reopen(project), f"reopen {project.root}")
            if project.state == "ready" and (event.upserted or event.removed):
                self._semantics.note_change(project.root)
            if event.upserted or event.removed or event.resync:
                self._announce_change(project, event)
        elif isinstance(event, ProjectProgress):
            project.index_state.set_progress(event)
            if event.state == "ready":
                self._embed(project)
            self._announce_progress(project)
        else:
            self._work.start_background(self._load_activity(project), f"activity {project.root}")

    def _embed(self, project: Project) -> None:
        """Ask for the contents to be embedded. Called late, because names and search terms come first."""
        if self._semantics.keeps(project.root):
            self._semantics.note_change(project.root)
        else:
            self._semantics.keep(project.root, project.folder)
            self._semantics.prefer(project.root, [node.path for node in project.hot_nodes()])

    async def _load_activity(self, project: Project) -> None:
        before = project.state
        project.set_activity(await self._work.in_builder(project.index.read_activity))
        if project.state != before:
            self._announce_progress(project)

    def _announce_progress(self, project: Project) -> None:
        if project.index_state.progress is not None:
            progress = replace(project.index_state.progress, state=project.state)
            data = {
                "project": progress.root,
                "state": progress.state,
                "watch": progress.watch,
                "files": progress.total,
                "files_pending": progress.pending,
                "files_unlinked": progress.unlinked,
                "degraded": list(progress.degraded),
            }
            self._events.publish("index.progress", data)

    def _announce_change(self, project: Project, delta: TreeDelta) -> None:
        if not self._events.wanted("project.changed"):
            return
        paths = sorted({*delta.removed, *(record.path for record in delta.upserted)})
        data = {"project": project.root, "clock": project.clock, "resync": delta.resync}
        data |= {
            "count": len(paths),
            "paths": paths[:PATHS_MAX],
            "removed": sorted(delta.removed)[:PATHS_MAX],
        }
        self._events.publish("project.changed", data)


def _open_command(project: Project, deaths: int, distrusted: str) -> OpenProject:
    scan = project.config.scan
    return OpenProject(
        root=project.root,
        folder=project.folder,
        max_file_bytes=scan.max_file_bytes,
        exclude=scan.exclude,
        skip_folders_extra=scan.skip_folders_extra,
        poll_interval_ms=scan.poll_interval_ms,
        sweep_interval_s=scan.sweep_interval_s,
        show_files=project.config.privacy.show_files,
        deaths=deaths,
        distrusted=distrusted,
    )
