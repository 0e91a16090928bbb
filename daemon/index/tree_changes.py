"""Finds the changes of one project's tree with the scanner and the watcher, and gives them to the index."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence

from ..core.system import RACY_NS, System
from ..project.records import ListingNeeded, ScanChanges, WatchBatch, WatchMode
from ..project.service import Scanner, Watcher
from .indexed_files import IndexedFiles, Progress
from .messages import EDITS_MAX

TOUCHED_MAX = 1_000
"""Maximum number of reported paths that are examined one by one; for more the whole tree is swept (compared
with the disk)."""

SYNC_SWEEPS = 4
"""Maximum number of sweeps in a row while the tree keeps changing; after them the caller is told so."""

SWEPT_NOW = 10_000
"""Maximum number of files in a tree that is swept in one step of about 50 ms, so that the removal and the
addition of a moved file are one commit; a larger tree takes many steps."""

PENDING_PATHS = 4_000
"""Maximum number of changed paths that wait to be processed; more are replaced by one overflow, because a
sweep takes less time than examining each path."""


class TreeChanges:
    """The changes of one project's tree, on the indexer's working thread.

    Added and changed files become unread. Methods raise `RootGone` if the root can't be listed, and
    `DatabaseError` if the store fails.
    """

    def __init__(
        self,
        root: str,
        system: System,
        scanner: Scanner,
        watch: ProjectWatch,
        files: IndexedFiles,
        progress: Progress,
    ) -> None:
        self._root = root
        self._system = system
        self._scanner = scanner
        self._watch = watch
        self._files = files
        self._progress = progress
        self.sweep_due = False
        """Whether `sweep_in_steps` must be called to compare the tree with the disk."""
        self.sweep_s = 0.0
        """Working time of the last sweep in steps, in seconds."""
        self.is_named = True
        """Whether the names of all files are known: false during the first listing."""

    @property
    def is_listing(self) -> bool:
        """Whether the whole tree is being listed; the watcher's events wait until that is done."""
        return self._scanner.is_listing

    def list_all(self) -> Iterator[None]:
        """List all files and record their names, in steps."""
        self.is_named = False
        for batch in self._scanner.full():
            self._apply(ScanChanges(upserted=tuple(batch)))
            yield
        self.is_named = True

    def begin_watch(self) -> None:
        """Begin to watch the folders that the last listing or sweep found."""
        self.is_named = True
        self._watch.end()
        self._watch.begin(self._scanner.watch_folders)

    def sweep(self) -> ScanChanges:
        """Compare the whole tree with the known files; sets `sweep_due` if that can't be done now."""
        return self._compare(lambda: self._scanner.sweep(self._files.known))

    def sweep_in_steps(self) -> Generator[None, None, bool]:
        """Compare the whole tree with the known files, a large tree in several steps; return whether this
        found changes."""
        self.sweep_due, self.sweep_s = False, 0.0
        started = self._system.monotonic()
        if len(self._files.known) <= SWEPT_NOW and not self.is_listing:
            changes = self.sweep()
            self.sweep_s = self._system.monotonic() - started
            if not self.sweep_due:
                return bool(changes)
            self.sweep_due = False
            yield
            started = self._system.monotonic()
        found = False
        for changes in self._scanner.sweep_in_steps(self._files.known):
            found |= bool(changes)
            self._apply(changes)
            self.sweep_s += self._system.monotonic() - started
            yield
            started = self._system.monotonic()
        return found

    def sweep_until_quiet(self) -> Generator[None, None, tuple[list[str], bool]]:
        """Sweep repeatedly, once per step, until nothing changes; return the changed files, and whether the
        tree came to rest.

        A sweep that finds nothing, in folders that weren't changed just before, proves that the tree is
        known.
        """
        changed: dict[str, None] = {}
        for _ in range(SYNC_SWEEPS):
            if len(self._files.known) <= SWEPT_NOW and not self.sweep_due:
                changes = self.sweep()
                changed.update((record.path, None) for record in changes.upserted)
                found = bool(changes)
            else:
                found = yield from self.sweep_in_steps()
            restless = self._scanner.restless
            if not found and not restless and not self.sweep_due:
                return list(changed), True
            if restless:
                self._system.sleep(RACY_NS / 1e9)  # until the folders' times are old enough to be reliable
            yield
        return list(changed), False

    def examine(self, paths: Sequence[str]) -> ScanChanges:
        """Compare absolute paths, and everything below them, with the known files."""
        return self._compare(lambda: self._scanner.examine(paths, self._files.known))

    def take(self, batch: WatchBatch) -> None:
        """Record the changes that the watcher saw, and announce the paths that it named."""
        prefix = self._root.rstrip("/") + "/"
        if batch.lost_folders and self._watch.active:
            self._watch.add([folder for folder in batch.lost_folders if os.path.isdir(folder)])
        touched = sorted(path[len(prefix) :] for path in batch.paths if path.startswith(prefix))
        if batch.overflow or len(touched) > TOUCHED_MAX:
            self._files.announce(resync=True)
            if batch.overflow and self._watch.active:
                # A folder may have been replaced, so that its watch was lost without an event.
                self._watch.replace(self._scanner.watch_folders)
            self._sweep_soon()
            return
        changes = self.examine([*(prefix + path for path in touched), *batch.lost_folders])
        if touched:
            self._files.announce(touched=tuple(touched))
        edited = [record.path for record in changes.upserted]
        if 0 < len(edited) <= EDITS_MAX and self._progress.state == "ready":
            self._files.note_edits(edited, self._system.time_ns())

    def _sweep_soon(self) -> None:
        """Compare the whole tree with the known files, now if that is quick, else in later steps."""
        if len(self._files.known) <= SWEPT_NOW:
            self.sweep()
        else:
            self.sweep_due = True

    def _compare(self, compare: Callable[[], ScanChanges]) -> ScanChanges:
        """Apply and return the changes that a comparison with the disk finds; none if the whole tree must be
        listed first."""
        try:
            changes = compare()
        except ListingNeeded:
            self._progress.count_again()
            self.sweep_due = True
            return ScanChanges()
        self._apply(changes)
        return changes

    def _apply(self, changes: ScanChanges) -> None:
        self._progress.count_again()
        if changes:
            self._files.apply(changes)
        if self._watch.active and (changes.folders_added or changes.ignored_changed):
            self._watch_more(changes)

    def _watch_more(self, changes: ScanChanges) -> None:
        if changes.ignored_changed:
            self._watch.replace(self._scanner.watch_folders)
            self._sweep_soon()
            return
        folders = [os.path.join(self._root, folder) for folder in changes.folders_added]
        self._watch.add(folders)
        # Files created before the watch began cause no event, so they are found by examining the folder.
        self.examine(folders)


