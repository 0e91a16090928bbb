"""An open project in the daemon: its tree, index, settings, unsaved buffers and the sketches of its files."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from ..config.files import LoadedConfig
from ..config.settings import ProjectConfig, UserConfig
from ..core.confined_folder import stamp_now
from ..core.errors import ProjectUnavailable
from ..core.system import Stamp, System, stamps_hold
from ..index.records import EDITS_MAX, KEPT_SYMBOLS, MASKED_SYMBOLS, FileActivity, TreeDelta
from ..memory.records import Chosen
from ..memory.service import FileSketches, Pool, choose, visible_experiences
from ..privacy.policy import NO_POLICY, Policy
from ..privacy.trust import NOTHING_TRUSTED, PROJECT_FILE, Trusted
from ..project.records import ProjectState, Shown, Worktree
from ..project.service import KnownMetadata, Tree, make_usable, worktree_of, write_record
from ..rules.records import RuleSet
from ..rules.service import ProjectInstructions, discover, is_instruction_path
from .hot_files import HotFiles, HotNode, UnsavedBuffers
from .index_view import IndexState, IndexView, ProjectSnapshot, read_tree
from .settings_reader import NO_LINKS, Links, read_settings


class ProjectSettings:
    """The settings of one project, and whether they are up to date. On the event loop only."""

    def __init__(
        self, root: str, loaded: LoadedConfig[ProjectConfig], stamp: Stamp | None, system: System
    ) -> None:
        self._own, self._links = loaded, NO_LINKS
        self.config = loaded.config
        self.warnings = loaded.warnings
        self.trusted: Trusted = NOTHING_TRUSTED
        self.stamp = stamp
        """The stamp of foveal.toml before it was read; None if there was no file."""
        self.stale = False
        """Whether foveal.toml may have changed, whatever its stamp."""
        self.generation = 0
        """Changes with the settings, their warnings and what is trusted."""
        self.lock = asyncio.Lock()
        """Held while the settings are read again."""
        self._path = os.path.join(root, PROJECT_FILE)
        self._system = system

    def hold(self) -> bool:
        """Whether foveal.toml, and what the links depend on, are still as they were read, by their stamps."""
        own = (self._path, self.stamp)
        return not self.stale and stamps_hold(self._system.lstat, (own, *self._links.stamps))

    def stamp_now(self) -> Stamp | None:
        """Return the stamp of foveal.toml on the disk; None if there is no file."""
        return stamp_now(self._system, self._path)

    @property
    def own(self) -> LoadedConfig[ProjectConfig]:
        """The settings in force without what is linked."""
        return self._own

    def set(self, loaded: LoadedConfig[ProjectConfig], links: Links = NO_LINKS) -> None:
        """Replace the settings after they were read again, and what is linked."""
        self._own, self._links = loaded, links
        loaded = links.applied(loaded)
        if (loaded.config, loaded.warnings) != (self.config, self.warnings):
            self.config, self.warnings = loaded.config, loaded.warnings
            self.generation += 1

    def set_trusted(self, trusted: Trusted) -> None:
        """Replace the trusted files."""
        if trusted != self.trusted:
            self.trusted = trusted
            self.generation += 1


EXPERIENCES_WEIGHED = 50
"""Number of experiences that are rated in addition to the number wanted."""


class LoadedProject(Struct, frozen=True):
    """The data read from the disk, in a thread, before a project can serve."""

    tree: Tree
    settings: LoadedConfig[ProjectConfig]
    config_stamp: Stamp | None
    rules: RuleSet
    activity: tuple[FileActivity, ...]
    quarantined: str = ""
    """The entries of the project's folder that were quarantined, in words."""
    worktree: Worktree | None = None
    """The work tree that the root is of its repository, if any."""
    config_problem: str = ""
    """Why the last valid settings are used instead of foveal.toml, in words."""


