"""Owns what changes in one project's tree: found by the scanner, told by the watcher, given to the index."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from ..project.scan import Scanner
from ..project.scan_results import Changes
from ..project.watcher import Batch
from ..system import RACY_NS, System
from .indexed_files import IndexedFiles
from .messages import EDITS_MAX
from .progress import Progress
from .watching import ProjectWatch

TOUCHED_MAX = 1_000
"""More paths at once aren't looked at one by one."""

SYNC_SWEEPS = 4
"""A tree that still changed in the last of so many sweeps in a row is said to keep changing."""


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

    def list_all(self) -> Iterator[None]:
        """Take in the names of all files, in steps."""
        for batch in self._scanner.full():
            self._apply(Changes(upserted=tuple(batch)))
            yield

    def begin_watch(self) -> None:
        """Watch the tree as it was listed last."""
        self._watch.end()
        self._watch.begin(self._scanner.watch_folders)

    def sweep(self) -> Changes:
        """Compare all of the tree with what is known."""
        changes = self._scanner.sweep(self._files.known)
        self._apply(changes)
        return changes

    def sweep_until_quiet(self) -> tuple[list[str], bool]:
        """Sweep until nothing changed meanwhile; returns the changed files, and whether it came to that.

        A sweep that finds nothing, and whose folders rested, proves that the tree is what is known.
        """
        changed: dict[str, None] = {}
        for _ in range(SYNC_SWEEPS):
            changes = self.sweep()
            changed.update((record.path, None) for record in changes.upserted)
            restless = self._scanner.restless
            if not changes and not restless:
                return list(changed), True
            if restless:
                self._system.sleep(RACY_NS / 1e9)  # until the folders' stamps prove something
        return list(changed), False

    def examine(self, paths: Sequence[str]) -> Changes:
        """Compare absolute paths, and what lies below them, with what is known."""
        changes = self._scanner.examine(paths, self._files.known)
        self._apply(changes)
        return changes

    def take(self, batch: Batch) -> None:
        """Take in what the watcher saw, and announce which paths it named."""
        prefix = self._root.rstrip("/") + "/"
        if batch.lost_folders and self._watch.active:
            self._watch.add([folder for folder in batch.lost_folders if os.path.isdir(folder)])
        touched = sorted(path[len(prefix) :] for path in batch.paths if path.startswith(prefix))
        if batch.overflow or len(touched) > TOUCHED_MAX:
            self._files.announce(resync=True)
            if batch.overflow and self._watch.active:
                # A folder may have been replaced, and nobody heard that its watch is lost.
                self._watch.replace(self._scanner.watch_folders)
            self.sweep()
            return
        changes = self.examine([*(prefix + path for path in touched), *batch.lost_folders])
        if touched:
            self._files.announce(touched=tuple(touched))
        edited = [record.path for record in changes.upserted]
        if 0 < len(edited) <= EDITS_MAX and self._progress.state == "ready":
            self._files.note_edits(edited, self._system.time_ns())

    def _apply(self, changes: Changes) -> None:
        self._progress.count_again()
        if changes:
            self._files.apply(changes)
        if self._watch.active and (changes.folders_added or changes.ignored_changed):
            self._watch_more(changes)

    def _watch_more(self, changes: Changes) -> None:
        if changes.ignored_changed:
            self._watch.replace(self._scanner.watch_folders)
            self.sweep()
            return
        folders = [os.path.join(self._root, folder) for folder in changes.folders_added]
        self._watch.add(folders)
        # A folder is watched only from now on: what came into it before is found by looking.
        self.examine(folders)
