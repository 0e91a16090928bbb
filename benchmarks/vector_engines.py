"""The same vectors in the built-in index and in Qdrant: python -m benchmarks.vector_engines.

Measured are the built-in index (usearch), Qdrant's engine inside this process (qdrant-edge-py, in Rust, by
its makers' account what the server runs), and the local mode of qdrant-client, which is numpy. A server adds
a round trip. Each engine runs in a process of its own, with the same links and candidates. Neither package
is one of the project's: `pip install qdrant-edge-py qdrant-client` beside it, else they are left out.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import psutil
from foveal.daemon.core.system import System
from foveal.daemon.embedding.embeddings import StoredVectors
from foveal.daemon.embedding.exact import Ids, as_ids
from foveal.daemon.embedding.vector_state import CONNECTIVITY, EXPANSION_ADD, EXPANSION_SEARCH
from foveal.daemon.embedding.vectors import TAIL_VECTORS, VectorIndex
from msgspec import Struct
from numpy.typing import NDArray

from .machine import peak_mb
from .vectors import DIM, clustered, in_another_process

COUNTS = (2_000, 10_000, 100_000)
QUESTIONS = 200
SHARES = (1.0, 0.5, 0.1, 0.01)
"""The shares of the vectors that a search may return; 1 is a search without a filter."""

BATCH = 1_000
LOCAL_MAX = 2_000
"""The local mode commits each vector by itself; more take minutes on a disk that others use."""


class Figures(Struct):
    """What one engine did while it searched: megabytes in memory and on disk, and for each share the
    milliseconds of processor time of each search and the recall of the ten nearest."""

    memory_mb: float
    disk_mb: float
    times: dict[float, list[float]]
    recall: dict[float, float]


class Built(Struct):
    """What building took: seconds on the clock and of the processor, and megabytes of memory at the peak."""

    seconds: float
    busy_s: float
    peak_mb: float


class Engine(Protocol):
    """An engine to measure: filled once, opened, searched."""

    def build(self, matrix: NDArray[np.float16]) -> None:
        """Take vectors whose ids are their rows; they can be found when this returns."""

    def open(self) -> None:
        """Open what was built by another process."""

    def search(self, question: NDArray[np.float32], share: float) -> list[int]:
        """Return the ids of the ten nearest whose row is allowed by a share."""


def allowed(count: int, share: float) -> NDArray[np.bool_]:
    """Return which rows a filter of a share allows: they are scattered as the files of a language are."""
    return np.random.default_rng(7).permutation(count) < share * count


class BuiltIn:
    """foveal's own index."""

    def __init__(self, folder: Path, count: int) -> None:
        self._folder = str(folder)
        self._among: dict[float, Ids | None] = {
            share: as_ids(np.flatnonzero(allowed(count, share))) if share < 1 else None for share in SHARES
        }

    def build(self, matrix: NDArray[np.float16]) -> None:
        """Take vectors whose ids are their rows."""

        def load(ids: Ids) -> StoredVectors:
            return StoredVectors(ids, [b""] * len(ids), matrix[ids.astype(np.intp)].astype(np.float32))

        VectorIndex(self._folder, DIM, "m", System()).sync(np.arange(len(matrix)), load)

    def open(self) -> None:
        """Open what was built."""
        self._index = VectorIndex(self._folder, DIM, "m", System())

    def search(self, question: NDArray[np.float32], share: float) -> list[int]:
        """Return the ten nearest that a share allows."""
        return list(map(int, self._index.search(question, 10, self._among[share]).ids))


class Embedded:
    """Qdrant's engine in this process."""

    def __init__(self, folder: Path, count: int) -> None:
        self._folder, self._count = str(folder), count

    def build(self, matrix: NDArray[np.float16]) -> None:
        """Take vectors whose ids are their rows."""
        edge: Any = import_module("qdrant_edge")

        vectors = edge.EdgeVectorParams(
            DIM, edge.Distance.Cosine, datatype=edge.VectorStorageDatatype.Float16, memory=edge.Memory.Cold
        )
        graph = edge.HnswIndexConfig(CONNECTIVITY, EXPANSION_ADD, 10_000, max_indexing_threads=1)
        limits = edge.EdgeOptimizersConfig(default_segment_number=1, indexing_threshold=1_000)
        config = edge.EdgeConfig(
            vectors=vectors, hnsw_config=graph, optimizers=limits, max_search_threads=1, wal_enabled=True
        )
        shard = edge.EdgeShard.create(self._folder, config)
        schema = edge.PayloadSchemaType.Keyword
        shard.update(edge.UpdateOperation.create_field_index("in", schema))
        for rows, payloads in _batches(self._count):
            points = [
                edge.Point(row, vector, payload)
                for row, vector, payload in zip(rows, _lists(matrix, rows), payloads, strict=True)
            ]
            shard.update(edge.UpdateOperation.upsert_points(points))
        shard.optimize()
        shard.flush()
        shard.close()

    def open(self) -> None:
        """Open what was built."""
        edge: Any = import_module("qdrant_edge")

        self._edge = edge
        self._shard = edge.EdgeShard.load(self._folder)

    def search(self, question: NDArray[np.float32], share: float) -> list[int]:
        """Return the ten nearest that a share allows."""
        edge = self._edge
        only = None
        if share < 1:
            only = edge.Filter(must=[edge.FieldCondition("in", match=edge.MatchValue(str(share)))])
        request = edge.QueryRequest(
            10,
            query=edge.Query.Nearest(question.tolist()),
            filter=only,
            params=edge.SearchParams(hnsw_ef=EXPANSION_SEARCH),
        )
        return [int(str(point.id)) for point in self._shard.query(request)]


