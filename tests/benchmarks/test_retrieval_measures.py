"""The retrieval benchmark's measures have the values that are worked out by hand, and its intervals hold."""

from __future__ import annotations

import math

import pytest
from foveal.benchmarks.retrieval.bootstrap import difference
from foveal.benchmarks.retrieval.measures import ndcg, recall, reciprocal_rank, score

# Discounts of the first five ranks: 1, 0.63093, 0.5, 0.43068, 0.38685. Gains: 1 for grade 1, 3 for grade 2.


@pytest.mark.parametrize(
    ("found", "relevant", "expected"),
    [
        (["a"], {"a": 1}, 1.0),
        (["b", "a"], {"a": 1}, 0.63093),
        (["b", "c", "a"], {"a": 1}, 0.5),
        ([], {"a": 1}, 0.0),
        (["b"], {"a": 1}, 0.0),
        (["a", "b"], {"a": 2, "b": 1}, 1.0),
        # (1 + 3 * 0.63093) / (3 + 0.63093)
        (["b", "a"], {"a": 2, "b": 1}, 0.79671),
        # 3 / (3 + 0.63093): what isn't found lacks in the sum
        (["a"], {"a": 2, "b": 1}, 0.82623),
        # (3 + 0.5 * 3) / (3 + 0.63093 * 3)
        (["a", "x", "b"], {"a": 2, "b": 2}, 0.91972),
        # the order of what is equally good doesn't matter
        (["b", "a"], {"a": 2, "b": 2}, 1.0),
    ],
)
def test_ndcg(found: list[str], relevant: dict[str, int], expected: float) -> None:
    assert ndcg(found, relevant, 10) == pytest.approx(expected, abs=1e-5)


def test_recall_is_the_share_of_the_answers_among_the_first() -> None:
    answers = frozenset({"a", "b", "c"})
    for k, expected in ((1, 0.0), (2, 1 / 3), (3, 2 / 3), (4, 2 / 3), (10, 2 / 3)):
        assert recall(["x", "a", "b", "y"], answers, k) == pytest.approx(expected)


def test_reciprocal_rank_is_that_of_the_first_answer() -> None:
    answers = frozenset({"a", "b"})
    assert reciprocal_rank(["x", "y", "b", "a"], answers) == pytest.approx(1 / 3)
    assert reciprocal_rank(["b"], answers) == 1
    assert reciprocal_rank(["x"], answers) == 0
    assert reciprocal_rank([], answers) == 0


def test_score_counts_a_file_once_at_its_first_place() -> None:
    assert score(["x", "x", "x", "x", "x", "x", "a"], {"a": 1}) == pytest.approx(
        {"NDCG@10": 1 / math.log2(3), "R@5": 1, "R@10": 1, "MRR": 0.5, "top-1": 0, "top-5": 1}
    )


def test_score_tells_the_ends_of_the_lists_apart() -> None:
    ranked = ["v", "w", "x", "y", "z", "a"]
    assert score(ranked, {"a": 2, "v": 1}) == pytest.approx(
        {
            "NDCG@10": (1 + 3 / math.log2(7)) / (3 + 1 / math.log2(3)),
            "R@5": 0,
            "R@10": 1,
            "MRR": 1 / 6,
            "top-1": 0,
            "top-5": 0,
        }
    )


def test_a_difference_that_is_always_the_same_is_certain() -> None:
    interval = difference([0.7, 0.3, 0.9], [0.5, 0.1, 0.7])
    assert (interval.mean, interval.low, interval.high) == pytest.approx((0.2, 0.2, 0.2))
    assert interval.certain


def test_the_interval_is_as_wide_as_the_normal_one_for_many_questions() -> None:
    # Half of n differences are +1 and half -1: the standard error is 1 / sqrt(n), and 95 % lie within 1.96.
    count = 400
    ours = [float(number % 2) for number in range(count)]
    interval = difference(ours, [1 - value for value in ours])
    assert interval.mean == 0
    assert interval.low == pytest.approx(-1.96 / math.sqrt(count), rel=0.06)
    assert interval.high == pytest.approx(1.96 / math.sqrt(count), rel=0.06)
