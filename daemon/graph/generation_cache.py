"""A cache of values computed from a whole project, valid for one generation of its index."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from ..index.store import Reader
from ..project.tree import Tree

PROJECTS_MAX: Final = 4
"""Maximum number of projects with cached values; the least recently used go first."""

T = TypeVar("T")


class GenerationCache(Generic[T]):
    """One cached value per project, recomputed when its generation changes. Thread-safe; two threads that ask
    at once may both compute it."""

    def __init__(self, compute: Callable[[Reader], T]) -> None:
        self._compute = compute
        self._known: OrderedDict[str, tuple[int, T]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, tree: Tree, reader: Reader) -> T:
        """Return a project's value. Raises any error of its computation."""
        with self._lock:
            found = self._known.get(reader.path)
            if found is not None and found[0] == tree.generation:
                self._known.move_to_end(reader.path)
                return found[1]
        value = self._compute(reader)
        with self._lock:
            self._known[reader.path] = (tree.generation, value)
            self._known.move_to_end(reader.path)
            while len(self._known) > PROJECTS_MAX:
                self._known.popitem(last=False)
        return value
