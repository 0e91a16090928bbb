"""The unread files of a project: which are read next, here or by side processes, and what is stored of them.

The results of a step are written together, so that a step is one commit.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, cast

from msgspec.structs import replace

from ..core.system import Stamp, System
from ..languages.shared.records import Import, Symbol
from ..privacy.secret_files import is_secret_file
from ..project.globs import compile_glob
from ..project.tree import FileRecord
from .indexed_files import ImportTargets, IndexedFiles
from .lexing import Lexing
from .reading import FileOpening, FileReader, FileToRead, Look, Read
from .side_process import StartSideProcess, WorkAhead, available_cores
from .store import FileContent
from .suspects import Suspects

log = logging.getLogger(__name__)

STEP_FILES = 256

LOOK_FROM = 512
"""Minimum number of unread files for which all are looked at first, 0.1 ms each, so that their hashes are
known long before the last file is parsed. Fewer files are read in two seconds."""

AHEAD_FROM = 64
"""Minimum number of unread files for side processes: fewer are read before one has started (0.3 s)."""

TAKEN_FILES = 32
"""Maximum number of files read by side processes that are written in one step: 1 to 2 ms each."""

READERS_MAX: Final = 3
"""Maximum number of side processes that read. The indexer writes what they read, in a third of the time that
reading takes one process; it reads itself when it has nothing to write."""

FILES_MAX: Final = 128
"""Maximum number of files with a side process: half a second of work, so that it never waits while the
indexer writes."""


class ReadingQueue:
    """The unread files of one project, on the indexer's working thread.

    `make_readers` is called with the number of files when there is much to read; None where no side process
    is to read. Raises `DatabaseError` where the store fails.
    """

    def __init__(
        self,
        files: IndexedFiles,
        reader: FileReader,
        results: ReadResults,
        suspects: Suspects,
        system: System,
        make_readers: Callable[[int], Readers] | None = None,
    ) -> None:
        self._files = files
        self._reader = reader
        self._results = results
        self._suspects = suspects
        self._system = system
        self._make_readers = make_readers
        self._readers: Readers | None = None

    @property
    def is_long(self) -> bool:
        """Whether enough files wait for side processes to read too."""
        return len(self._files.unread) >= AHEAD_FROM

    def look(self, seconds: float) -> Iterator[None]:
        """Look at the unread files, if there are many, in steps of `seconds`: all hashes are known before any
        file is parsed. Parsing reads the bytes again, from the system's cache, to spare our memory."""
        unread, known = self._files.unread, self._files.known
        if len(unread) < LOOK_FROM:
            return
        self._ask_ahead()
        waiting = deque(unread)
        while waiting:
            deadline = self._system.monotonic() + seconds
            records: list[FileRecord] = []
            while waiting and self._system.monotonic() < deadline:
                path = waiting.popleft()
                record = known[path] if path in unread else None
                if record is not None and not (record.hashed or record.digest):
                    records.append(self._look_at(record))
            self._files.put_looks(records)
            yield

    def read(self, paths: Sequence[str], seconds: float | None = None) -> None:
        """Read some of the unread files, write what they hold and announce it; with `seconds` as many as that
        allows."""
        with self._suspects.work():
            self._read(paths, seconds)

    def step(self, seconds: float) -> None:
        """Read for one step: write what side processes have read, and read here while they work."""
        self._ask_ahead()
        if self._take_ahead(0.0):
            return
        batch = self._next_batch(STEP_FILES)
        if batch:
            self.read(batch, seconds)
        else:
            self._take_ahead(seconds)

    def rest(self) -> None:
        """End the side processes, which are started again when there is much to do."""
        if self._readers is not None:
            self._readers.close()
            self._readers = None

    def _next_batch(self, count: int) -> list[str]:
        """Return at most `count` files to read next, of those that no side process reads: suspects last, each
        alone, since it may end the process."""
        unread = self._files.unread
        for path in [path for path in self._suspects if path in unread]:
            unread[path] = unread.pop(path)
        away = self._readers if self._readers is not None else ()
        batch = list(islice((path for path in unread if path not in away), count))
        return [path for path in batch if path not in self._suspects] or batch[:1]

    def _look_at(self, record: FileRecord) -> FileRecord:
        left_alone = self._results.left_alone(record)
        if left_alone is not None:
            return left_alone
        return self._results.looked_at(record, self._reader.look(asked_of(record, None)))

    def _read(self, paths: Sequence[str], seconds: float | None) -> None:
        deadline = None if seconds is None else self._system.monotonic() + seconds
        outcomes: list[FileContent | FileRecord] = []
        for path in paths:
            former = self._files.unread.pop(path)
            outcomes.append(self._read_file(self._files.known[path], former))
            if deadline is not None and self._system.monotonic() > deadline:
                break
        self._files.put_read(outcomes)

    def _read_file(self, record: FileRecord, former: FileRecord | None) -> FileContent | FileRecord:
        left_alone = self._results.left_alone(record)
        if left_alone is not None:
            return left_alone
        self._suspects.begin(record.path)
        return self._results.read(record, former, self._reader.read(asked_of(record, former)))

    # By side processes

    def _ask_ahead(self) -> None:
        """Have side processes read files too, where many wait."""
        unread = self._files.unread
        if self._readers is None:
            if self._make_readers is None or not self.is_long:
                return
            self._readers = self._make_readers(len(unread))
        share = self._readers.share(len(unread))
        if not share:
            return
        batch = [path for path in self._next_batch(share) if path not in self._suspects]
        records = [self._files.known[path] for path in batch]
        self._readers.ask(
            (asked_of(record, unread[record.path], words=True), record.stamp)
            for record in records
            if self._results.left_alone(record) is None
        )

    def _take_ahead(self, seconds: float) -> bool:
        """Write what side processes have read; return whether they had read anything. A file that changed
        meanwhile stays unread."""
        readers = self._readers
        if readers is None:
            return False
        unread, known = self._files.unread, self._files.known
        outcomes: list[FileContent | FileRecord] = []
        found = False
        for read, stamp in readers.take(TAKEN_FILES, seconds):
            found = True
            path = read.look.path
            if path in unread and known[path].stamp == stamp:
                outcomes.append(self._results.read(known[path], unread.pop(path), read))
        for path in readers.take_culprits():
            self._suspects.blame(path)
        with self._suspects.work():
            self._files.put_read(outcomes)
        return found


