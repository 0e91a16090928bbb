"""The vectors of one project in usearch: a search graph in a file, and the vectors added since.

The only file that imports usearch. The database of embeddings is authoritative: the file may be missing,
damaged or out of date, and `sync` restores it from the database.
"""

from __future__ import annotations

import logging
import math
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import onnxruntime  # type: ignore[import-untyped] # noqa: F401 - loaded after usearch it crashes (1.31, 2.26)
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray
from usearch.compiled import MetricKind
from usearch.index import BatchMatches, Index, Matches, search

from ..core.quarantine import clear_file
from ..core.system import System
from .embeddings import StoredVectors
from .unit_vectors import Floats, Halves, Ids, as_ids, unit_halves
from .vector_file import file_name, read_vector_file, remove, write_vector_file

log = logging.getLogger(__name__)

EXACT_VECTORS = 8_192
GRAPH_COST = 25
"""Number of vectors up to which all are compared, which takes .4 ms, and how many can be compared in the time
in which the graph finds one. Of more vectors, the graph finds the nearest."""

WIDE_SHARE = 8
"""If a filter allows at least this part of the vectors, the nearest are taken from the graph and filtered;
else the allowed vectors are compared, 1 µs each."""

RECENT_VECTORS = 1_000
RECENT_SHARE = 64
GROWING_SHARE = 4
"""New vectors are only in memory until there are more than these plus a part of those in the file; then all
are written. While many follow, the part is larger, so that a large project isn't written too often."""

LIVE_SHARE = 0.6
"""Minimum share of the vectors that are in use; below it the graph is rebuilt."""

LOADED = 4_096
"""Number of vectors loaded at a time."""

ADDED = 16
"""Number of vectors added at a time, 5 ms, for which a search may have to wait."""

LoadVectors = Callable[[Ids], StoredVectors]
"""Returns embeddings by id, leaving out deleted ones: `EmbeddingStore.vectors` for one model."""


class Nearest(Struct, frozen=True):
    """The result of a search: ids (n,) and cosines (n,) rounded to six decimals, best first, ties by id."""

    ids: Ids
    scores: Floats


