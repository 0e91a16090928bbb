"""Owns the processes that read ahead for one project: how many there are, and what each of them gets."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final, cast

from ..core.system import Stamp
from .ahead import Ahead
from .beside import MakeBeside, available_cores
from .reading import FileOpening, FileToRead, Read

READERS_MAX: Final = 3
"""The indexer writes what they read, in a third of the time that reading takes one process; it reads itself
when it has nothing to write."""


def count_for(files: int) -> int:
    """Return how many processes are to read so many files: a core stays for the indexer, and each is to have
    enough to be worth its start (0.3 s) and its memory (60 MB)."""
    return min(READERS_MAX, max(1, available_cores() - 1), 1 + files // FILES_MAX)


class Readers:
    """Processes that each read a part of the files, on the indexer's working thread."""

    def __init__(self, make: MakeBeside, root: str, max_bytes: int, count: int) -> None:
        self._all = deque(ReadAhead(make, root, max_bytes) for _ in range(count))

    def __contains__(self, path: object) -> bool:
        """Whether a file is being read, or waits to be, by one of them."""
        return any(path in one for one in self._all)

    @property
    def away(self) -> int:
        """How many files they were asked for and haven't read."""
        return sum(map(len, self._all))

    @property
    def room(self) -> int:
        """How many files more they take now: none while each has at least half of what it can have."""
        return sum(one.room for one in self._waiting())

    def share(self, files: int) -> int:
        """Return how many of so many files that wait they are to have more, so that neither they nor the
        indexer wait for the others at the end."""
        parts = len(self._all)
        return min(self.room, max(0, (files - self.away) * parts // (parts + 1)))

    def ask(self, files: Iterable[tuple[FileToRead, Stamp]]) -> None:
        """Have files read, no more than there is room for; the stamp is what is known of each."""
        wanted, begin = list(files), 0
        waiting = sorted(self._waiting(), key=lambda one: one.room)
        for left, one in zip(range(len(waiting), 0, -1), waiting, strict=True):
            end = begin + min(one.room, -(-(len(wanted) - begin) // left))
            one.ask(wanted[begin:end])
            begin = end

    def take(self, limit: int, seconds: float) -> Iterator[tuple[Read, Stamp]]:
        """Yield what was read, each with the stamp that it was asked for with: at most so many files, waiting
        for the first one for so long."""
        self._all.rotate()  # each is the first one at times
        left = limit
        for one in self._all:
            for found in one.take(left, 0.0):
                left -= 1
                yield found
        if left == limit and seconds > 0:
            yield from max(self._all, key=len).take(limit, seconds)

    def take_culprits(self) -> list[str]:
        """Return the files at which one of them ended by itself since the last time."""
        ended = [one for one in self._all if one.culprit is not None]
        found = [one.culprit for one in ended if one.culprit is not None]
        for one in ended:
            one.culprit = None
        return found

    def close(self) -> None:
        """End them; what they were asked for and didn't say is not read."""
        for one in self._all:
            one.close()

    def _waiting(self) -> list[ReadAhead]:
        return [one for one in self._all if 2 * one.room >= FILES_MAX]


MODULE: Final = "foveal.daemon.index.reading_worker"

FILES_MAX: Final = 128
"""Files that are asked for at a time: half a second of work, so that the process never waits while the
indexer writes."""


class ReadAhead(Ahead[str, Stamp]):
    """Files of one project that another process reads, by their paths, with the stamps known of them."""

    def __init__(self, make: MakeBeside, root: str, max_bytes: int) -> None:
        super().__init__(make, MODULE, FileOpening(root, max_bytes), FILES_MAX)

    def ask(self, files: Iterable[tuple[FileToRead, Stamp]]) -> None:
        """Have files read, in this order; the stamp is what is known of each."""
        wanted = list(files)
        if wanted:
            self._send([asked for asked, _ in wanted], {asked.path: stamp for asked, stamp in wanted})

    def take(self, limit: int, seconds: float) -> Iterator[tuple[Read, Stamp]]:
        """Yield what was read, each with the stamp that it was asked for with: at most so many files, waiting
        for the first one for so long."""
        for count in range(limit):
            read = cast("Read | None", self._receive(0.0 if count else seconds))
            if read is None:
                return
            yield read, self._away.pop(read.look.path)
