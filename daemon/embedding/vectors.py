"""The vectors of one project: added, removed, searched, and stored in a file.

The truth is in the database of embeddings. The file can be lost, damaged or old: `sync` makes up for that.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike

from ..core.quarantine import clear_file, quarantine_last
from ..core.system import System
from .embeddings import StoredVectors
from .exact import Ids, Matrix, as_ids, ordered_ids, stored_halves, unit
from .vector_file import (
    OtherVectors,
    file_name,
    read_vector_file,
    remove,
    temporary_path,
    write_vector_file,
)
from .vector_state import Graph, GraphBuilder, Nearest, VectorState, empty_tail, no_ids

TAIL_VECTORS = 8_192
TAIL_SHARE = 64
"""Vectors gather in memory, where they are compared one by one, until they are more than 8,192 and a 64th of
the graph; then they enter it. 8,192 of 384 dimensions take 13 MB, and 0.2 ms of a search. A project that has
fewer needs no graph and no file. The share bounds how often the file is rewritten while a large project is
embedded: 70 times until there are a million."""

LIVE_SHARE = 0.6
"""A graph of which less is alive is built anew. Above that the dead cost little but room."""

PUBLISHED_GROWTH = 1.5
"""Growth of a bulk addition after which the vectors added so far are saved and searched."""

LoadVectors = Callable[[Ids], StoredVectors]
"""Returns embeddings by id, without those that are gone: `EmbeddingStore.vectors` of a model."""


class VectorStatistics(Struct, frozen=True):
    """How many vectors can be found; how many of them are not in the file yet; how many in the file are dead;
    the size of the file in bytes, 0 where there is none."""

    vectors: int
    tail: int
    dead: int
    file_bytes: int


class VectorIndex:
    """Vectors of one project by id, searched by cosine. Safe across threads.

    A search takes the state at the moment when it begins, which never changes, and waits for nothing but
    another search in the same graph. `add` and `discard` make the next state, and wait for each other only.
    `save` and `sync` build a graph beside the one that is searched, one at a time.

    `model_key` names the model and all else that decides what a text's vector is; a folder holds a file for
    each, so that a model's vectors still answer while another's are made. `threads` add to a graph.
    `problem` says why a file that is there was not used, or is empty. Raises `OSError` when the folder can't
    be used.
    """

    def __init__(self, folder: str, dim: int, model_key: str, system: System, *, threads: int = 1) -> None:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        self.dim = dim
        self.path = os.path.join(folder, file_name(model_key))
        self.problem = ""
        self._model_key = model_key
        self._system = system
        self._threads = threads
        self._changing = threading.Lock()
        self._building = threading.Lock()
        self._closed = threading.Event()
        clear_file(self.path, system)  # else opening it waits on a pipe, or a folder is never replaced
        remove(temporary_path(self.path))
        self._state = VectorState(self._open(), no_ids(), empty_tail(dim))

    def close(self) -> None:
        """Make a `save` or a `sync` in another thread end before long, and later ones do nothing."""
        self._closed.set()

    def __len__(self) -> int:
        state = self._state
        return state.count + len(state.tail)

    def ids(self) -> Ids:
        """Return the ids of all vectors, in no order."""
        return self._state.live_ids()

    def statistics(self) -> VectorStatistics:
        """Count what is there."""
        state = self._state
        size = 0 if state.graph is None else state.graph.bytes
        return VectorStatistics(
            state.count + len(state.tail), len(state.tail), len(state.live) - state.count, size
        )

    def search(self, queries: ArrayLike, k: int, among: ArrayLike | None = None) -> Nearest:
        """Return the k vectors nearest to one query (dim,), or to any of several (m, dim).

        With several a vector counts by the best of its cosines. `among` are the ids to search, None for all;
        ids that aren't here are ignored. Exact where few vectors come into question, else about .99 of the
        nearest are found. Raises `ValueError` for queries of another size or without direction.
        """
        if k < 1:
            raise ValueError(f"the {k} nearest vectors were asked for")
        return self._state.search(unit(queries, self.dim), k, _wanted(among))

    def above(self, queries: ArrayLike, score: float, among: ArrayLike | None = None) -> Nearest:
        """Return all vectors whose cosine with one of the queries is at least `score`; else like `search`.

        Exact: every vector is compared, which takes 20 ms for 100,000.
        """
        return self._state.above(unit(queries, self.dim), score, _wanted(among))

    def add(self, ids: ArrayLike, vectors: ArrayLike) -> None:
        """Add vectors (n, dim) under ids (n,). An id that is here already keeps its vector.

        Raises `ValueError` for vectors of another size, another count, or without direction.
        """
        numbers = as_ids(ids)
        if not len(numbers):
            return
        # Rounded as in the file, so that no score changes when they move there.
        matrix = stored_halves(vectors, self.dim).astype(np.float32)
        if len(matrix) != len(numbers):
            raise ValueError(f"{len(matrix)} vectors for {len(numbers)} ids")
        numbers, first = np.unique(numbers, return_index=True)
        with self._changing:
            state = self._state.revived(numbers)
            new = ~state.holds(numbers)
            self._state = state.appended(numbers[new], matrix[first[new]])

    def discard(self, ids: ArrayLike) -> None:
        """Drop vectors; ids that aren't here are ignored. What is dropped can be added again."""
        with self._changing:
            state = self._state.discarded(ordered_ids(ids))
            # A graph that is being built may be about to hold any of them; they are sorted out at its end.
            self._state = state if self._building.locked() else state.buried()

    def sync(self, ids: ArrayLike, load: LoadVectors) -> None:
        """Make the vectors be those of `ids`: drop others, and load what is missing.

        This is how a project's vectors are opened, and how they are made anew after the file was lost. Many
        are built into a graph, at about a millisecond each, and can be found bit by bit meanwhile. What
        another thread adds until this returns stays. Raises `OSError` like `save`, and whatever `load` does.
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
        if self.problem and self._state.graph is None:
            # It would be read in vain each time, and few vectors never write another in its place.
            remove(self.path)

    def save(self) -> bool:
        """Bring the recent vectors into the graph and write its file, if there are enough to be worth it.

        Returns whether it was done. Until then they are only in the database, from where `sync` gets them.
        8,192 enter a graph of 100,000 in 6 s, which takes 2 KB a vector meanwhile. Raises `OSError` when
        the file can't be written; the vectors are searched as before then.
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
        except OtherVectors as error:
            self.problem = str(error)
        except Exception as error:
            if isinstance(error, OSError | MemoryError):
                raise
            kept = quarantine_last(self.path, self._system)
            self.problem = f"{error}; kept as {kept}"
        return None

    def _build(self, wanted: Ids, load: LoadVectors | None) -> bool:
        """Build the next graph from the present one, the tail, and what is wanted and in neither.

        Returns whether it was done.
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
                builder.add(ids, matrix, self._threads)
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
        """Write the graph that was built so far, and search in it from now on."""
        graph = None
        if len(builder):
            write_vector_file(
                self.path, self.dim, self._model_key, self._system, builder.save, builder.ids_of_rows
            )
            graph = Graph(read_vector_file(self.path, self.dim, self._model_key))
        else:
            remove(self.path)
        with self._changing:
            self._state = self._state.replaced(graph)


_LOADED = 4_096
"""Vectors that are loaded at a time."""

_ADDED = 256
"""Vectors that enter a graph at a time; after each of these, 0.3 s at most, `close` is heeded."""


def _wanted(among: ArrayLike | None) -> Ids | None:
    return None if among is None else ordered_ids(among)


def _tail_limit(state: VectorState) -> int:
    return TAIL_VECTORS + len(state.live) // TAIL_SHARE


def _is_decayed(state: VectorState) -> bool:
    return state.count < LIVE_SHARE * len(state.live)


def _pieces(
    state: VectorState, anew: bool, missing: Ids, load: LoadVectors | None, dim: int
) -> Iterator[tuple[Ids, Matrix]]:
    """Yield what is to be added to a graph, in pieces: what lives of the old one, the tail, the missing."""
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
