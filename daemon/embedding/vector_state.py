"""An immutable state of a project's vectors: a search graph, the vectors added since, and the removed ids.

The only file that imports usearch.
"""

from __future__ import annotations

import math
import threading

import numpy as np
import onnxruntime  # type: ignore[import-untyped] # noqa: F401 - loaded after usearch it crashes (1.31, 2.26)
from msgspec import Struct
from numpy.typing import NDArray
from usearch.index import BatchMatches, Index, Matches

from .exact import (
    Floats,
    Ids,
    Matrix,
    Rows,
    are_in,
    as_ids,
    best,
    ordered_ids,
    positions,
    scores,
)
from .vector_file import VectorFile

GRAPH_COST = 25
QUERY_COST = 0.2
"""Costs by which a search chooses between the graph and exact comparison; the unit is the comparison of one
vector (0.2 µs). Finding a vector through the graph costs 25 (5 µs), and each query adds a fifth to a
comparison. Comparing is cheaper if few vectors are searched, or if very many are wanted."""

OVERFETCH = 2
"""Factor by which more vectors are fetched from the graph if only some ids are searched, since the vectors
of these ids aren't spread evenly."""


class Nearest(Struct, frozen=True):
    """The result of a search: ids (n,) and cosines (n,) rounded to six decimals, best first, ties by id."""

    ids: Ids
    scores: Floats


class VectorState:
    """Vectors by id: those of the graph, except the dead (removed) ones, and those of the tail. Immutable.

    No id is both in the graph and in the tail. `dead` are sorted ids; unknown ids among them are ignored.
    Queries are unit vectors (m, dim). `wanted` are the ids to search, sorted and without duplicates, or None
    for all.
    """

    __slots__ = ("count", "dead", "graph", "live", "tail")

    def __init__(self, graph: Graph | None, dead: Ids, tail: Tail) -> None:
        self.graph = graph
        self.dead = dead
        self.tail = tail
        self.live: NDArray[np.bool_] = np.ones(0 if graph is None else len(graph), dtype=np.bool_)
        if graph is not None and len(dead):
            self.live[graph.rows_of(dead)] = False
        self.count = int(self.live.sum())

    def search(self, queries: Floats, k: int, wanted: Ids | None) -> Nearest:
        """Return the k vectors nearest to any of the queries."""
        tail_rows = None if wanted is None else self.tail.rows_in(wanted)
        parts = [_nearest(self.tail.ids, self.tail.matrix, tail_rows, queries, k)]
        if self.graph is not None:
            rows = self._candidates(self.graph, queries, k, wanted)
            parts.append(_nearest(self.graph.ids, self.graph.matrix, rows, queries, k))
        ids = np.concatenate([part.ids for part in parts])
        values = np.concatenate([part.scores for part in parts])
        order = np.lexsort((ids, -values))[:k]
        return Nearest(ids[order], values[order])

    def holds(self, ids: Ids) -> NDArray[np.bool_]:
        """Return for each id whether it is in the graph (dead or live) or in the tail."""
        here = self.tail.contains(ids)
        return here if self.graph is None else here | self.graph.contains(ids)

    def live_ids(self) -> Ids:
        """Return the ids of all live vectors."""
        if self.graph is None:
            return self.tail.ids
        return np.concatenate([self.graph.ids[self.live], self.tail.ids])

    def revived(self, ids: Ids) -> VectorState:
        """Return this state with these sorted ids not dead."""
        return VectorState(self.graph, self.dead[~are_in(self.dead, ids)], self.tail)

    def appended(self, ids: Ids, matrix: Floats) -> VectorState:
        """Return this state with more vectors in the tail; their ids must be new to this state."""
        return VectorState(self.graph, self.dead, self.tail.appended(ids, matrix))

    def discarded(self, ids: Ids) -> VectorState:
        """Return this state without these sorted ids."""
        return VectorState(self.graph, np.union1d(self.dead, ids), self.tail.without(ids))

    def buried(self) -> VectorState:
        """Return this state without the dead ids that aren't in the graph."""
        dead = no_ids() if self.graph is None else self.dead[self.graph.contains(self.dead)]
        return VectorState(self.graph, dead, self.tail)

    def replaced(self, graph: Graph | None) -> VectorState:
        """Return this state with another graph; live vectors that the new graph lacks move to the tail."""
        tail = self.tail if graph is None else self.tail.without(graph.ordered_ids)
        if self.graph is not None:
            rows = np.flatnonzero(self.live)
            if graph is not None:
                rows = rows[~graph.contains(self.graph.ids[rows])]
            tail = tail.appended(self.graph.ids[rows], self.graph.matrix[rows].astype(np.float32))
        return VectorState(graph, self.dead, tail)

    def _candidates(self, graph: Graph, queries: Floats, k: int, wanted: Ids | None) -> Rows:
        """Return the rows to compare: those that the graph finds, or all live rows if that is cheaper."""
        allowed = self.count if wanted is None else min(len(wanted), self.count)
        fetched = k
        if allowed < len(graph):
            fetched = math.ceil(OVERFETCH * k * len(graph) / max(allowed, 1))
        if GRAPH_COST * fetched * len(queries) < allowed * (1 + QUERY_COST * len(queries)):
            found = [self._kept(graph, ids, wanted) for ids in graph.nearest(queries, fetched)]
            # If the graph finds fewer, the wanted vectors lie far from the query: all of them are compared.
            if min(map(len, found)) >= k:
                return ordered_rows(np.concatenate(found))
        return self._live_rows(graph, wanted)

    def _kept(self, graph: Graph, ids: Ids, wanted: Ids | None) -> Rows:
        """Return the rows of the ids that are live and wanted."""
        rows = graph.rows_of(ids if wanted is None else ids[are_in(ids, wanted)])
        return rows[self.live[rows]]

    def _live_rows(self, graph: Graph, wanted: Ids | None) -> Rows:
        if wanted is None:
            return np.flatnonzero(self.live)
        rows = graph.rows_of(wanted)
        return np.sort(rows[self.live[rows]])


