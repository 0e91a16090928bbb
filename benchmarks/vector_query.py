"""Measures vector queries: how long, how many of the nearest, beside numpy's exact search."""

from __future__ import annotations

from .bench import Bench
from .statistics import Measure
from .vectors import figures, sizes


def run(bench: Bench) -> list[Measure]:
    """Measure each number of vectors that this run has."""
    return [
        figure
        for count in sizes(bench)
        for figure in figures(bench, count)
        if "search" in figure.name and "filter" not in figure.name and "memory" not in figure.name
    ]
