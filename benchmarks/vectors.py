"""The synthetic measure of the vectors: python -m benchmarks.vectors, a million of them included.

Random vectors without structure are all equally far from each other, and what is nearest means nothing. These
lie in clusters within topics, as the chunks of a project do, and questions lie near some of them.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
import psutil
from foveal.daemon.core.system import System
from foveal.daemon.embedding.embeddings import EmbeddingStore
from foveal.daemon.embedding.exact import Floats, Ids
from foveal.daemon.embedding.vector_state import Nearest
from foveal.daemon.embedding.vectors import TAIL_VECTORS, VectorIndex
from numpy.typing import NDArray

from .bench import Bench
from .machine import peak_mb
from .statistics import Measure, table

T = TypeVar("T")

DIM = 384
MODEL = "synthetic"
QUESTIONS = 200
"""Questions whose true answers are computed."""

QUICK_COUNTS = (10_000,)

EXACT_ROWS = 20_000_000
"""So many rows numpy reads for all of its questions together, 20 questions of a million vectors."""

SHARES = (0.01, 0.1, 0.5)
"""Filters: the share of the vectors that they allow."""


@dataclass(frozen=True, slots=True)
class Targets:
    """Bounds for a number of vectors: milliseconds at P99, the share of the ten nearest that may be missed,
    milliseconds at P99 under a filter, megabytes of memory and of disk."""

    search: float
    missed: float
    filtered: float | None = None
    memory: float | None = None
    disk: float | None = None


TARGETS = {
    10_000: Targets(1, 0.01, 2),
    100_000: Targets(2, 0.01, 10, 160, 200),
    1_000_000: Targets(10, 0.05),
}


@dataclass(frozen=True, slots=True)
class Searched:
    """What a process that only searches found out; times in milliseconds, memory in megabytes.

    `busy` are the same times on the clock of the thread, which stands still while others have the core.
    """

    opened: float
    times: dict[str, list[float]]
    busy: dict[str, list[float]]
    found: dict[str, list[list[int]]]
    own_memory: float
    mapped_memory: float


def main() -> int:
    """Run and print; the exit status is 1 if a target was missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.vectors", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--quick", action="store_true", help="leave the million out, and ask less")
    parser.add_argument("--count", type=int, action="append", help="measure this many vectors instead")
    arguments = parser.parse_args()
    if arguments.count and min(arguments.count) <= TAIL_VECTORS:
        parser.error(f"--count must be above {TAIL_VECTORS:,}: fewer vectors have no file to measure")
    counts = arguments.count or [count for count in TARGETS if count < 1_000_000 or not arguments.quick]
    measures = []
    for count in counts:
        with tempfile.TemporaryDirectory(prefix="fv-") as temporary:
            measures += run(count, Path(temporary), 300 if arguments.quick else 2_000)
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    date = datetime.now(UTC).date().isoformat()
    if arguments.json:
        print(
            json.dumps(
                {"machine": machine, "date": date, "measures": [m.to_map() for m in measures]}, indent=2
            )
        )
    else:
        print(f"{machine}, {date}\n\n{table(measures)}")
    return 1 if any(measure.met is False for measure in measures) else 0


