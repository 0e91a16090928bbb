"""The retrieval benchmark's measures have the values that are worked out by hand, and its intervals hold."""

from __future__ import annotations

import pytest
from foveal.benchmarks.retrieval.bootstrap import difference
from foveal.benchmarks.retrieval.measures import reciprocal_rank

# Discounts of the first five ranks: 1, 0.63093, 0.5, 0.43068, 0.38685. Gains: 1 for grade 1, 3 for grade 2.


def test_reciprocal_rank_is_that_of_the_first_answer() -> None:
    answers = frozenset({"a", "b"})
    assert reciprocal_rank(["x", "y", "b", "a"], answers) == pytest.approx(1 / 3)
    assert reciprocal_rank(["b"], answers) == 1
    assert reciprocal_rank(["x"], answers) == 0
    assert reciprocal_rank([], answers) == 0


def test_a_difference_that_is_always_the_same_is_certain() -> None:
    interval = difference([0.7, 0.3, 0.9], [0.5, 0.1, 0.7])
    assert (interval.mean, interval.low, interval.high) == pytest.approx((0.2, 0.2, 0.2))
    assert interval.certain
