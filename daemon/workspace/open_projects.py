"""The open projects: finds their roots, opens and closes them, reads settings again, and applies trust."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Iterator, Mapping
from functools import partial

from ..config.files import IN_FORCE, load_project_config
from ..config.settings import Environment, ProjectConfig, UserConfig
from ..core.errors import ConfigError, FovealError, StateError
from ..core.system import System
from ..core.work import SharedWork, Work
from ..memory.records import Criteria
from ..memory.service import Pools
from ..privacy.trust import (
    FILE_BYTES,
    NOTHING_TRUSTED,
    PROJECT_FILE,
    Trusted,
    TrustFile,
    TrustStore,
    files_to_trust,
)
from ..project.records import RECORD, IgnoreLine
from ..project.service import (
    check_named_root,
    find_root,
    is_temporary,
    known_projects,
    known_roots,
    make_usable,
    project_folder,
    relative_path,
    resolved,
    set_excluded,
    worktree_of,
    worktrees,
)
from .indexer_client import IndexerClient
from .previous_projects import PreviousProjects
from .project import Project, load
from .settings_reader import LinkFinder, Links, read_settings

ROOT_CACHE_S = 1.0
"""Seconds after which the root of a folder is looked up on the disk again."""

TRUST_FILE = "trusted.json"

ROOTS_MAX = 4_096
"""Maximum number of folders whose roots are cached."""


class OpenProjects:
    """The open projects by root. On the event loop only; iterating gives them in the order of opening."""

    def __init__(
        self,
        environment: Environment,
        config: UserConfig,
        system: System,
        work: Work,
        indexing: IndexerClient,
    ) -> None:
        self._environment = environment
        self._config = config
        self._system = system
        self._work = work
        self._indexing = indexing
        self._projects: dict[str, Project] = {}
        kept = Criteria(config.experience.max_age_days or None, config.experience.max_count or None)
        self._pools = Pools(kept, system)
        self.previous = PreviousProjects(environment.state_dir, work, system)
        self._known: set[str] = set()
        self._shared: dict[str, tuple[str, bool]] = {}
        """The pool in each repository, and whether it may be used."""
        self._roots: dict[str, tuple[float, str]] = {}
        self._finding = SharedWork[str, str](work)
        self._opening = SharedWork[str, Project](work)
        self._forgetting: dict[str, asyncio.Lock] = {}
        """Locks of projects, and of homes of families, that must not be opened now."""
        self._trust = TrustStore(os.path.join(environment.state_dir, TRUST_FILE), system)
        self._links = LinkFinder(environment, config, system)

    def __iter__(self) -> Iterator[Project]:
        return iter(list(self._projects.values()))

    def get(self, root: str) -> Project | None:
        """Return the project of a root if it is open."""
        return self._projects.get(root)

    def inside(self, root: str) -> list[str]:
        """Return the roots within a project's folder, other than its own, that are or were open."""
        below = os.path.join(root, "")
        return sorted(other for other in self._known if other.startswith(below) and other != root)

    async def closed(self) -> list[str]:
        """Return the roots that were open before and aren't now, if their folders still exist."""
        roots = sorted(self._known - self._projects.keys())
        return await asyncio.to_thread(lambda: [root for root in roots if os.path.isdir(root)])

    async def load(self) -> None:
        """Read which roots were open before: a folder inside such a root belongs to it."""
        self._known.update(await self._work.in_builder(self._known_before))

    async def at(self, cwd: str) -> Project:
        """Return the project that a folder belongs to, opening it if needed."""
        return self.at_nowait(cwd) or await self.open_root(await self.root_of(cwd))

    def at_nowait(self, cwd: str) -> Project | None:
        """Return the project of a folder if its root is cached and the project is open, else None."""
        now = asyncio.get_running_loop().time()
        seen, root = self._roots.get(cwd, (0.0, ""))
        return self._projects.get(root) if root and now - seen < ROOT_CACHE_S else None

    async def root_of(self, cwd: str) -> str:
        """Return the root that a folder belongs to, by the rules of identity."""
        # Shared, so that requests with the same folder continue in the order of their arrival.
        return await self._finding.run(cwd, partial(self._find_root, cwd), f"root of {cwd}")

    async def open_named(self, path: str) -> Project:
        """Open a project whose root was named explicitly, which may be any folder. If the indexer left the
        project out before, it is tried again."""
        project = await self.open_root(await asyncio.to_thread(check_named_root, path))
        if self._indexing.is_left_out(project):
            await self._indexing.retry(project)
        return project

    async def open_root(self, root: str) -> Project:
        """Return the project of a root, opening it if needed. Concurrent callers share one opening."""
        project = self._projects.get(root)
        return project or await self._opening.run(root, partial(self._open, root), f"open {root}")

    async def close(self, path: str) -> Project | None:
        """Close a project and return it; its index stays on the disk. None if it wasn't open."""
        root = await asyncio.to_thread(os.path.realpath, path)
        project = self._projects.pop(root, None) or self._projects.pop(path, None)
        if project is not None:
            self._indexing.close(project)
            project.close()
        return project

    def folder_of(self, root: str) -> str:
        """Return a project's folder in the state folder."""
        return project_folder(self._environment.state_dir, root)

    async def known_root(self, path: str) -> str:
        """Return the root that a path names: that of a project which is or was open, even if its folder is
        gone, else the root that the folder belongs to. Raises `InvalidRequest`."""
        root, is_folder = await asyncio.to_thread(resolved, path)
        if root in self._projects or await asyncio.to_thread(os.path.isdir, self.folder_of(root)):
            return root
        return await self.root_of(root) if is_folder else root

    async def exclude(self, root: str, path: str, *, excluded: bool) -> tuple[str, IgnoreLine]:
        """Leave a path out of a project's index, or no longer; see `set_excluded`."""
        relative = await asyncio.to_thread(relative_path, root, path)
        change = partial(set_excluded, root, relative, self._system, excluded=excluded)
        return relative, await self._work.in_writer(change)

    async def other_folders(self, root: str) -> tuple[str, ...]:
        """Return the folders of all projects but one in the state folder."""
        roots = await self._work.in_builder(partial(known_roots, self._environment.state_dir, self._system))
        return tuple(self.folder_of(other) for other in roots if other != root)

    async def family_of(self, root: str) -> tuple[str, tuple[str, ...]]:
        """Return the folder with the pool of a project, and the roots of the others whose pool it is too:
        work trees of the repository that were opened, without linked ones that are gone."""
        home, family = await self._work.in_builder(partial(self._family_of, root))
        return self.folder_of(home), family

    def _family_of(self, root: str) -> tuple[str, tuple[str, ...]]:
        homes = {
            one.root: one.home or one.root
            for one in known_projects(self._environment.state_dir, self._system)
        }
        tree = worktree_of(root, self._system)
        home = homes.get(root) or (tree.home if tree else root)
        family = {other for other, its_home in homes.items() if its_home == home}
        if tree is not None and tree.home == home:  # git knows those, too, whose records can't be read
            roots = (each.root for each in worktrees(tree.common, self._system))
            family.update(
                each for each in roots if os.path.exists(os.path.join(self.folder_of(each), RECORD))
            )
        return home, tuple(each for each in sorted(family - {root}) if each == home or os.path.isdir(each))

    async def is_in(self, root: str, folder: str) -> bool:
        """Whether a folder, which may be gone, belongs to a project."""
        try:
            return await self.root_of(folder) == root
        except FovealError:
            return folder == root or folder.startswith(os.path.join(root, ""))

    @contextlib.asynccontextmanager
    async def closed_meanwhile(self, root: str) -> AsyncIterator[None]:
        """Close a project if it is open, and keep it closed until the end: who opens it waits, and so does
        who opens another work tree of its repository, which may begin to use the pool."""
        home, _ = await self._work.in_builder(partial(self._family_of, root))
        async with self._kept_from_opening(root, home):
            if await self.close(root) is not None:
                await self._indexing.wait_closed(root)
            yield
            self._known.discard(root)
            self._shared.pop(root, None)
            self._roots.clear()

    async def forget_trust(self, root: str) -> None:
        """Revoke the trust in all files of a project, if there is any."""
        await self._work.in_writer(partial(self._trust.forget, root))

    def close_all(self) -> None:
        """Close all files of all projects; lent readers close when they are returned."""
        for project in self._projects.values():
            project.close()

    async def reload_settings(self, project: Project) -> None:
        """Read foveal.toml again if it changed; if it can't be used, the former settings stay."""
        if project.settings.hold():
            return
        async with project.settings.lock:
            if not project.settings.hold():
                await self._read_settings(project)

    async def config_of(self, root: str) -> ProjectConfig:
        """Return the settings of a project, which need not be open; the user's if it is gone. Raises
        `ConfigError`."""
        project = self._projects.get(root)
        if project is not None:
            await self.reload_settings(project)
            return project.config
        return await self._work.in_builder(partial(self._closed_config, root))

    def _closed_config(self, root: str) -> ProjectConfig:
        loaded = load_project_config(root, self._config, self._system)
        return self._find_links(root, loaded.config, self._trusted(root)[0]).applied(loaded).config

    async def trust_of(self, root: str) -> tuple[tuple[TrustFile, ...], Trusted]:
        """Return the files of a project that need trust to take effect, and the files that are trusted."""
        files = await self._work.in_builder(partial(files_to_trust, root, self._system))
        return files, await self._work.in_builder(partial(self._trust.of, root))

    async def trust(self, root: str, wanted: Mapping[str, str]) -> tuple[str, ...]:
        """Trust files of a project with the digests that a person saw; see `TrustStore.trust`."""
        new = await self._work.in_writer(partial(self._trust.trust, root, wanted))
        await self._apply_trust(root)
        return new

    async def revoke_trust(self, root: str) -> int:
        """Revoke the trust in all files of a project; see `TrustStore.revoke`."""
        count = await self._work.in_writer(partial(self._trust.revoke, root))
        await self._apply_trust(root)
        return count

    def _known_before(self) -> list[str]:
        """Return the roots that were open before, without temporary folders, which must always be named."""
        known = known_roots(self._environment.state_dir, self._system)
        return [root for root in known if not is_temporary(root)]

    async def _find_root(self, cwd: str) -> str:
        root = await asyncio.to_thread(find_root, cwd, self._environment.home, sorted(self._known))
        if len(self._roots) >= ROOTS_MAX:
            self._roots.clear()
        self._roots[cwd] = (asyncio.get_running_loop().time(), root)
        return root

    async def _open(self, root: str) -> Project:
        async with self._kept_from_opening(root):
            return await self._open_files(root)

    @contextlib.asynccontextmanager
    async def _kept_from_opening(self, root: str, *homes: str) -> AsyncIterator[None]:
        """Hold the locks of a root and of the homes of its family: the one that git says, and other ones."""
        tree = await self._work.in_builder(partial(worktree_of, root, self._system))
        async with contextlib.AsyncExitStack() as stack:
            for each in sorted({root, *homes, tree.home if tree else root}):  # sorted: no two wait in turns
                await stack.enter_async_context(self._forgetting.setdefault(each, asyncio.Lock()))
            yield

    async def _open_files(self, root: str) -> Project:
        folder = self.folder_of(root)
        denials = self._system.denials
        loaded = await self._work.in_builder(
            partial(load, root, folder, self._config, self._environment.home, self._system)
        )
        trusted, problem = await self._work.in_builder(partial(self._trusted, root))
        config = loaded.settings.config
        links = await self._work.in_builder(partial(self._find_links, root, config, trusted))
        may_share = await self._work.in_builder(partial(self._may_share, root, config, trusted))
        worktree = loaded.worktree
        home = folder if worktree is None else self.folder_of(worktree.home)
        if home != folder:
            state = self._environment.state_dir
            await self._work.in_builder(partial(make_usable, home, state, self._system))
        pool = await self._work.in_writer(
            partial(self._pools.open, root, folder, home, worktree, config.experience.path, trusted=may_share)
        )
        project = Project(root, folder, loaded, pool, self._system)
        self._set_trust(project, trusted, problem)
        project.settings.stale = self._system.denials != denials
        project.settings.set(loaded.settings, links)
        self._shared[root] = (config.experience.path, may_share)
        self._projects[root] = project
        self._known.add(root)
        self.previous.opened(project)
        # Not awaited: requests wait for names and contents as long as their deadlines allow.
        self._work.start_background(self._indexing.open(project), f"index {root}")
        return project

    def _may_share(self, root: str, config: ProjectConfig, trusted: Trusted) -> bool:
        """Whether a pool in the repository may be used: it needs trust if only foveal.toml names it."""
        return config.experience.path == self._config.experience.path or self._is_trusted(root, trusted)

    def _is_trusted(self, root: str, trusted: Trusted) -> bool:
        """Whether the user trusts foveal.toml as it is now."""
        try:
            data, _ = self._system.read(os.path.join(root, PROJECT_FILE), FILE_BYTES)
        except OSError:
            return False  # it was just removed, and what it names with it
        return trusted.covers(PROJECT_FILE, data)

    def _find_links(self, root: str, config: ProjectConfig, trusted: Trusted) -> Links:
        may_name_any = bool(config.linked.names) and self._is_trusted(root, trusted)
        return self._links.find(root, config, sorted(self._known), trusted=may_name_any)

    def _trusted(self, root: str) -> tuple[Trusted, str]:
        """Return the trusted files of a project, and why they can't be read or "". Blocks."""
        try:
            return self._trust.of(root), ""
        except StateError as error:
            return NOTHING_TRUSTED, str(error)

    def _set_trust(self, project: Project, trusted: Trusted, problem: str) -> None:
        project.settings.set_trusted(trusted)
        project.set_problem("trust", problem)

    async def _apply_trust(self, root: str) -> None:
        """Apply the current trust to an open project."""
        project = self._projects.get(root)
        if project is not None:
            async with project.settings.lock:
                await self._read_settings(project)

    async def _share(self, project: Project) -> None:
        """Use the pool in the repository, if there is one and it may be used."""
        config = project.config
        work = partial(self._may_share, project.root, config, project.settings.trusted)
        wanted = (config.experience.path, await self._work.in_builder(work))
        if self._shared.get(project.root) != wanted:
            await self._work.in_writer(partial(project.pool.share, wanted[0], trusted=wanted[1]))
            self._shared[project.root] = wanted

    async def _read_settings(self, project: Project) -> None:
        project.settings.stale = False
        stamp, old, denials = project.settings.stamp_now(), project.config, self._system.denials
        self._set_trust(project, *await self._work.in_builder(partial(self._trusted, project.root)))
        try:
            loaded, problem = await self._work.in_builder(
                partial(read_settings, project.root, project.folder, self._config, self._system)
            )
        except ConfigError as error:
            loaded, problem = project.settings.own, f"{error} {IN_FORCE}"
        project.set_problem("config", problem)
        find = partial(self._find_links, project.root, loaded.config, project.settings.trusted)
        links = await self._work.in_builder(find)
        project.settings.set(loaded, links)
        await self._share(project)  # a file that changed isn't trusted as it is now
        if project.config.scan != old.scan:
            await self._indexing.reopen(project)
        project.settings.stamp = stamp
        project.settings.stale |= self._system.denials != denials