def load(root: str, folder: str, user: UserConfig, home: str, system: System) -> LoadedProject:
    """Read a project's stored data and settings.

    If foveal.toml can't be used, the last valid settings are used, so that its restrictions still apply;
    raises `ConfigError` if there are none.
    """
    if not os.path.isdir(root):
        raise ProjectUnavailable(f"{root} is no folder (any more); open the project where it lies now")
    # The stamp is taken before the file is read, since the file may change meanwhile.
    config_stamp = stamp_now(system, os.path.join(root, PROJECT_FILE))
    quarantined = make_usable(folder, os.path.dirname(os.path.dirname(folder)), system)
    settings, problem = read_settings(root, folder, user, system)
    worktree = worktree_of(root, system)
    write_record(root, folder, system, home="" if worktree is None else worktree.home)
    tree, activity = read_tree(root, folder)
    rules = discover(root, home, tree.files if tree else (), system)
    return LoadedProject(
        tree or Tree(root), settings, config_stamp, rules, activity, quarantined, worktree, problem
    )


class Project:
    """One open project. Changed on the event loop only; builds get a `ProjectSnapshot`."""

    def __init__(self, root: str, folder: str, loaded: LoadedProject, pool: Pool, system: System) -> None:
        self.root = root
        self.folder = folder
        self.tree = loaded.tree
        self.pool = pool
        self.settings = ProjectSettings(root, loaded.settings, loaded.config_stamp, system)
        self.instructions = ProjectInstructions(loaded.rules)
        self.metadata = KnownMetadata(system)
        self.index_state = IndexState(loaded.tree)
        self.index = IndexView(folder, self._hear_damage)
        self.hot_files = HotFiles(loaded.activity)
        self.unsaved = UnsavedBuffers()
        self.sketches = FileSketches(root, system)
        found = {"state": loaded.quarantined, "config": loaded.config_problem}
        self.problems = {cause: problem for cause, problem in found.items() if problem}
        """Problems of the project as a whole, except those of its index, in words, by cause."""
        self.on_damage: Callable[[str], None] = lambda _: None
        """Called on the event loop with the reason why the index can't be read."""
        self._system = system
        self._loop = asyncio.get_running_loop()
        self._clock = os.path.basename(folder).rpartition("-")[2]
        self._links_generation = 0
        self._compressed_generation = 0

    @property
    def config(self) -> ProjectConfig:
        """The settings in force."""
        return self.settings.config

    @property
    def state(self) -> ProjectState:
        """The progress of indexing."""
        return self.index_state.state

    @property
    def clock(self) -> str:
        """The state of the tree that an answer is computed from, opaque to clients."""
        return self.clock_at(self.tree.generation)

    def clock_at(self, generation: int) -> str:
        """Return what `clock` is or was at a generation of the tree."""
        return f"{self._clock}-{generation}"

    @property
    def degraded(self) -> tuple[str, ...]:
        """The problems of the project as a whole, in words."""
        index = self.index_state
        return (*self.problems.values(), *index.problems, *index.degraded, *self.settings.warnings)

    def hot_nodes(self) -> tuple[HotNode, ...]:
        """Return the files that are being worked on, the strongest reason first."""
        return self.hot_files.among(self.tree.files)

    def validity(self, *, prompted: bool, tree: Tree | None = None) -> tuple[object, ...]:
        """Return a key for the state that a rendered context depends on, besides the files that it shows.

        The key is for the last tree, unless an earlier one is given. With `prompted` it changes with every
        change of the project, since a prompt may name any definition.
        """
        tree = tree or self.tree
        return (
            tree.names_generation,
            self._links_generation,
            self.instructions.generation,
            self.settings.generation,
            self.unsaved.generation,
            self.metadata.generation,
            self._compressed_generation,
            self.pool.generation,
            self.degraded,
            tree.generation if prompted else None,
        )

    def set_problem(self, cause: str, problem: str) -> None:
        """Set the problem with this cause; "" means that it is solved."""
        self.problems.pop(cause, None)
        if problem:
            self.problems[cause] = problem

    def knows(self, shown: Iterable[Shown]) -> bool:
        """Whether shown files are unchanged in the tree; doesn't read the disk."""
        start = len(self.root.rstrip("/")) + 1
        records = ((self.tree.files.get(file.path[start:]), file.stamp) for file in shown)
        return all(record is None or record.stamp == stamp for record, stamp in records)

    def snapshot(self, policy: Policy = NO_POLICY, tree: Tree | None = None) -> ProjectSnapshot:
        """Return the frozen view for a build for an agent, without anything that the policy denies.

        The view is of the last tree, unless an earlier one is given. If the policy denies paths, call
        `index.prepare` first, since comparing all names may take long.
        """
        rules, degraded = self.instructions.rules, self.degraded
        if policy.denies_paths:
            rules = replace(rules, warnings=policy.sentences(rules.warnings, self.root))
            degraded = policy.sentences(degraded, self.root)
        return ProjectSnapshot(
            tree=self.index.tree(tree or self.tree, policy),
            rules=rules,
            config=self.config,
            overlays=self.unsaved.frozen(),
            degraded=degraded,
            reader=self.index.reader(policy),
            lexical=self.index.lexical,
            relevant_experiences=partial(self._relevant_experiences, policy),
            system=self._system,
            policy=policy,
        )

    def take_index(self, tree: Tree | None, activity: tuple[FileActivity, ...]) -> None:
        """Replace the tree by the one that the indexer began with; None keeps the current tree.

        The index may have been replaced, so connections to it are reopened.
        """
        if tree is not None:
            # The previous indexer may have committed changes that it could no longer announce.
            self.unsaved.drop_saved(tree.files.values(), self.tree.files)
            self.tree = tree.after(self.tree)
            self.set_activity(activity)
            self._links_generation += 1
        self.index.renew()

    def set_activity(self, activity: tuple[FileActivity, ...]) -> None:
        """Replace the edits and commits that the index has counted."""
        self.hot_files.set_activity(activity)
        self.index_state.note_activity()

    def apply(self, delta: TreeDelta) -> None:
        """Apply a change that the indexer committed."""
        self.unsaved.drop_saved(delta.upserted, self.tree.files)
        if delta.generation > self.tree.generation:
            self._forget_contents(delta)
            self.tree = self.tree.with_changes(delta.generation, delta.upserted, delta.removed)
        self._links_generation += delta.links_changed
        named = (*delta.removed, *delta.touched, *(record.path for record in delta.upserted))
        if delta.resync or any(map(is_instruction_path, named)):
            self.instructions.expect_changes()
        if delta.resync or PROJECT_FILE in named:
            self.settings.stale = True
        if len(delta.touched) <= EDITS_MAX:
            self.hot_files.note_edited(path for path in delta.touched if path in self.tree.files)
        self.index_state.wake()

    def note_compressed(self) -> None:
        """Record that a model shortened documents, which later contexts show."""
        self._compressed_generation += 1

    def close(self) -> None:
        """Close the connections to its index."""
        self.index.close()

    def _forget_contents(self, delta: TreeDelta) -> None:
        """Remove cached data of contents that files no longer have: it isn't used again, and each edit of a
        file would add more."""
        now = {record.path: record.digest for record in delta.upserted}
        for path in (*now, *delta.removed):
            former = self.tree.files.get(path)
            if former is not None and former.digest and former.digest != now.get(path):
                KEPT_SYMBOLS.forget(former)
                MASKED_SYMBOLS.forget(former)

    def _relevant_experiences(
        self,
        policy: Policy,
        focus: set[str],
        neighbours: set[str],
        words: set[str],
        limit: int,
        meaning: Mapping[str, float],
    ) -> tuple[Chosen, ...]:
        """Choose from the experiences that are near by files and words, and from those near in meaning."""
        if not limit:
            return ()
        self.pool.refresh()
        near = self.pool.relevant(focus, neighbours, words, limit + EXPERIENCES_WEIGHED)
        known = {experience.id for experience in near}
        also = (experience for experience in self.pool.some(meaning) if experience.id not in known)
        candidates = visible_experiences(policy, (*near, *also), self.root)
        return choose(
            candidates, focus, neighbours, words, limit, meaning=meaning, staleness=self.sketches.staleness
        )

    def _hear_damage(self, problem: str) -> None:
        """Report damage that a reader found. From any thread."""
        with contextlib.suppress(RuntimeError):  # the event loop is closed
            self._loop.call_soon_threadsafe(lambda: self.on_damage(problem))
