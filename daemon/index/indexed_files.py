"""The files of one project as recorded in its index, and the progress of indexing.

Each change is committed first and announced afterwards. Names are recorded before contents: a new or changed
file waits in `unread` until it is read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Sized
from typing import TYPE_CHECKING

from ..core.system import System
from ..languages.shared.import_folders import is_test
from ..languages.shared.imports import ImportResolver, keys_of_path
from ..languages.shared.language import language_of
from ..languages.shared.records import Import
from ..project.records import NO_REPOSITORY, NO_SOURCE, FileRecord, ProjectState, ScanChanges, ScanStatistics
from ..project.service import Scanner
from .crash_guard import CrashGuard
from .import_table import ImportRow, StoredImport
from .lexical_indexer import LexicalIndexer
from .linking import Linking
from .message_table import Messages
from .messages import ProjectProgress, TreeDelta
from .store import FileContent, InterfaceChanged, Store

if TYPE_CHECKING:
    from .tree_changes import ProjectWatch

LINK_NOW = 8
"""Maximum number of files linked in the transaction that writes their contents, 3 to 30 ms each, so that
answers reflect an edit at once. A larger number of files is linked when all of them have been read."""


class IndexedFiles:
    """One project's files, on the indexer's working thread; `announce` receives each commit.

    `known` has their records by path. `unread` has the paths to read, in order, each with the record of its
    former content, if there was any. Both are live: other objects may read them between changes.
    """

    def __init__(
        self,
        root: str,
        announce: Callable[[TreeDelta], None],
        *,
        known: dict[str, FileRecord],
        unread: dict[str, FileRecord | None],
        store: Store,
        suspects: CrashGuard,
        targets: ImportTargets,
        linking: Linking,
        progress: Progress,
    ) -> None:
        self.known = known
        self.unread = unread
        self._root = root
        self._announce = announce
        self._store = store
        self._suspects = suspects
        self._targets = targets
        self._linking = linking
        self._progress = progress

    def queue_unread(self) -> None:
        """Queue the files whose contents aren't known, and those whose known contents must be removed."""
        for path, record in self.known.items():
            left_alone = self._suspects.is_quarantined(record)
            if (not record.digest and not record.skipped) or (left_alone and record.digest):
                self.unread.setdefault(path, None)
        # Source first: if time is short, it answers prompts better than tests, data and prose.
        ordered = sorted(self.unread.items(), key=lambda item: not _is_source(item[0]))
        self.unread.clear()
        self.unread.update(ordered)

    def queue_all(self) -> None:
        """Queue all files to be read again, as if they had changed; the known contents stay until then."""
        for path, record in self.known.items():
            if record.digest or record.skipped in {"binary", "unreadable", "secret", "quarantined"}:
                self.unread[path] = None

    def apply(self, changes: ScanChanges) -> None:
        """Commit and announce added, changed and removed files; queue those with new contents as unread."""
        removed = [path for path in changes.removed if path in self.known]
        added = [record.path for record in changes.upserted if record.path not in self.known]
        self._take_names(changes.upserted, added, removed)
        if self._progress.state == "ready" and len(self.unread) > LINK_NOW:
            self._progress.become("indexing")  # before unread files are announced
        with self._store.transaction() as generation:
            self._linking.names_changed(added, removed)
            self._linking.contents_lost([record.path for record in changes.upserted if record.skipped])
            self._store.remove_files(removed)
            self._store.put_records(changes.upserted)
            upserted = [record.path for record in changes.upserted]
            importers = self._targets.resolve_again(added, removed, upserted)
            self._linking.imports_changed(importers)
        self._announce(
            TreeDelta(self._root, generation, changes.upserted, tuple(removed), links_changed=bool(importers))
        )

    def put_read(self, outcomes: Sequence[FileContent | FileRecord]) -> None:
        """Write the results of reading files, after the caller has removed these from `unread`."""
        if not outcomes:
            return
        contents = [each for each in outcomes if isinstance(each, FileContent)]
        records = [each for each in outcomes if isinstance(each, FileRecord)]
        upserted = (*records, *(content.record for content in contents))
        self.known.update((record.path, record) for record in upserted)
        with self._store.transaction() as generation:
            self._linking.contents_lost([record.path for record in records if record.skipped])
            self._store.put_records(records)
            changes: list[InterfaceChanged] = []
            for content in contents:
                self._suspects.begin(content.record.path)  # computing its interface may kill the process
                changes += self._store.put_contents([content])
            read = [content.record.path for content in contents]
            self._linking.contents_changed(changes, read)
            if not self.unread and len(read) <= LINK_NOW:
                self._linking.link_now(read)
        self._announce(TreeDelta(self._root, generation, upserted))

    def note_edits(self, paths: Sequence[str], now_ns: int) -> None:
        """Record an edit of each file at this time."""
        with self._store.side_notes():
            self._store.add_edits(paths, now_ns)

    def note_commits(self, counts: Mapping[str, tuple[int, int]], messages: Messages) -> None:
        """Write for each known file how many commits changed it and the time of the latest, and write the
        messages of the commits."""
        with self._store.side_notes():
            self._store.put_commits({path: count for path, count in counts.items() if path in self.known})
            self._store.put_messages(messages)

    def announce(self, *, touched: tuple[str, ...] = (), resync: bool = False) -> None:
        """Announce changes that no file's record shows; see `TreeDelta`."""
        self._announce(TreeDelta(self._root, self._store.generation, touched=touched, resync=resync))

    def _take_names(
        self, upserted: Sequence[FileRecord], added: Sequence[str], removed: Sequence[str]
    ) -> None:
        for path in removed:
            del self.known[path]
            self._targets.resolver.removed(path)
            self.unread.pop(path, None)
        for record in upserted:
            old = self.known.get(record.path)
            if record.skipped:
                self.unread.pop(record.path, None)
            elif record.path not in self.unread:
                # A file that waits already keeps the former record with which it was queued.
                self.unread[record.path] = old if old is not None and old.digest else None
            self.known[record.path] = record
        for path in added:
            self._targets.resolver.added(path)