def run(count: int, folder: Path, samples: int) -> list[Measure]:
    """Measure one number of vectors, in a folder that takes 2 KB a vector."""
    targets = TARGETS.get(count, Targets(10, 0.05))
    matrix, questions = clustered(count + TAIL_VECTORS, samples)
    ids, measures = _build(count, folder, matrix)
    filters = {share: np.sort(np.random.default_rng(7).choice(ids, int(share * count), replace=False))
               for share in SHARES}  # fmt: skip
    np.savez(folder / "questions.npz", allow_pickle=True, questions=questions, tail=matrix[count:], **{
        f"among {share}": among for share, among in filters.items()
    })  # fmt: skip
    searched = in_another_process(partial(search, folder))

    name = partial("{:,} vectors: {}".format, count)
    measures.append(Measure(name("open"), samples=[searched.opened]))
    for what, times in searched.times.items():
        target = targets.search if what == "search" else targets.filtered if "filter" in what else None
        busy = Measure("", samples=searched.busy[what])
        note = f"P50 {busy.p50:.2f}, P99 {busy.p99:.2f} of the processor's time"
        line = Measure(name(what), samples=times, target=target, which="p99", note=note)
        line.memory_mb = searched.own_memory + searched.mapped_memory
        measures.append(line)
    exact = _exact_searches(matrix[:count], ids, questions[: min(EXACT_ROWS // count, QUESTIONS)], filters)
    for measure in measures:
        measure.baseline = exact.get(measure.name.split(": ", 1)[1])
    measures += [Measure(name(one.name), samples=one.samples) for one in exact.values()]
    scores = _all_scores(matrix[:count], questions[:QUESTIONS])
    for what, found in searched.found.items():
        among = None if what == "search" else filters[float(what.split()[-1])]
        missed = _missed(scores, ids, found, among)
        target = targets.missed if what == "search" else None
        measures.append(Measure(name(f"missed of the ten nearest, {what}"), "share", [missed], target))
    resident = [searched.own_memory + searched.mapped_memory]
    note = f"{searched.mapped_memory:.0f} of it the mapped file"
    measures.append(
        Measure(name("memory of a process that searches"), "MB", resident, targets.memory, note=note)
    )
    disk = [sum(path.stat().st_size for path in (folder / "state").rglob("*")) / 1e6]
    measures.append(Measure(name("disk"), "MB", disk, targets.disk, note="database and vector file"))
    return measures


def sizes(bench: Bench) -> list[int]:
    """Return the numbers of vectors that a run has."""
    return list(QUICK_COUNTS) if bench.quick else list(TARGETS)


def figures(bench: Bench, count: int) -> list[Measure]:
    """Return the measures of a number of vectors, taken once in a run."""
    return bench.kept(("vectors", count), lambda: run(count, bench.new_folder("v"), bench.count(2_000, 300)))


def search(folder: Path) -> Searched:
    """Open what was built in a process of its own, and ask."""
    given = np.load(folder / "questions.npz")
    questions = given["questions"]
    before = psutil.Process().memory_full_info()
    started = time.perf_counter()
    index = VectorIndex(str(folder / "state" / "project"), DIM, MODEL, System())
    store = EmbeddingStore(str(folder / "state" / "embeddings.sqlite"), System())
    opened = (time.perf_counter() - started) * 1000
    assert len(index)
    plans: dict[str, tuple[int, Ids | None]] = {"search": (10, None), "search for 100": (100, None)}
    plans |= {f"search under a filter of {share}": (10, given[f"among {share}"]) for share in SHARES}
    clock = _Clock()
    found: dict[str, list[list[int]]] = {}
    for what, (k, among) in plans.items():
        results = [clock.time(what, partial(index.search, question, k, among)) for question in questions]
        if k == 10:
            found[what] = [result.ids.tolist() for result in results[:QUESTIONS]]
    after = psutil.Process().memory_full_info()
    index.add(np.arange(1, TAIL_VECTORS + 1), given["tail"])
    for question in questions:
        clock.time("search with a full tail", partial(index.search, question, 10))
    for row in range(0, len(questions), 8):
        clock.time(
            "search for 100, eight questions in one", partial(index.search, questions[row : row + 8], 100)
        )
    store.close()
    own, mapped = after.uss - before.uss, (after.rss - after.uss) - (before.rss - before.uss)
    in_file = os.path.getsize(index.path)
    # What a process maps alone counts as its own, although it is the file.
    shared = max(mapped, 0) + min(own, in_file)
    return Searched(
        opened, clock.times, clock.busy, found, (own + max(mapped, 0) - shared) / 1e6, shared / 1e6
    )


def clustered(count: int, questions: int) -> tuple[NDArray[np.float16], Floats]:
    """Return vectors (count, DIM) and questions near some of them: 40 a cluster, 50 clusters a topic."""
    random = np.random.default_rng(count)
    topics = random.standard_normal((count // 2_000 + 1, DIM), dtype=np.float32)
    spread = random.standard_normal((count // 40 + 1, DIM), dtype=np.float32)
    clusters = topics[random.integers(0, len(topics), len(spread))] + np.float32(0.9) * spread
    matrix = np.empty((count, DIM), dtype=np.float16)
    for start in range(0, count, 10_000):
        part = matrix[start : start + 10_000]
        near = clusters[random.integers(0, len(clusters), len(part))]
        near = near + np.float32(0.8) * random.standard_normal((len(part), DIM), dtype=np.float32)
        part[:] = near / np.linalg.norm(near, axis=1, keepdims=True)
    asked = matrix[random.integers(0, count, questions)].astype(np.float32)
    asked += np.float32(0.6 / DIM**0.5) * random.standard_normal((questions, DIM), dtype=np.float32)
    return matrix, asked / np.linalg.norm(asked, axis=1, keepdims=True)


def _build(count: int, folder: Path, matrix: NDArray[np.float16]) -> tuple[Ids, list[Measure]]:
    """Put all but the tail into a database, and build the vectors out of it."""
    name = partial("{:,} vectors: {}".format, count)
    put = Measure(name("put 512 embeddings"))
    store = EmbeddingStore(str(folder / "state" / "embeddings.sqlite"), System())
    digests = [number.to_bytes(16, "big") for number in np.random.default_rng(1).permutation(count).tolist()]
    ids: list[Ids] = []
    for start in range(0, count, 512):
        end = min(start + 512, count)
        rows = matrix[start:end].astype(np.float32)
        put.time(partial(_put, store, digests[start:end], rows, ids))
    look_up = Measure(name("look up all digests")).time(lambda: store.ids(MODEL, digests))
    store.close()
    all_ids: Ids = np.concatenate(ids)
    np.save(folder / "ids.npy", all_ids)
    seconds, peak = in_another_process(partial(build, folder))
    built = Measure(name("build from the database"), "s", [seconds])
    return all_ids, [put, look_up, built, Measure(name("peak memory while building"), "MB", [peak])]


def _put(store: EmbeddingStore, digests: list[bytes], rows: Floats, ids: list[Ids]) -> None:
    ids.append(store.put(MODEL, digests, rows))


def build(folder: Path) -> tuple[float, float]:
    """Build the vectors in a process of its own; return the seconds and the megabytes that it took."""
    ids = np.load(folder / "ids.npy")
    before = psutil.Process().memory_info().rss
    store = EmbeddingStore(str(folder / "state" / "embeddings.sqlite"), System())
    index = VectorIndex(str(folder / "state" / "project"), DIM, MODEL, System())
    started = time.perf_counter()
    index.sync(ids, partial(store.vectors, MODEL))
    seconds = time.perf_counter() - started
    assert len(index) == len(ids)
    store.close()
    return seconds, peak_mb() - before / 1e6


def in_another_process(work: Callable[[], T]) -> T:
    """Run something in a fresh interpreter, so that its memory is its own."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(work).result()


class _Clock:
    """Times by what was timed, in milliseconds: on the wall, and on the thread's own clock."""

    def __init__(self) -> None:
        self.times: dict[str, list[float]] = {}
        self.busy: dict[str, list[float]] = {}

    def time(self, what: str, work: Callable[[], Nearest]) -> Nearest:
        started, busy = time.perf_counter(), time.thread_time()
        result = work()
        self.times.setdefault(what, []).append((time.perf_counter() - started) * 1000)
        self.busy.setdefault(what, []).append((time.thread_time() - busy) * 1000)
        return result


def _all_scores(matrix: NDArray[np.float16], questions: Floats) -> Floats:
    """Return the cosine of each question with each vector, without any of the product's code."""
    blocks: Iterator[Floats] = (
        questions @ matrix[start : start + 10_000].astype(np.float32).T
        for start in range(0, len(matrix), 10_000)
    )
    return np.concatenate(list(blocks), axis=1)


def _exact_searches(
    matrix: NDArray[np.float16], ids: Ids, questions: Floats, filters: dict[float, Ids]
) -> dict[str, Measure]:
    """Time numpy's exact search for the ten nearest, by the name of what it is the baseline of."""
    whole = matrix.astype(np.float32)
    rows = {"search": whole}
    rows |= {
        f"search under a filter of {share}": whole[np.isin(ids, among)] for share, among in filters.items()
    }
    exact = {}
    for what, part in rows.items():
        measure = exact[what] = Measure(f"numpy: exact {what}")
        for question in questions:
            measure.time(partial(_ten_nearest, part, question))
    return exact


def _ten_nearest(matrix: Floats, question: Floats) -> NDArray[np.intp]:
    return np.argpartition(matrix @ question, -10)[-10:]


def _missed(scores: Floats, ids: Ids, found: list[list[int]], among: Ids | None) -> float:
    """Return the share of the ten nearest that were not found; as near as the tenth counts as one of them."""
    order = np.argsort(ids)
    allowed = np.ones(len(ids), dtype=np.bool_) if among is None else np.isin(ids, among)
    hits = 0
    for row, numbers in zip(scores, found, strict=True):
        least = np.partition(row[allowed], -10)[-10] - 1e-4
        rows = order[np.searchsorted(ids, np.array(numbers, dtype=np.uint64), sorter=order)]
        assert allowed[rows].all()
        hits += int((row[rows] >= least).sum())
    return 1 - hits / (10 * len(found))


if __name__ == "__main__":
    sys.exit(main())
