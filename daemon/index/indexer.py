"""Owns the indexing of one project: scan, watch, read, parse, resolve, commit, announce.

Runs in the indexer process, on its one working thread. What a commit changed is announced after it.
"""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from ..privacy.secret_files import is_secret_file
from ..project import git
from ..project.globs import compile_glob
from ..project.import_keys import keys_of_path
from ..project.imports import ImportResolver
from ..project.parse import PARSER_VERSION
from ..project.scan import Scanner
from ..project.scan_results import Changes, RootGone, ScanStatistics
from ..project.scan_settings import ALWAYS_SKIPPED_FOLDERS, ScanSettings
from ..project.tree import FileRecord, Import, ProjectState, Symbol
from ..project.watcher import Batch, Watcher
from ..system import RACY_NS, Stamp, System
from .beside import MakeBeside
from .chunks import CHUNKER_VERSION
from .lexing import Lexing
from .link_ahead import LinkAhead, LinkOpening
from .linking import Linking
from .messages import EDITS_MAX, ActivityTaken, Event, OpenProject, ProjectProgress, Refreshed, TreeDelta
from .read_ahead import FILES_MAX, ReadAhead
from .reading import Asked, FileReader, Look, Read
from .store import FileContent, ImportRow, InterfaceChanged, Store, StoredImport
from .suspects import Alarm, Suspects

log = logging.getLogger(__name__)

STEP_S = 0.04
"""How long one step of bulk work may take before requests and edits are looked at: 40 ms is under half of
what save-to-visible may take at the median (100 ms)."""

STEP_FILES = 256

LOOK_FROM = 512
"""From so many files that wait to be read all of them are looked at first, 0.1 ms each, so that long before
the last one is parsed the hashes are known, and what isn't indexed at all. Fewer are read in two seconds."""

AHEAD_FROM = 64
"""From so many files that wait another process reads too: fewer are read before it has started (0.3 s)."""

TAKEN_FILES = 32
"""So many files that another process read are written in one step: 1 to 2 ms each."""

READ_NOW = 64
"""So many changed files are read in one go; more become bulk work, so that names are known first."""

SYNC_FILES = 512
"""The same for `sync`, whose caller waits for the contents."""

SYNC_LEXING_S = 1.0
"""How long `sync` may write what changed into the lexical index: some thousands of chunks."""

SYNC_LINKING_S = 1.0
"""The same for linking what changed, and what was linked through it: some hundred files."""

LINK_NOW = 8
"""So many files are linked in the transaction that has their contents, 3 to 30 ms each: an edit is seen in
answers at once. More are linked when all of them are read."""

SYNC_SWEEPS = 4
"""A tree that still changed in the last of so many sweeps in a row is said to keep changing."""

COOKIE_FILES = 10_000
"""Above so many files a sync trusts the watcher and its cookie; below, a sweep is as fast (30 ms for
6,809 files)."""

COOKIE_S = 2.0
TOUCHED_MAX = 1_000
RETRY_MAX = 2_000
"""When more names than this come or go, all imports are resolved again at once."""

HISTORY_COMMITS = 500

CONTENT_VERSION = f"{PARSER_VERSION}.{CHUNKER_VERSION}.1"
"""Names how contents are read; an index that was read in another way is read again. The linker's version is
kept by linking.py, since links are made anew without reading."""


