"""Owns the vectors that came too recently to be in the graph: few, in memory, compared one by one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .exact import Floats, Ids, Rows, are_in


class Tail:
    """Ids with their unit vectors in 32 bits. Never changes; what was appended makes a new one.

    The new one shares the memory of the former, behind whose end it writes. So only the newest may be
    appended to, by one thread at a time, while any thread reads the older ones.
    """

    __slots__ = ("_buffer", "_id_buffer", "_ordered", "ids", "matrix")

    def __init__(self, ids: Ids, matrix: Floats) -> None:
        self._set(ids, matrix, len(ids))

    def __len__(self) -> int:
        return len(self.ids)

    def contains(self, ids: Ids) -> NDArray[np.bool_]:
        """Whether each id is here."""
        return are_in(ids, self._ordered)

    def rows_in(self, ordered: Ids) -> Rows:
        """Return the rows whose ids are in an ordered array."""
        return np.flatnonzero(are_in(self.ids, ordered))

    def appended(self, ids: Ids, matrix: Floats) -> Tail:
        """Return this with more vectors; their ids must not be here yet."""
        start, end = len(self.ids), len(self.ids) + len(ids)
        id_buffer, buffer = self._id_buffer, self._buffer
        if end > len(buffer):
            id_buffer, buffer = _room(end, self.matrix.shape[1])
            id_buffer[:start], buffer[:start] = self.ids, self.matrix
        id_buffer[start:end], buffer[start:end] = ids, matrix
        tail = Tail.__new__(Tail)
        tail._set(id_buffer, buffer, end)
        return tail

    def without(self, ordered: Ids) -> Tail:
        """Return this without the ids in an ordered array."""
        gone = are_in(self.ids, ordered)
        return Tail(self.ids[~gone], self.matrix[~gone]) if gone.any() else self

    def _set(self, id_buffer: Ids, buffer: Floats, count: int) -> None:
        self._id_buffer, self._buffer = id_buffer, buffer
        self.ids, self.matrix = id_buffer[:count], buffer[:count]
        self._ordered = np.sort(self.ids)


def empty_tail(dim: int) -> Tail:
    """Return a tail without vectors."""
    return Tail(np.empty(0, dtype=np.uint64), np.empty((0, dim), dtype=np.float32))


def _room(count: int, dim: int) -> tuple[Ids, Floats]:
    """Return space for twice as many, so that n vectors that come one by one are copied 2n times at most."""
    return np.empty(2 * count, dtype=np.uint64), np.empty((2 * count, dim), dtype=np.float32)
