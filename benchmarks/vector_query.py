"""Owns the lines about vector queries: how long, how many of the nearest, beside numpy's exact search."""

from __future__ import annotations

from .bench import Bench
from .statistics import Measure
from .vectors import figures, sizes


def run(bench: Bench) -> list[Measure]:
    """Measure each number of vectors that this run has."""
    return [
        one
        for count in sizes(bench)
        for one in figures(bench, count)
        if "search" in one.name and "filter" not in one.name and "memory" not in one.name
    ]