def ordered_rows(rows: Rows) -> Rows:
    """Return rows sorted and without duplicates."""
    return ordered_ids(rows).astype(np.intp)


def no_ids() -> Ids:
    """Return an empty array of ids."""
    return as_ids([])


def _nearest(ids: Ids, matrix: Matrix, rows: Rows | None, queries: Floats, k: int) -> Nearest:
    """Return the k vectors nearest to any of the queries among `rows`, None for all."""
    found = scores(matrix, queries, rows)
    picked = best(found, k)
    return Nearest(ids[picked if rows is None else rows[picked]], found[picked])


class Tail:
    """Ids with their unit vectors in 32 bits. Immutable: a change creates a new tail.

    Appending copies all vectors: 0.7 ms for 8,192 of 384 dimensions, 12 ms for 24,000. Embedding a batch
    takes 400 ms.
    """

    __slots__ = ("_ordered", "ids", "matrix")

    def __init__(self, ids: Ids, matrix: Floats) -> None:
        self.ids, self.matrix = ids, matrix
        self._ordered = np.sort(ids)

    def __len__(self) -> int:
        return len(self.ids)

    def contains(self, ids: Ids) -> NDArray[np.bool_]:
        """Return for each id whether the tail contains it."""
        return are_in(ids, self._ordered)

    def rows_in(self, ordered: Ids) -> Rows:
        """Return the rows whose ids are in a sorted array."""
        return np.flatnonzero(are_in(self.ids, ordered))

    def appended(self, ids: Ids, matrix: Floats) -> Tail:
        """Return a tail with more vectors; their ids must not be in this one."""
        return Tail(np.concatenate([self.ids, ids]), np.concatenate([self.matrix, matrix]))

    def without(self, ordered: Ids) -> Tail:
        """Return a tail without the ids in a sorted array."""
        gone = are_in(self.ids, ordered)
        return Tail(self.ids[~gone], self.matrix[~gone]) if gone.any() else self


