"""A value computed from the index of a project, kept until the project changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, TypeVar

from ..core.sized_cache import SizedCache
from ..index.store import Reader
from ..project.tree import Tree

T = TypeVar("T")

PROJECTS_MAX: Final = 4
"""Maximum number of projects with cached values; the least recently used go first."""


class GenerationCache(Generic[T]):
    """One cached value per project, recomputed when its generation changes. Thread-safe; two threads that ask
    at once may both compute it."""

    def __init__(self, compute: Callable[[Reader], T]) -> None:
        self._compute = compute
        self._known = SizedCache[str, tuple[int, T]](PROJECTS_MAX)

    def get(self, tree: Tree, reader: Reader) -> T:
        """Return a project's value. Raises any error of its computation."""
        known = self._known.get(reader.path)
        if known is None or known[0] != tree.generation:
            known = (tree.generation, self._compute(reader))
            self._known.put(reader.path, known, 1)
        return known[1]
