"""Measures keeping embeddings: putting, building, opening, memory and disk."""

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
        if "search" not in figure.name or "memory of a process" in figure.name
    ]
