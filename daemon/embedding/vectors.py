"""The vector index of one project: vectors are added, removed, searched, and stored in a file.

The database of embeddings is authoritative. The file may be missing, damaged or out of date: `sync` restores
it from the database.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import ArrayLike

from ..core.quarantine import clear_file
from ..core.system import System
from .embeddings import StoredVectors
from .exact import Ids, Matrix, as_ids, ordered_ids, stored_halves, unit
from .vector_file import (
    file_name,
    read_vector_file,
    remove,
    write_vector_file,
)
from .vector_state import Graph, GraphBuilder, Nearest, VectorState, empty_tail, no_ids

log = logging.getLogger(__name__)

TAIL_VECTORS = 8_192
TAIL_SHARE = 64
"""New vectors stay in memory (the tail), where a search compares each of them, until there are more than
8,192 plus a 64th of the graph's size; then they are added to the graph. 8,192 vectors of 384 dimensions take
13 MB, and 0.2 ms of a search. A project with fewer vectors needs no graph and no file. The share bounds how
often the file is rewritten while a large project is embedded: 70 times for a million vectors."""

LIVE_SHARE = 0.6
"""Minimum share of a graph's vectors that are live; below it the graph is rebuilt. Above it the removed
vectors cost little but space."""

PUBLISHED_GROWTH = 1.5
"""Factor of growth after which a graph that is still being built is saved and searched."""

LoadVectors = Callable[[Ids], StoredVectors]
"""Returns embeddings by id, leaving out deleted ones: `EmbeddingStore.vectors` for one model."""


class VectorIndex:
    """Vectors of one project by id, searched by cosine. Safe across threads.

    A search uses the immutable state that is current when it begins, and waits only for another search in
    the same graph. `add` and `discard` create the next state, and wait only for each other. `save` and `sync`
    build a new graph while the old graph is searched; only one graph is built at a time.

    `model_key` identifies the model and everything else that determines a text's vector. The folder holds one
    file; files of other models are removed. Raises `OSError` when the folder can't be used.
    """

    def __init__(self, folder: str, dim: int, model_key: str, system: System) -> None:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        self.dim = dim
        self.path = os.path.join(folder, file_name(model_key))
        self._model_key = model_key
        self._system = system
        self._changing = threading.Lock()
        self._building = threading.Lock()
        self._closed = threading.Event()
        clear_file(self.path, system)  # a pipe would block, a folder can't be replaced
        for name in os.listdir(folder):
            # Those of other models, and what a killed process was writing; not what was set aside as damaged.
            is_vectors = name.startswith("vectors-") and name.endswith((".bin", ".tmp"))
            if is_vectors and os.path.join(folder, name) != self.path:
                remove(os.path.join(folder, name))
        self._state = VectorState(self._open(), no_ids(), empty_tail(dim))

    def close(self) -> None:
        """Stop a `save` or `sync` that runs in another thread soon, and make later calls do nothing."""
        self._closed.set()

    def __len__(self) -> int:
        state = self._state
        return state.count + len(state.tail)

    def ids(self) -> Ids:
        """Return the ids of all vectors, in arbitrary order."""
        return self._state.live_ids()

    def search(self, queries: ArrayLike, k: int, among: ArrayLike | None = None) -> Nearest:
        """Return the k vectors nearest to one query (dim,), or to any of several queries (m, dim).

        With several queries a vector's score is the highest of its cosines. `among` are the ids to search,
        None for all; unknown ids are ignored. The search is exact if few vectors are searched; otherwise it
        finds about 99 % of the nearest. Raises `ValueError` for queries of another size or without direction.
        """
        if k < 1:
            raise ValueError(f"the {k} nearest vectors were asked for")
        return self._state.search(unit(queries, self.dim), k, None if among is None else ordered_ids(among))

    def add(self, ids: ArrayLike, vectors: ArrayLike) -> None:
        """Add vectors (n, dim) with ids (n,). An id that the index already has keeps its vector.

        Raises `ValueError` for vectors of another size or without direction, and for another number of ids.
        """
        numbers = as_ids(ids)
        if not len(numbers):
            return
        # Rounded as in the file, so that no score changes when the vectors move to the file.
        matrix = stored_halves(vectors, self.dim).astype(np.float32)
        if len(matrix) != len(numbers):
            raise ValueError(f"{len(matrix)} vectors for {len(numbers)} ids")
        numbers, first = np.unique(numbers, return_index=True)
        with self._changing:
            state = self._state.revived(numbers)
            new = ~state.holds(numbers)
            self._state = state.appended(numbers[new], matrix[first[new]])

    def discard(self, ids: ArrayLike) -> None:
        """Remove vectors by id; unknown ids are ignored. A removed vector can be added again."""
        with self._changing:
            state = self._state.discarded(ordered_ids(ids))
            # A graph that is being built may contain any of these vectors, so their ids stay marked as dead
            # until it is done.
            self._state = state if self._building.locked() else state.buried()

    def sync(self, ids: ArrayLike, load: LoadVectors) -> None:
        """Make the index hold exactly the vectors of `ids`: remove others, and load missing ones.

        This opens a project's vectors, and restores them after the file was lost. If many vectors are missing
        they are built into a graph, at about a millisecond each; meanwhile the finished part can be searched.
        Vectors that another thread adds until this returns are kept. Raises `OSError` like `save`, and any
        error of `load`.
        """
        wanted = ordered_ids(ids)
        with self._changing:
            self._state = state = self._state.revived(wanted)
        here = ordered_ids(state.live_ids())
        self.discard(np.setdiff1d(here, wanted, assume_unique=True))
        missing = wanted[~state.holds(wanted)]
        if len(missing) > _tail_limit(state):
            self._build(wanted, load)
        elif len(missing):
            stored = load(missing)
            self.add(stored.ids, stored.matrix)
        self.save()

    def save(self) -> bool:
        """Add the recent vectors to the graph and write its file, if there are enough of them.

        Returns whether the file was written. Until then the recent vectors are only in memory and in the
        database, from which `sync` loads them. Adding 8,192 vectors to a graph of 100,000 takes 6 s, and
        2 KB of memory for each vector of the graph. Raises `OSError` when the file can't be written; the
        vectors can still be searched then.
        """
        state = self._state
        if len(state.tail) <= _tail_limit(state) and not _is_decayed(state):
            return False
        return self._build(no_ids(), None)

    def _open(self) -> Graph | None:
        try:
            return Graph(read_vector_file(self.path, self.dim, self._model_key))
        except FileNotFoundError:
            return None
        except Exception as error:
            if isinstance(error, OSError | MemoryError):
                raise
            log.warning("the vectors are built anew: %s", error)
            remove(self.path)
        return None

    def _build(self, wanted: Ids, load: LoadVectors | None) -> bool:
        """Build the next graph from the current graph, the tail, and the wanted vectors missing in both.

        Returns False if the index was closed meanwhile.
        """
        with self._building:
            with self._changing:
                state = self._state
            anew = _is_decayed(state)
            builder = GraphBuilder(self.dim, None if anew else state.graph)
            published = max(len(builder), TAIL_VECTORS)
            for ids, matrix in _pieces(state, anew, wanted[~state.holds(wanted)], load, self.dim):
                if self._closed.is_set():
                    return False
                builder.add(ids, matrix)
                if len(builder) > PUBLISHED_GROWTH * published and not anew:
                    published = len(builder)
                    self._publish(builder)
            if self._closed.is_set():
                return False
            self._publish(builder)
            with self._changing:
                self._state = self._state.buried()
            return True

    def _publish(self, builder: GraphBuilder) -> None:
        """Write the part of the graph that is finished, and use it for searches from now on."""
        graph = None
        if len(builder):
            write_vector_file(self.path, self.dim, self._model_key, self._system, builder.save, builder.ids)
            graph = Graph(read_vector_file(self.path, self.dim, self._model_key))
        else:
            remove(self.path)
        with self._changing:
            self._state = self._state.replaced(graph)


_LOADED = 4_096
"""Number of vectors loaded at a time."""

_ADDED = 256
"""Number of vectors added to a graph at a time. `close` takes effect between two such batches, after 0.3 s at
most."""


def _tail_limit(state: VectorState) -> int:
    return TAIL_VECTORS + len(state.live) // TAIL_SHARE


def _is_decayed(state: VectorState) -> bool:
    return state.count < LIVE_SHARE * len(state.live)


def _pieces(
    state: VectorState, anew: bool, missing: Ids, load: LoadVectors | None, dim: int
) -> Iterator[tuple[Ids, Matrix]]:
    """Yield the vectors to add to a graph, in batches: the old graph's live ones, the tail, the missing."""
    for ids, matrix in _parts(state, anew, missing, load, dim):
        for start in range(0, len(ids), _ADDED):
            yield ids[start : start + _ADDED], matrix[start : start + _ADDED]


def _parts(
    state: VectorState, anew: bool, missing: Ids, load: LoadVectors | None, dim: int
) -> Iterator[tuple[Ids, Matrix]]:
    if anew and state.graph is not None:
        rows = np.flatnonzero(state.live)
        for start in range(0, len(rows), _LOADED):
            some = rows[start : start + _LOADED]
            yield state.graph.ids[some], state.graph.matrix[some]
    yield state.tail.ids, state.tail.matrix
    if load is not None:
        for start in range(0, len(missing), _LOADED):
            stored = load(missing[start : start + _LOADED])
            yield stored.ids, stored_halves(stored.matrix, dim)
