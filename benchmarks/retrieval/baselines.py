"""The baselines: other ways to find the files for the same questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from foveal.daemon.index.service import Reader

from .judged import Project

DEPTH = 50
"""Files that a baseline is asked for, as many as the product."""


class BaselineMissing(Exception):
    """A baseline can't run here; the message says why and what would help."""


class Baseline(Protocol):
    """Another way to find files. `name` stands in the tables."""

    name: str

    def rank(self, project: Project, reader: Reader) -> list[list[str]]:
        """Return for each question of a project its files, best first; `reader` reads the product's index.

        Raises `BaselineMissing`.
        """
        ...


def files_of_chunks(paths: Sequence[str], scores: Sequence[float]) -> list[str]:
    """Return the files of chunks, best first, each by its best chunk; chunks without a score are left out."""
    best: dict[str, float] = {}
    for path, score in zip(paths, scores, strict=True):
        if score > best.get(path, 0.0):
            best[path] = score
    return sorted(best, key=lambda path: (-best[path], path))[:DEPTH]
