"""Owns an open project in the daemon: its tree, rules, settings, pool, and what is worked on in it."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from ..config.files import LoadedConfig as ConfigLoaded
from ..config.files import load_project_config
from ..config.last_valid import load_or_last
from ..config.settings import ProjectConfig, UserConfig
from ..context.content import Shown
from ..context.divisions import DIVISIONS
from ..context.feedback import Feedback, feedback_path
from ..context.kept_symbols import KEPT_SYMBOLS, MASKED_SYMBOLS
from ..context.scopes import HotNode
from ..core.errors import ProjectUnavailable
from ..core.quarantine import set_aside
from ..core.storage import DatabaseError, damage_raised
from ..core.system import Stamp, System
from ..index.lexical_handle import LexicalHandle
from ..index.messages import EDITS_MAX, ProjectProgress, TreeDelta
from ..index.reader_pool import ReaderPool
from ..index.store import Activity, Reader
from ..memory.choice import Chosen, choose
from ..memory.pool import Pool
from ..privacy.policy import NO_POLICY, Policy
from ..privacy.trust import NOTHING_TRUSTED, Trusted
from ..privacy.visible import visible_experiences
from ..rules.agent_items import AgentItems
from ..rules.instructions import RuleSet, discover, is_instruction_path
from ..rules.zone import stamp_now
from .file_sketches import FileSketches
from .git import head
from .metadata import MetadataKey, ProjectMetadata, metadata_key
from .own_folder import make_usable
from .snapshot import ProjectSnapshot
from .tree import FileRecord, ProjectState, Tree
from .views import ProjectViews

HOT_MAX = 8
HOT_EACH = 3
"""Maximum number of hot files for each reason, so that an afternoon of edits doesn't hide the rest."""

ASKED_OFTEN = 3
"""A file that was in focus this often counts as often asked for."""

ASKED_MAX = 1_000
"""Maximum number of files whose requests are counted; with more, the rarer half is forgotten."""

REMEMBERED_MAX = 4 * HOT_MAX
"""Maximum number of edited files, and of open ones, remembered; some may be gone when hot files are asked
for."""

CHANGED_OFTEN = 3
"""A file that this many of the latest commits changed counts as often changed."""

CHECKOUT_S = 2.0
"""Seconds after a checkout in which writes count as the checkout's."""

METADATA_CHECK_S = 0.5
"""How often an answer looks whether manifests or the commit changed: 40 to 160 microseconds."""

RULES_CHECK_S = 0.5
"""How often an answer looks into all places where a rule file could have appeared. What was found before is
looked at every time; new files in the project are told by the watcher, so this is for the user's own."""

ACTIVITY_MAX = 10 * HOT_MAX
"""Maximum number of files of each measure read from the index; some may be gone or in focus."""

EXPERIENCES_WEIGHED = 50
"""Number of experiences weighed beyond those that are wanted."""

OVERLAYS_MAX = 64
OVERLAY_CHARACTERS = 2 * 1024 * 1024
CONFIG_NAME = "foveal.toml"
LAST_CONFIG = "foveal.last.toml"
RECORD_BYTES = 64 * 1024
"""Of project.json, which holds a path."""


class LoadedProject(Struct, frozen=True):
    """What is read from the disk before a project can serve: blocking work, done in a thread."""

    tree: Tree
    config: ProjectConfig
    warnings: tuple[str, ...]
    config_stamp: Stamp | None
    rules: RuleSet
    activity: tuple[Activity, ...]
    mended: str = ""
    """What was set aside in the project's folder, in words."""
    config_problem: str = ""
    """Why the settings are those that were in force last, in words."""


class IndexSize(Struct, frozen=True):
    """How many chunks an index holds, and what it takes on the disk with all that is derived from it."""

    chunks: int
    bytes: int


def project_folder(state_dir: str, root: str) -> str:
    """Return a project's own folder in the state folder: its name, and a hash since names repeat."""
    digest = hashlib.blake2b(os.fsencode(root), digest_size=6).hexdigest()
    name = "".join(c if c.isalnum() or c in "-_." else "-" for c in os.path.basename(root))[:40] or "root"
    return os.path.join(state_dir, "projects", f"{name}-{digest}")


def known_roots(state_dir: str, system: System) -> list[str]:
    """Return the roots that have a folder in the state folder."""
    roots = []
    with contextlib.suppress(OSError), os.scandir(os.path.join(state_dir, "projects")) as entries:
        for entry in entries:
            record = os.path.join(entry.path, "project.json")
            # Without a readable record a folder is only a cache that nobody asks for.
            with contextlib.suppress(Exception):
                roots.append(str(json.loads(system.read(record, RECORD_BYTES)[0])["root"]))
    return sorted(roots)


