"""Owns the answers of the graph that were given lately, each as long as the index stays as it was."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .searching import Found

KEPT_CHARACTERS = 4_000_000
"""So much is kept in all: some 400 answers of ten hits."""

HIT_CHARACTERS = 1_000
"""What a hit counts beside its snippet: its fields, and those of its chunk."""

HITS_MAX = 50
"""An answer of more hits isn't kept: whether its files are as they were is looked at on the event loop."""

TEXT_CHARACTERS = 1_000
"""A longer question is hardly asked twice."""


class KeptAnswers:
    """Answers by what was asked, those given last. For one thread.

    `version` is what an answer follows from beside its question; compared with that of the one who asks.
    """

    def __init__(self, most: int = KEPT_CHARACTERS) -> None:
        self._most = most
        self._size = 0
        self._answers: OrderedDict[Hashable, tuple[object, int, Found]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._answers)

    @property
    def size(self) -> int:
        """What is kept, in characters."""
        return self._size

    def get(self, key: Hashable, version: object) -> Found | None:
        """Return the answer to a question, or None; one of another version is forgotten."""
        kept = self._answers.get(key)
        if kept is None:
            return None
        if kept[0] != version:
            self._forget(key)
            return None
        self._answers.move_to_end(key)
        return kept[2]

    def keep(self, key: Hashable, version: object, found: Found, text: str) -> None:
        """Keep an answer of the graph that is complete; the ones given longest ago go."""
        told = found.told
        if told is None or not 0 < len(told.results) <= HITS_MAX or told.stale or found.degraded:
            return
        if len(text) > TEXT_CHARACTERS:
            return
        self._forget(key)
        size = len(text) + sum(len(one["snippet"]) + HIT_CHARACTERS for one in told.results)
        self._answers[key] = (version, size, found)
        self._size += size
        while self._size > self._most:
            self._forget(next(iter(self._answers)))

    def _forget(self, key: Hashable) -> None:
        kept = self._answers.pop(key, None)
        if kept is not None:
            self._size -= kept[1]
