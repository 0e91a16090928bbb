"""A handle on a project's lexical index for readers: opens it on first use, and again after a rebuild."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from .lexical_files import FOLDER, LexicalDamaged

if TYPE_CHECKING:
    from .lexical_reader import LexicalReader


class LexicalHandle:
    """The lexical index of one project for reading, opened by the first call of `current`. Thread-safe."""

    def __init__(self, folder: str) -> None:
        self._folder = os.path.join(folder, FOLDER)
        self._lock = threading.Lock()
        self._reader: LexicalReader | None = None

    def current(self) -> LexicalReader:
        """Return a reader that sees the latest commit. Raises `LexicalDamaged`, or `OSError`.

        An index that was rebuilt meanwhile is opened again.
        """
        # Imported here, so that the daemon starts without the engine and loads it for the first question.
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
