"""Owns the merge of ranked lists into one score: by ranks, or by scores brought to one scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeVar

K = TypeVar("K")

Fusion = Literal["scores", "ranks"]

RANK_CONSTANT = 10
"""The constant of reciprocal rank fusion. The usual 60 is meant for lists of thousands: over lists of a few
hundred chunks it makes the first and the fiftieth nearly equal (.809 against .875 NDCG@10 on 900 questions
about 45 repositories)."""


def fuse_ranks(
    lists: Mapping[str, Sequence[tuple[K, float]]], weights: Mapping[str, float]
) -> dict[K, float]:
    """Merge lists, each best first, by reciprocal ranks: the sum of weight / (constant + rank), from 0 to 1.

    Scores within the lists are not looked at, so that they need no common scale. A thing that stands in a
    list twice counts by its first place. Scaled so that the first of every list gets 1.
    """
    present = _counting(lists, weights)
    most = sum(weights[name] for name in present) / (RANK_CONSTANT + 1)
    fused: dict[K, float] = {}
    for name, found in present.items():
        for key, rank in ranks(found).items():
            fused[key] = fused.get(key, 0.0) + weights[name] / (RANK_CONSTANT + rank) / most
    return fused


def fuse_scores(
    lists: Mapping[str, Sequence[tuple[K, float]]], weights: Mapping[str, float]
) -> dict[K, float]:
    """Merge lists, each best first, by their scores: each list is stretched from 0 (its last) to 1 (its
    first), and the weighted sum is taken, from 0 to 1.

    A list whose scores are all equal counts as all ones. What a list doesn't hold has 0 of it.
    """
    present = _counting(lists, weights)
    total = sum(weights[name] for name in present)
    fused: dict[K, float] = {}
    for name, found in present.items():
        best: dict[K, float] = {}
        for key, score in found:
            best[key] = max(score, best.get(key, score))
        low, high = min(best.values()), max(best.values())
        for key, score in best.items():
            share = (score - low) / (high - low) if high > low else 1.0
            fused[key] = fused.get(key, 0.0) + weights[name] * share / total
    return fused


def ranks(found: Sequence[tuple[K, float]]) -> dict[K, int]:
    """Return the rank of each thing in a list, from 1; the first place of one that stands there twice."""
    return {key: rank for rank, key in enumerate(dict.fromkeys(key for key, _ in found), 1)}


def _counting(
    lists: Mapping[str, Sequence[tuple[K, float]]], weights: Mapping[str, float]
) -> dict[str, Sequence[tuple[K, float]]]:
    """Return the lists that hold anything and have a weight: the others neither add nor divide."""
    return {name: found for name, found in lists.items() if found and weights[name] > 0}
