"""Owns reading by a process beside the indexer: which files it was asked for, and what it read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, cast

from ..core.system import Stamp
from .ahead import Ahead
from .beside import MakeBeside
from .reading import Asked, Opening, Read

MODULE: Final = "foveal.daemon.index.reading_worker"

FILES_MAX: Final = 128
"""Files that are asked for at a time: half a second of work, so that the process never waits while the
indexer writes."""


class ReadAhead(Ahead[str, Stamp]):
    """Files of one project that another process reads, by their paths, with the stamps known of them."""

    def __init__(self, make: MakeBeside, root: str, max_bytes: int) -> None:
        super().__init__(make, MODULE, Opening(root, max_bytes), FILES_MAX)

    def ask(self, files: Iterable[tuple[Asked, Stamp]]) -> None:
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