class Local:
    """The local mode of qdrant-client."""

    def __init__(self, folder: Path, count: int) -> None:
        self._folder, self._count = str(folder), count

    def build(self, matrix: NDArray[np.float16]) -> None:
        """Take vectors whose ids are their rows."""
        client_module: Any = import_module("qdrant_client")

        client = client_module.QdrantClient(path=self._folder)
        models = client_module.models
        client.create_collection("c", models.VectorParams(size=DIM, distance=models.Distance.COSINE))
        for rows, payloads in _batches(self._count):
            batch = models.Batch(ids=rows, vectors=_lists(matrix, rows), payloads=payloads)
            client.upsert("c", batch)
        client.close()

    def open(self) -> None:
        """Open what was built."""
        client_module: Any = import_module("qdrant_client")

        self._models = client_module.models
        self._client = client_module.QdrantClient(path=self._folder)

    def search(self, question: NDArray[np.float32], share: float) -> list[int]:
        """Return the ten nearest that a share allows."""
        models = self._models
        only = None
        if share < 1:
            match = models.MatchValue(value=str(share))
            only = models.Filter(must=[models.FieldCondition(key="in", match=match)])
        found = self._client.query_points("c", query=question.tolist(), limit=10, query_filter=only)
        return [int(point.id) for point in found.points]


BUILT_IN, EMBEDDED, LOCAL = "built in", "Qdrant, in the process", "qdrant-client, local mode"
ENGINES: dict[str, Callable[[Path, int], Engine]] = {BUILT_IN: BuiltIn, EMBEDDED: Embedded, LOCAL: Local}
PACKAGES = {EMBEDDED: "qdrant_edge", LOCAL: "qdrant_client"}


def main() -> int:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.vector_engines", description=__doc__)
    parser.add_argument("--count", type=int, action="append", help="measure this many vectors instead")
    counts = parser.parse_args().count or COUNTS
    searches = " | ".join(f"P50 / P99 ms, recall at {share:.0%}" for share in SHARES)
    print(f"| vectors | engine | build s | of processor | peak MB | searching MB | disk MB | {searches} |")
    print("|---:|---|" + "---:|" * (5 + len(SHARES)))
    for count in counts:
        for name in ENGINES:
            if _is_measured(name, count):
                print(_line(count, name), flush=True)
    return 0


def _is_measured(name: str, count: int) -> bool:
    if name == BUILT_IN:
        return count > TAIL_VECTORS  # fewer have no file that another process could open
    if name in PACKAGES and find_spec(PACKAGES[name]) is None:
        return False
    return name != LOCAL or count <= LOCAL_MAX


def _line(count: int, name: str) -> str:
    """Measure one engine, and return its line of the table."""
    folder = Path(tempfile.mkdtemp(prefix="fv-"))
    try:
        built = in_another_process(partial(_build, name, folder, count))
        figures = in_another_process(partial(_search, name, folder, count))
    finally:
        shutil.rmtree(folder)
    numbers = (built.seconds, built.busy_s, built.peak_mb, figures.memory_mb, figures.disk_mb)
    cells = [f"{count:,}", name, *(f"{number:,.0f}" for number in numbers)]
    for share, times in figures.times.items():
        p50, p99 = np.percentile(times, [50, 99])
        cells.append(f"{p50:.2f} / {p99:.2f}, {figures.recall[share]:.3f}")
    return f"| {' | '.join(cells)} |"


def _build(name: str, folder: Path, count: int) -> Built:
    matrix, _ = clustered(count, QUESTIONS)
    before = psutil.Process().memory_info().rss / 1e6
    started, busy = time.perf_counter(), time.process_time()
    ENGINES[name](folder / "index", count).build(matrix)
    return Built(time.perf_counter() - started, time.process_time() - busy, peak_mb() - before)


def _search(name: str, folder: Path, count: int) -> Figures:
    matrix, questions = clustered(count, QUESTIONS)
    best = {share: _ten_best(matrix, questions, allowed(count, share)) for share in SHARES}
    before = psutil.Process().memory_info().rss / 1e6
    engine = ENGINES[name](folder / "index", count)
    engine.open()
    times: dict[float, list[float]] = {share: [] for share in SHARES}
    recall = {}
    for share in SHARES:
        hits = 0
        engine.search(questions[0], share)
        for question, nearest in zip(questions, best[share], strict=True):
            started = time.process_time()
            found = engine.search(question, share)
            times[share].append((time.process_time() - started) * 1000)
            hits += len(nearest & set(found))
        recall[share] = hits / (10 * len(questions))
    memory = psutil.Process().memory_info().rss / 1e6 - before
    disk = sum(path.stat().st_blocks * 512 for path in folder.rglob("*")) / 1e6
    return Figures(memory, disk, times, recall)


def _ten_best(
    matrix: NDArray[np.float16], questions: NDArray[np.float32], rows: NDArray[np.bool_]
) -> list[set[int]]:
    scores = questions @ matrix.astype(np.float32).T
    scores[:, ~rows] = -2
    return [set(map(int, np.argpartition(row, -10)[-10:])) for row in scores]


def _batches(count: int) -> Iterator[tuple[list[int], list[dict[str, list[str]]]]]:
    filters = {str(share): allowed(count, share) for share in SHARES if share < 1}
    for start in range(0, count, BATCH):
        rows = list(range(start, min(start + BATCH, count)))
        yield rows, [{"in": [name for name, mask in filters.items() if mask[row]]} for row in rows]


def _lists(matrix: NDArray[np.float16], rows: list[int]) -> list[list[float]]:
    return matrix[rows].astype(np.float32).tolist()  # type: ignore[no-any-return] # numpy's tolist is Any


if __name__ == "__main__":
    sys.exit(main())
