"""An open project in the daemon: its tree, index, settings, unsaved buffers and the sketches of its files."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from ..access.visible import visible_experiences
from ..config.files import LoadedConfig
from ..config.settings import ProjectConfig, UserConfig
from ..context.known_files import KEPT_SYMBOLS, MASKED_SYMBOLS
from ..context.scopes import HotNode
from ..core.errors import ProjectUnavailable
from ..core.sized_cache import SizedCache
from ..core.system import Stamp, System, stamp_of
from ..core.zone import stamp_now
from ..index.messages import EDITS_MAX, TreeDelta
from ..index.store import Activity
from ..memory.experience import SKETCHES_MAX, BadField, Draft, Experience, relative_files
from ..memory.pool import Pool
from ..memory.recall import Chosen, Sketch, Staleness, choose, decoded, encoded, sketch_of, staleness_of
from ..privacy.policy import NO_POLICY, Policy
from ..project import commits, git
from ..project.content import Shown, decode
from ..project.metadata import KnownMetadata
from ..project.roots import make_usable, write_record
from ..project.tree import FileRecord, ProjectState, Tree
from ..rules.instruction_files import RuleSet, discover
from ..rules.instruction_places import is_instruction_path
from .hot_files import HotFiles
from .index_state import IndexState
from .index_view import IndexView, read_tree
from .project_settings import CONFIG_NAME, ProjectInstructions, ProjectSettings, read_settings
from .snapshot import ProjectSnapshot

EXPERIENCES_WEIGHED = 50
"""Number of experiences that are rated in addition to the number wanted."""


class LoadedProject(Struct, frozen=True):
    """The data read from the disk, in a thread, before a project can serve."""

    tree: Tree
    settings: LoadedConfig[ProjectConfig]
    config_stamp: Stamp | None
    rules: RuleSet
    activity: tuple[Activity, ...]
    quarantined: str = ""
    """The entries of the project's folder that were quarantined, in words."""
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
    config_stamp = stamp_now(system, os.path.join(root, CONFIG_NAME))
    quarantined = make_usable(folder, os.path.dirname(os.path.dirname(folder)), system)
    settings, problem = read_settings(root, folder, user, system)
    write_record(root, folder, system)
    tree, activity = read_tree(root, folder)
    rules = discover(root, home, tree.files if tree else (), system)
    return LoadedProject(tree or Tree(root), settings, config_stamp, rules, activity, quarantined, problem)


class Project:
    """One open project. Changed on the event loop only; builds get a `ProjectSnapshot`."""

    def __init__(self, root: str, folder: str, loaded: LoadedProject, pool: Pool, system: System) -> None:
        self.root = root
        self.folder = folder
        self.tree = loaded.tree
        self.pool = pool
        self.settings = ProjectSettings(root, loaded.settings, loaded.config_stamp, system)
        self.instructions = ProjectInstructions(loaded.rules, system)
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
        self._index_generation = 0
        """Number of times that the index was reopened."""
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

    @property
    def index_version(self) -> tuple[int, int, int]:
        """The version of the index that an answer depends on, as numbers, which keep no tree in memory: the
        generation of all commits, that of the links, and the number of times that the index was reopened."""
        return (self.tree.generation, self._links_generation, self._index_generation)

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
        if policy.deny_paths:
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

    def take_index(self, tree: Tree | None, activity: tuple[Activity, ...]) -> None:
        """Replace the tree by the one that the indexer began with; None keeps the current tree.

        The index may have been replaced, so connections to it are reopened.
        """
        if tree is not None:
            # The previous indexer may have committed changes that it could no longer announce.
            self.unsaved.drop_saved(tree.files.values(), self.tree.files)
            self.tree = tree.after(self.tree)
            self.set_activity(activity)
            self._links_generation += 1
        self._index_generation += 1
        self.index.renew()

    def set_activity(self, activity: tuple[Activity, ...]) -> None:
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
        if delta.resync or CONFIG_NAME in named:
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


BUFFERS_MAX = 64
BUFFER_CHARACTERS = 2 * 1024 * 1024


class UnsavedBuffers:
    """Unsaved texts by relative path, the latest `BUFFERS_MAX`. On the event loop only."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self.generation = 0
        """Incremented with each change of a text."""

    def frozen(self) -> Mapping[str, str]:
        """Return an immutable copy."""
        return MappingProxyType(dict(self._texts))

    def set(self, path: str, text: str | None) -> None:
        """Let an editor's text replace a file; with None the file itself counts again."""
        old = self._texts.pop(path, None)
        if text is not None:
            self._texts[path] = text
            if len(self._texts) > BUFFERS_MAX:
                del self._texts[next(iter(self._texts))]
        self.generation += old != text

    def drop_saved(self, written: Iterable[FileRecord], known: Mapping[str, FileRecord]) -> None:
        """Drop the texts of files that changed on the disk: the editor saved them, or the buffer is stale."""
        if not self._texts:
            return
        for record in written:
            former = known.get(record.path)
            if record.path in self._texts and former is not None and former.stamp != record.stamp:
                self.set(record.path, None)


SKETCHED_BYTES = 262_144
"""Maximum bytes of a file that is sketched: decisions are seldom about larger files."""

KEPT_MAX = 4_096
"""Maximum number of cached sketches of files' current contents, half a kilobyte each."""


class FileSketches:
    """The sketches of one project's files. From any thread; blocks for stats and files that changed."""

    def __init__(self, root: str, system: System) -> None:
        self._root = root
        self._system = system
        self._kept = SizedCache[str, tuple[Stamp, Sketch]](KEPT_MAX)
        self._reverted: tuple[str, frozenset[str]] = ("", frozenset())

    def now(self, path: str) -> Sketch | None:
        """Return the sketch of a file's current content, by its relative path; None if it can't be read."""
        full = os.path.join(self._root, path)
        try:
            if os.path.realpath(full) != full:
                return None  # the target of a link is no file of the project
            stamp = stamp_of(self._system.stat(full))
            known = self._kept.get(path)
            if known is not None and known[0] == stamp:
                return known[1]
            data, _ = self._system.read(full, SKETCHED_BYTES)
        except (OSError, ValueError):
            return None
        sketch = sketch_of(decode(data, cut=True))
        self._kept.put(path, (stamp, sketch), 1)
        return sketch

    def sketched(self, draft: Draft) -> Draft:
        """Return a draft with the sketches of its files' current contents."""
        try:
            files, _ = relative_files(draft.files_touched, self._root)
        except BadField:
            return draft  # the pool says what is wrong when it is stored
        found = ((path, self.now(path)) for path in files[:SKETCHES_MAX])
        return replace(
            draft, sketches=tuple((path, encoded(sketch)) for path, sketch in found if sketch is not None)
        )

    def staleness(self, experience: Experience) -> Staleness:
        """Return whether an experience still holds."""
        then = {path: sketch for path, text in experience.sketches if (sketch := decoded(text)) is not None}
        reverted = self._reverted_commits() if experience.commit else frozenset()
        return staleness_of(experience, then, self.now, reverted)

    def _reverted_commits(self) -> frozenset[str]:
        """Return the commits that git reverted; read again when another commit is checked out."""
        head = git.head(self._root, self._system)
        if head is None or not head.commit:
            return frozenset()
        if self._reverted[0] != head.commit:
            try:
                found = commits.reverts(self._root).undone
            except git.GitError as error:
                found = frozenset()
                if self._system.deny(error.__cause__):
                    return found
                # Else kept: without git, or in a repository that it rejects, which the scan says
            self._reverted = (head.commit, found)
        return self._reverted[1]