class VectorIndex:
    """Vectors of one project by id, searched by cosine. One thread changes it, another may search meanwhile.

    `model_key` identifies the model and everything else that determines a text's vector. The folder holds one
    file; files of other models are removed. Raises `OSError` when the folder can't be used. Vectors that are
    no longer in use may be found until the graph is rebuilt.
    """

    def __init__(self, folder: str, dim: int, model_key: str, system: System) -> None:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        self.dim = dim
        self.path = os.path.join(folder, file_name(model_key))
        self._model_key = model_key
        self._system = system
        self._lock = threading.Lock()
        """Guards searches, additions, and the exchange of the graphs."""
        clear_file(self.path, system)  # a pipe would block, a folder can't be replaced
        for name in os.listdir(folder):
            # Those of other models, and what a killed process was writing.
            is_vectors = name.startswith("vectors-") and name.endswith((".bin", ".tmp"))
            if is_vectors and os.path.join(folder, name) != self.path:
                remove(os.path.join(folder, name))
        self._live = as_ids([])
        self._recent = self._new()
        self._mapped = memoryview(b"")
        self._disk = self._open()

    def __del__(self) -> None:
        # usearch keeps raw pointers into the mapping, so it is reset before the mapping is released.
        if hasattr(self, "_disk"):
            self._disk.reset()  # type: ignore[no-untyped-call]  # usearch annotates it not

    def __len__(self) -> int:
        return len(self._live)

    def ids(self) -> Ids:
        """Return the ids of all vectors in use, in order."""
        return self._live

    def search(self, queries: ArrayLike, k: int, among: ArrayLike | None = None) -> Nearest:
        """Return the k vectors nearest to one query (dim,), or to any of several queries (m, dim).

        With several queries a vector's score is the highest of its cosines. `among` are the ids to search,
        None for all; unknown ids are ignored. The search is exact if few vectors are searched; otherwise it
        finds about 99 % of the nearest. Raises `ValueError` for queries of another size or without direction.
        """
        asked = unit_halves(queries, self.dim)
        with self._lock:
            if among is None:
                return _merged(self._nearest(asked, k), k)
            wanted = np.unique(as_ids(among))
            if WIDE_SHARE * len(wanted) > len(self):
                size = math.ceil(2 * k * len(self) / max(len(wanted), 1))
                near = _merged(self._nearest(asked, size), size)
                allowed = np.isin(near.ids, wanted)
                if allowed.sum() >= k:
                    return Nearest(near.ids[allowed][:k], near.scores[allowed][:k])
            return _merged(self._chosen(asked, k, wanted), k)

    def add(self, ids: ArrayLike, vectors: ArrayLike) -> None:
        """Add vectors (n, dim) with ids (n,). An id that the index already has keeps its vector.

        Raises `ValueError` for vectors of another size or without direction, and for another number of ids.
        """
        numbers = as_ids(ids)
        if not len(numbers):
            return
        matrix = unit_halves(vectors, self.dim)
        if len(matrix) != len(numbers):
            raise ValueError(f"{len(matrix)} vectors for {len(numbers)} ids")
        numbers, first = np.unique(numbers, return_index=True)
        new = ~(self._disk.contains(numbers) | self._recent.contains(numbers))
        numbers, matrix = numbers[new], matrix[first[new]]
        for start in range(0, len(numbers), ADDED):
            piece = slice(start, start + ADDED)
            with self._lock:
                self._recent.add(numbers[piece], matrix[piece], threads=1)
        self._live = np.union1d(self._live, as_ids(ids))

    def sync(self, ids: ArrayLike, load: LoadVectors) -> None:
        """Make the index hold the vectors of exactly `ids`; load missing ones, and write the file if it is
        worth it. What is loaded so far can be searched. Raises `OSError` like `save`, and any error of
        `load`."""
        wanted = np.unique(as_ids(ids))
        held = self._disk.contains(wanted) | self._recent.contains(wanted)
        self._live = wanted[held]
        for missing in _pieces(wanted[~held], LOADED):
            stored = load(missing)
            self.add(stored.ids, stored.matrix)
        self.save()

    def save(self, *, growing: bool = False) -> None:
        """Write all vectors in use into the file if enough of them are only in memory, or too many in the
        file aren't in use; with `growing` many more will follow.

        Adding vectors to a graph of 100,000 takes .5 ms each. Raises `OSError` when the file can't be
        written; the vectors can still be searched then.
        """
        in_file, in_memory = len(self._disk), len(self._recent)
        is_decayed = len(self) < LIVE_SHARE * (in_file + in_memory)
        limit = RECENT_VECTORS + in_file // (GROWING_SHARE if growing else RECENT_SHARE)
        if not is_decayed and in_memory <= limit:
            return
        whole = self._new() if is_decayed or in_file else self._recent
        if in_file and not is_decayed:
            whole.load(self._mapped)
        for keys in _pieces(self._live[~whole.contains(self._live)], LOADED):
            pairs = zip(_rows(self._disk, keys), _rows(self._recent, keys), strict=True)
            whole.add(keys, np.stack([one if one is not None else other for one, other in pairs]), threads=1)
        if len(whole):
            write_vector_file(self.path, self._model_key, self._system, lambda path: _save(whole, path))
        else:
            remove(self.path)
        with self._lock:
            self._disk.reset()  # type: ignore[no-untyped-call]  # usearch annotates it not
            self._disk, self._recent = self._open(), self._new()

    def _new(self) -> Index:
        return Index(
            ndim=self.dim,
            metric=MetricKind.Cos,
            dtype="f16",
            connectivity=CONNECTIVITY,
            expansion_add=EXPANSION_ADD,
            expansion_search=EXPANSION_SEARCH,
        )

    def _open(self) -> Index:
        """Return the graph in the file, an empty one if the file is missing or can't be used."""
        index = self._new()
        try:
            self._mapped = read_vector_file(self.path, self._model_key)
            index.view(self._mapped)
        except FileNotFoundError:
            return index
        except Exception as error:
            if isinstance(error, OSError | MemoryError):
                raise
            log.warning("the vectors are built anew: %s", error)
            remove(self.path)
            return self._new()
        return index

    def _nearest(self, asked: Halves, k: int) -> Iterator[tuple[Ids, Floats]]:
        for part in filter(len, (self._disk, self._recent)):
            is_exact = len(part) <= max(EXACT_VECTORS, GRAPH_COST * k)
            yield from _found(part.search(asked, k, exact=is_exact, threads=1))

    def _chosen(self, asked: Halves, k: int, wanted: Ids) -> Iterator[tuple[Ids, Floats]]:
        for part in (self._disk, self._recent):
            keys = wanted[part.contains(wanted)]
            if len(keys):
                for rows, scores in _compared(np.stack(_rows(part, keys)), asked, k):
                    yield keys[rows], scores


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


def cosines(matrix: Halves, queries: Halves) -> Floats:
    """Return each row's highest cosine with the queries (m, dim), as a search in an index scores it."""
    best = np.full(len(matrix), -1, np.float32)
    for rows, scores in _compared(matrix, queries, len(matrix)):
        best[rows] = np.maximum(best[rows], scores)
    return best


def _rows(index: Index, keys: Ids) -> Sequence[Any]:
    """Return the vectors under some keys, None for missing ones."""
    rows: Sequence[Any] = index.get(keys)  # type: ignore[assignment]  # a tuple, for several keys
    return rows


def _compared(matrix: Halves, queries: Halves, k: int) -> Iterator[tuple[NDArray[np.uint64], Floats]]:
    """Yield for each query the k nearest rows of a matrix with their cosines."""
    found = search(matrix, queries, min(k, len(matrix)), MetricKind.Cos, exact=True, threads=1)
    return _found(found)


def _found(matches: Matches | BatchMatches) -> Iterator[tuple[Ids, Floats]]:
    """Yield for each query the keys that were found, with their cosines."""
    for one in [matches] if isinstance(matches, Matches) else matches:
        yield one.keys, np.clip(np.round(1 - one.distances, 6), -1, 1)


def _merged(found: Iterable[tuple[Ids, Floats]], k: int) -> Nearest:
    """Return the k best of several results, each id once."""
    parts = list(found)
    ids = np.concatenate([as_ids([]), *(keys for keys, _ in parts)])
    scores = np.concatenate([np.empty(0, np.float32), *(values for _, values in parts)])
    order = np.lexsort((ids, -scores))
    first = np.sort(np.unique(ids[order], return_index=True)[1])[:k]
    return Nearest(ids[order][first], scores[order][first])


def _pieces(values: Ids, size: int) -> Iterator[Ids]:
    return (values[start : start + size] for start in range(0, len(values), size))


def _save(index: Index, path: str) -> None:
    try:
        index.save(path)
    except RuntimeError as error:  # the only exception that usearch raises here
        raise OSError(f"usearch could not write {path}: {error}") from error
