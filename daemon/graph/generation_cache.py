"""A value computed of a whole project, kept until the project changes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from ..index.store import Reader
from ..project.tree import Tree

PROJECTS_MAX: Final = 4
"""Maximum number of projects whose values are kept, those asked for last."""

T = TypeVar("T")


class GenerationCache(Generic[T]):
    """One value a project, computed anew when its generation is another. Safe across threads; two that ask at
    once may both compute it."""

    def __init__(self, compute: Callable[[Reader], T]) -> None:
        self._compute = compute
        self._known: OrderedDict[str, tuple[int, T]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, tree: Tree, reader: Reader) -> T:
        """Return a project's value. Raises what computing it raises."""
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
