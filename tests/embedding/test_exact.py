"""Vectors are scored as float64 arithmetic scores them, in 16 bits and in 32; ids above 2^53 stay exact."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from foveal.daemon.embedding.exact import (
    BLOCK,
    are_in,
    as_ids,
    best,
    ordered_ids,
    positions,
    scores,
    stored_halves,
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
    stored = stored_halves(matrix, 6)
    assert stored.astype(np.float32) == pytest.approx(unit(matrix, 6), abs=5e-4)
    assert stored_halves(stored, 6).tolist() == stored.tolist()
    assert stored_halves(stored.astype(np.float32), 6).tolist() == stored.tolist()


# Scores


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("count", [0, 1, BLOCK - 1, BLOCK, 2 * BLOCK + 3])
@pytest.mark.parametrize("queries", [1, 3])
def test_scores_are_the_best_cosines(dtype: type, count: int, queries: int) -> None:
    matrix: np.ndarray = random_units(count, 24).astype(dtype)
    asked = random_units(queries, 24, seed=1)
    assert scores(matrix, asked) == pytest.approx(oracle(matrix, asked), abs=2e-6)
    rows = np.arange(count)[::-2]
    assert scores(matrix, asked, rows) == pytest.approx(oracle(matrix, asked)[rows], abs=2e-6)


@given(hnp.arrays(np.uint16, (4, 5)))
def test_every_finite_16_bit_number_is_read_exactly(bits: np.ndarray) -> None:
    matrix = np.where(np.isfinite(bits.view(np.float16)), bits.view(np.float16), np.float16(0))
    query = np.eye(5, dtype=np.float32)[2:3]
    expected = np.clip(np.round(matrix[:, 2].astype(np.float32), 6), -1, 1)
    assert scores(matrix, query).tolist() == expected.tolist()


def test_equal_vectors_have_equal_scores_wherever_they_lie() -> None:
    row = random_units(1, 384).astype(np.float16)
    query = random_units(1, 384, seed=1)
    matrix = np.concatenate([random_units(BLOCK - 1, 384, seed=2).astype(np.float16), np.repeat(row, 300, 0)])
    found = set(scores(matrix, query)[BLOCK - 1 :].tolist())
    assert found == set(scores(row, query).tolist())
    assert found == set(scores(row.astype(np.float32), query).tolist())


def test_no_cosine_is_above_one() -> None:
    matrix = random_units(2_000, 8).astype(np.float16)
    assert max(scores(matrix[n : n + 1], unit(matrix[n], 8))[0] for n in range(2_000)) <= 1


@given(hnp.arrays(np.float32, st.integers(1, 50), elements=st.floats(-1, 1, width=32)), st.integers(1, 60))
def test_the_best_are_the_largest(values: np.ndarray, k: int) -> None:
    found = sorted(values[best(values, k)].tolist(), reverse=True)
    assert found == sorted(values.tolist(), reverse=True)[:k]


# Ids


def test_large_ids_never_pass_through_a_float() -> None:
    assert as_ids([LARGE, LARGE + 1]).tolist() == [LARGE, LARGE + 1]
    assert as_ids([]).dtype == np.uint64


@given(st.lists(st.integers(0, 30)), st.lists(st.integers(0, 30)))
def test_ids_are_ordered_and_looked_up(held: list[int], asked: list[int]) -> None:
    ordered, ids = ordered_ids(held), as_ids(asked)
    assert ordered.tolist() == sorted(set(held))
    assert are_in(ids, ordered).tolist() == [number in held for number in asked]
    places, present = positions(ids, ordered)
    assert ordered[places[present]].tolist() == [number for number in asked if number in held]
