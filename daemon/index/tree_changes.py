"""The changes of one project's tree: found by the scanner, reported by its watch, given to the index."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence

from ..core.system import RACY_NS, System
from ..project.scan import ListingNeeded, ScanChanges, Scanner
from ..project.tree import WatchMode
from ..project.watcher import WatchBatch, Watcher
from .indexed_files import IndexedFiles, Progress
from .messages import EDITS_MAX

TOUCHED_MAX = 1_000
"""Maximum number of reported paths that are examined; for more the tree is swept."""

SYNC_SWEEPS = 4
"""Number of sweeps in a row after which a tree that still changes is reported as such."""

SWEPT_NOW = 10_000
"""Maximum number of files that are swept in one step of some 50 ms, so that a moved file goes and comes in
one commit; larger trees take many steps."""

COOKIE_S = 2.0
"""Maximum seconds to wait for a cookie."""

COOKIE_STEP_S = 0.02
"""Seconds of that in one step, between which other projects have their turns."""

PENDING_PATHS = 4_000
"""Maximum number of changed paths that wait to be taken; more become one overflow: a sweep finds them in
less time than a look at each."""


class TreeChanges:
    """The changes of one project's tree, on the indexer's working thread.

    What came or was written becomes unread. Methods raise `RootGone` where the root can't be listed, and
    `DatabaseError` where the store fails.
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
        """Whether the tree has to be compared with the disk, by `sweep_in_steps`."""
        self.sweep_s = 0.0
        """Seconds of work of the last sweep in steps."""

    @property
    def is_listing(self) -> bool:
        """Whether the tree is being listed anew; the watcher's events wait until it is."""
        return self._scanner.is_listing

    def list_all(self) -> Iterator[None]:
        """Take in the names of all files, in steps."""
        for batch in self._scanner.full():
            self._apply(ScanChanges(upserted=tuple(batch)))
            yield

    def begin_watch(self) -> None:
        """Watch the tree as it was listed last."""
        self._watch.end()
        self._watch.begin(self._scanner.watch_folders)

    def sweep(self) -> ScanChanges:
        """Compare all of the tree with what is known; `sweep_due` says where that could not be done now."""
        return self._compare(lambda: self._scanner.sweep(self._files.known))

    def sweep_in_steps(self) -> Generator[None, None, bool]:
        """Compare all of the tree with what is known, a large tree in several steps; whether that found
        anything."""
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
        """Sweep, once in a step, until nothing changed meanwhile; returns the changed files, and whether it
        came to that.

        A sweep that finds nothing, and whose folders rested, proves that the tree is what is known.
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
                self._system.sleep(RACY_NS / 1e9)  # until the folders' stamps prove something
            yield
        return list(changed), False

    def examine(self, paths: Sequence[str]) -> ScanChanges:
        """Compare absolute paths, and what lies below them, with what is known."""
        return self._compare(lambda: self._scanner.examine(paths, self._files.known))

    def take(self, batch: WatchBatch) -> None:
        """Take in what the watcher saw, and announce which paths it named."""
        prefix = self._root.rstrip("/") + "/"
        if batch.lost_folders and self._watch.active:
            self._watch.add([folder for folder in batch.lost_folders if os.path.isdir(folder)])
        touched = sorted(path[len(prefix) :] for path in batch.paths if path.startswith(prefix))
        if batch.overflow or len(touched) > TOUCHED_MAX:
            self._files.announce(resync=True)
            if batch.overflow and self._watch.active:
                # A folder may have been replaced, and the loss of its watch went unnoticed.
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
        """Compare all of the tree with what is known: now where that is quick, else in the steps to come."""
        if len(self._files.known) <= SWEPT_NOW:
            self.sweep()
        else:
            self.sweep_due = True

    def _compare(self, compare: Callable[[], ScanChanges]) -> ScanChanges:
        """Apply what a comparison with the disk finds, and return it; nothing where all has to be listed."""
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
        # A folder is watched only from now on: earlier files in it are found by looking.
        self.examine(folders)


log = logging.getLogger(__name__)


class ProjectWatch:
    """The watch of one project's folders, on the indexer's working thread; there is none before `begin`.

    `on_batch` is called from the watcher's thread when events can be taken: all since the last time, as one
    batch, however often the same file changed. Cookies are written into
    `folder`, which is the project's own in the state folder. `make_watcher` is called as `Watcher` is.
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
        """How changes are noticed."""
        return "off" if self._watcher is None else self._watcher.mode

    @property
    def native(self) -> bool:
        """Whether the system reports changes."""
        return self.mode == "native"

    @property
    def problem(self) -> str:
        """Say why the system doesn't report changes, or ""."""
        watcher = self._watcher
        return "" if watcher is None or watcher.mode == "native" else watcher.reason

    def begin(self, folders: Iterable[str]) -> None:
        """Watch these absolute folders."""
        self._watcher = self._make_watcher(folders, self._hear, cookie_folder=self._cookie_folder)

    def add(self, folders: Iterable[str]) -> None:
        """Watch these folders too."""
        if self._watcher is not None:
            self._watcher.add(folders)

    def replace(self, folders: Iterable[str]) -> None:
        """Watch these folders in the place of those before."""
        if self._watcher is not None:
            self._watcher.replace(folders)

    def catch_up(self) -> Generator[None, None, bool]:
        """Wait in steps until every event from before now can be taken; returns whether that is so."""
        watcher = self._watcher
        if watcher is None:
            return False
        try:
            cookie = watcher.write_cookie()
        except OSError as error:
            log.warning("the cookie folder can't be written to, the tree is swept instead: %s", error)
            return False
        deadline = time.monotonic() + COOKIE_S
        try:
            while not (came := watcher.wait_cookie(cookie, COOKIE_STEP_S)) and not cookie.failed:
                if time.monotonic() > deadline:
                    break
                yield
        finally:
            watcher.forget_cookie(cookie)
        return came

    @property
    def has_batch(self) -> bool:
        """Whether events wait to be taken."""
        return not self._closed and bool(self._paths or self._lost or self._overflow)

    def next_batch(self) -> WatchBatch | None:
        """Return the events since the last time; None for none."""
        if not self.has_batch:
            return None
        with self._hearing:
            batch = WatchBatch(frozenset(self._paths), self._overflow, frozenset(self._lost))
            self._paths, self._lost, self._overflow = set(), set(), False
        return batch

    def end(self) -> None:
        """Stop watching; earlier events can still be taken."""
        if self._watcher is not None:
            self._watcher.close()
            self._watcher = None

    def close(self) -> None:
        """Stop watching for good."""
        self._closed = True
        self.end()

    def _hear(self, batch: WatchBatch) -> None:
        """Take a batch from the watcher's thread to ours."""
        with self._hearing:
            self._overflow |= batch.overflow
            self._paths |= batch.paths
            self._lost |= batch.lost_folders
            if len(self._paths) > PENDING_PATHS or len(self._lost) > PENDING_PATHS:
                self._overflow = True
            if self._overflow:
                # All is compared and watched anew, so that no name of it is needed.
                self._paths.clear()
                self._lost.clear()
        self._on_batch()
