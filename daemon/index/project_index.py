"""The index of one project in the indexer process: its parts and its background work.

The background work is done in short steps, so that requests and edits are served first.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial

from ..core.system import System
from ..languages.shared.parse import PARSER_VERSION
from ..linking.records import LINKER_VERSION
from ..project.records import ALWAYS_SKIPPED_FOLDERS, FileRecord, RootGone, ScanSettings
from ..project.service import Scanner, Watcher, git
from .chunks import CHUNKER_VERSION
from .crash_guard import Alarm, CrashGuard
from .indexed_files import ImportTargets, IndexedFiles, Progress
from .lexical_indexer import LexicalIndexer
from .link_ahead import LinkAhead, LinkOpening
from .linking import VERSION_KEY as LINKS_KEY
from .linking import Linking, LinkNeeds
from .message_table import Messages
from .messages import ActivityTaken, Event, OpenProject
from .raw_search import RawSearch
from .reading import FileReader
from .reading_queue import Readers, ReadingQueue, ReadResults, count_for
from .seed import seed_index
from .side_process import StartSideProcess
from .store import FILE_NAME, Store
from .tree_changes import ProjectWatch, TreeChanges

log = logging.getLogger(__name__)

STEP_S = 0.04
"""Maximum seconds of one step of bulk work. Requests and edits are served between steps, and this is less
than half of the 100 ms that may pass at the median until a saved edit is visible."""

HISTORY_COMMITS = 3_000
"""Number of the latest commits whose messages are kept: with 500 of them the order of files gained .015
NDCG@10 on commits of 32 code bases, with 1,000 .022, with 3,000 .029. git lists them in .1 to .3 s."""

MESSAGES_A_STEP = 200
"""Number of messages read in one step of bulk work: 20 ms."""

HISTORY_KEY = "history"
"""The store's key for the commit whose history it holds."""

COUNTED_COMMITS = 500
"""Number of the latest commits whose changes count as work on a file."""

CONTENT_VERSION = f"{PARSER_VERSION}.{CHUNKER_VERSION}.2"
"""The version of the way in which contents are read; an index with another version is read again. linking.py
stores the linker's version, because links can be made again without reading."""

VERSION_KEY = "parser"
"""The store's key for the `CONTENT_VERSION` that its contents were read with."""

READING_AGAIN = "reading again"
"""The value of `VERSION_KEY` while all contents are read again. If the process ends meanwhile, the next one
continues."""

SWEEP_REST = 1_000
"""Pause between two sweeps (comparisons of the whole tree with the disk) as a multiple of the time that a
sweep takes, so that sweeps use 0.1 % of a core. A sweep takes 0.1 s for 3,000 files, about 5 s for
100,000."""

SWEEP_REST_MAX_S = 600.0
"""Maximum seconds between two sweeps: a change whose event was lost is found within this time."""


