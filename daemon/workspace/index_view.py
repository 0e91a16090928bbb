"""The index of a project as the daemon sees it: pooled read connections, to all of it or to the part that an
agent may see; the indexer's last report; and the frozen snapshot that a request reads.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ..config.settings import ProjectConfig
from ..core.errors import FovealError
from ..core.storage import DatabaseError, OtherVersion, damage_raised, may_pass
from ..core.system import System
from ..index.records import FileActivity, ProjectProgress
from ..index.service import LexicalHandle, Reader
from ..memory.records import Chosen
from ..privacy.policy import NO_POLICY, Policy, folded_path
from ..project.records import ProjectState
from ..project.service import Tree
from ..rules.records import RuleSet
from .hot_files import HOT_MAX

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

ACTIVITY_MAX = 10 * HOT_MAX
"""Maximum number of files of each measure read from the index; some may be gone or in focus."""

VIEWS_MAX = 8
"""Maximum number of cached views of a project, by denied paths; each has a copy of the tree's dictionary
(10 MB for 100,000 files) and up to four connections."""


class IndexSize(Struct, frozen=True):
    """The number of chunks in an index, and the bytes of the index and of everything derived from it."""

    chunks: int
    bytes: int


class IndexView:
    """The readers of one project's index: of all of it, and of the part that a policy allows. Thread-safe.

    `on_damage` is called, from any thread, with the reason why the index can't be read.
    """

    def __init__(self, folder: str, on_damage: Callable[[str], None] = lambda _: None) -> None:
        self.lexical = LexicalHandle(folder)
        self._folder = folder
        self._on_damage = on_damage
        self._readers = ReaderPool(folder, on_damage=on_damage)
        self._parts: OrderedDict[tuple[str, ...], _PartialView] = OrderedDict()
        self._lock = threading.Lock()

    def tree(self, tree: Tree, policy: Policy) -> Tree:
        """Return a tree without the files that a policy denies.

        All names are compared with the patterns once; later only new names are compared.
        """
        return self._part(policy).of(tree) if policy.deny_paths else tree

    def reader(self, policy: Policy) -> Callable[[], AbstractContextManager[Reader]]:
        """Return a function that lends a reader of the index without the files that a policy denies."""
        return self._part(policy).readers.borrow if policy.deny_paths else self._readers.borrow

    def is_ready(self, tree: Tree, policy: Policy) -> bool:
        """Whether `tree` returns at once, because the names were already compared with the patterns."""
        part = self._parts.get(policy.deny_paths)
        return not policy.deny_paths or (part is not None and part.names == tree.names_generation)

    def prepare(self, tree: Tree, policy: Policy) -> None:
        """Compare all names with a policy and cache the result. Blocks: 100,000 names take some 100 ms."""
        _ = self.tree(tree, policy).layout

    def read_activity(self) -> tuple[FileActivity, ...]:
        """Read the edits and commits that the index has counted; empty if it is damaged. Blocks."""
        try:
            with self._readers.borrow() as reader:
                return reader.activity(ACTIVITY_MAX)
        except DatabaseError:
            return ()  # a project is ready without its history too, and builds say that the index is damaged

    def read_size(self) -> IndexSize:
        """Return the size of the index, with 0 chunks if it can't be read. Blocks."""
        try:
            with self._readers.borrow() as reader:
                chunks = reader.chunks.count()
        except DatabaseError:
            chunks = 0  # none yet, or a damaged one, which `degraded` tells
        return IndexSize(chunks, _folder_bytes(self._folder))

    def renew(self) -> None:
        """Reopen the index for later readers, since the file may have been replaced."""
        self._readers.renew()
        for part in list(self._parts.values()):
            part.readers.renew()

    def close(self) -> None:
        """Close all connections."""
        self._readers.close()
        for part in self._parts.values():
            part.readers.close()
        self._parts.clear()

    def _part(self, policy: Policy) -> _PartialView:
        with self._lock:
            part = self._parts.get(policy.deny_paths)
            if part is None:
                part = self._parts[policy.deny_paths] = _PartialView(self._folder, policy, self._on_damage)
            self._parts.move_to_end(policy.deny_paths)
            while len(self._parts) > VIEWS_MAX:
                self._parts.popitem(last=False)[1].readers.close()
            return part


