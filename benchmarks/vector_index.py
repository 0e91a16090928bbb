"""Measures the search for the nearest vectors by the number of vectors, beside comparing all in numpy.

Times are a processor's, not a clock's: one thread does all, so that other programs change them little.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
from foveal.daemon.core.system import System
from foveal.daemon.embedding.unit_vectors import Floats, Halves, unit_halves
from foveal.daemon.embedding.vectors import VectorIndex
from numpy.typing import NDArray

from .bench import Bench
from .statistics import Measure

SIZES = (100, 1_000, 10_000, 100_000)
QUICK_SIZES = 2
"""How many of these sizes a quick run has; building the largest takes two minutes."""

R = TypeVar("R")

DIMENSIONS = 384
CLUSTER = 20
"""Vectors of a cluster. Separate clusters are harder for a graph than the vectors of real code."""

TOLERANCE = 5e-4
"""A vector counts as one of the nearest if its cosine is at most this below theirs: half precision."""


def run(bench: Bench) -> list[Measure]:
    """Measure each size; each query is new, so caches are as cold as in use."""
    sizes = SIZES[: bench.count(len(SIZES), QUICK_SIZES)]
    return [line for size in sizes for line in _of_size(size, bench.new_folder("v"), bench.count(500, 200))]


def _of_size(size: int, folder: Path, asked: int) -> list[Measure]:
    random = np.random.default_rng(size)
    centres = random.standard_normal((size // CLUSTER, DIMENSIONS))
    matrix, queries = _near(centres, size, random), _near(centres, asked, random)
    started = time.process_time()
    index = VectorIndex(str(folder), DIMENSIONS, "benchmark", System())
    index.add(range(size), matrix)
    index.save()
    built = time.process_time() - started
    file = Path(index.path)
    megabytes = file.stat().st_size / 1e6 if file.exists() else 0
    started = time.perf_counter()
    VectorIndex(str(folder), DIMENSIONS, "benchmark", System())
    opened = (time.perf_counter() - started) * 1000
    state = f"built in {built:.1f} s, file of {megabytes:.1f} MB, opened in {opened:.1f} ms"
    whole, half = matrix.astype(np.float32), np.arange(0, size, 2)
    lines: list[Measure] = []
    for k, among, name in ((10, None, ""), (100, None, ""), (10, half, " of half")):
        allowed = whole if among is None else whole[::2]
        truth = Measure(f"{min(k, size)} nearest{name} of {size:,} vectors in numpy")
        ours = Measure(f"{min(k, size)} nearest{name} of {size:,} vectors", baseline=truth)
        recalls: list[float] = []
        for query in queries:
            best = _timed(truth, partial(_compared, allowed, query.astype(np.float32), k))
            nearest = _timed(ours, partial(index.search, query, k, among))
            found = whole[nearest.ids.astype(np.intp)] @ query.astype(np.float32)
            recalls.append(float(np.mean(found >= best[-1] - TOLERANCE)))
        ours.note = f"recall {np.mean(recalls):.4f}" + ("" if lines else f"; {state}")
        lines += [truth, ours]
    return lines


def _timed(measure: Measure, work: Callable[[], R]) -> R:
    """Return what a call returns, and add its processor time in milliseconds to a measure."""
    started = time.thread_time()
    found = work()
    measure.samples.append((time.thread_time() - started) * 1000)
    return found


def _near(centres: NDArray[np.float64], count: int, random: np.random.Generator) -> Halves:
    """Return unit vectors (count, dimensions), each near one of the centres."""
    chosen = centres[random.integers(0, len(centres), count)]
    return unit_halves(chosen + 0.5 * random.standard_normal(chosen.shape), DIMENSIONS)


def _compared(matrix: Floats, query: Floats, k: int) -> Floats:
    """Return the k highest cosines, best first, adding each row's terms in the same order as any other's."""
    found: Floats = np.einsum("ij,j->i", matrix, query)
    k = min(k, len(found))
    return np.sort(found[np.argpartition(found, len(found) - k)[len(found) - k :]])[::-1]
