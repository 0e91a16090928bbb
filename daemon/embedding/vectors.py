"""The vectors of one project in memory: they are added, removed, and compared with questions.

The database of embeddings is authoritative: `sync` loads from it what is missing here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike

from .embeddings import StoredVectors
from .exact import Floats, Ids, Rows, as_ids, best, rounded_unit, scores, unit

LOADED = 4_096
"""Number of vectors loaded at a time."""

GROWTH = 1.5
"""Factor by which the room for vectors grows when it is full, so that adding a batch seldom copies all."""

LoadVectors = Callable[[Ids], StoredVectors]
"""Returns embeddings by id, leaving out deleted ones: `EmbeddingStore.vectors` for one model."""


class Nearest(Struct, frozen=True):
    """The result of a search: ids (n,) and cosines (n,) rounded to six decimals, best first, ties by id."""

    ids: Ids
    scores: Floats


class _Rows(Struct, frozen=True):
    """Ids (n,) and their unit vectors (n, dim). Rows in use never change."""

    ids: Ids
    matrix: Floats

    def upto(self, end: int) -> _Rows:
        return _Rows(self.ids[:end], self.matrix[:end])


class VectorIndex:
    """Vectors of one project by id, searched by cosine. One thread changes it, others may search meanwhile.

    A search compares the question with each vector that was there when it began: 100,000 vectors of 384
    dimensions take 7 ms and 154 MB.
    """

    def __init__(self, dim: int) -> None:
        self.dim = dim
        self._rows = self._room = _Rows(as_ids([]), np.empty((0, dim), np.float32))

    def __len__(self) -> int:
        return len(self._rows.ids)

    def ids(self) -> Ids:
        """Return the ids of all vectors, in arbitrary order."""
        return self._rows.ids

    def search(self, queries: ArrayLike, k: int, among: ArrayLike | None = None) -> Nearest:
        """Return the k vectors nearest to one query (dim,), or to any of several queries (m, dim).

        With several queries a vector's score is the highest of its cosines. `among` are the ids to search,
        None for all; unknown ids are ignored. Raises `ValueError` for queries of another size or without
        direction.
        """
        rows = self._rows
        wanted: Rows | None = None
        if among is not None:
            wanted = np.flatnonzero(np.isin(rows.ids, as_ids(among)))
        found = scores(rows.matrix, unit(queries, self.dim), wanted)
        picked = best(found, k)
        ids = rows.ids[picked if wanted is None else wanted[picked]]
        order = np.lexsort((ids, -found[picked]))
        return Nearest(ids[order], found[picked][order])

    def add(self, ids: ArrayLike, vectors: ArrayLike) -> None:
        """Add vectors (n, dim) with ids (n,). An id that the index already has keeps its vector.

        Raises `ValueError` for vectors of another size or without direction, and for another number of ids.
        """
        numbers = as_ids(ids)
        if not len(numbers):
            return
        # Rounded as in the database, so that no score changes when the vectors are loaded from there.
        matrix = rounded_unit(vectors, self.dim)
        if len(matrix) != len(numbers):
            raise ValueError(f"{len(matrix)} vectors for {len(numbers)} ids")
        numbers, first = np.unique(numbers, return_index=True)
        new = ~np.isin(numbers, self._rows.ids)
        self._append(numbers[new], matrix[first[new]])

    def sync(self, ids: ArrayLike, load: LoadVectors) -> None:
        """Make the index hold exactly the vectors of `ids`: remove others, and load missing ones.

        What is loaded so far can be searched. Raises any error of `load`.
        """
        wanted = as_ids(ids)
        kept = np.isin(self._rows.ids, wanted)
        if not kept.all():
            self._rows = self._room = _Rows(self._rows.ids[kept], self._rows.matrix[kept])
        missing = np.setdiff1d(wanted, self._rows.ids)
        for start in range(0, len(missing), LOADED):
            stored = load(missing[start : start + LOADED])
            self.add(stored.ids, stored.matrix)

    def _append(self, ids: Ids, matrix: Floats) -> None:
        count = len(self)
        end = count + len(ids)
        if end > len(self._room.ids):
            size = max(end, int(GROWTH * count))
            room = _Rows(np.empty(size, np.uint64), np.empty((size, self.dim), np.float32))
            room.ids[:count], room.matrix[:count] = self._rows.ids, self._rows.matrix
            self._room = room
        self._room.ids[count:end], self._room.matrix[count:end] = ids, matrix
        self._rows = self._room.upto(end)
