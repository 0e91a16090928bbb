"""Owns the answers of the graph that were given lately, each as long as the index stays as it was."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

from ..core.sized_cache import SizedCache

if TYPE_CHECKING:
    from .search import SearchResult

KEPT_CHARACTERS = 1_000_000
"""Maximum characters kept: some 100 answers of ten hits. An edit makes all of a project's out of date."""

HIT_CHARACTERS = 1_000
"""What a hit counts beside its snippet: its fields, and those of its chunk."""

HITS_MAX = 50
"""An answer of more hits isn't kept: whether its files are as they were is looked at on the event loop."""

TEXT_CHARACTERS = 1_000
"""A longer question is hardly asked twice."""


class ResultCache:
    """Answers by what was asked, those given last. For one thread.

    `version` is what an answer follows from beside its question; compared with that of the one who asks.
    """

    def __init__(self, most: int = KEPT_CHARACTERS) -> None:
        self._answers = SizedCache[Hashable, tuple[object, "SearchResult"]](most)

    def __len__(self) -> int:
        return len(self._answers)

    @property
    def size(self) -> int:
        """What is kept, in characters."""
        return self._answers.size

    def get(self, key: Hashable, version: object) -> SearchResult | None:
        """Return the answer to a question, or None; one of another version is forgotten."""
        kept = self._answers.get(key)
        if kept is None:
            return None
        if kept[0] != version:
            self._answers.discard(key)
            return None
        return kept[1]

    def keep(self, key: Hashable, version: object, found: SearchResult, text: str) -> None:
        """Keep an answer of the graph that is complete; the ones given longest ago go."""
        described = found.described
        if described is None or not 0 < len(described.results) <= HITS_MAX:
            return
        if described.stale or found.degraded:
            return
        if len(text) > TEXT_CHARACTERS:
            return
        size = len(text) + sum(len(one["snippet"]) + HIT_CHARACTERS for one in described.results)
        self._answers.put(key, (version, found), size)
