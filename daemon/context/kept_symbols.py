"""Owns the definitions of files that are kept for the next prompt about them."""

from __future__ import annotations

from collections.abc import Callable

from ..core.sized_cache import SizedCache
from ..languages.shared.records import Symbol
from ..project.tree import FileRecord

SYMBOLS_MAX = 30_000
"""Maximum number of definitions kept, about 350 bytes each, most of which a kept division of their file
holds as well. A prompt asks for some 1,200 of them, which took an eighth of its build to read."""

Key = tuple[bytes, str, int]
"""The digest of a file's content, its language, and how many definitions it has: these tell its definitions,
since a parser sees nothing else of it."""


class KeptSymbols:
    """Definitions by what tells them, the least recently used ones forgotten first. Thread-safe."""

    def __init__(self, most: int = SYMBOLS_MAX) -> None:
        self._most = most
        self._kept = SizedCache[Key, tuple[Symbol, ...]](most)

    @property
    def count(self) -> int:
        """How many definitions are kept."""
        return self._kept.size

    def of(self, record: FileRecord, read: Callable[[str], tuple[Symbol, ...]]) -> tuple[Symbol, ...]:
        """Return the definitions of a file that the index has read, by `read` where they aren't known."""
        key = _key_of(record)
        known = self._kept.get(key)
        if known is not None:
            return known
        found = read(record.path)
        if len(found) != record.symbols or not record.digest:
            return found  # of another moment than the record
        if len(found) <= self._most:
            self._kept.put(key, found, len(found) or 1)
        return found

    def forget(self, record: FileRecord) -> None:
        """Forget the definitions of a content that a file had until now: mostly no other one has it."""
        self._kept.discard(_key_of(record))


def _key_of(record: FileRecord) -> Key:
    return record.digest, record.language, record.symbols


KEPT_SYMBOLS = KeptSymbols()
"""Those of this process: they follow from contents alone, so that all projects may share them."""

MASKED_SYMBOLS = KeptSymbols()
"""The same with secrets masked."""
