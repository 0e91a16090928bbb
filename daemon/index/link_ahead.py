"""Linking by a side process: which files it was asked for, what it linked, and how it links."""

from __future__ import annotations

import gc
import logging
import os
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, cast

from ..core.storage import DatabaseError
from ..core.system import System
from ..languages.shared.imports import ImportResolver
from ..linking.linker import LinkedFile, link_file
from .fact_table import FactsDamaged, FactTable
from .link_table import LinkTable
from .side_process import StartSideProcess, Work, WorkAhead
from .store import open_tables
from .world import YOUNG_OBJECTS, StoredWorld

log = logging.getLogger(__name__)

FILES_MAX: Final = 192
"""Maximum number of files with the process, a third of a second of work: longer than the indexer links and
writes before it asks again, so that the process never waits."""

FILES_MIN: Final = 16
"""Minimum number of files that are worth a message."""


class QueuedFile(NamedTuple):
    """A file that waits to be linked."""

    id: int
    path: str
    language: str


class LinkedAhead(NamedTuple):
    """What the references of a file meant at an epoch; None where the indexer has to link it itself."""

    epoch: int
    file: QueuedFile
    linked: LinkedFile | None


class LinkOpening(NamedTuple):
    """The project that a process links: its root and its folder in the state folder. The files that configure
    imports are read up to `max_bytes`."""

    root: str
    folder: str
    max_bytes: int

    def begin(self) -> Work:
        """Open the index and return what links a file of it in an epoch."""
        gc.set_threshold(YOUNG_OBJECTS)
        return AheadLinker(self, System()).answer


class LinkAhead(WorkAhead[QueuedFile, None]):
    """Files of one project that a side process links.

    It reads the index as it was committed. What it links is what this process would, as long as nothing
    changed meanwhile. An epoch counts the changes of what links rest on: with a new one the process forgets
    what it knew of the project.
    """

    def __init__(self, start: StartSideProcess, opening: LinkOpening) -> None:
        super().__init__(start, opening, FILES_MAX)
        self._refused: set[QueuedFile] = set()

    def ask(self, epoch: int, files: Iterable[QueuedFile]) -> None:
        """Have files linked, in this order, except those that it couldn't link before."""
        wanted = [file for file in files if file not in self._away and file not in self._refused]
        if wanted:
            self._ask(epoch, wanted, dict.fromkeys(wanted))

    def take(self, epoch: int, seconds: float) -> Iterator[tuple[QueuedFile, LinkedFile]]:
        """Yield what was linked in this epoch, waiting up to `seconds` for the first file."""
        wait = seconds
        while (found := cast("LinkedAhead | None", self._receive(wait))) is not None:
            wait = 0.0
            del self._away[found.file]
            if found.linked is None:
                self._refused.add(found.file)
            elif found.epoch == epoch:
                yield found.file, found.linked

    def close(self) -> None:
        """End the process; files without an answer, or refused, may be asked for again."""
        super().close()
        self._refused.clear()

    def rest(self) -> None:
        """End the process until it is asked again, by when the cause of its failures may have passed."""
        self.close()
        self._starts = 0


class AheadLinker:
    """Links files of one project by what its index says. Raises `DatabaseError` where that can't be read."""

    def __init__(self, opening: LinkOpening, system: System) -> None:
        self._opening = opening
        self._system = system
        self._database, self._load_files = open_tables(opening.folder)
        self._facts = FactTable(self._database)
        self._table = LinkTable(self._database)
        self._epoch = -1
        self._world: StoredWorld

    def close(self) -> None:
        """Close the index."""
        self._database.close()

    def answer(self, epoch: int, file: QueuedFile) -> LinkedAhead:
        """Link a file, or leave it to the indexer."""
        try:
            return LinkedAhead(epoch, file, self.link(epoch, file))
        except DatabaseError:  # the indexer meets it too, and reports it
            return LinkedAhead(epoch, file, None)

    def link(self, epoch: int, file: QueuedFile) -> LinkedFile | None:
        """Return what a file's references mean; None where its facts can't be used, or linking it fails."""
        if epoch != self._epoch:
            records = self._load_files()
            self._world = StoredWorld(self._facts, ImportResolver(records.keys(), self._config), records)
            self._epoch = epoch
        self._world.missed.clear()
        try:
            references = self._facts.references(file.id)
        except FactsDamaged:
            return None
        if references is None:
            return None
        symbols = self._table.symbols(file.id)
        try:
            found = link_file(file.path, file.language, symbols, references, self._world)
        except Exception:  # the indexer meets the same error, and reports it
            log.exception("%s could not be linked ahead", file.path)
            return None
        if self._world.damaged:
            return None  # the indexer notes which files have to be read again
        return found._replace(consulted=found.consulted | self._world.missed)

    def _config(self, path: str) -> bytes | None:
        try:
            return self._system.read(os.path.join(self._opening.root, path), self._opening.max_bytes)[0]
        except OSError:
            return None