def empty_tail(dim: int) -> Tail:
    """Return a tail without vectors."""
    return Tail(np.empty(0, dtype=np.uint64), np.empty((0, dim), dtype=np.float32))


CONNECTIVITY = 32
EXPANSION_ADD = 128
EXPANSION_SEARCH = 128
"""Number of links of each vector, and of candidates kept while adding and while searching.

Chosen on 100,000 vectors of 384 dimensions in 16 bits that lie in separate clusters, which are harder to
search than vectors of real code. A graph may lose whole clusters, so that a
search finds none of the ten nearest vectors. The share of nearest vectors found, by links / candidates while
adding / candidates while searching: 16/64/128 .952, 16/128/128 .993, 32/128/64 .996, 32/128/128 .9997. More
links cost 128 bytes a vector, and no time.
"""


class Graph:
    """The search graph in a verified file. Immutable and safe across threads.

    `ids` are the ids of the rows of `matrix`, `ordered_ids` the same ids sorted. The file is mapped into
    memory, so the operating system can evict the vectors when memory is short.
    """

    def __init__(self, file: VectorFile) -> None:
        self.ids = file.ids
        self.matrix = file.matrix
        self.serialized = file.graph
        self._order: Rows = np.argsort(file.ids)
        self.ordered_ids: Ids = file.ids[self._order]
        self._lock = threading.Lock()
        # usearch's key table would take 16 bytes a vector, and building it would read the whole graph.
        self._index = _index(file.matrix.shape[1], enable_key_lookups=False)
        self._index.view(file.graph)

    def __del__(self) -> None:
        # usearch keeps raw pointers into the mapping, so it is reset before the mapping is released.
        if hasattr(self, "_index"):
            self._index.reset()  # type: ignore[no-untyped-call]  # usearch annotates it not

    def __len__(self) -> int:
        return len(self.ids)

    def rows_of(self, ids: Ids) -> Rows:
        """Return the rows of the ids that the graph contains, in the given order."""
        places, present = positions(ids, self.ordered_ids)
        return self._order[places[present]]

    def contains(self, ids: Ids) -> NDArray[np.bool_]:
        """Return for each id whether the graph contains it."""
        return positions(ids, self.ordered_ids)[1]

    def nearest(self, queries: Floats, k: int) -> list[Ids]:
        """Return for each query (m, dim) the ids of its approximately k nearest vectors, nearest first."""
        # usearch releases the GIL, and doesn't document that concurrent searches use separate scratch memory.
        with self._lock:
            found = self._index.search(queries, k, threads=1)
        if isinstance(found, Matches):  # usearch's type for a single query
            return [found.keys.astype(np.uint64)]
        assert isinstance(found, BatchMatches)
        counts = [int(count) for count in found.counts]
        return [keys[:count].astype(np.uint64) for keys, count in zip(found.keys, counts, strict=True)]


class GraphBuilder:
    """A growing graph in memory, 2 KB for each vector of 384 dimensions. For one thread.

    It begins with a copy of `start`. Adding a vector takes 0.3 ms with 10,000 others, 0.7 ms with 100,000.
    """

    def __init__(self, dim: int, start: Graph | None = None) -> None:
        self._index = _index(dim, enable_key_lookups=True)
        self._ids: list[Ids] = []
        if start is not None:
            self._index.load(start.serialized)
            self._ids.append(start.ids)

    def __len__(self) -> int:
        return len(self._index)

    @property
    def ids(self) -> Ids:
        """The ids of the rows of the graph's matrix, which are in the order in which vectors were added."""
        return np.concatenate(self._ids)

    def add(self, ids: Ids, matrix: Matrix) -> None:
        """Add unit vectors (n, dim) with new ids."""
        # With several threads, usearch would use the rows in any order.
        self._index.add(ids, matrix, threads=1, copy=True)
        self._ids.append(ids)

    def save(self, path: str) -> None:
        """Write the graph to a file. Raises `OSError`."""
        try:
            self._index.save(path)
        except RuntimeError as error:  # the only exception that usearch raises here
            raise OSError(f"usearch could not write {path}: {error}") from error


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