class _PartialView:
    """The view without one set of denied paths. `names` is the generation of names that was judged last."""

    def __init__(self, folder: str, policy: Policy, on_damage: Callable[[str], None]) -> None:
        self._by_rule = Policy(deny_paths=policy.deny_paths).denies
        patterns = "\0".join(map(folded_path, policy.deny_paths)).encode("utf-8", "replace")
        key = hashlib.blake2b(patterns, digest_size=16).hexdigest()
        self.readers = ReaderPool(folder, partial(PartialReader, denies=self._denies, key=key), on_damage)
        self.names = -1
        self._hidden: frozenset[str] = frozenset()
        self._verdicts: dict[str, bool] = {}
        self._lock = threading.Lock()
        self._whole: Tree | None = None
        self._part: Tree | None = None

    def of(self, tree: Tree) -> Tree:
        """Return a tree without its hidden files."""
        with self._lock:
            if self._part is None or self._whole is not tree:
                if self.names != tree.names_generation or self._whole is None:
                    self._judge(tree)
                self._part = tree.without(self._hidden, self._part)
                self._whole = tree
            return self._part

    def _denies(self, path: str) -> bool:
        verdict = self._verdicts.get(path)
        return self._by_rule(path) if verdict is None else verdict

    def _judge(self, tree: Tree) -> None:
        """Compare new names with the patterns, and forget removed ones."""
        known, denies = self._verdicts, self._by_rule
        self._verdicts = {
            path: verdict if (verdict := known.get(path)) is not None else denies(path) for path in tree.files
        }
        self._hidden = frozenset(path for path, denied in self._verdicts.items() if denied)
        self.names = tree.names_generation


def read_tree(root: str, folder: str) -> tuple[Tree | None, tuple[FileActivity, ...]]:
    """Read a project's tree and activity from its index; the tree is None without a readable index."""
    try:
        reader = Reader(folder)
    except DatabaseError:
        return None, ()  # none yet, or a damaged one that the indexer will quarantine and say so
    try:
        with damage_raised(), reader.snapshot() as generation:
            return Tree(root, generation, reader.load_files()), reader.activity(ACTIVITY_MAX)
    except DatabaseError:
        return None, ()
    finally:
        reader.close()


def _folder_bytes(folder: str) -> int:
    """Return the bytes of all files below a folder; files that vanish meanwhile aren't counted."""
    total = 0
    for base, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(base, name)).st_size
    return total


READERS_MAX = 4
"""Maximum number of idle connections: as many as there are concurrent builds."""

CHECKED_S = 60.0
"""Seconds for which an index that was found intact isn't checked again after an error."""


