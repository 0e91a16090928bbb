"""Vectors are scored as float64 arithmetic scores them; ids above 2^53 stay exact."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from foveal.daemon.embedding.exact import (
    BLOCK,
    as_ids,
    best,
    rounded_unit,
    scores,
    unit,
)
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

LARGE = (1 << 62) + 1


def random_units(count: int, dim: int, seed: int = 0) -> np.ndarray:
    return unit(np.random.default_rng(seed).standard_normal((count, dim)), dim)


def oracle(matrix: np.ndarray, queries: np.ndarray) -> np.ndarray:
    cosines: np.ndarray = (matrix.astype(np.float64) @ queries.astype(np.float64).T).max(axis=1)
    return cosines


# Length


@pytest.mark.parametrize("vector", [[3.0, 4.0], [[3.0, 4.0]], [3e30, 4e30], [3e-30, 4e-30]])
def test_a_vector_gets_length_one_whatever_its_size(vector: list[float]) -> None:
    assert unit(vector, 2) == pytest.approx(np.array([[0.6, 0.8]]))


@pytest.mark.parametrize(
    "vector",
    [[0, 0], [np.nan, 1], [np.inf, 1], [1, 2, 3], [], 1.0, [[[1, 2]]], [[1, 0], [0, 0]]],
)
def test_vectors_without_direction_or_of_another_size_are_refused(vector: Any) -> None:
    with pytest.raises(ValueError):
        unit(vector, 2)


@given(
    hnp.arrays(np.float32, (3, 6), elements=st.floats(-1e3, 1e3, width=32)).filter(
        lambda a: (abs(a).max(1) > 1e-3).all()
    )
)
def test_a_stored_vector_that_comes_back_stays_as_it_is(matrix: np.ndarray) -> None:
    stored = rounded_unit(matrix, 6)
    assert stored == pytest.approx(unit(matrix, 6), abs=5e-4)
    assert rounded_unit(stored, 6).tolist() == stored.tolist()


# Scores


@pytest.mark.parametrize("count", [0, 1, BLOCK - 1, BLOCK, 2 * BLOCK + 3])
@pytest.mark.parametrize("queries", [1, 3])
def test_scores_are_the_best_cosines(count: int, queries: int) -> None:
    matrix = random_units(count, 24)
    asked = random_units(queries, 24, seed=1)
    assert scores(matrix, asked) == pytest.approx(oracle(matrix, asked), abs=2e-6)
    rows = np.arange(count)[::-2]
    assert scores(matrix, asked, rows) == pytest.approx(oracle(matrix, asked)[rows], abs=2e-6)


def test_equal_vectors_have_equal_scores_wherever_they_lie() -> None:
    row, query = random_units(1, 384), random_units(1, 384, seed=1)
    matrix = np.concatenate([random_units(BLOCK - 1, 384, seed=2), np.repeat(row, 300, 0)])
    assert set(scores(matrix, query)[BLOCK - 1 :].tolist()) == set(scores(row, query).tolist())


def test_no_cosine_is_above_one() -> None:
    matrix = rounded_unit(random_units(2_000, 8), 8)
    assert max(scores(matrix[n : n + 1], unit(matrix[n], 8))[0] for n in range(2_000)) <= 1


@given(hnp.arrays(np.float32, st.integers(1, 50), elements=st.floats(-1, 1, width=32)), st.integers(1, 60))
def test_the_best_are_the_largest(values: np.ndarray, k: int) -> None:
    found = sorted(values[best(values, k)].tolist(), reverse=True)
    assert found == sorted(values.tolist(), reverse=True)[:k]


# Ids


def test_large_ids_never_pass_through_a_float() -> None:
    assert as_ids([LARGE, LARGE + 1]).tolist() == [LARGE, LARGE + 1]
    assert as_ids([]).dtype == np.uint64
