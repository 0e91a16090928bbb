"""Owns the reading of the files that wait for it: which come next, and which another process reads meanwhile.

What came of reading them is written together, so that a step is one commit.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from ..project.tree import FileRecord
from ..system import System
from .indexed_files import IndexedFiles
from .read_ahead import FILES_MAX, ReadAhead
from .read_results import ReadResults, asked_of
from .reading import FileReader
from .store import FileContent
from .suspects import Suspects

STEP_FILES = 256

LOOK_FROM = 512
"""From so many files that wait to be read all of them are looked at first, 0.1 ms each, so that long before
the last one is parsed the hashes are known, and what isn't indexed at all. Fewer are read in two seconds."""

AHEAD_FROM = 64
"""From so many files that wait another process reads too: fewer are read before it has started (0.3 s)."""

TAKEN_FILES = 32
"""So many files that another process read are written in one step: 1 to 2 ms each."""


class ReadingQueue:
    """The unread files of one project, on the indexer's working thread.

    `make_ahead` is called when there is much to read; None where no other process is to read. Raises
    `DatabaseError` where the store fails.
    """

    def __init__(
        self,
        files: IndexedFiles,
        reader: FileReader,
        results: ReadResults,
        suspects: Suspects,
        system: System,
        make_ahead: Callable[[], ReadAhead] | None = None,
    ) -> None:
        self._files = files
        self._reader = reader
        self._results = results
        self._suspects = suspects
        self._system = system
        self._make_ahead = make_ahead
        self._ahead: ReadAhead | None = None

    @property
    def is_long(self) -> bool:
        """Whether so much waits that another process reads too."""
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
        """Read for one step: what another process has read is written, and while it reads so does this."""
        self._ask_ahead()
        if self._take_ahead(0.0):
            return
        batch = self._next_batch(STEP_FILES)
        if batch:
            self.read(batch, seconds)
        else:
            self._take_ahead(seconds)

    def rest(self) -> None:
        """End the other process, which is started again when there is much to do."""
        if self._ahead is not None:
            self._ahead.close()
            self._ahead = None

    def _next_batch(self, count: int) -> list[str]:
        """Return which files to read next, so many at most, of those that no other process reads: suspects
        last, each alone, since it may end the process."""
        unread = self._files.unread
        for path in [path for path in self._suspects if path in unread]:
            unread[path] = unread.pop(path)
        away = self._ahead if self._ahead is not None else ()
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

    # By the process beside this one

    def _ask_ahead(self) -> None:
        """Have another process read files too, where many wait."""
        if self._ahead is None:
            if self._make_ahead is None or not self.is_long:
                return
            self._ahead = self._make_ahead()
        unread, room = self._files.unread, self._ahead.room
        # Half of what is left at most, so that neither waits for the other at the end.
        share = min(room, (len(unread) - (FILES_MAX - room)) // 2)
        if 2 * room < FILES_MAX or share <= 0:
            return
        batch = [path for path in self._next_batch(share) if path not in self._suspects]
        records = [self._files.known[path] for path in batch]
        self._ahead.ask(
            (asked_of(record, unread[record.path], words=True), record.stamp)
            for record in records
            if self._results.left_alone(record) is None
        )

    def _take_ahead(self, seconds: float) -> bool:
        """Write what another process has read; whether it had read anything. What changed meanwhile waits
        to be read again."""
        ahead = self._ahead
        if ahead is None:
            return False
        unread, known = self._files.unread, self._files.known
        outcomes: list[FileContent | FileRecord] = []
        found = False
        for read, stamp in ahead.take(TAKEN_FILES, seconds):
            found = True
            path = read.look.path
            if path in unread and known[path].stamp == stamp:
                outcomes.append(self._results.read(known[path], unread.pop(path), read))
        if ahead.culprit is not None:
            self._suspects.blame(ahead.culprit)
            ahead.culprit = None
        with self._suspects.work():
            self._files.put_read(outcomes)
        return found
