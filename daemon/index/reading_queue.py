"""The queue of a project's unread files, which are read here or by side processes.

The results of a step are written together, so that each step is one commit.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, cast

from msgspec.structs import replace

from ..core.globs import compile_glob
from ..core.storage import in_batches
from ..core.system import Stamp, System
from ..languages.shared.records import Import, Symbol
from ..privacy.secret_files import is_secret_file
from ..project.records import FileRecord
from .crash_guard import CrashGuard
from .indexed_files import ImportTargets, IndexedFiles
from .reading import FileDigest, FileOpening, FileReader, FileToRead, Read
from .side_process import StartSideProcess, WorkAhead, available_cores
from .store import FileContent

log = logging.getLogger(__name__)

STEP_FILES = 256

AHEAD_FROM = 64
"""Minimum number of unread files for side processes; fewer would be read before one has started (0.3 s)."""

TAKEN_FILES = 32
"""Maximum number of results of side processes that are written in one step, 1 to 2 ms each."""

READERS_MAX: Final = 3
"""Maximum number of side processes that read. The indexer writes their results, which takes a third of the
time that one process takes to read them; it reads files itself when it has nothing to write."""

FILES_MAX: Final = 128
"""Maximum number of files given to a side process at a time: half a second of work, so that it never waits
while the indexer writes."""


class ReadingQueue:
    """The unread files of one project, on the indexer's working thread.

    `make_readers` is called with the number of files when there is much to read; None for no side processes.
    Raises `DatabaseError` if the store fails.
    """

    def __init__(
        self,
        files: IndexedFiles,
        reader: FileReader,
        results: ReadResults,
        suspects: CrashGuard,
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
        """Whether enough files wait to have side processes read too."""
        return len(self._files.unread) >= AHEAD_FROM

    def read(self, paths: Sequence[str], seconds: float | None = None) -> None:
        """Read the unread files `paths`, write their contents and announce them; with `seconds`, as many as
        can be read in that time."""
        with self._suspects.work():
            self._read(paths, seconds)

    def step(self, seconds: float, first: Sequence[str] | None = None) -> None:
        """Do one step: write the results of side processes, and read files here while they work.

        With `first` only these unread files are read; what side processes were asked for before is written.
        """
        self._ask_ahead(first)
        if self._take_ahead(0.0):
            return
        batch = self._next_batch(STEP_FILES, first)
        if batch:
            self.read(batch, seconds)
        else:
            self._take_ahead(seconds)

    def confirm(self) -> Iterator[None]:
        """If many files wait, take those for read whose content is the known one, in steps: in a copied index
        these are most, and side processes would be started for them."""
        waiting = [path for path, former in self._files.unread.items() if former] if self.is_long else ()
        for paths in in_batches(waiting, STEP_FILES):
            outcomes: list[FileContent | FileRecord] = []
            for path in paths:
                former, record = self._files.unread.get(path), self._files.known.get(path)
                if former is None or record is None or self._results.left_alone(record) is not None:
                    continue
                read = self._reader.confirm(asked_of(record, former))
                if read is not None:
                    del self._files.unread[path]
                    outcomes.append(self._results.read(record, former, read))
            self._files.put_read(outcomes)
            yield

    def rest(self) -> None:
        """End the side processes. They are started again when there is much to do."""
        if self._readers is not None:
            self._readers.close()
            self._readers = None

    def _next_batch(self, count: int, first: Sequence[str] | None = None) -> list[str]:
        """Return at most `count` files to read next (only of `first`), but none that side processes read.

        Suspects come last and one at a time, because each may kill the process.
        """
        unread = self._files.unread
        for path in [path for path in self._suspects if path in unread]:
            unread[path] = unread.pop(path)
        away = self._readers if self._readers is not None else ()
        among = unread if first is None else first
        batch = list(islice((path for path in among if path not in away), count))
        return [path for path in batch if path not in self._suspects] or batch[:1]

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

    def _ask_ahead(self, first: Sequence[str] | None = None) -> None:
        """Let side processes read files too (only of `first`), if many wait."""
        unread = self._files.unread
        if self._readers is None:
            if self._make_readers is None or not self.is_long:
                return
            self._readers = self._make_readers(len(unread))
        share = self._readers.share(len(unread if first is None else first))
        if not share:
            return
        batch = [path for path in self._next_batch(share, first) if path not in self._suspects]
        records = [self._files.known[path] for path in batch]
        self._readers.ask(
            (asked_of(record, unread[record.path]), record.stamp)
            for record in records
            if self._results.left_alone(record) is None
        )

    def _take_ahead(self, seconds: float) -> bool:
        """Write the results of side processes; return whether there were any. A file that has changed
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
    """Return the number of side processes for `files` files.

    One core is left for the indexer, and each process gets enough files to be worth its start (0.3 s) and its
    memory (60 MB).
    """
    return min(READERS_MAX, max(1, available_cores() - 1), 1 + files // FILES_MAX)


class Readers:
    """The side processes among which files are divided for reading, on the indexer's working thread."""

    def __init__(self, start: StartSideProcess, root: str, max_bytes: int, count: int) -> None:
        self._all = deque(ReadAhead(start, root, max_bytes) for _ in range(count))

    def __contains__(self, path: object) -> bool:
        """Whether one of the processes is reading a file or will read it."""
        return any(path in reader for reader in self._all)

    @property
    def away(self) -> int:
        """The number of files that the processes were asked for and haven't read yet."""
        return sum(map(len, self._all))

    @property
    def room(self) -> int:
        """The number of further files that the processes accept now; 0 while each has half of its maximum."""
        return sum(reader.room for reader in self._waiting())

    def share(self, files: int) -> int:
        """Return the number of files to give to the processes now, if `files` are unread in total.

        It is chosen so that the processes and the indexer finish together.
        """
        parts = len(self._all)
        return min(self.room, max(0, (files - self.away) * parts // (parts + 1)))

    def ask(self, files: Iterable[tuple[FileToRead, Stamp]]) -> None:
        """Have files read, at most `room`, each given with its known stamp."""
        wanted, begin = list(files), 0
        waiting = sorted(self._waiting(), key=lambda reader: reader.room)
        for left, reader in zip(range(len(waiting), 0, -1), waiting, strict=True):
            end = begin + min(reader.room, -(-(len(wanted) - begin) // left))
            reader.ask(wanted[begin:end])
            begin = end

    def take(self, limit: int, seconds: float) -> Iterator[tuple[Read, Stamp]]:
        """Yield at most `limit` files that were read, each with the stamp given to `ask`; wait for the first
        up to `seconds`."""
        self._all.rotate()  # so that each process comes first at times
        left = limit
        for reader in self._all:
            for found in reader.take(left, 0.0):
                left -= 1
                yield found
        if left == limit and seconds > 0:
            yield from max(self._all, key=len).take(limit, seconds)

    def take_culprits(self) -> list[str]:
        """Return the files on which a process has died since the last call."""
        found = [reader.culprit for reader in self._all if reader.culprit is not None]
        for reader in self._all:
            reader.culprit = None
        return found

    def close(self) -> None:
        """End the processes; files that they haven't read stay unread."""
        for reader in self._all:
            reader.close()

    def _waiting(self) -> list[ReadAhead]:
        return [reader for reader in self._all if 2 * reader.room >= FILES_MAX]


class ReadAhead(WorkAhead[str, Stamp]):
    """Files of one project that one side process reads, by path, with their known stamps."""

    def __init__(self, start: StartSideProcess, root: str, max_bytes: int) -> None:
        super().__init__(start, FileOpening(root, max_bytes), FILES_MAX)

    def ask(self, files: Iterable[tuple[FileToRead, Stamp]]) -> None:
        """Have files read in this order, each given with its known stamp."""
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
    """Turns the results of reading, from any process, into the records of one project.

    `show_files` are patterns of secret files that are indexed nevertheless.
    """

    def __init__(self, show_files: Iterable[str], suspects: CrashGuard, targets: ImportTargets) -> None:
        self._shown = tuple(map(compile_glob, show_files))
        self._suspects = suspects
        self._targets = targets

    def left_alone(self, record: FileRecord) -> FileRecord | None:
        """Return the new record of a file that must not be read, None for a file that may be read."""
        if is_secret_file(record.path) and not any(glob.matches(record.path) for glob in self._shown):
            return replace(_without_content(record), skipped="secret")
        if self._suspects.is_quarantined(record):
            return replace(_without_content(record), skipped="quarantined")
        return None

    def read(self, record: FileRecord, former: FileRecord | None, read: Read) -> FileContent | FileRecord:
        """Return a file's new record, together with its contents if they have changed.

        `former` is the record of its former content, if there was any.
        """
        look, contents = read.look, read.contents
        if read.problem:
            log.info("%s can't be read: %s", record.path, read.problem)
        if look.skipped == "gone":
            return record  # the watcher or the next sweep will remove it
        record = _looked_at(record, look)
        if contents is None:
            if look.skipped or former is None:
                return record
            return replace(record, lines=former.lines, symbols=former.symbols)
        record = replace(record, lines=contents.lines, symbols=len(contents.symbols))
        imports = [self._targets.row(record, Import(*imported)) for imported in contents.imports]
        symbols = [Symbol(*symbol) for symbol in contents.symbols]
        return FileContent(record, symbols, imports, contents.text, contents.facts)


def asked_of(record: FileRecord, former: FileRecord | None) -> FileToRead:
    """Return the request to read a file; its answer has no contents if these still match `former`."""
    known = (former.digest, former.language) if former is not None else (b"", "")
    return FileToRead(record.path, record.language, *known)


def _without_content(record: FileRecord) -> FileRecord:
    """Return a file's record without its digest, so that the next read counts as new content."""
    return replace(record, digest=b"", skipped="", lines=0, symbols=0)


def _looked_at(record: FileRecord, look: FileDigest) -> FileRecord:
    """Return a file's record with the properties from a look at its bytes; unchanged for a missing file."""
    if look.skipped == "gone":
        return record
    record = replace(_without_content(record), skipped=look.skipped)
    if look.stamp is None:
        return record
    record = replace(record, stamp=Stamp(*look.stamp), racy=look.racy)
    return record if look.skipped else replace(record, digest=look.digest, language=look.language)
