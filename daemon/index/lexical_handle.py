"""Owns a project's lexical index as readers see it: opened when first asked, seen as committed last."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from .lexical_files import FOLDER, LexicalDamaged

if TYPE_CHECKING:
    from .lexical_reader import LexicalReader


class LexicalHandle:
    """One for each project; threads may share it. Nothing is opened before `current`."""

    def __init__(self, folder: str) -> None:
        self._folder = os.path.join(folder, FOLDER)
        self._lock = threading.Lock()
        self._reader: LexicalReader | None = None

    def current(self) -> LexicalReader:
        """Return a reader that sees the latest commit. Raises `LexicalDamaged`, or `OSError`.

        An index that was built anew meanwhile is opened anew.
        """
        # Here and not above: the daemon starts without the engine, whose first use is the first question.
        from .lexical_reader import LexicalReader

        with self._lock:
            if self._reader is not None:
                try:
                    self._reader.refresh()
                except (LexicalDamaged, OSError):
                    self._reader = None
            if self._reader is None:
                self._reader = LexicalReader(self._folder)
            return self._reader
