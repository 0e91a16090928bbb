"""Owns the reading of the files that wait for it: which come next, and which others read meanwhile.

What came of reading them is written together, so that a step is one commit.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from ..core.system import System
from ..project.tree import FileRecord
from .indexed_files import IndexedFiles
from .read_results import ReadResults, asked_of
from .readers import Readers
from .reading import FileReader
from .store import FileContent
from .suspects import Suspects

STEP_FILES = 256

LOOK_FROM = 512
"""From so many files that wait to be read all of them are looked at first, 0.1 ms each, so that long before
the last one is parsed the hashes are known, and what isn't indexed at all. Fewer are read in two seconds."""

AHEAD_FROM = 64
"""From so many files that wait other processes read too: fewer are read before one has started (0.3 s)."""

TAKEN_FILES = 32
"""Maximum number of files read by other processes that are written in one step: 1 to 2 ms each."""


class ReadingQueue:
    """The unread files of one project, on the indexer's working thread.

    `make_readers` is called with the number of files when there is much to read; None where no other process
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
        """Whether so much waits that other processes read too."""
        return len(self._files.unread) >= AHEAD_FROM

    def look(self, seconds: float) -> Iterator[None]:
        """Look at what waits to be read, if that is much, in steps of so long: the hashes of all of it come
        before the parsing of any. The bytes are read again then, from the system's memory; to keep them would
        take more of ours."""
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
        """Read some of the files that wait, write what they hold, announce it; with `seconds` as many as that
        allows."""
        with self._suspects.work():
            self._read(paths, seconds)

    def step(self, seconds: float) -> None:
        """Read for one step: what others have read is written, and while they read so does this."""
        self._ask_ahead()
        if self._take_ahead(0.0):
            return
        batch = self._next_batch(STEP_FILES)
        if batch:
            self.read(batch, seconds)
        else:
            self._take_ahead(seconds)

    def rest(self) -> None:
        """End the other processes, which are started again when there is much to do."""
        if self._readers is not None:
            self._readers.close()
            self._readers = None

    def _next_batch(self, count: int) -> list[str]:
        """Return which files to read next, so many at most, of those that no other process reads: suspects
        last, each alone, since it may end the process."""
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

    # By processes beside this one

    def _ask_ahead(self) -> None:
        """Have other processes read files too, where many wait."""
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
        """Write what others have read; whether they had read anything. What changed meanwhile waits to be
        read again."""
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
