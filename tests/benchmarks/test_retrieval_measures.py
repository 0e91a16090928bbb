"""The retrieval benchmark's measures have the values that are worked out by hand, and its intervals hold."""

from __future__ import annotations

import math

import pytest
from foveal.benchmarks.retrieval.bootstrap import difference
from foveal.benchmarks.retrieval.measures import MEASURES, answering, ndcg, recall, reciprocal_rank, score

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


def test_ndcg_looks_at_the_first_k_only() -> None:
    found = [f"x{number}" for number in range(9)]
    assert ndcg([*found, "a"], {"a": 1}, 10) == pytest.approx(1 / math.log2(11))
    assert ndcg([*found, "x9", "a"], {"a": 1}, 10) == 0
    # Of more answers than k, the best k make the best ranking.
    assert ndcg(["a", "b"], {"a": 1, "b": 1, "c": 1}, 2) == 1


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


def test_the_files_of_the_best_grade_answer_a_question() -> None:
    assert answering({"a": 2, "b": 1, "c": 2}) == {"a", "c"}
    assert answering({"b": 1}) == {"b"}


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


def test_score_of_nothing_is_nothing() -> None:
    assert score([], {"a": 1}) == dict.fromkeys(MEASURES, 0)


def test_a_difference_that_is_always_the_same_is_certain() -> None:
    interval = difference([0.7, 0.3, 0.9], [0.5, 0.1, 0.7])
    assert (interval.mean, interval.low, interval.high) == pytest.approx((0.2, 0.2, 0.2))
    assert interval.certain


def test_no_difference_is_not_certain() -> None:
    interval = difference([0.5, 0.1], [0.5, 0.1])
    assert (interval.mean, interval.low, interval.high) == (0, 0, 0)
    assert not interval.certain


def test_the_interval_of_two_questions_is_that_of_their_four_resamples() -> None:
    # Means of 1, 0, 0 and -1 are equally likely, so 2.5 % lie at either end.
    interval = difference([1.0, 0.0], [0.0, 1.0])
    assert (interval.mean, interval.low, interval.high) == (0, -1, 1)
    assert not interval.certain


def test_the_interval_is_as_wide_as_the_normal_one_for_many_questions() -> None:
    # Half of n differences are +1 and half -1: the standard error is 1 / sqrt(n), and 95 % lie within 1.96.
    count = 400
    ours = [float(number % 2) for number in range(count)]
    interval = difference(ours, [1 - value for value in ours])
    assert interval.mean == 0
    assert interval.low == pytest.approx(-1.96 / math.sqrt(count), rel=0.06)
    assert interval.high == pytest.approx(1.96 / math.sqrt(count), rel=0.06)


def test_what_makes_questions_hard_for_both_does_not_widen_the_interval() -> None:
    base = [number / 100 for number in range(100)]
    interval = difference([value + 0.01 for value in base], base)
    assert interval.low == pytest.approx(0.01)
    assert interval.certain


def test_the_same_seed_gives_the_same_interval_and_another_seed_another() -> None:
    ours, theirs = [0.1, 0.9, 0.4, 0.35, 0.2], [0.2, 0.3, 0.31, 0.6, 0.1]
    assert difference(ours, theirs, resamples=501) == difference(ours, theirs, resamples=501)
    seeds = {difference(ours, theirs, resamples=501, seed=seed).low for seed in range(5)}
    assert len(seeds) > 1


@pytest.mark.parametrize(("ours", "theirs"), [([], []), ([1.0], [1.0, 0.0])])
def test_what_cannot_be_paired_is_refused(ours: list[float], theirs: list[float]) -> None:
    with pytest.raises(ValueError, match="paired"):
        difference(ours, theirs)
