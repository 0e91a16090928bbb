"""Search graphs of vectors, built and searched. The only file that imports usearch."""

from __future__ import annotations

import threading

import numpy as np
import onnxruntime  # type: ignore[import-untyped] # noqa: F401 - loaded after usearch it crashes (1.31, 2.26)
from numpy.typing import NDArray
from usearch.index import BatchMatches, Index, Matches

from .exact import Floats, Halves, Ids, Matrix, Rows, positions
from .vector_file import VectorFile

CONNECTIVITY = 32
EXPANSION_ADD = 128
EXPANSION_SEARCH = 128
"""Links a vector, and candidates kept while adding and while searching.

Chosen on 100,000 vectors of 384 dimensions in 16 bits that lie in islands, harder than those of real code
(see benchmarks/vectors.py). A graph may lose whole islands there, so that a search finds none of the ten
nearest. Found are, with links / candidates while adding / while searching: 16/64/128 .952, 16/128/128 .993,
32/128/64 .996, 32/128/128 .9997. More links cost 128 bytes a vector, and no time.
"""


class Graph:
    """The vectors of a verified file. Never changes, and is safe across threads.

    `ids` has the id of each row of `matrix`, `ordered_ids` has them in order. The vectors stay on the disk,
    mapped: the system drops them from memory when it is short of it, and a merge of new ones leaves them be.
    """

    def __init__(self, file: VectorFile) -> None:
        self.ids = file.ids
        self.matrix = file.matrix
        self.bytes = file.bytes
        self.serialized = file.graph
        self._order: Rows = np.argsort(file.ids)
        self.ordered_ids: Ids = file.ids[self._order]
        self._lock = threading.Lock()
        # usearch's own table of keys would take 16 bytes a vector and the time to read all of the graph.
        self._index = _index(file.matrix.shape[1], enable_key_lookups=False)
        self._index.view(file.graph)

    def __del__(self) -> None:
        # usearch holds bare addresses in the mapping, so it goes first.
        if hasattr(self, "_index"):
            self._index.reset()  # type: ignore[no-untyped-call]  # usearch annotates it not

    def __len__(self) -> int:
        return len(self.ids)

    def rows_of(self, ids: Ids) -> Rows:
        """Return the rows of those ids that are here, in the order given."""
        places, present = positions(ids, self.ordered_ids)
        return self._order[places[present]]

    def contains(self, ids: Ids) -> NDArray[np.bool_]:
        """Whether each id is here."""
        return positions(ids, self.ordered_ids)[1]

    def nearest(self, queries: Floats, k: int) -> list[Ids]:
        """Return for each query (m, dim) the ids of about its k nearest, nearest first."""
        # The interpreter's lock is released inside, and usearch nowhere promises that the searches of several
        # threads keep out of each other's scratch memory.
        with self._lock:
            found = self._index.search(queries, k, threads=1)
        if isinstance(found, Matches):  # what usearch makes of a single query
            return [found.keys.astype(np.uint64)]
        assert isinstance(found, BatchMatches)
        counts = [int(count) for count in found.counts]
        return [keys[:count].astype(np.uint64) for keys, count in zip(found.keys, counts, strict=True)]


class GraphBuilder:
    """A graph in memory (2 KB a vector of 384 dimensions) that grows. For one thread.

    It begins with a copy of `start`. A vector is added in 0.3 ms to 10,000 others, in 0.7 ms to 100,000.
    """

    def __init__(self, dim: int, start: Graph | None = None) -> None:
        self._index = _index(dim, enable_key_lookups=True)
        self._ids: list[Ids] = []
        if start is not None:
            self._index.load(start.serialized)
            self._ids.append(start.ids)

    def __len__(self) -> int:
        return len(self._index)

    def add(self, ids: Ids, matrix: Matrix, threads: int = 1) -> None:
        """Add unit vectors (n, dim) under ids that aren't there yet."""
        self._index.add(ids, matrix, threads=threads, copy=True)
        self._ids.append(ids)

    def save(self, path: str) -> None:
        """Write the graph to a file. Raises `OSError`."""
        try:
            self._index.save(path)
        except RuntimeError as error:  # all that usearch raises
            raise OSError(f"usearch could not write {path}: {error}") from error

    def ids_of_rows(self, matrix: Halves) -> Ids:
        """Return the ids of the rows of the matrix in a file that was saved.

        Threads that add at the same time take rows in any order, and usearch doesn't tell which. So rows are
        found again by what stands in them; equal ones are interchangeable. Raises `OSError` if the file holds
        anything but what was added.
        """
        ids = np.concatenate(self._ids)
        added = np.concatenate(
            [
                _fingerprints(np.asarray(self._index.get(ids[start : start + _SLICE], dtype="f16")))
                for start in range(0, len(ids), _SLICE)
            ]
        )
        saved = _fingerprints(matrix)
        by_added, by_saved = np.argsort(added, kind="stable"), np.argsort(saved, kind="stable")
        if not np.array_equal(added[by_added], saved[by_saved]):
            raise OSError("usearch wrote other vectors than were added")
        result = np.empty_like(ids)
        result[by_saved] = ids[by_added]
        return result


_SLICE = 4_096
_ODD = np.uint64(1)


def _index(dim: int, *, enable_key_lookups: bool) -> Index:
    return Index(
        ndim=dim,
        metric="cos",
        dtype="f16",
        connectivity=CONNECTIVITY,
        expansion_add=EXPANSION_ADD,
        expansion_search=EXPANSION_SEARCH,
        enable_key_lookups=enable_key_lookups,
    )


def _fingerprints(matrix: Halves) -> NDArray[np.uint64]:
    """Return a number for each row that all but certainly differs where rows do: a random linear sum."""
    weights = np.random.default_rng(0).integers(0, 1 << 63, matrix.shape[1], dtype=np.uint64) * 2 + _ODD
    result = np.empty(len(matrix), dtype=np.uint64)
    for start in range(0, len(matrix), _SLICE):
        bits = np.ascontiguousarray(matrix[start : start + _SLICE]).view(np.uint16)
        result[start : start + _SLICE] = bits.astype(np.uint64) @ weights
    return result
