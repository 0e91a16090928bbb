"""Owns the process that links ahead: files asked for on its socket, linked in order, each answered at once.

It reads the index and writes nothing. It ends when its socket does, so it never outlives the indexer.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import signal
import sys
from queue import SimpleQueue
from typing import Any

from ..core.pipe import ChildPipe
from ..core.storage import DatabaseError
from ..core.system import System
from ..languages.shared.imports import ImportResolver
from ..linking.linker import LinkedFile, link_file
from .fact_table import FactsDamaged, FactTable
from .link_ahead import LinkedAhead, LinkOpening, QueuedFile, ToLink
from .link_table import LinkTable
from .store import open_tables
from .suspects import HANG_S, set_alarm
from .world import YOUNG_OBJECTS, StoredWorld

log = logging.getLogger(__name__)


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
        except Exception:  # the indexer meets the same error, and says it
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


def main() -> None:
    """Serve on the socket whose descriptor is the one argument."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # the alarm ends the process, whatever the parent did
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
    pipe = ChildPipe(int(sys.argv[1]))
    messages: SimpleQueue[Any] = SimpleQueue()
    pipe.listen(messages.put)
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS)
    linker = AheadLinker(messages.get(), System())
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        while True:
            wanted: ToLink = messages.get()
            for file in wanted.files:
                set_alarm(HANG_S)
                try:
                    linked = linker.link(wanted.epoch, file)
                except DatabaseError:  # the indexer meets it too, and says it
                    linked = None
                set_alarm(0.0)
                pipe.send(LinkedAhead(wanted.epoch, file, linked))


if __name__ == "__main__":
    main()