def load(root: str, folder: str, user: UserConfig, home: str, system: System) -> LoadedProject:
    """Read what is known of a project. Raises `ConfigError` for a foveal.toml that can't be used.

    A project that narrows what may be shown must not be served by a file that can't be read, as if it
    had narrowed nothing: it is served by the settings that were in force last, if they are known.
    """
    if not os.path.isdir(root):
        raise ProjectUnavailable(f"{root} is no folder (any more); open the project where it lies now")
    # Before it is read, since it may change while it is.
    config_stamp = stamp_now(system, os.path.join(root, CONFIG_NAME))
    mended = make_usable(folder, os.path.dirname(os.path.dirname(folder)), system)
    loaded, problem = read_settings(root, folder, user, system)
    _write_record(root, folder, system)
    tree, activity = read_tree(root, folder)
    rules = discover(root, home, tree.files if tree else (), system)
    tree = tree or Tree(root)
    return LoadedProject(tree, loaded.config, loaded.warnings, config_stamp, rules, activity, mended, problem)


def read_settings(
    root: str, folder: str, user: UserConfig, system: System
) -> tuple[ConfigLoaded[ProjectConfig], str]:
    """Read foveal.toml, or where it can't be used the copy of the last one that could; see `load_or_last`."""
    return load_or_last(
        lambda path: load_project_config(root, user, system, path),
        os.path.join(root, CONFIG_NAME),
        os.path.join(folder, LAST_CONFIG),
        system,
    )


def _write_record(root: str, folder: str, system: System) -> None:
    """Note whose folder it is, unless that stands there."""
    record = os.path.join(folder, "project.json")
    try:
        if json.loads(system.read(record, RECORD_BYTES)[0])["root"] == root:
            return
    except FileNotFoundError:
        pass
    except Exception as error:  # noqa: BLE001 - whatever it raises, it is damaged: it holds nothing else
        if not isinstance(error, OSError):
            set_aside(record, system)
    system.write_atomic(record, json.dumps({"root": root}).encode())


