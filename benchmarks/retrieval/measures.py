"""The measures of one ranking: how well the files that were found answer the question.

The files that answer a question are those of its best grade. A file that is found several times counts once,
at its first place.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

MEASURES = ("NDCG@10", "R@5", "R@10", "MRR", "top-1", "top-5")
"""In the order of the tables. top-k: whether a file that answers is among the first k."""

MAIN = "NDCG@10"
"""The one that the variants are compared by."""


def score(ranked: Sequence[str], relevant: Mapping[str, int]) -> dict[str, float]:
    """Return all measures of a ranking, best first. `relevant` has at least one file, graded from 1 up."""
    found = list(dict.fromkeys(ranked))
    answers = answering(relevant)
    return {
        "NDCG@10": ndcg(found, relevant, 10),
        "R@5": recall(found, answers, 5),
        "R@10": recall(found, answers, 10),
        "MRR": reciprocal_rank(found, answers),
        "top-1": float(not answers.isdisjoint(found[:1])),
        "top-5": float(not answers.isdisjoint(found[:5])),
    }


def answering(relevant: Mapping[str, int]) -> frozenset[str]:
    """Return the files of the best grade."""
    best = max(relevant.values())
    return frozenset(path for path, grade in relevant.items() if grade == best)


def ndcg(found: Sequence[str], relevant: Mapping[str, int], k: int) -> float:
    """Return the discounted gain of the first k over that of the best ranking there could be.

    The gain of grade g is 2^g - 1 and the discount at rank r is log2(r + 1), after Burges et al. 2005, the
    usual form.
    """
    ideal = sorted(relevant.values(), reverse=True)
    return _gain([relevant.get(path, 0) for path in found[:k]]) / _gain(ideal[:k])


def recall(found: Sequence[str], answers: frozenset[str], k: int) -> float:
    """Return which part of the answers is among the first k."""
    return len(answers.intersection(found[:k])) / len(answers)


def reciprocal_rank(found: Sequence[str], answers: frozenset[str]) -> float:
    """Return 1 over the rank of the first answer, 0 if there is none."""
    return next((1 / rank for rank, path in enumerate(found, 1) if path in answers), 0.0)


def _gain(grades: Sequence[int]) -> float:
    return sum((2.0**grade - 1) / math.log2(rank + 1) for rank, grade in enumerate(grades, 1))