class BulkWork:
    """The background work of one project, on the indexer's working thread; it begins by opening the index.

    Methods raise `DatabaseError` if the store fails.
    """

    def __init__(self, index: ProjectIndex) -> None:
        self._index = index
        self._files = index.files
        self._changes = index.changes
        self._progress = index.progress
        self._system = index.system
        self._steps: Iterator[None] | None = self._open()
        """The current work, a generator that yields after each step."""
        self._next_sweep = 0.0

    def patience(self) -> float | None:
        """Return the seconds until `step` has something to do; 0 while work is in progress."""
        if self._steps is not None:
            return 0.0
        sweep = max(0.0, self._next_sweep - self._system.monotonic())
        words = self._index.lexical_indexer.patience()
        return sweep if words is None else min(sweep, words)

    def step(self) -> None:
        """Do one step of the current work, or begin the periodic sweep when it is due."""
        if self._steps is None:
            if self._index.lexical_indexer.patience() == 0.0:
                self.read_later()  # writes recent saves into the lexical index
            elif self._system.monotonic() >= self._next_sweep:
                self._steps = self._sweep()
            return
        try:
            next(self._steps)
        except StopIteration:
            self._steps = None
        except RootGone as error:
            self.lose_root(error)

    def begin_again(self) -> None:
        """Start again with opening the index, as if for the first time."""
        self._steps = self._open()
        self._progress.become("scanning")

    def read_again(self) -> None:
        """Make `begin_again` read all contents again, also those of files that killed a process."""
        self._index.suspects.forget()
        self._index.store.set_meta(VERSION_KEY, READING_AGAIN)

    def begin(self) -> None:
        """Begin to read and link the waiting files, if no other work is in progress."""
        waits = self._progress.state == "indexing" or self._files.unread or self._index.linking.waiting()
        if self._rests and (waits or self._changes.sweep_due):
            self._progress.state = "indexing"
            self._steps = self._read()

    def read_later(self) -> None:
        """Link for one step, leave the rest and the unread files to later steps, and report progress."""
        self.link(STEP_S)
        self.begin()
        with self._index.suspects.work():
            lexing = self._rests and self._index.lexical_indexer.saved(STEP_S)
        if lexing:
            self._progress.state = "indexing"
            self._steps = self._read()
        polled = self._system.monotonic() + self._index.command.poll_interval_ms / 1000
        if self._index.watch.active and not self._index.watch.native:
            self._next_sweep = min(self._next_sweep, polled)  # events have just ended
        self._progress.report()

    def link(self, seconds: float) -> bool:
        """Link waiting files for up to `seconds`; return whether some still wait.

        While contents are unread nothing is linked, because it would have to be linked again.
        """
        return bool(self._files.unread) or self._link(partial(self._index.linking.step, seconds))

    def link_first(self, file_ids: Collection[int], seconds: float) -> bool:
        """Link those of the given files that wait for up to `seconds`; return whether some still wait.

        They are linked again when unread files that they depend on have been read.
        """
        return self._link(partial(self._index.linking.link_first, file_ids, seconds))

    def lose_root(self, error: RootGone) -> None:
        """Keep the index and wait until the project's root exists again."""
        self._progress.reasons["root"] = str(error)
        self._steps = None
        self._progress.count_again()
        self._index.reading.rest()
        self._index.linking.rest()
        self._index.watch.end()
        self._progress.become("degraded")
        self._schedule_sweep()

    def link_needs(self, file_ids: Iterable[int], names: Collection[str]) -> dict[int, LinkNeeds]:
        """Return what the links that concern `names` need, by file id, for the first of the given files."""
        with self._index.suspects.work():
            return self._index.linking.needs(file_ids, names, STEP_S)

    def _link(self, step: Callable[[], tuple[bool, bool]]) -> bool:
        with self._index.suspects.work():
            changed, more = step()
        if changed:
            self._files.announce()
        return more

    @property
    def _rests(self) -> bool:
        """Whether no work is in progress. Without its root a project only waits for the root."""
        return self._steps is None and self._progress.state != "degraded"

    # The kinds of work: generators that yield between steps.

    def _open(self) -> Iterator[None]:
        """Bring the index up to date with the disk, begin to watch, and read new contents."""
        self._progress.become("scanning")
        version = content_version(self._index.command)
        store = self._index.store
        if not self._files.known:
            store.set_meta(VERSION_KEY, version)
        elif (before := store.get_meta(VERSION_KEY)) != version:
            if before != READING_AGAIN:
                self.read_again()
            self._files.queue_all()
        if self._files.known:
            yield from self._changes.sweep_in_steps()
        else:
            yield from self._changes.list_all()
        self._progress.reasons.pop("root", None)
        self._files.queue_unread()
        yield
        self._changes.begin_watch()
        # This finds changes made between the listing of a folder and the start of its watch.
        yield from self._changes.sweep_in_steps()
        self._progress.become("indexing")
        yield from self._index.reading.confirm()
        yield from self._read()
        # Stored only now, so that after a killed process the next one reads the rest.
        store.set_meta(VERSION_KEY, version)
        yield from self._take_history()
        store.relax()
        self._index.announce(ActivityTaken(self._index.command.root))
        self._schedule_sweep()

    def _read(self) -> Iterator[None]:
        """Read, write into the lexical index and link the waiting files, until none waits."""
        index = self._index
        lexing = linking = True
        much = index.reading.is_long
        while self._files.unread or lexing or linking or self._changes.sweep_due:
            if self._changes.sweep_due:
                yield from self._changes.sweep_in_steps()
            if self._files.unread:
                index.reading.step(STEP_S)
            else:
                index.reading.rest()
            with index.suspects.work():
                lexing = index.lexical_indexer.step(STEP_S, more=bool(self._files.unread))
            self._progress.words = not lexing
            linking = self.link(STEP_S)
            self._progress.report()
            yield
        index.reading.rest()  # the last look may have left nothing to read
        index.suspects.absolve()
        if much:
            index.store.relax()
        self._progress.become("ready")

    def _sweep(self) -> Iterator[None]:
        """Sweep for changes without an event; if the root is missing, check whether it is back."""
        self._schedule_sweep()
        if self._progress.state == "degraded":
            if not os.path.isdir(self._index.command.root):
                return
            yield from self._open()
            return
        yield from self._changes.sweep_in_steps()
        self._schedule_sweep(self._changes.sweep_s)
        if self._files.unread:
            self._progress.become("indexing")
        self._index.lexical_indexer.tidy()
        yield
        yield from self._read()

    def _schedule_sweep(self, took: float = 0.0) -> None:
        """Set the time of the next sweep by the seconds that the last sweep took."""
        command = self._index.command
        if self._index.watch.native and self._progress.state != "degraded":
            seconds = max(command.sweep_interval_s, min(SWEEP_REST * took, SWEEP_REST_MAX_S))
        else:
            seconds = command.poll_interval_ms / 1000
        self._next_sweep = self._system.monotonic() + seconds

    def _take_history(self) -> Iterator[None]:
        """Note which files git's latest commits changed, how often, and with which messages; none outside of
        git."""
        root, store = self._index.command.root, self._index.store
        if not git.is_repository(root):
            return
        head = git.head(root, self._system)
        if head is not None and store.get_meta(HISTORY_KEY) == head.commit:
            return
        try:
            commits = git.history(root, HISTORY_COMMITS)
        except git.GitError as error:
            log.info("the history of %s can't be read: %s", root, error)
            return
        messages = Messages(self._files.known)
        for place, commit in enumerate(commits):
            messages.add(commit.message, commit.paths)
            if place % MESSAGES_A_STEP == 0:
                yield
        self._files.note_commits(git.change_counts(commits[:COUNTED_COMMITS]), messages)
        if head is not None:
            store.set_meta(HISTORY_KEY, head.commit)


