"""Measures vector queries among a part of the vectors, beside numpy's search of that part."""

from __future__ import annotations

from .bench import Bench
from .statistics import Measure
from .vectors import figures, sizes


def run(bench: Bench) -> list[Measure]:
    """Measure each number of vectors that this run has."""
    return [figure for count in sizes(bench) for figure in figures(bench, count) if "filter" in figure.name]
