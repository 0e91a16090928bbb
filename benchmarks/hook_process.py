"""Measures a hook's whole process, which benchmarks/hooks measures."""

from __future__ import annotations

from .bench import Bench
from .hooks.__main__ import measure
from .statistics import Measure


def run(bench: Bench) -> list[Measure]:
    """Measure processes in turn beside a bare interpreter."""
    return measure(bench.new_folder("h"), bench.count(100, 10))