class Project:
    """One open project. Changed on the event loop only; builds get a `ProjectSnapshot`."""

    def __init__(self, root: str, folder: str, loaded: LoadedProject, pool: Pool, system: System) -> None:
        self.root = root
        self.folder = folder
        self.tree = loaded.tree
        self.config = loaded.config
        self.warnings = loaded.warnings
        self.rules = loaded.rules
        self.items = AgentItems()
        """The agent level: what `rules` and all other sources come to, as soon as they were merged."""
        self.pool = pool
        self.progress: ProjectProgress | None = None
        found = {"state": loaded.mended, "config": loaded.config_problem}
        self.problems = {kind: problem for kind, problem in found.items() if problem}
        """What is wrong with the project as a whole, by cause: `config`, `indexer`."""
        self.rules_stale = False
        self._rules_checked = 0.0
        self.config_stamp = loaded.config_stamp
        """What foveal.toml was before it was read; None where there was none."""
        self.config_stale = False
        self.settings_lock = asyncio.Lock()
        self.index_lock = asyncio.Lock()
        """Held while the indexer opens the project."""
        self.overlays: dict[str, str] = {}
        self._system = system
        self._warm = bool(loaded.tree.files)
        self._searchable = self._warm and not loaded.tree.pending
        self._loop = asyncio.get_running_loop()
        self.opened_at = self._loop.time()
        """On the event loop's clock, in seconds."""
        self._activity_known = self._warm
        self._activity = {one.path: one for one in loaded.activity}
        self._edited: dict[str, None] = {}
        self._opened: dict[str, None] = {}
        self._asked: Counter[str] = Counter()
        self._hot: tuple[HotNode, ...] | None = None
        """What `hot_nodes` answered, until something of that changes."""
        self._versions = Counter[str]()
        self._changed = asyncio.Event()
        self.on_damage: Callable[[str], None] = lambda _: None
        """Hears why the index can't be read, on the event loop."""
        self._readers = ReaderPool(folder, on_damage=self._hear_damage)
        self._views = ProjectViews(folder, self._hear_damage)
        self._lexical = LexicalHandle(folder)
        self.sketches = FileSketches(root, system)
        self.trusted: Trusted = NOTHING_TRUSTED
        """Which of its files a person trusts."""
        self.metadata: tuple[MetadataKey, ProjectMetadata] | None = None
        """What it says of itself, and what that was read from."""
        self._metadata_checked = 0.0
        self._config_path = os.path.join(root, CONFIG_NAME)
        self._clock = os.path.basename(folder).rpartition("-")[2]
        self._checked_out = head(root, system)
        self._checked_out_at = -CHECKOUT_S
        self._edits: list[str] = []
        self.feedback = Feedback(feedback_path(folder), system)

    @property
    def state(self) -> ProjectState:
        """How far it is indexed. Warm projects serve while they are checked against the disk."""
        if self.progress is None or ("indexer" in self.problems and self.progress.state == "ready"):
            return "scanning"  # what changes while no indexer serves it isn't known
        # Without its history it isn't known what is hot: a context would change a moment later.
        return (
            "indexing" if self.progress.state == "ready" and not self._activity_known else self.progress.state
        )

    @property
    def named(self) -> bool:
        """Whether all names are known: from the disk now, or from the last time."""
        return self.state != "scanning" or self._warm

    @property
    def searchable(self) -> bool:
        """Whether all files could be found by their words at some time since the index was made.

        Also where nothing more is to be had: without its root, or an indexer.
        """
        return self._searchable or self.state == "degraded"

    @property
    def clock(self) -> str:
        """The state of the tree that an answer is computed from, opaque to clients."""
        return self.clock_at(self.tree.generation)

    def clock_at(self, generation: int) -> str:
        """Return what `clock` is or was at a generation of the tree."""
        return f"{self._clock}-{generation}"

    @property
    def degraded(self) -> tuple[str, ...]:
        """What is wrong with the project as a whole, in words."""
        reasons = [] if self.progress is None else list(self.progress.degraded)
        return (*self.problems.values(), *reasons, *self.warnings)

    @property
    def unread(self) -> tuple[str, ...]:
        """What isn't known of the project yet, in words, for the gaps of an answer."""
        count = len(self.tree.files)
        if self.state == "scanning" and not self._warm:
            return (f"the project is still being scanned: {count:,} files are known so far",)
        if self.tree.pending:
            unread = f"{self.tree.pending:,} of {count:,} files are not indexed yet"
            return (f"{unread}: their definitions and imports are not known",)
        if not self.searchable:
            return ("the words of the files read last are not indexed yet: a prompt may find too little",)
        return ()

    def unsettled(self, policy: Policy = NO_POLICY) -> str:
        """Say why an answer from the index may miss something, to an agent; nothing where it can't."""
        state = "scanning" if self.progress is None else self.progress.state
        if not self.unread and state not in {"scanning", "indexing"}:
            return ""
        if policy.deny_paths:
            return "the project is not fully indexed yet"  # how many files there are isn't for everyone
        if self.unread:
            return self.unread[0]
        if state == "scanning":
            return "the project is being compared with the disk: what changed lately may be missing"
        return "what changed lately is still being indexed and may be missing"

    def validity(self, *, prompted: bool, tree: Tree | None = None) -> tuple[object, ...]:
        """Return what a rendered context of the project depends on, beside the files that it shows.

        It is of the last tree, unless an earlier one is given.
        A prompt may name any definition of the project, so that every change may change its answer.
        """
        tree = tree or self.tree
        return (
            tree.names_generation,
            self._versions["links"],
            self._versions["rules"],
            self._versions["items"],
            self._versions["config"],
            self._versions["overlays"],
            self._versions["metadata"],
            self._versions["compressed"],
            self.pool.generation,
            self.degraded,
            (tree.generation, self.feedback.generation) if prompted else None,
        )

    @property
    def index_version(self) -> tuple[int, int, int]:
        """What an answer from the index follows from, as numbers that hold no tree in memory: the generation
        of all commits, that of the links, and how often the index was opened anew."""
        return (self.tree.generation, self._versions["links"], self._versions["index"])

    def rules_check_due(self, now: float) -> bool:
        """Whether all places where a rule could have appeared are to be looked at again."""
        return now - self._rules_checked >= RULES_CHECK_S

    def rules_hold(self, now: float) -> bool:
        """Whether the rules are those on the disk: where they came from, and now and then all places.

        Some stats; `now` is the event loop's time in seconds.
        """
        if self.rules_stale:
            return False
        if not self.rules_check_due(now):
            return self.rules.texts_unchanged(self._system)
        self._rules_checked = now
        return self.rules.unchanged(self._system)

    def settings_hold(self) -> bool:
        """Whether foveal.toml is the one whose settings are in force, by its stamp."""
        return not self.config_stale and self.config_stamp == self.config_stamp_now()

    def config_stamp_now(self) -> Stamp | None:
        """Return what foveal.toml is on the disk; None where there is none."""
        return stamp_now(self._system, self._config_path)

    def know(self, shown: Iterable[Shown]) -> bool:
        """Whether files that were shown are what the tree knows, without a look at the disk."""
        start = len(self.root.rstrip("/")) + 1
        records = ((self.tree.files.get(one.path[start:]), one.stamp) for one in shown)
        return all(record is None or record.stamp == stamp for record, stamp in records)

    def snapshot(self, policy: Policy = NO_POLICY, tree: Tree | None = None) -> ProjectSnapshot:
        """Return the frozen view for a build for an agent; nothing in it tells of what the policy denies.

        It is of the last tree, unless an earlier one is given.

        Call `prepare_view` first where the policy denies paths, as their names may be many.
        """
        partial_view = bool(policy.deny_paths)
        rules, degraded = self.rules, self.degraded
        if partial_view:
            rules = replace(rules, warnings=policy.sentences(rules.warnings, self.root))
            degraded = policy.sentences(degraded, self.root)
        return ProjectSnapshot(
            tree=self._views.tree(tree or self.tree, policy),
            rules=rules,
            config=self.config,
            overlays=MappingProxyType(dict(self.overlays)),
            degraded=degraded,
            reader=self._views.reader(policy) if partial_view else self._readers.borrow,
            lexical=self._lexical,
            relevant_experiences=partial(self._relevant_experiences, policy),
            system=self._system,
            policy=policy,
        )

    def view_is_ready(self, policy: Policy) -> bool:
        """Whether a snapshot for an agent takes no longer than one for everyone."""
        return self._views.knows(self.tree, policy)

    def prepare_view(self, policy: Policy) -> None:
        """Compare all names with a policy. Blocks: 100,000 names take some 100 ms; then it is remembered."""
        _ = self._views.tree(self.tree, policy).layout

    def take_index(self, tree: Tree | None, activity: tuple[Activity, ...]) -> None:
        """Take over the tree that the indexer began with; with None the known tree holds.

        The index may be another one now: connections to it are made anew.
        """
        if tree is not None:
            # The last indexer may have committed what it could not announce any more.
            self._drop_saved(tree.files.values())
            self.tree = tree.after(self.tree)
            self._hot = None
            self.set_activity(activity)
            self._bump("links")
        self._bump("index")
        self._readers.renew()
        self._views.renew()

    def apply(self, delta: TreeDelta) -> None:
        """Take over a change that the indexer committed."""
        self._drop_saved(delta.upserted)
        if delta.generation > self.tree.generation:
            self._forget_contents(delta)
            self.tree = self.tree.with_changes(delta.generation, delta.upserted, delta.removed)
            self._hot = None
        if delta.links_changed:
            self._bump("links")
        named = (*delta.removed, *delta.touched, *(record.path for record in delta.upserted))
        if delta.resync or any(map(is_instruction_path, named)):
            self.rules_stale = True
            self._bump("rules")
        if delta.resync or CONFIG_NAME in named:
            self.config_stale = True
        if len(delta.touched) <= EDITS_MAX:
            if self._edits:
                self.settle_feedback()
            self._edits.extend(delta.touched)  # with what was checked out before them
            for path in delta.touched:
                if path in self.tree.files:
                    _remember(self._edited, path)
            self._hot = None
        self._wake()

    def set_progress(self, progress: ProjectProgress) -> None:
        """Take over what the indexer says of its state."""
        self.progress = progress
        self._warm |= progress.state != "scanning"
        self._searchable |= progress.words
        self._wake()

    def expect_scan(self) -> None:
        """Count the project as not compared with the disk: what was said of that is of a former opening."""
        if self.progress is not None:
            self.set_progress(replace(self.progress, state="scanning", watch="off"))

    def set_rules(self, rules: RuleSet) -> None:
        """Take over rules that were discovered again."""
        if rules != self.rules:
            self.rules = rules
            self._bump("rules")

    def set_items(self, items: AgentItems, problem: str) -> None:
        """Take over items that were merged again, and why some of them could not be read, or nothing."""
        if (items.items, items.warnings) != (self.items.items, self.items.warnings):
            self._bump("items")
        self.items = items
        self.problems.pop("items", None)
        if problem:
            self.problems["items"] = problem

    def set_config(self, config: ProjectConfig, warnings: tuple[str, ...]) -> None:
        """Take over settings that were read again."""
        if (config, warnings) != (self.config, self.warnings):
            self.config, self.warnings = config, warnings
            self._bump("config")

    def metadata_holds(self, now: float) -> bool:
        """Whether what is known of it is what it says of itself; looked at on the disk now and then.

        Some stats; `now` is the event loop's time in seconds.
        """
        if self.metadata is None:
            return False
        if now - self._metadata_checked < METADATA_CHECK_S:
            return True
        self._metadata_checked = now
        return self.metadata[0] == metadata_key(self.tree, self._system)

    def set_metadata(self, key: MetadataKey, metadata: ProjectMetadata) -> None:
        """Take over what it says of itself."""
        if self.metadata is None or metadata != self.metadata[1]:
            self._bump("metadata")
        self.metadata = (key, metadata)

    def settle_feedback(self) -> None:
        """Count what was edited since the last time, but not what a checkout wrote: nobody edited that.

        A checkout tells only afterwards that it was one, and its last files may be told later still. Takes
        some microseconds.
        """
        now, checked_out, edits = (
            asyncio.get_running_loop().time(),
            head(self.root, self._system),
            self._edits,
        )
        self._edits = []
        if checked_out != self._checked_out:
            self._checked_out, self._checked_out_at = checked_out, now
        elif now - self._checked_out_at > CHECKOUT_S:
            self.feedback.edited(edits)

    def note_compressed(self) -> None:
        """Note that a model made documents shorter, which later contexts show."""
        self._bump("compressed")

    def set_trusted(self, trusted: Trusted) -> None:
        """Take over what a person trusts now."""
        if trusted != self.trusted:
            self.trusted = trusted
            self._bump("config")

    def forget_progress(self) -> None:
        """Count the project as unknown until it has been scanned again: other files belong to it now."""
        self.progress = None
        self._warm = self._searchable = False

    def set_activity(self, activity: tuple[Activity, ...]) -> None:
        """Take over what the index knows of edits and commits."""
        self._hot = None
        self._activity = {one.path: one for one in activity}
        self._activity_known = True
        self._wake()

    def read_activity(self) -> tuple[Activity, ...]:
        """Read from the index what it knows of edits and commits; nothing where it is damaged. Blocks."""
        try:
            with self._readers.borrow() as reader:
                return reader.activity(ACTIVITY_MAX)
        except DatabaseError:
            return ()  # a project is ready without its history too, and builds say that the index is damaged

    def read_size(self) -> IndexSize:
        """Return how large the index is; without chunks where it can't be read. Blocks."""
        try:
            with self._readers.borrow() as reader:
                chunks = reader.chunks.count()
        except DatabaseError:
            chunks = 0  # none yet, or a damaged one, which `degraded` tells
        return IndexSize(chunks, folder_bytes(self.folder))

    def set_overlay(self, path: str, text: str | None) -> None:
        """Put an editor's unsaved text in the place of a file, or with None the file itself again."""
        old = self.overlays.pop(path, None)
        if text is not None:
            self.overlays[path] = text
            if len(self.overlays) > OVERLAYS_MAX:
                del self.overlays[next(iter(self.overlays))]
        if old != text:
            self._bump("overlays")

    def note_opened(self, path: str) -> None:
        """Remember that an editor has a file open, the latest last."""
        _remember(self._opened, path)
        self._hot = None

    def note_closed(self, path: str) -> None:
        """Forget that a file is open."""
        self._opened.pop(path, None)
        self._hot = None

    def note_asked(self, paths: tuple[str, ...]) -> None:
        """Count files that somebody focused on."""
        self._asked.update(path.partition("#")[0] for path in paths[:HOT_MAX])
        if len(self._asked) > ASKED_MAX:
            self._asked = Counter(dict(self._asked.most_common(ASKED_MAX // 2)))
        self._hot = None

    def hot_nodes(self) -> tuple[HotNode, ...]:
        """Return the files that are worked on now, the strongest reason first, at most `HOT_MAX`."""
        if self._hot is None:
            self._hot = self._find_hot()
        return self._hot

    def _find_hot(self) -> tuple[HotNode, ...]:
        activity = sorted(self._activity.values(), key=lambda one: one.path)
        edited = [
            *reversed(self._edited),
            *(one.path for one in sorted(activity, key=lambda one: -one.edited_ns) if one.edits),
        ]
        often = [one for one in self._asked.items() if one[1] >= ASKED_OFTEN]  # few of up to `ASKED_MAX`
        asked = [path for path, _ in sorted(often, key=_most_first)]
        changed = [
            one.path for one in sorted(activity, key=lambda one: -one.commits) if one.commits >= CHANGED_OFTEN
        ]
        found: dict[str, HotNode] = {}
        for reason, paths in (
            ("open in an editor", list(reversed(self._opened))),
            ("recently edited", edited),
            ("often asked for", asked),
            ("often changed", changed),
        ):
            taken = 0
            for path in paths:
                if taken < HOT_EACH and path in self.tree.files and path not in found:
                    found[path] = HotNode(path, reason)
                    taken += 1
        return tuple(list(found.values())[:HOT_MAX])

    def set_indexer_problem(self, problem: str) -> None:
        """Take over why the indexer doesn't serve the project, or with "" that it does."""
        self.problems.pop("indexer", None)
        if problem:
            self.problems["indexer"] = problem
        self._wake()

    async def wait_changed(self) -> None:
        """Wait until the indexer said anything about the project, or its end was noticed."""
        await self._changed.wait()

    def close(self) -> None:
        """Close the connections to its index."""
        self._readers.close()
        self._views.close()

    def _forget_contents(self, delta: TreeDelta) -> None:
        """Forget what was kept of contents that files have no more. It would never be asked for again, and
        with each edit of a file another one came to it."""
        now = {record.path: record.digest for record in delta.upserted}
        for path in (*now, *delta.removed):
            former = self.tree.files.get(path)
            if former is not None and former.digest and former.digest != now.get(path):
                DIVISIONS.forget(former.digest)
                KEPT_SYMBOLS.forget(former)
                MASKED_SYMBOLS.forget(former)

    def _drop_saved(self, records: Iterable[FileRecord]) -> None:
        """Let go of unsaved texts of files that were written: by the editor, which saved, or by others since
        it is gone."""
        if not self.overlays:
            return
        for record in records:
            former = self.tree.files.get(record.path)
            if record.path in self.overlays and former is not None and former.stamp != record.stamp:
                self.set_overlay(record.path, None)

    def _relevant_experiences(
        self,
        policy: Policy,
        focus: set[str],
        neighbours: set[str],
        words: set[str],
        limit: int,
        meaning: Mapping[str, float],
    ) -> tuple[Chosen, ...]:
        """Choose from those that are near by files and words, and those that are near in meaning."""
        if not limit:
            return ()
        self.pool.refresh()
        near = self.pool.relevant(focus, neighbours, words, limit + EXPERIENCES_WEIGHED)
        known = {one.id for one in near}
        also = (one for one in self.pool.some(meaning) if one.id not in known)
        candidates = visible_experiences(policy, (*near, *also), self.root)
        return choose(
            candidates, focus, neighbours, words, limit, meaning=meaning, staleness=self.sketches.staleness
        )

    def _hear_damage(self, problem: str) -> None:
        """Pass on what a reader met. From any thread."""
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody is left to be told
            self._loop.call_soon_threadsafe(lambda: self.on_damage(problem))

    def _bump(self, version: str) -> None:
        self._versions[version] += 1

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


def read_tree(root: str, folder: str) -> tuple[Tree | None, tuple[Activity, ...]]:
    """Read a project's tree from its index; None where there is none that can be read."""
    try:
        reader = Reader(folder, sealed=True)
    except DatabaseError:
        return None, ()  # none yet, or a damaged one that the indexer will quarantine and say so
    try:
        with damage_raised(), reader.snapshot() as generation:
            return Tree(root, generation, reader.load_files()), reader.activity(ACTIVITY_MAX)
    except DatabaseError:
        return None, ()
    finally:
        reader.close()


def folder_bytes(folder: str) -> int:
    """Return the size of all files below a folder in bytes; what vanishes meanwhile counts nothing."""
    total = 0
    for base, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(base, name)).st_size
    return total


def _remember(paths: dict[str, None], path: str) -> None:
    """Put a path last, and forget the first ones of too many."""
    paths.pop(path, None)
    paths[path] = None
    while len(paths) > REMEMBERED_MAX:
        del paths[next(iter(paths))]


def _most_first(pair: tuple[str, int]) -> tuple[int, str]:
    """Order by the power of two of the count: files asked for in turns must not swap places each time."""
    return -pair[1].bit_length(), pair[0]