def _is_source(path: str) -> bool:
    """Whether a file is code and not a test, judged by its name and folder."""
    return language_of(path) not in NO_SOURCE and not is_test(path.rpartition("/")[0])


RETRY_MAX = 2_000
"""Maximum number of added and removed files for which single imports are looked up; above it all imports are
resolved again."""


class ImportTargets:
    """Resolves the imports of one project, on the indexer's working thread.

    `names` is the live collection of the paths of its files. Files that configure imports are read below
    `root`, up to `max_bytes` each. The caller must tell `resolver` about each added and removed file.
    """

    def __init__(
        self, root: str, max_bytes: int, names: Collection[str], store: Store, system: System
    ) -> None:
        self._root = root
        self._max_bytes = max_bytes
        self._store = store
        self._system = system
        self.resolver = ImportResolver(names, self._read_config)

    def row(self, record: FileRecord, imported: Import) -> ImportRow:
        """Return the row to store for an import of a file that was read."""
        target, missing = self._resolve(record.path, record.language, imported)
        keys = self.resolver.retry_keys(record.path, record.language, imported)
        return ImportRow(imported, target, missing, keys)

    def resolve_again(
        self, added: Sequence[str], removed: Sequence[str], upserted: Iterable[str]
    ) -> Collection[str]:
        """Resolve the imports again whose target may have changed, in the caller's transaction.

        Returns the files with an import whose target did change, or the way in which it was found.
        """
        updates = []
        importers: dict[str, None] = {}
        candidates = self._candidates(added, removed, upserted)
        for found in candidates:
            target, missing = self._resolve(found.importer, found.language, found.imported)
            if (target, missing) != (found.target, found.missing):
                updates.append((found.row, target, missing))
                importers[found.importer] = None
        self._store.imports.update(updates)
        # Keys depend on what was found, and on the rules. Of an import of the file itself only they change.
        changed = self._store.imports.put_keys((found.row, self._retry_keys(found)) for found in candidates)
        importers.update((found.importer, None) for found in candidates if found.row in changed)
        return importers.keys()

    def _candidates(
        self, added: Sequence[str], removed: Sequence[str], upserted: Iterable[str]
    ) -> Sequence[StoredImport]:
        """Return the imports whose target may have changed."""
        if any(map(self.resolver.is_config, (*upserted, *removed))):
            self.resolver.invalidate_config()
            return self._store.imports.all()
        if len(added) + len(removed) > RETRY_MAX:
            return self._store.imports.all()
        changed = (*added, *removed)
        keys = {key for path in changed for key in keys_of_path(path)} | self.resolver.keys_below(changed)
        return self._store.imports.to_retry(sorted(keys), removed)

    def _resolve(self, importer: str, language: str, imported: Import) -> tuple[str, bool]:
        target = self.resolver.resolve(importer, language, imported)
        if target is not None:
            return ("" if target == importer else target), False  # a package may import a name from itself
        return "", imported.required and self.resolver.is_internal(importer, language, imported)

    def _retry_keys(self, stored: StoredImport) -> tuple[str, ...]:
        return self.resolver.retry_keys(stored.importer, stored.language, stored.imported)

    def _read_config(self, path: str) -> bytes | None:
        try:
            return self._system.read(os.path.join(self._root, path), self._max_bytes)[0]
        except OSError:
            return None