def count_for(files: int) -> int:
    """Return the number of side processes for `files` files: a core stays for the indexer, and each process
    needs enough files to be worth its start (0.3 s) and its memory (60 MB)."""
    return min(READERS_MAX, max(1, available_cores() - 1), 1 + files // FILES_MAX)


class Readers:
    """The side processes that each read a part of the files, on the indexer's working thread."""

    def __init__(self, start: StartSideProcess, root: str, max_bytes: int, count: int) -> None:
        self._all = deque(ReadAhead(start, root, max_bytes) for _ in range(count))

    def __contains__(self, path: object) -> bool:
        """Whether a file is being read, or waits to be, by one of them."""
        return any(path in reader for reader in self._all)

    @property
    def away(self) -> int:
        """The number of files that they were asked for and haven't read."""
        return sum(map(len, self._all))

    @property
    def room(self) -> int:
        """The number of further files that they take now; 0 while each has at least half of its maximum."""
        return sum(reader.room for reader in self._waiting())

    def share(self, files: int) -> int:
        """Return how many of `files` unread files to ask for now, so that neither side processes nor indexer
        wait for the others at the end."""
        parts = len(self._all)
        return min(self.room, max(0, (files - self.away) * parts // (parts + 1)))

    def ask(self, files: Iterable[tuple[FileToRead, Stamp]]) -> None:
        """Have files read, at most as many as `room`; the stamp is the one known of each file."""
        wanted, begin = list(files), 0
        waiting = sorted(self._waiting(), key=lambda reader: reader.room)
        for left, reader in zip(range(len(waiting), 0, -1), waiting, strict=True):
            end = begin + min(reader.room, -(-(len(wanted) - begin) // left))
            reader.ask(wanted[begin:end])
            begin = end

    def take(self, limit: int, seconds: float) -> Iterator[tuple[Read, Stamp]]:
        """Yield at most `limit` files that were read, each with the stamp given to `ask`; wait for the first
        up to `seconds`."""
        self._all.rotate()  # so that each comes first at times
        left = limit
        for reader in self._all:
            for found in reader.take(left, 0.0):
                left -= 1
                yield found
        if left == limit and seconds > 0:
            yield from max(self._all, key=len).take(limit, seconds)

    def take_culprits(self) -> list[str]:
        """Return the files at which a process ended by itself since the last time."""
        found = [reader.culprit for reader in self._all if reader.culprit is not None]
        for reader in self._all:
            reader.culprit = None
        return found

    def close(self) -> None:
        """End them; files without an answer stay unread."""
        for reader in self._all:
            reader.close()

    def _waiting(self) -> list[ReadAhead]:
        return [reader for reader in self._all if 2 * reader.room >= FILES_MAX]


class ReadAhead(WorkAhead[str, Stamp]):
    """Files of one project that a side process reads, by path, with the stamps known of them."""

    def __init__(self, start: StartSideProcess, root: str, max_bytes: int) -> None:
        super().__init__(start, FileOpening(root, max_bytes), FILES_MAX)

    def ask(self, files: Iterable[tuple[FileToRead, Stamp]]) -> None:
        """Have files read, in this order; the stamp is the one known of each file."""
        wanted = list(files)
        if wanted:
            stamps = {file.path: stamp for file, stamp in wanted}
            self._ask(None, [file for file, _ in wanted], stamps)

    def take(self, limit: int, seconds: float) -> Iterator[tuple[Read, Stamp]]:
        """Yield at most `limit` files that were read, each with the stamp given to `ask`; wait for the first
        up to `seconds`."""
        for count in range(limit):
            read = cast("Read | None", self._receive(0.0 if count else seconds))
            if read is None:
                return
            yield read, self._away.pop(read.look.path)


class ReadResults:
    """Turns looks and reads into the records of one project, whichever process made them.

    `show_files` are patterns of secret files that are indexed nevertheless. `lexing` is offered the search
    terms that came with a read.
    """

    def __init__(
        self, show_files: Iterable[str], suspects: Suspects, targets: ImportTargets, lexing: Lexing
    ) -> None:
        self._shown = tuple(map(compile_glob, show_files))
        self._suspects = suspects
        self._targets = targets
        self._lexing = lexing

    def left_alone(self, record: FileRecord) -> FileRecord | None:
        """Return the record of a file that must not be read, None for any other."""
        if is_secret_file(record.path) and not any(glob.matches(record.path) for glob in self._shown):
            return replace(_without_content(record), skipped="secret")
        if self._suspects.is_quarantined(record):
            return replace(_without_content(record), skipped="quarantined")
        return None

    def looked_at(self, record: FileRecord, look: Look) -> FileRecord:
        """Return a file's record with the hash of what it holds now, or why that isn't indexed."""
        return replace(_looked_at(record, look), hashed=look.digest, digest=b"")

    def read(self, record: FileRecord, former: FileRecord | None, read: Read) -> FileContent | FileRecord:
        """Return a file's new record, with its definitions unless it holds what it held before.

        `former` is what was known of its content before, if anything.
        """
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
        imports = [self._targets.row(record, Import(*imported)) for imported in contents.imports]
        symbols = [Symbol(*symbol) for symbol in contents.symbols]
        return FileContent(record, symbols, imports, contents.text, contents.facts)


def asked_of(record: FileRecord, former: FileRecord | None, *, words: bool = False) -> FileToRead:
    """Return the request to read a file, which gives nothing new where it holds what `former` says."""
    known = (former.digest, former.language) if former is not None else (b"", "")
    return FileToRead(record.path, record.language, *known, words)


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