class ReaderPool:
    """Connections to an index, lent to one thread at a time and kept for the next.

    `on_damage` is called, from any thread, for errors that can't pass by themselves.
    """

    def __init__(
        self,
        folder: str,
        make: Callable[[str], Reader] = Reader,
        on_damage: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._folder = folder
        self._make = make
        self._on_damage = on_damage
        self._lock = threading.Lock()
        self._idle: list[Reader] = []
        self._lives = 0
        self._closed = False
        self._whole_until = 0.0

    @contextlib.contextmanager
    def borrow(self) -> Iterator[Reader]:
        """Lend a reader. Raises `DatabaseError` if there is no index yet, or a damaged one.

        A damaged value may raise any error while it is read. Then the whole file is checked, and the error
        becomes `DatabaseError` if the file is damaged.
        """
        with self._lock:
            reader, lives = self._idle.pop() if self._idle else None, self._lives
        try:
            reader = reader or self._make(self._folder)
            yield reader
        except DatabaseError as error:
            self._let_go(reader)
            self._note(error)
            raise
        except Exception as error:
            self._let_go(reader)
            if reader is not None and not isinstance(error, FovealError) and not may_pass(error):
                self._check(reader, error)
            raise
        except BaseException:
            self._let_go(reader)
            raise
        with self._lock:
            if len(self._idle) < READERS_MAX and lives == self._lives and not self._closed:
                self._idle.append(reader)
                return
        reader.close()

    def renew(self) -> None:
        """Close idle readers now and lent ones when they are returned; later readers reopen the index."""
        with self._lock:
            self._lives += 1
            idle, self._idle = self._idle, []
        for reader in idle:
            reader.close()

    def close(self) -> None:
        """Close idle readers now, and lent ones when they are returned."""
        self._closed = True
        self.renew()

    def _let_go(self, reader: Reader | None) -> None:
        if reader is not None:
            reader.close()

    def _note(self, error: DatabaseError) -> None:
        # An index of another version isn't damage: the indexer replaces it.
        if not self._closed and not may_pass(error) and not isinstance(error, OtherVersion):
            self._on_damage(str(error))

    def _check(self, reader: Reader, error: Exception) -> None:
        """Raise `DatabaseError` if an error was caused by a damaged index."""
        now = time.monotonic()
        if now < self._whole_until:
            return
        try:
            reader.check()
        except DatabaseError as damage:
            self._note(damage)
            raise DatabaseError(str(damage)) from error
        self._whole_until = now + CHECKED_S


class PartialReader(Reader):
    """A reader without the files whose paths `denies` returns True for.

    `key` distinguishes readers of different parts, so that caches don't mix them. Each snapshot first calls
    `denies` for the files added since the last one; the first snapshot of a connection calls it for all.
    """

    def __init__(self, folder: str, denies: Callable[[str], bool], key: str) -> None:
        super().__init__(folder)
        self.path = f"{self.path}?{key}"
        self._denies = denies
        self._last = 0
        self._db.executescript(f"PRAGMA query_only = OFF; PRAGMA temp_store = MEMORY; {_VIEWS}")

    @contextmanager
    def snapshot(self) -> Iterator[int]:
        """Make all reads inside see one state, without its hidden files; yields its generation."""
        with super().snapshot() as generation:
            self._hide_new_files()
            yield generation

    def _hide_new_files(self) -> None:
        """Hide denied files added since the last snapshot; a file that was removed and added has a new id."""
        rows = self._db.execute("SELECT id, path FROM main.files WHERE id > ?", (self._last,)).fetchall()
        hidden = [(number, path) for number, path in rows if self._denies(path)]
        self._db.executemany("INSERT OR IGNORE INTO temp.hidden VALUES (?, ?)", hidden)
        self._last = max((number for number, _ in rows), default=self._last)


_SHOWN = "file_id NOT IN (SELECT id FROM temp.hidden)"
_VIEWS = f"""
CREATE TEMP TABLE hidden (id INTEGER PRIMARY KEY, path TEXT NOT NULL);
CREATE INDEX temp.hidden_by_path ON hidden (path);
CREATE TEMP VIEW files AS SELECT * FROM main.files WHERE id NOT IN (SELECT id FROM temp.hidden);
CREATE TEMP VIEW definitions AS SELECT * FROM main.definitions WHERE {_SHOWN};
CREATE TEMP VIEW chunks AS SELECT * FROM main.chunks WHERE {_SHOWN};
CREATE TEMP VIEW texts AS SELECT * FROM main.texts WHERE {_SHOWN};
CREATE TEMP VIEW unlinked AS SELECT * FROM main.unlinked WHERE {_SHOWN};
CREATE TEMP VIEW imports AS SELECT * FROM main.imports
    WHERE {_SHOWN} AND target NOT IN (SELECT path FROM temp.hidden);
CREATE TEMP VIEW links AS SELECT * FROM main.links WHERE {_SHOWN} AND (target <= 0 OR NOT EXISTS (
    SELECT 1 FROM main.definitions d WHERE d.id = target AND d.file_id IN (SELECT id FROM temp.hidden)));
CREATE TEMP VIEW activity AS SELECT * FROM main.activity
    WHERE path NOT IN (SELECT path FROM temp.hidden);
"""  # noqa: S608 - fixed text


class IndexState:
    """The indexer's last report of one project, and a way to wait for the next. On the event loop only."""

    def __init__(self, tree: Tree) -> None:
        self.progress: ProjectProgress | None = None
        self.indexer_problem = ""
        """Why the indexer doesn't serve the project."""
        self.damage = ""
        """Why the index is being checked and rebuilt, or ""."""
        self.lock = asyncio.Lock()
        """Held while the indexer opens the project."""
        self.opened_at = asyncio.get_running_loop().time()
        """On the event loop's clock, in seconds."""
        self._warm = bool(tree.files)
        self._searchable = self._warm and not tree.pending
        self._activity_known = self._warm
        self._changed = asyncio.Event()

    @property
    def state(self) -> ProjectState:
        """The progress of indexing. A known project serves while it is compared with the disk."""
        if self.progress is None or (self.indexer_problem and self.progress.state == "ready"):
            return "scanning"  # without an indexer, changes aren't noticed
        # Without the history the hot files aren't known, so a context would change a moment later.
        if self.progress.state == "ready" and not self._activity_known:
            return "indexing"
        return self.progress.state

    @property
    def named(self) -> bool:
        """Whether all names are known, from this scan or from an earlier one."""
        return self.state != "scanning" or self._warm

    @property
    def searchable(self) -> bool:
        """Whether all files were searchable by words at some time since the index was made.

        Also True if no more files will be read, because the root or the indexer is missing.
        """
        return self._searchable or self.state == "degraded"

    @property
    def problems(self) -> tuple[str, ...]:
        """Return the problems of the index that the daemon found, in words."""
        return tuple(filter(None, (self.indexer_problem, self.damage)))

    @property
    def degraded(self) -> tuple[str, ...]:
        """Return the problems that the indexer reports, in words."""
        return () if self.progress is None else self.progress.degraded

    def unread(self, tree: Tree) -> str:
        """Return which part of the project isn't indexed yet, for the gaps of an answer; "" if none."""
        count = len(tree.files)
        if self.state == "scanning" and not self._warm:
            return f"the project is still being scanned: {count:,} files are known so far"
        if tree.pending:
            unread = f"{tree.pending:,} of {count:,} files are not indexed yet"
            return f"{unread}: their definitions and imports are not known"
        if not self.searchable:
            return "the words of the files read last are not indexed yet: a prompt may find too little"
        return ""

    def unsettled(self, tree: Tree, policy: Policy = NO_POLICY) -> str:
        """Return why an answer from the index may be incomplete, in words for an agent; "" if it isn't."""
        state = "scanning" if self.progress is None else self.progress.state
        if state == "ready" and self._searchable and not tree.pending:
            return ""  # the usual case for a cached answer
        unread = self.unread(tree)
        if not unread and state not in {"scanning", "indexing"}:
            return ""
        if policy.deny_paths:
            return "the project is not fully indexed yet"  # not every agent may know the number of files
        if unread:
            return unread
        if state == "scanning":
            return "the project is being compared with the disk: what changed lately may be missing"
        return "what changed lately is still being indexed and may be missing"

    def set_progress(self, progress: ProjectProgress) -> None:
        """Replace what the indexer reports."""
        self.progress = progress
        self._warm |= progress.state != "scanning"
        self._searchable |= progress.words
        self.wake()

    def expect_scan(self) -> None:
        """Treat the project as not yet compared with the disk: earlier reports are from a former opening."""
        if self.progress is not None:
            self.set_progress(replace(self.progress, state="scanning", watch="off"))

    def forget(self) -> None:
        """Treat the project as unknown until it is scanned again, because other files belong to it now."""
        self.progress = None
        self._warm = self._searchable = False

    def note_activity(self) -> None:
        """Note that the history of edits and commits is known."""
        self._activity_known = True
        self.wake()

    def set_indexer_problem(self, problem: str) -> None:
        """Set why the indexer doesn't serve the project; "" means that it does."""
        self.indexer_problem = problem
        self.wake()

    def wake(self) -> None:
        """Wake all tasks that wait for a change."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def wait_changed(self) -> None:
        """Wait until the indexer reports anything about the project, or its end is noticed."""
        await self._changed.wait()


class ProjectSnapshot(Struct, frozen=True):
    """The state of one project at one moment.

    `reader` lends a connection to the index for one thread; it raises `DatabaseError` if there is no index
    yet. `lexical` is the lexical index. `relevant_experiences(focus, neighbours, words, limit, meaning)`
    chooses from the pool (see `choose`). `overlays` maps relative paths to unsaved texts. `degraded` are the
    problems of the whole project.

    `policy` is that of the agent: the other fields hold nothing that it denies, and code that reads files
    must ask it.
    """

    tree: Tree
    rules: RuleSet
    config: ProjectConfig
    overlays: Mapping[str, str]
    degraded: tuple[str, ...]
    reader: Callable[[], AbstractContextManager[Reader]]
    lexical: LexicalHandle
    relevant_experiences: Callable[
        [set[str], set[str], set[str], int, Mapping[str, float]], tuple[Chosen, ...]
    ]
    system: System
    policy: Policy = NO_POLICY


def read_together(
    snapshots: Mapping[K, ProjectSnapshot], read: Callable[[Mapping[K, Reader], Mapping[K, str]], T]
) -> T:
    """Return what `read` makes of the readers of several projects, and of why other indexes can't be read.

    An error while several indexes are read doesn't say which one is damaged. So each is then checked alone,
    which takes seconds for a large one, and `read` is called again without those that are; if none seems so,
    with the first alone. Raises an error of the only one that is left. Blocks.
    """
    unread: dict[K, str] = {}
    while True:
        with ExitStack() as stack:
            readers: dict[K, Reader] = {}
            for key, snapshot in snapshots.items():
                if key not in unread:
                    try:
                        readers[key] = _entered(stack, snapshot)
                    except DatabaseError as error:
                        unread[key] = str(error)
            try:
                return read(readers, unread)
            except Exception as error:
                if isinstance(error, FovealError) or may_pass(error):
                    raise
                failed = error
        if len(readers) == 1:
            with snapshots[next(iter(readers))].reader():
                raise failed
        damaged = {key: why for key in readers if (why := _damage_of(snapshots[key]))}
        if not readers or (not damaged and not isinstance(failed, DatabaseError)):
            raise failed
        unread |= damaged or dict.fromkeys(list(readers)[1:], str(failed))  # the first is read alone


def _entered(stack: ExitStack, snapshot: ProjectSnapshot) -> Reader:
    """Lend a reader until the stack ends. No error passes from it to another reader's pool, which would take
    it for its own."""
    with ExitStack() as entering:
        reader = entering.enter_context(snapshot.reader())
        entering.enter_context(reader.snapshot())
        stack.callback(_end, entering.pop_all())
    return reader


def _end(reading: ExitStack) -> None:
    with contextlib.suppress(DatabaseError):  # the end of a transaction may find damage too
        reading.close()


class _Suspected(Exception):
    """Something couldn't be read, perhaps from this index."""


def _damage_of(snapshot: ProjectSnapshot) -> str:
    """Return why an index can't be read, "" for an intact one; its pool checks it and notes the damage."""
    try:
        with snapshot.reader():
            raise _Suspected
    except _Suspected:
        return ""
    except DatabaseError as error:
        return str(error)
