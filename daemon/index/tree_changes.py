"""The changes of one project's tree: found by the scanner, reported by the watcher, given to the index."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Sequence

from ..core.system import RACY_NS, System
from ..project.scan import Scanner
from ..project.scan_results import ListingNeeded, ScanChanges
from ..project.watcher import WatchBatch
from .indexed_files import IndexedFiles
from .messages import EDITS_MAX
from .progress import Progress
from .watching import ProjectWatch

TOUCHED_MAX = 1_000
"""Maximum number of reported paths that are examined; for more the tree is swept."""

SYNC_SWEEPS = 4
"""Number of sweeps in a row after which a tree that still changes is reported as such."""

SWEPT_NOW = 10_000
"""Maximum number of files that are swept in one step of some 50 ms, so that a moved file goes and comes in
one commit; larger trees take many steps."""


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
