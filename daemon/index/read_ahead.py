"""Owns reading by a process beside the indexer: what it was asked for, what it said, its death."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from typing import Final, cast

from ..system import Stamp
from .beside import Beside, Empty, MakeBeside
from .reading import Asked, Opening, Read

log = logging.getLogger(__name__)

MODULE: Final = "foveal.daemon.index.reading_worker"

FILES_MAX: Final = 128
"""Files that are asked for at a time: half a second of work, so that the process never waits while the
indexer writes."""

STARTS_MAX: Final = 3
"""So often the process is started for one stretch of bulk work; then the indexer reads alone."""


class ReadAhead:
    """Files of one project that another process reads, on the indexer's working thread.

    The process is started when it is asked first. `culprit` is the file that it was reading when it ended by
    itself, to be taken by the caller.
    """

    def __init__(self, make: MakeBeside, root: str, max_bytes: int) -> None:
        self._make = make
        self._opening = Opening(root, max_bytes)
        self._starts = 0
        self._beside: Beside | None = None
        self._away: dict[str, Stamp] = {}
        self.culprit = ""

    def __contains__(self, path: object) -> bool:
        """Whether a file is being read, or waits to be, by the process."""
        return path in self._away

    @property
    def room(self) -> int:
        """How many files more it takes now; none where it ended too often."""
        if self._beside is None and self._starts >= STARTS_MAX:
            return 0
        return FILES_MAX - len(self._away)

    def ask(self, files: Iterable[tuple[Asked, Stamp]]) -> None:
        """Have files read, in this order; the stamp is what is known of each."""
        wanted = list(files)
        if not wanted:
            return
        if self._beside is None:
            self._starts += 1
            try:
                self._beside = self._make(MODULE, self._opening)
            except OSError as error:  # no memory, no processes or no descriptors are left
                log.warning("no process can be started to read beside the indexer: %s", error)
                return
        self._away.update((asked.path, stamp) for asked, stamp in wanted)
        self._beside.send([asked for asked, _ in wanted])

    def take(self, limit: int, seconds: float) -> Iterator[tuple[Read, Stamp]]:
        """Yield what was read, each with the stamp that it was asked for with: at most so many files, waiting
        for the first one for so long."""
        for count in range(limit):
            if self._beside is None or not self._away:
                return
            try:
                read = cast("Read | None", self._beside.take(0.0 if count else seconds))
            except Empty:
                return
            if read is None:
                self.culprit = next(iter(self._away))  # it reads and answers in order
                log.warning("the process that reads ahead ended while it read %s", self.culprit)
                self.close()
                return
            yield read, self._away.pop(read.look.path)

    def close(self) -> None:
        """End the process; what it was asked for and didn't say is not read."""
        if self._beside is not None:
            self._beside.close()
            self._beside = None
        self._away.clear()
