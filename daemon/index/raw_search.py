"""Searches the bytes of unread files, to find those that a question needs to be read first.

Reading a file for the index takes milliseconds, searching its bytes some 20 µs.
"""

from __future__ import annotations

import heapq
import math
import os
import re
from collections import deque
from collections.abc import Collection, Iterable
from typing import Final

from ..core.system import System

FILES_MAX: Final = 500
"""Maximum number of files found by names. Two cores read that many in two seconds."""

BEST_MAX: Final = 200
"""Maximum number of files found by words, those that fit best."""

KEPT_MAX: Final = 4_000
"""Maximum number of files that fit some words and are kept until all files are searched."""

PATH_COUNT: Final = 3
"""Number of occurrences in a file that an occurrence in its path counts for."""

SATURATION: Final = 1.2
"""BM25's `k1`: with how many occurrences a word gets half of its largest weight in a file."""

LENGTH_SHARE: Final = 0.75
"""BM25's `b`: how much the weight of a word depends on the length of the file."""


class RawSearch:
    """A search of files for names as code has them, or for words in lower case, done in steps.

    The files are `paths` below `root`, of which at most `max_bytes` are searched. A file that can't be read
    has nothing.
    """

    def __init__(
        self,
        root: str,
        paths: Iterable[str],
        max_bytes: int,
        system: System,
        names: Collection[str] = (),
        words: Collection[str] = (),
    ) -> None:
        self._root = root
        self._max_bytes = max_bytes
        self._system = system
        self._waiting = deque(paths)
        self._names = frozenset(names)
        self._names_raw = [name.encode() for name in sorted(names)]
        whole = b"|".join(map(re.escape, self._names_raw))
        self._whole = re.compile(rb"(?<!\w)(?:%b)(?!\w)" % whole)
        self._words = tuple(word.encode() for word in sorted(words))
        self._found: list[str] = []
        self._fitting: dict[str, tuple[int, tuple[int, ...]]] = {}
        """The length of each file that has some of the words, and how often it has each."""
        self._bearers = [0] * len(self._words)
        """The number of files that have each word."""
        self._searched = 0
        self._bytes = 0

    @property
    def is_cut(self) -> bool:
        """Whether more files than `FILES_MAX` have one of the names."""
        return len(self._found) > FILES_MAX

    def step(self, seconds: float) -> bool:
        """Search files for up to `seconds`, one at least; return whether some are left."""
        deadline = self._system.monotonic() + seconds
        while self._waiting and not self.is_cut:
            self._search(self._waiting.popleft())
            if self._system.monotonic() > deadline:
                break
        return bool(self._waiting) and not self.is_cut

    def found(self) -> list[str]:
        """Return the files that have one of the names, in the given order, or fit the words, best first."""
        best = heapq.nlargest(BEST_MAX, self._fitting, key=self._scores().__getitem__)
        return [*self._found[:FILES_MAX], *best]

    def _search(self, path: str) -> None:
        try:
            data, _ = self._system.read(os.path.join(self._root, path), self._max_bytes)
        except OSError:
            return
        if self._names_raw and self._has_name(path, data):
            self._found.append(path)
        if self._words:
            self._count(path, data.lower())

    def _has_name(self, path: str, data: bytes) -> bool:
        # The pattern alone takes ten times as long.
        if any(name in data for name in self._names_raw) and self._whole.search(data):
            return True
        return path.rpartition("/")[2].partition(".")[0] in self._names

    def _count(self, path: str, data: bytes) -> None:
        self._searched += 1
        self._bytes += len(data)
        place = path.lower().encode("utf-8", "surrogateescape")
        counts = tuple(data.count(word) + PATH_COUNT * (word in place) for word in self._words)
        if any(counts):
            self._fitting[path] = (len(data), counts)
            self._bearers = [
                bearers + (count > 0) for bearers, count in zip(self._bearers, counts, strict=True)
            ]
            if len(self._fitting) > 2 * KEPT_MAX:
                best = heapq.nlargest(KEPT_MAX, self._fitting, key=self._scores().__getitem__)
                self._fitting = {each: self._fitting[each] for each in best}

    def _scores(self) -> dict[str, float]:
        """Return how well each kept file fits the words, by BM25."""
        mean = max(self._bytes / max(self._searched, 1), 1.0)
        rarities = [math.log(1 + (self._searched - each + 0.5) / (each + 0.5)) for each in self._bearers]
        return {
            path: sum(map(_weight, rarities, counts, [length / mean] * len(counts)))
            for path, (length, counts) in self._fitting.items()
        }


def _weight(rarity: float, count: int, length: float) -> float:
    return (
        rarity * count * (SATURATION + 1) / (count + SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * length))
    )
