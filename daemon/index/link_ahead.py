"""Owns linking by a process beside the indexer: what it was asked for, what it said, its death."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, cast

from ..structure.linker import LinkedFile
from .beside import Beside, Empty, MakeBeside

log = logging.getLogger(__name__)

MODULE: Final = "foveal.daemon.index.linking_worker"

FILES_MAX: Final = 192
"""Files that are asked for at a time, a third of a second of work: longer than the indexer links and writes
before it asks again, else the process waits for it."""

FILES_MIN: Final = 16
"""Fewer aren't worth a message."""

STARTS_MAX: Final = 3


class QueuedFile(NamedTuple):
    """A file that waits to be linked."""

    id: int
    path: str
    language: str


class LinkOpening(NamedTuple):
    """Which project a process links: its root and its folder in the state folder. The files that configure
    imports are read up to `max_bytes`."""

    root: str
    folder: str
    max_bytes: int


class ToLink(NamedTuple):
    """Files to be linked. `epoch` counts the changes of what links rest on: with a new one the process
    forgets what it knew of the project."""

    epoch: int
    files: tuple[QueuedFile, ...]


class LinkedAhead(NamedTuple):
    """What the references of a file meant at an epoch; None where the indexer has to see to it itself."""

    epoch: int
    file: QueuedFile
    linked: LinkedFile | None


class LinkAhead:
    """Files of one project that another process links, on the indexer's working thread.

    The process is started when it is asked first, and reads the index as it was committed. What it links is
    what this process would, as long as nothing changed meanwhile (see `ToLink`). `culprit` is as with
    `ReadAhead`.
    """

    def __init__(self, make: MakeBeside, opening: LinkOpening) -> None:
        self._make = make
        self._opening = opening
        self._starts = 0
        self._beside: Beside | None = None
        self._away: dict[int, QueuedFile] = {}
        self._refused: set[int] = set()
        self.culprit = ""

    def __contains__(self, file_id: object) -> bool:
        """Whether a file is being linked, or waits to be, by the process."""
        return file_id in self._away

    @property
    def runs(self) -> bool:
        """Whether the process was started."""
        return self._beside is not None

    @property
    def busy(self) -> int:
        """How many files it was asked for and hasn't answered."""
        return len(self._away)

    @property
    def room(self) -> int:
        """How many files more it takes now; none where it ended too often."""
        if self._beside is None and self._starts >= STARTS_MAX:
            return 0
        return FILES_MAX - len(self._away)

    def ask(self, epoch: int, files: Iterable[QueuedFile]) -> None:
        """Have files linked, in this order, but for those that it couldn't link before."""
        wanted = tuple(each for each in files if each.id not in self._away and each.id not in self._refused)
        if not wanted:
            return
        if self._beside is None:
            self._starts += 1
            try:
                self._beside = self._make(MODULE, self._opening)
            except OSError as error:  # no memory, no processes or no descriptors are left
                log.warning("no process can be started to link beside the indexer: %s", error)
                return
        self._away.update((each.id, each) for each in wanted)
        self._beside.send(ToLink(epoch, wanted))

    def take(self, epoch: int, seconds: float) -> Iterator[tuple[QueuedFile, LinkedFile]]:
        """Yield what was linked in this epoch, waiting for the first one for so long."""
        wait = seconds
        while self._beside is not None and self._away:
            try:
                found = cast("LinkedAhead | None", self._beside.take(wait))
            except Empty:
                return
            wait = 0.0
            if found is None:
                self.culprit = next(iter(self._away.values())).path  # it links and answers in order
                log.warning("the process that links ahead ended while it linked %s", self.culprit)
                self.close()
                return
            del self._away[found.file.id]
            if found.linked is None:
                self._refused.add(found.file.id)
            elif found.epoch == epoch:
                yield found.file, found.linked

    def close(self) -> None:
        """End the process; what it was asked for and didn't say is not linked."""
        if self._beside is not None:
            self._beside.close()
            self._beside = None
        self._away.clear()
        self._refused.clear()

    def rest(self) -> None:
        """End the process until it is asked again, by when whatever it failed at may have passed."""
        self.close()
        self._starts = 0