class Progress:
    """The progress of one project, on the indexer's working thread; `announce` receives reports.

    `known` are the project's files and `unread` the files to read. `parts` are further objects whose problems
    are reported, like those of the scanner and the watch. All of these are live. `state` may be set without a
    report. `reasons` has other problems by subject.
    """

    def __init__(
        self,
        root: str,
        announce: Callable[[ProjectProgress], None],
        *,
        known: Sized,
        unread: Sized,
        scanner: Scanner,
        watch: ProjectWatch,
        linking: Linking,
        parts: Sequence[CrashGuard | LexicalIndexer | Linking],
    ) -> None:
        self.state: ProjectState = "scanning"
        self.reasons: dict[str, str] = {}
        self.words = False
        """Whether all files read so far are in the lexical index; may be set without a report."""
        self._root = root
        self._announce = announce
        self._known = known
        self._unread = unread
        self._scanner = scanner
        self._watch = watch
        self._linking = linking
        self._parts = parts
        self._statistics: ScanStatistics | None = None
        """Counts of what the scanner left out, cached until its next scan: counting them in each step took a
        tenth of the time."""
        self._reported: ProjectProgress | None = None

    def become(self, state: ProjectState) -> None:
        """Set the state and report it."""
        self.state = state
        self.report()

    def count_again(self) -> None:
        """Make the next report count again what the scanner left out, because it has scanned again."""
        self._statistics = None

    def report(self) -> None:
        """Report the progress, if it changed since the last report."""
        if self._statistics is None:
            self._statistics = self._scanner.statistics()
        progress = ProjectProgress(
            root=self._root,
            state=self.state,
            watch=self._watch.mode,
            degraded=self._problems(self._statistics),
            total=len(self._known),
            pending=len(self._unread),
            unlinked=self._linking.waiting(),
            skipped=tuple(sorted(self._statistics.skipped_folders.items())),
            words=self.words and not self._unread,
        )
        if progress != self._reported:
            self._reported = progress
            self._announce(progress)

    def _problems(self, statistics: ScanStatistics) -> tuple[str, ...]:
        git = statistics.git_problem
        if git.startswith(NO_REPOSITORY):  # a folder, or with a `.git` that git doesn't take for one
            git = ""
        elif git:
            git = f"git can't be used here ({git}): files are left out by .gitignore alone, without history"
        told = (*(part.problem for part in self._parts), self._watch.problem, git)
        scanned = (f"{path}: {problem}" for path, problem in sorted(statistics.problems.items()))
        return (*self.reasons.values(), *filter(None, told), *scanned)
