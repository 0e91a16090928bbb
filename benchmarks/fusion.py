"""Measures merging three lists of a hundred by their ranks and by their scores."""

from __future__ import annotations

import random

from foveal.daemon.search.ranking import RANK_CONSTANT, fuse_ranks, fuse_scores

from .bench import Bench
from .statistics import Measure

Lists = dict[str, list[tuple[int, float]]]
WEIGHTS = {"lexical": 0.5, "vector": 0.4, "tree": 0.1}


def run(bench: Bench) -> list[Measure]:
    """Measure it beside the sum of reciprocal ranks in a dictionary, which knows no weights."""
    chooser, count = random.Random(3), bench.count(5_000, 1_000)
    lists: Lists = {
        name: [(key, 1 - place / 100) for place, key in enumerate(chooser.sample(range(200), 100))]
        for name in WEIGHTS
    }
    bare = Measure("reciprocal ranks in a dictionary").time(lambda: _sums(lists), count)
    by_ranks = Measure("RRF of 3 x 100", target=0.2, baseline=bare)
    by_scores = Measure("merging 3 x 100 by scores, as the recipe does", target=0.2, baseline=bare)
    return [
        bare,
        by_ranks.time(lambda: fuse_ranks(lists, WEIGHTS), count),
        by_scores.time(lambda: fuse_scores(lists, WEIGHTS), count),
    ]


def _sums(lists: Lists) -> dict[int, float]:
    fused: dict[int, float] = {}
    for found in lists.values():
        for rank, (key, _) in enumerate(found, 1):
            fused[key] = fused.get(key, 0.0) + 1 / (RANK_CONSTANT + rank)
    return fused
