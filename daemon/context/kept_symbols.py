"""Owns the definitions of files that are kept for the next prompt about them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

from ..project.tree import FileRecord, Symbol

SYMBOLS_MAX = 30_000
"""So many definitions are kept, about 350 bytes each, most of which a kept division of their file holds as
well. A prompt asks for some 1,200 of them, which took an eighth of its build to read."""

Key = tuple[bytes, str, int]
"""The digest of a file's content, its language, and how many definitions it has: these tell its definitions,
since a parser sees nothing else of it."""


class KeptSymbols:
    """Definitions by what tells them, the least recently used ones forgotten first. Thread-safe."""

    def __init__(self, most: int = SYMBOLS_MAX) -> None:
        self._most = most
        self._kept: OrderedDict[Key, tuple[Symbol, ...]] = OrderedDict()
        self._count = 0
        self._lock = Lock()

    @property
    def count(self) -> int:
        """How many definitions are kept."""
        return self._count

    def of(self, record: FileRecord, read: Callable[[str], tuple[Symbol, ...]]) -> tuple[Symbol, ...]:
        """Return the definitions of a file that the index has read, by `read` where they aren't known."""
        key = (record.digest, record.language, record.symbols)
        with self._lock:
            known = self._kept.get(key)
            if known is not None:
                self._kept.move_to_end(key)
                return known
        found = read(record.path)
        if len(found) != record.symbols or not record.digest:
            return found  # of another moment than the record
        with self._lock:
            if key not in self._kept and len(found) <= self._most:
                self._kept[key] = found
                self._count += len(found) or 1
                while self._count > self._most:
                    _, forgotten = self._kept.popitem(last=False)
                    self._count -= len(forgotten) or 1
        return found


KEPT_SYMBOLS = KeptSymbols()
"""Those of this process: they follow from contents alone, so that all projects may share them."""