def content_version(command: OpenProject) -> str:
    """Return `CONTENT_VERSION` with the patterns of secret files to index; after a change of either, all
    contents are read again."""
    return " ".join((CONTENT_VERSION, *command.show_files))


class ProjectIndex:
    """The parts of one project's index, for the indexer's working thread.

    Parameters are as with `ProjectIndexer`; `on_batch` is called from the watcher's thread. Raises
    `DatabaseError` if the store can't be opened, and `OSError`.
    """

    def __init__(
        self,
        command: OpenProject,
        system: System,
        announce: Callable[[Event], None],
        on_batch: Callable[[], None],
        alarm: Alarm | None,
        make_watcher: Callable[..., Watcher],
        start_side_process: StartSideProcess | None,
    ) -> None:
        root, folder, max_bytes = command.root, command.folder, command.max_file_bytes
        self.command = command
        self.system = system
        self.announce = announce
        if not os.path.lexists(os.path.join(folder, FILE_NAME)):
            versions = {VERSION_KEY: content_version(command), LINKS_KEY: str(LINKER_VERSION)}
            seed_index(root, folder, versions, system)
        self.store = Store(folder, system, command.distrusted)
        known = self.store.take_files()
        unread: dict[str, FileRecord | None] = {}
        self.suspects = CrashGuard(folder, self.store, known, alarm)
        self.lexical_indexer = LexicalIndexer(folder, self.store, system, self.suspects.begin)
        targets = ImportTargets(root, max_bytes, known.keys(), self.store, system)
        opening = LinkOpening(root, folder, max_bytes)
        self.linking = Linking(
            self.store,
            targets.resolver,
            known,
            system,
            begin=self.suspects.begin,
            blame=self.suspects.blame,
            ahead=None if start_side_process is None else LinkAhead(start_side_process, opening),
        )
        self.watch = ProjectWatch(folder, on_batch, make_watcher)
        scanner = Scanner(root, system, _settings(command))
        self.progress = Progress(
            root,
            announce,
            known=known,
            unread=unread,
            scanner=scanner,
            watch=self.watch,
            linking=self.linking,
            parts=(self.suspects, self.lexical_indexer, self.linking),
        )
        self.files = IndexedFiles(
            root,
            announce,
            known=known,
            unread=unread,
            store=self.store,
            suspects=self.suspects,
            targets=targets,
            linking=self.linking,
            progress=self.progress,
        )
        self.changes = TreeChanges(root, system, scanner, self.watch, self.files, self.progress)
        self.reading = ReadingQueue(
            self.files,
            FileReader(root, max_bytes, system),
            ReadResults(command.show_files, self.suspects, targets),
            self.suspects,
            system,
            None
            if start_side_process is None
            else lambda files: Readers(start_side_process, root, max_bytes, count_for(files)),
        )
        if self.store.replaced:
            self.progress.reasons["index"] = self.store.replaced

    def search(self, paths: Iterable[str], names: Collection[str], words: Collection[str]) -> RawSearch:
        """Return a search of the bytes of files."""
        command = self.command
        return RawSearch(command.root, paths, command.max_file_bytes, self.system, names, words)

    def close(self) -> None:
        """Stop watching and close the index."""
        self.watch.close()
        self.lexical_indexer.close()
        self.reading.rest()
        self.linking.rest()
        self.suspects.close()
        self.store.close()


def _settings(command: OpenProject) -> ScanSettings:
    return ScanSettings(
        max_file_bytes=command.max_file_bytes,
        exclude=command.exclude,
        skip_folders=ALWAYS_SKIPPED_FOLDERS | frozenset(command.skip_folders_extra),
    )