log = logging.getLogger(__name__)


class ProjectWatch:
    """The watch of one project's folders, on the indexer's working thread; there is none before `begin`.

    `on_batch` is called from the watcher's thread when events are available. They are taken as one batch, in
    which each changed path appears once. Cookies are written into `folder`, the project's folder in the state
    folder. `make_watcher` is called like `Watcher`.
    """

    def __init__(
        self, folder: str, on_batch: Callable[[], object], make_watcher: Callable[..., Watcher] = Watcher
    ) -> None:
        self._on_batch = on_batch
        self._make_watcher = make_watcher
        self._watcher: Watcher | None = None
        self._hearing = threading.Lock()
        """Guards the events that wait to be taken."""
        self._paths: set[str] = set()
        self._lost: set[str] = set()
        self._overflow = False
        self._closed = False
        self._cookie_folder = os.path.join(folder, "cookies")
        os.makedirs(self._cookie_folder, mode=0o700, exist_ok=True)

    @property
    def active(self) -> bool:
        """Whether there is a watcher."""
        return self._watcher is not None

    @property
    def mode(self) -> WatchMode:
        """The way in which changes are noticed."""
        return "off" if self._watcher is None else self._watcher.mode

    @property
    def native(self) -> bool:
        """Whether the system reports changes."""
        return self.mode == "native"

    @property
    def problem(self) -> str:
        """A message that says why the system doesn't report changes, else ""."""
        watcher = self._watcher
        return "" if watcher is None or watcher.mode == "native" else watcher.reason

    def begin(self, folders: Iterable[str]) -> None:
        """Watch these absolute folders."""
        self._watcher = self._make_watcher(folders, self._hear, cookie_folder=self._cookie_folder)

    def add(self, folders: Iterable[str]) -> None:
        """Watch further folders."""
        if self._watcher is not None:
            self._watcher.add(folders)

    def replace(self, folders: Iterable[str]) -> None:
        """Watch these folders instead of the former ones."""
        if self._watcher is not None:
            self._watcher.replace(folders)

    @property
    def has_batch(self) -> bool:
        """Whether events wait to be taken."""
        return not self._closed and bool(self._paths or self._lost or self._overflow)

    def next_batch(self) -> WatchBatch | None:
        """Return the events since the last call, None if there are none."""
        if not self.has_batch:
            return None
        with self._hearing:
            batch = WatchBatch(frozenset(self._paths), self._overflow, frozenset(self._lost))
            self._paths, self._lost, self._overflow = set(), set(), False
        return batch

    def end(self) -> None:
        """Stop watching; events that have arrived can still be taken."""
        if self._watcher is not None:
            self._watcher.close()
            self._watcher = None

    def close(self) -> None:
        """Stop watching for good."""
        self._closed = True
        self.end()

    def _hear(self, batch: WatchBatch) -> None:
        """Receive a batch on the watcher's thread and keep it for the working thread."""
        with self._hearing:
            self._overflow |= batch.overflow
            self._paths |= batch.paths
            self._lost |= batch.lost_folders
            if len(self._paths) > PENDING_PATHS or len(self._lost) > PENDING_PATHS:
                self._overflow = True
            if self._overflow:
                # The whole tree will be compared and watched again, so single paths aren't needed.
                self._paths.clear()
                self._lost.clear()
        self._on_batch()
