"""Owns a project's lexical index as readers see it: opened when first asked, seen as committed last."""

from __future__ import annotations

import os
import threading

from .lexical_files import LexicalDamaged
from .lexical_reader import LexicalReader
from .lexing import FOLDER


class LexicalHandle:
    """One for each project; threads may share it. Nothing is opened before `current`."""

    def __init__(self, folder: str) -> None:
        self._folder = os.path.join(folder, FOLDER)
        self._lock = threading.Lock()
        self._reader: LexicalReader | None = None

    def current(self) -> LexicalReader:
        """Return a reader that sees the latest commit. Raises `LexicalDamaged`, or `OSError`.

        A damaged index is opened anew the next time: by then it may have been rebuilt.
        """
        with self._lock:
            if self._reader is None:
                self._reader = LexicalReader(self._folder)
                return self._reader
            try:
                self._reader.refresh()
            except (LexicalDamaged, OSError):
                self._reader = None
                raise
            return self._reader