class ProjectIndexer:
    """One project in the indexer process. `announce` sends an event, `enqueue` adds work from any thread,
    `alarm` ends the process if a file takes too long, `make_watcher` is called as `Watcher` is, `make_beside`
    as `Beside` is; without it no other process reads or links."""

    def __init__(
        self,
        command: OpenProject,
        system: System,
        announce: Callable[[Event], None],
        enqueue: Callable[[Callable[[], None]], None],
        *,
        alarm: Alarm | None = None,
        make_watcher: Callable[..., Watcher] = Watcher,
        make_beside: MakeBeside | None = None,
    ) -> None:
        self._command = command
        self._root = command.root
        self._system = system
        self._announce = announce
        self._enqueue = enqueue
        self._make_watcher = make_watcher
        self._store = Store(command.folder, system)
        self._scanner = Scanner(command.root, system, _settings(command))
        self._statistics: ScanStatistics | None = None
        """What the scanner left out, until it looks again: to count it in each step took a tenth of the
        time."""
        self._reader = FileReader(command.root, command.max_file_bytes, system)
        self._make_beside = make_beside
        self._ahead: ReadAhead | None = None
        self._known: dict[str, FileRecord] = self._store.load_files()
        self._suspects = Suspects(command.folder, self._store, self._known, alarm)
        self._lexing = Lexing(command.folder, self._store, system, self._suspects.begin)
        self._shown = tuple(map(compile_glob, command.show_files))
        self._resolver = ImportResolver(self._known.keys(), self._read_config)
        opening = LinkOpening(command.root, command.folder, command.max_file_bytes)
        self._linking = Linking(
            self._store,
            self._resolver,
            self._known,
            system,
            begin=self._suspects.begin,
            blame=self._suspects.blame,
            ahead=None if make_beside is None else LinkAhead(make_beside, opening),
        )
        self._pending: dict[str, FileRecord | None] = {}
        """Paths to read, in order, each with what was known of its content before, if anything."""
        self._watcher: Watcher | None = None
        self._batches: deque[Batch] = deque()
        self._cookie_folder = os.path.join(command.folder, "cookies")
        os.makedirs(self._cookie_folder, mode=0o700, exist_ok=True)
        self._state: ProjectState = "scanning"
        self._reasons: dict[str, str] = {}
        self._bulk: Iterator[None] | None = self._open()
        self._next_sweep = 0.0
        self._reported: ProjectProgress | None = None
        self._closed = False
        if self._store.replaced:
            self._reasons["index"] = self._store.replaced

    @property
    def generation(self) -> int:
        """The generation of the last commit."""
        return self._store.generation

    @property
    def _version(self) -> str:
        """How contents are read, and which files of secrets: what was read in another way is read again."""
        return " ".join((CONTENT_VERSION, *self._command.show_files))

    def close(self) -> None:
        """Stop watching and close the index."""
        self._closed = True
        if self._watcher is not None:
            self._watcher.close()
        self._lexing.close()
        self._stop_ahead()
        self._linking.rest()
        self._suspects.close()
        self._store.close()

    def abandon(self) -> None:
        """Let no file be blamed for the end of this process, which comes now. From any thread."""
        self._suspects.abandon()

    def patience(self) -> float | None:
        """Return in how many seconds `step` has something to do; 0 while there is bulk work."""
        if self._bulk is not None:
            return 0.0
        sweep = max(0.0, self._next_sweep - self._system.monotonic())
        words = self._lexing.patience()
        return sweep if words is None else min(sweep, words)

    def step(self) -> None:
        """Do one step of bulk work, or the periodic sweep when its time has come."""
        if self._bulk is None:
            if self._lexing.patience() == 0.0:
                self._read_later()  # the words of what was saved shortly before
            elif self._system.monotonic() >= self._next_sweep:
                self._bulk = self._periodic_sweep()
            return
        try:
            next(self._bulk)
        except StopIteration:
            self._bulk = None
        except RootGone as error:
            self._lose_root(error)

    def refresh(self, paths: Sequence[str], *, words: bool = False) -> Refreshed:
        """Examine a few files on the disk and read them now, ahead of everything else; with their `words`
        where they must be found by them at once."""
        self._examine([os.path.join(self._root, path) for path in paths])
        read = [path for path in dict.fromkeys(paths) if path in self._pending]
        self._read(read)
        if words:
            with self._suspects.work():
                self._lexing.write_now(paths)  # words of what was read before may have been put off
        self._begin_bulk()  # who refers to them is linked behind this
        return Refreshed(self.generation, complete=True)

    def sync(self) -> Refreshed:
        """Bring in every change that is on the disk now."""
        if self._state in {"scanning", "degraded"}:
            return Refreshed(self.generation, complete=False)
        watcher = self._watcher
        trusted = len(self._known) > COOKIE_FILES and watcher is not None and watcher.mode == "native"
        if trusted and watcher is not None and self._caught_up(watcher):
            self._take_batches()  # the cookie came after them
            changed, settled = list(self._pending), self._state != "degraded"  # it may have lost the root
        else:
            changed, settled = self._sweep_until_quiet()
        if len(self._pending) <= SYNC_FILES:
            changed = list(self._pending)  # with what the watcher saw before
        self._read([path for path in changed if path in self._pending][:SYNC_FILES])
        with self._suspects.work():
            lexing = self._lexing.step(SYNC_LEXING_S)
        linking = self._link(SYNC_LINKING_S)
        self._read_later()
        return Refreshed(
            self.generation, complete=settled and not self._pending and not lexing and not linking
        )

    def rebuild_lexical(self) -> None:
        """Fill the lexical index anew from the store: somebody found it damaged."""
        self._lexing.repair()
        self._report()  # that it is empty for now
        self._read_later()

    def reindex(self, *, full: bool) -> None:
        """Scan all names again; with `full` read all contents again too."""
        if full:
            self._suspects.forget()
            self._read_all_again()
            self._lexing.rebuild()
        self._bulk = self._open()
        self._set_state("scanning")

    # Bulk work: generators that yield between steps, so that requests and edits come first.

    def _open(self) -> Iterator[None]:
        """Bring the index up to date with the disk, begin to watch, read what is new."""
        self._set_state("scanning")
        if not self._known:
            self._store.set_meta("parser", self._version)
        elif self._store.get_meta("parser") != self._version:
            self._suspects.forget()
            self._read_all_again()
        if self._known:
            self._sweep()
        else:
            for batch in self._scanner.full():
                self._apply(Changes(upserted=tuple(batch)))
                yield
        for path, record in self._known.items():
            left_alone = self._suspects.is_quarantined(record)
            if (not record.digest and not record.skipped) or (left_alone and record.digest):
                self._pending.setdefault(path, None)
        yield
        self._watch()
        # What changed between the listing of a folder and the start of its watch.
        self._sweep()
        self._set_state("indexing")
        yield from self._look_at_all()
        yield from self._read_pending()
        # Only now: a process that was killed before reads the rest with the next one.
        self._store.set_meta("parser", self._version)
        self._take_history()
        self._announce(ActivityTaken(self._root))
        self._schedule_sweep()

    def _read_pending(self) -> Iterator[None]:
        lexing = linking = True
        much = len(self._pending) >= AHEAD_FROM
        while self._pending or lexing or linking:
            if self._pending:
                self._read_some()
            else:
                self._stop_ahead()
            with self._suspects.work():
                lexing = self._lexing.step(STEP_S, more=bool(self._pending))
            linking = self._link(STEP_S)
            self._report()
            yield
        self._suspects.absolve()
        if much:
            self._store.relax()
        self._set_state("ready")

    def _next_batch(self, count: int = 0) -> list[str]:
        """Return which files to read next (so many, a step's by default), of those that no other process
        reads: suspects last, each alone, since it may end the process."""
        for path in [path for path in self._suspects if path in self._pending]:
            self._pending[path] = self._pending.pop(path)
        away = self._ahead if self._ahead is not None else ()
        batch = list(islice((path for path in self._pending if path not in away), count or STEP_FILES))
        return [path for path in batch if path not in self._suspects] or batch[:1]

    def _look_at_all(self) -> Iterator[None]:
        """Look at what waits to be read, if that is much: the hashes of all of it come before the parsing of
        any. The bytes are read again then, from the system's memory; to keep them would take more of ours."""
        if len(self._pending) < LOOK_FROM:
            return
        self._ask_ahead()
        waiting = deque(self._pending)
        while waiting:
            deadline = self._system.monotonic() + STEP_S
            records: list[FileRecord] = []
            while waiting and self._system.monotonic() < deadline:
                path = waiting.popleft()
                record = self._known[path] if path in self._pending else None
                if record is not None and not (record.hashed or record.digest):
                    records.append(self._look_at(record))
            self._keep_looks(records)
            yield

    def _look_at(self, record: FileRecord) -> FileRecord:
        """Return a file's record with the hash of what it holds now, or why that isn't indexed."""
        left_alone = self._left_alone(record)
        if left_alone is not None:
            return left_alone
        look = self._reader.look(Asked(record.path, record.language))
        return replace(_looked_at(record, look), hashed=look.digest, digest=b"")

    def _keep_looks(self, records: Sequence[FileRecord]) -> None:
        changed = [record for record in records if record != self._known[record.path]]
        if not changed:
            return
        for record in changed:
            self._known[record.path] = record
            if record.skipped:
                self._pending.pop(record.path)
        with self._store.transaction() as generation:
            self._linking.contents_lost([record.path for record in changed if record.skipped])
            self._store.put_records(changed)
        self._announce(TreeDelta(self._root, generation, tuple(changed)))
        self._report()

    # Reading ahead

    def _read_some(self) -> None:
        """Read for one step: what another process has read is written, and while it reads so does this."""
        self._ask_ahead()
        if self._take_ahead(0.0):
            return
        batch = self._next_batch()
        if batch:
            self._read(batch, STEP_S)
        else:
            self._take_ahead(STEP_S)

    def _ask_ahead(self) -> None:
        """Have another process read files too, where many wait."""
        if self._ahead is None:
            if self._make_beside is None or len(self._pending) < AHEAD_FROM:
                return
            self._ahead = ReadAhead(self._make_beside, self._root, self._command.max_file_bytes)
        room = self._ahead.room
        # Half of what is left at most, so that neither waits for the other at the end.
        share = min(room, (len(self._pending) - (FILES_MAX - room)) // 2)
        if 2 * room < FILES_MAX or share <= 0:
            return
        batch = [path for path in self._next_batch(share) if path not in self._suspects]
        records = [self._known[path] for path in batch]
        self._ahead.ask(
            (self._asked(record, self._pending[record.path], words=True), record.stamp)
            for record in records
            if self._left_alone(record) is None
        )

    def _take_ahead(self, seconds: float) -> bool:
        """Write what another process has read; whether it had read anything. What changed meanwhile waits
        to be read again."""
        ahead = self._ahead
        if ahead is None:
            return False
        outcomes: list[FileContent | FileRecord] = []
        found = False
        for read, stamp in ahead.take(TAKEN_FILES, seconds):
            found = True
            path = read.look.path
            if path in self._pending and self._known[path].stamp == stamp:
                outcomes.append(self._outcome(self._known[path], self._pending.pop(path), read))
        if ahead.culprit:
            self._suspects.blame(ahead.culprit)
            ahead.culprit = ""
        with self._suspects.work():
            self._write_read(outcomes)
        return found

    def _stop_ahead(self) -> None:
        if self._ahead is not None:
            self._ahead.close()
            self._ahead = None

    def _periodic_sweep(self) -> Iterator[None]:
        self._schedule_sweep()
        if self._state == "degraded":
            if not os.path.isdir(self._root):
                return
            self._reasons.pop("root", None)
            yield from self._open()
            return
        self._sweep()
        if self._pending:
            self._set_state("indexing")
        self._lexing.tidy()
        yield
        yield from self._read_pending()

    def _schedule_sweep(self) -> None:
        native = self._watcher is not None and self._watcher.mode == "native" and self._state != "degraded"
        seconds = self._command.sweep_interval_s if native else self._command.poll_interval_ms / 1000
        self._next_sweep = self._system.monotonic() + seconds

    # Watching

    def _watch(self) -> None:
        if self._watcher is not None:
            self._watcher.close()
        self._watcher = self._make_watcher(
            self._scanner.watch_folders, self._on_batch, cookie_folder=self._cookie_folder
        )

    def _caught_up(self, watcher: Watcher) -> bool:
        """Whether every event from before now has been delivered to us."""
        try:
            return watcher.wait_cookie(watcher.write_cookie(), COOKIE_S)
        except OSError as error:
            log.warning("the cookie folder can't be written to, the tree is swept instead: %s", error)
            return False

    def _on_batch(self, batch: Batch) -> None:
        """Take a batch from the watcher's thread to ours."""
        self._batches.append(batch)
        self._enqueue(self._take_batches)

    def _take_batches(self) -> None:
        while self._batches and not self._closed:
            try:
                self._take_batch(self._batches.popleft())
            except RootGone as error:
                self._lose_root(error)

    def _take_batch(self, batch: Batch) -> None:
        prefix = self._root.rstrip("/") + "/"
        if batch.lost_folders and self._watcher is not None:
            self._watcher.add([folder for folder in batch.lost_folders if os.path.isdir(folder)])
        touched = sorted(path[len(prefix) :] for path in batch.paths if path.startswith(prefix))
        if batch.overflow or len(touched) > TOUCHED_MAX:
            self._announce(TreeDelta(self._root, self.generation, resync=True))
            if batch.overflow and self._watcher is not None:
                # A folder may have been replaced, and nobody heard that its watch is lost.
                self._watcher.replace(self._scanner.watch_folders)
            self._sweep()
        else:
            changes = self._examine([*(prefix + path for path in touched), *batch.lost_folders])
            if touched:
                self._announce(TreeDelta(self._root, self.generation, touched=tuple(touched)))
            edited = [record.path for record in changes.upserted]
            if 0 < len(edited) <= EDITS_MAX and self._state == "ready":
                with self._store.side_notes():
                    self._store.add_edits(edited, self._system.time_ns())
        if len(self._pending) <= READ_NOW:
            self._read(list(self._pending))
        self._read_later()

    def _read_later(self) -> None:
        """Leave what is still unread to bulk work, and say how far the index is."""
        self._link(STEP_S)
        self._begin_bulk()
        with self._suspects.work():
            lexing = self._bulk is None and self._lexing.saved(STEP_S)
        if lexing:
            self._state = "indexing"
            self._bulk = self._read_pending()
        polled = self._system.monotonic() + self._command.poll_interval_ms / 1000
        if self._watcher is not None and self._watcher.mode != "native":
            self._next_sweep = min(self._next_sweep, polled)  # events have just ended
        self._report()

    def _begin_bulk(self) -> None:
        """Leave what is still to be read or linked to bulk work."""
        unfinished = self._state == "indexing" or self._pending or self._linking.waiting()
        if self._bulk is None and unfinished:
            self._state = "indexing"
            self._bulk = self._read_pending()

    def _link(self, seconds: float) -> bool:
        """Link files that wait, for so long; whether some still do. While contents are unread nothing is
        linked, as it would be linked again."""
        if self._pending:
            return True
        with self._suspects.work():
            changed, more = self._linking.step(seconds)
        if changed:
            self._announce(TreeDelta(self._root, self.generation))
        return more

    # Changes

    def _sweep_until_quiet(self) -> tuple[list[str], bool]:
        """Sweep until nothing changed meanwhile; returns the changed files, and whether it came to that.

        A sweep that finds nothing, and whose folders rested, proves that the tree is what is known.
        """
        changed: dict[str, None] = {}
        for _ in range(SYNC_SWEEPS):
            changes = self._sweep()
            changed.update((record.path, None) for record in changes.upserted)
            restless = self._scanner.restless
            if not changes and not restless:
                return list(changed), True
            if restless:
                self._system.sleep(RACY_NS / 1e9)  # until the folders' stamps prove something
        return list(changed), False

    def _sweep(self) -> Changes:
        changes = self._scanner.sweep(self._known)
        self._apply(changes)
        return changes

    def _examine(self, paths: Sequence[str]) -> Changes:
        changes = self._scanner.examine(paths, self._known)
        self._apply(changes)
        return changes

    def _apply(self, changes: Changes) -> None:
        """Commit which files there are and announce it; their contents become pending."""
        self._statistics = None
        if changes:
            removed = [path for path in changes.removed if path in self._known]
            added = [record.path for record in changes.upserted if record.path not in self._known]
            for path in removed:
                del self._known[path]
                self._resolver.removed(path)
                self._pending.pop(path, None)
            for record in changes.upserted:
                old = self._known.get(record.path)
                if record.skipped:
                    self._pending.pop(record.path, None)
                elif record.path not in self._pending:
                    # What waits already is compared with what was known when it began to.
                    self._pending[record.path] = old if old is not None and old.digest else None
                self._known[record.path] = record
            for path in added:
                self._resolver.added(path)
            if self._state == "ready" and len(self._pending) > LINK_NOW:
                self._set_state("indexing")  # before anybody hears of files that aren't read
            with self._store.transaction() as generation:
                self._linking.names_changed(added, removed)
                self._linking.contents_lost([one.path for one in changes.upserted if one.skipped])
                self._store.remove_files(removed)
                self._store.put_records(changes.upserted)
                relinked = self._relink(added, removed, [record.path for record in changes.upserted])
            self._announce(
                TreeDelta(self._root, generation, changes.upserted, tuple(removed), links_changed=relinked)
            )
        if self._watcher is not None and (changes.folders_added or changes.ignored_changed):
            self._watch_more(changes)

    def _watch_more(self, changes: Changes) -> None:
        watcher = self._watcher
        if watcher is None:
            return
        if changes.ignored_changed:
            watcher.replace(self._scanner.watch_folders)
            self._apply(self._scanner.sweep(self._known))
            return
        folders = [os.path.join(self._root, folder) for folder in changes.folders_added]
        watcher.add(folders)
        # A folder is watched only from now on: what came into it before is found by looking.
        self._examine(folders)

    def _relink(self, added: Sequence[str], removed: Sequence[str], upserted: Iterable[str]) -> bool:
        """Resolve imports again that may lead elsewhere now; whether any does."""
        if any(map(self._resolver.is_config, (*upserted, *removed))):
            self._resolver.invalidate_config()
            candidates = self._store.all_imports()
            # They wait for files at other places now.
            self._store.put_keys((one.row, self._retry_keys(one)) for one in candidates)
        elif len(added) + len(removed) > RETRY_MAX:
            candidates = self._store.all_imports()
        else:
            keys = {key for path in (*added, *removed) for key in keys_of_path(path)}
            candidates = self._store.imports_to_retry(sorted(keys), removed)
        updates = []
        importers: dict[str, None] = {}
        for one in candidates:
            target, missing = self._resolve(one.importer, one.language, one.imported)
            if (target, missing) != (one.target, one.missing):
                updates.append((one.row, target, missing))
                importers[one.importer] = None
        self._store.update_imports(updates)
        self._linking.imports_changed(importers.keys())
        return bool(updates)

    # Contents

    def _read(self, paths: Sequence[str], seconds: float | None = None) -> None:
        """Read files, write what they hold, announce it; with `seconds` as many as that allows."""
        with self._suspects.work():
            self._read_files(paths, seconds)

    def _read_files(self, paths: Sequence[str], seconds: float | None) -> None:
        deadline = None if seconds is None else self._system.monotonic() + seconds
        outcomes: list[FileContent | FileRecord] = []
        for path in paths:
            former = self._pending.pop(path)
            outcomes.append(self._read_file(self._known[path], former))
            if deadline is not None and self._system.monotonic() > deadline:
                break
        self._write_read(outcomes)

    def _write_read(self, outcomes: Sequence[FileContent | FileRecord]) -> None:
        """Write what files hold, and announce it."""
        if not outcomes:
            return
        contents = [each for each in outcomes if isinstance(each, FileContent)]
        records = [each for each in outcomes if isinstance(each, FileRecord)]
        upserted = (*records, *(content.record for content in contents))
        self._known.update((record.path, record) for record in upserted)
        with self._store.transaction() as generation:
            self._linking.contents_lost([record.path for record in records if record.skipped])
            self._store.put_records(records)
            changes: list[InterfaceChanged] = []
            for content in contents:
                self._suspects.begin(content.record.path)  # what it shows to others is made out here
                changes += self._store.put_contents([content])
            read = [content.record.path for content in contents]
            self._linking.contents_changed(changes, read)
            if not self._pending and len(read) <= LINK_NOW:
                self._linking.link_now(read)
        self._announce(TreeDelta(self._root, generation, upserted))

    def _read_file(self, record: FileRecord, former: FileRecord | None) -> FileContent | FileRecord:
        """Return a file's new record, with its definitions unless it holds what it held before."""
        left_alone = self._left_alone(record)
        if left_alone is not None:
            return left_alone
        self._suspects.begin(record.path)
        return self._outcome(record, former, self._reader.read(self._asked(record, former)))

    def _left_alone(self, record: FileRecord) -> FileRecord | None:
        """Return the record of a file that isn't even read, None for one that is."""
        if is_secret_file(record.path) and not any(glob.matches(record.path) for glob in self._shown):
            return replace(_without_content(record), skipped="secret")
        if self._suspects.is_quarantined(record):
            return replace(_without_content(record), skipped="quarantined")
        return None

    def _asked(self, record: FileRecord, former: FileRecord | None, *, words: bool = False) -> Asked:
        known = (former.digest, former.language) if former is not None else (b"", "")
        return Asked(record.path, record.language, *known, words)

    def _outcome(self, record: FileRecord, former: FileRecord | None, read: Read) -> FileContent | FileRecord:
        """Return what is written for a file that was read, by this process or another."""
        look, contents = read.look, read.contents
        if read.problem:
            log.info("%s can't be read: %s", record.path, read.problem)
        if look.skipped == "gone":
            return record  # the watcher or the next sweep takes it out
        record = _looked_at(record, look)
        if contents is None:
            if look.skipped or former is None:
                return record
            return replace(record, lines=former.lines, symbols=former.symbols)
        record = replace(record, lines=contents.lines, symbols=len(contents.symbols))
        if contents.terms is not None:
            self._lexing.offer(record.path, contents.terms)
        imports = [self._import_row(record, Import(*imported)) for imported in contents.imports]
        symbols = [Symbol(*symbol) for symbol in contents.symbols]
        return FileContent(record, symbols, imports, contents.text, contents.facts)

    def _import_row(self, record: FileRecord, imported: Import) -> ImportRow:
        target, missing = self._resolve(record.path, record.language, imported)
        keys = self._resolver.retry_keys(record.path, record.language, imported)
        return ImportRow(imported, target, missing, keys)

    def _resolve(self, importer: str, language: str, imported: Import) -> tuple[str, bool]:
        target = self._resolver.resolve(importer, language, imported)
        if target is not None:
            return ("" if target == importer else target), False  # a package that imports a name of its own
        return "", imported.required and self._resolver.is_internal(importer, language, imported)

    def _retry_keys(self, stored: StoredImport) -> tuple[str, ...]:
        return self._resolver.retry_keys(stored.importer, stored.language, stored.imported)

    def _read_all_again(self) -> None:
        """Have all contents read again, as if they had changed; what is known answers meanwhile."""
        for path, record in self._known.items():
            if record.digest or record.skipped in {"binary", "unreadable", "secret", "quarantined"}:
                self._pending[path] = None

    def _read_config(self, path: str) -> bytes | None:
        try:
            return self._system.read(os.path.join(self._root, path), self._command.max_file_bytes)[0]
        except OSError:
            return None

    def _take_history(self) -> None:
        """Count how often git's latest commits changed each file; outside git nothing is counted."""
        if not git.is_repository(self._root):
            return
        try:
            counts = git.change_counts(self._root, HISTORY_COMMITS)
        except git.GitError as error:
            log.info("the history of %s can't be read: %s", self._root, error)
            return
        with self._store.side_notes():
            self._store.put_commits({path: count for path, count in counts.items() if path in self._known})

    # State

    def _lose_root(self, error: RootGone) -> None:
        """Keep what is known and wait for the root to come back."""
        self._reasons["root"] = str(error)
        self._bulk = None
        self._statistics = None
        self._stop_ahead()
        self._linking.rest()
        if self._watcher is not None:
            self._watcher.close()
            self._watcher = None
        self._set_state("degraded")
        self._schedule_sweep()

    def _set_state(self, state: ProjectState) -> None:
        self._state = state
        self._report()

    def _report(self) -> None:
        """Say how far the index is, if that changed since it was last said."""
        if self._statistics is None:
            self._statistics = self._scanner.statistics()
        statistics = self._statistics
        watcher = self._watcher
        reasons = list(self._reasons.values())
        problems = (self._suspects.problem, self._lexing.problem, self._linking.problem)
        reasons.extend(filter(None, problems))
        if watcher is not None and watcher.mode != "native" and watcher.reason:
            reasons.append(watcher.reason)
        reasons.extend(f"{path}: {problem}" for path, problem in sorted(statistics.problems.items()))
        progress = ProjectProgress(
            root=self._root,
            state=self._state,
            watch=watcher.mode if watcher is not None else "off",
            degraded=tuple(reasons),
            total=len(self._known),
            pending=len(self._pending),
            unlinked=self._linking.waiting(),
            skipped=tuple(sorted(statistics.skipped_folders.items())),
        )
        if progress != self._reported:
            self._reported = progress
            self._announce(progress)


def _without_content(record: FileRecord) -> FileRecord:
    """Return a record that claims nothing of the content, so that no later read is compared with it."""
    return replace(record, digest=b"", hashed=b"", skipped="", lines=0, symbols=0)


def _looked_at(record: FileRecord, look: Look) -> FileRecord:
    """Return a file's record with what a look at its bytes says; one that is gone stays as it was."""
    if look.skipped == "gone":
        return record
    record = replace(_without_content(record), skipped=look.skipped)
    if look.stamp is None:
        return record
    record = replace(record, stamp=Stamp(*look.stamp), racy=look.racy)
    return record if look.skipped else replace(record, digest=look.digest, language=look.language)


def _settings(command: OpenProject) -> ScanSettings:
    return ScanSettings(
        max_file_bytes=command.max_file_bytes,
        exclude=command.exclude,
        skip_folders=ALWAYS_SKIPPED_FOLDERS | frozenset(command.skip_folders_extra),
    )
