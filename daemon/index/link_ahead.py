"""Owns linking by a process beside the indexer: which files it was asked for, and what it linked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, cast

from ..linking.linker import LinkedFile
from .ahead import Ahead
from .beside import MakeBeside

MODULE: Final = "foveal.daemon.index.linking_worker"

FILES_MAX: Final = 192
"""Files that are asked for at a time, a third of a second of work: longer than the indexer links and writes
before it asks again, else the process waits for it."""

FILES_MIN: Final = 16
"""Fewer aren't worth a message."""


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


class LinkAhead(Ahead[QueuedFile, None]):
    """Files of one project that another process links.

    It reads the index as it was committed. What it links is what this process would, as long as nothing
    changed meanwhile (see `ToLink`).
    """

    def __init__(self, make: MakeBeside, opening: LinkOpening) -> None:
        super().__init__(make, MODULE, opening, FILES_MAX)
        self._refused: set[QueuedFile] = set()

    def ask(self, epoch: int, files: Iterable[QueuedFile]) -> None:
        """Have files linked, in this order, but for those that it couldn't link before."""
        wanted = tuple(each for each in files if each not in self._away and each not in self._refused)
        if wanted:
            self._send(ToLink(epoch, wanted), dict.fromkeys(wanted))

    def take(self, epoch: int, seconds: float) -> Iterator[tuple[QueuedFile, LinkedFile]]:
        """Yield what was linked in this epoch, waiting for the first one for so long."""
        wait = seconds
        while (found := cast("LinkedAhead | None", self._receive(wait))) is not None:
            wait = 0.0
            del self._away[found.file]
            if found.linked is None:
                self._refused.add(found.file)
            elif found.epoch == epoch:
                yield found.file, found.linked

    def close(self) -> None:
        """End the process; what it was asked for and didn't answer, or refused, may be asked for again."""
        super().close()
        self._refused.clear()

    def rest(self) -> None:
        """End the process until it is asked again, by when whatever it failed at may have passed."""
        self.close()
        self._starts = 0
