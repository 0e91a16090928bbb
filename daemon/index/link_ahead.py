"""The side process that links files from the end of a project's queue: both ends of it."""

from __future__ import annotations

import gc
import logging
import os
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, cast

from ..core.storage import DatabaseError
from ..core.system import System
from ..languages.shared.imports import ImportResolver
from ..linking.records import LinkedFile
from ..linking.service import link_file
from .fact_table import FactsDamaged, FactTable
from .link_table import LinkTable
from .linker_view import YOUNG_OBJECTS, StoredLinkerView
from .side_process import StartSideProcess, Work, WorkAhead
from .store import open_tables

log = logging.getLogger(__name__)

FILES_MAX: Final = 192
"""Maximum number of files given to the side process at a time: a third of a second of work, which is longer
than the indexer takes until it gives it more, so that the side process never waits."""

FILES_MIN: Final = 16
"""Minimum number of files in a message to the side process."""


class QueuedFile(NamedTuple):
    """A file that waits to be linked."""

    id: int
    path: str
    language: str


class LinkedAhead(NamedTuple):
    """The links of a file in an epoch, None if the indexer must link the file itself."""

    epoch: int
    file: QueuedFile
    linked: LinkedFile | None


class LinkOpening(NamedTuple):
    """The project that a side process links: its root and its folder in the state folder. Files that
    configure imports are read up to `max_bytes`."""

    root: str
    folder: str
    max_bytes: int

    def begin(self) -> Work:
        """Open the index and return the function that links a file in an epoch."""
        gc.set_threshold(YOUNG_OBJECTS)
        return AheadLinker(self, System()).answer


class LinkAhead(WorkAhead[QueuedFile, None]):
    """Files of one project that a side process links.

    The side process reads the committed index. Its links are the same as those of this process, as long as
    nothing has changed meanwhile. The epoch counts the changes on which links may depend: when it changes,
    the side process drops what it has cached about the project.
    """

    def __init__(self, start: StartSideProcess, opening: LinkOpening) -> None:
        super().__init__(start, opening, FILES_MAX)
        self._refused: set[QueuedFile] = set()

    def ask(self, epoch: int, files: Iterable[QueuedFile]) -> None:
        """Have files linked in this order, except those that the side process couldn't link before."""
        wanted = [file for file in files if file not in self._away and file not in self._refused]
        if wanted:
            self._ask(epoch, wanted, dict.fromkeys(wanted))

    def take(self, epoch: int, seconds: float) -> Iterator[tuple[QueuedFile, LinkedFile]]:
        """Yield files linked in this epoch with their links, waiting up to `seconds` for the first."""
        wait = seconds
        while (found := cast("LinkedAhead | None", self._receive(wait))) is not None:
            wait = 0.0
            del self._away[found.file]
            if found.linked is None:
                self._refused.add(found.file)
            elif found.epoch == epoch:
                yield found.file, found.linked

    def close(self) -> None:
        """End the process. Files that it hasn't answered or couldn't link may be given to it again."""
        super().close()
        self._refused.clear()

    def rest(self) -> None:
        """End the process until it is needed again; by then the cause of its failures may have passed."""
        self.close()
        self._starts = 0


class AheadLinker:
    """Links files of one project from its index. Raises `DatabaseError` if the index can't be read."""

    def __init__(self, opening: LinkOpening, system: System) -> None:
        self._opening = opening
        self._system = system
        self._database, self._load_files = open_tables(opening.folder)
        self._facts = FactTable(self._database)
        self._table = LinkTable(self._database)
        self._epoch = -1
        self._world: StoredLinkerView

    def close(self) -> None:
        """Close the index."""
        self._database.close()

    def answer(self, epoch: int, file: QueuedFile) -> LinkedAhead:
        """Link a file, or leave it to the indexer."""
        try:
            return LinkedAhead(epoch, file, self.link(epoch, file))
        except DatabaseError:  # the indexer gets this error too, and reports it
            return LinkedAhead(epoch, file, None)

    def link(self, epoch: int, file: QueuedFile) -> LinkedFile | None:
        """Return the links of a file, None if its facts can't be used or linking it fails."""
        if epoch != self._epoch:
            records = self._load_files()
            self._world = StoredLinkerView(self._facts, ImportResolver(records.keys(), self._config), records)
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
        except Exception:  # the indexer gets the same error, and reports it
            log.exception("%s could not be linked ahead", file.path)
            return None
        if self._world.damaged:
            return None  # the indexer records the files to read again
        return found._replace(consulted=found.consulted | self._world.missed)

    def _config(self, path: str) -> bytes | None:
        try:
            return self._system.read(os.path.join(self._opening.root, path), self._opening.max_bytes)[0]
        except OSError:
            return None
