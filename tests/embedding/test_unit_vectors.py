"""Vectors get length one and keep their stored form; ids above 2^53 stay exact."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from foveal.daemon.embedding.unit_vectors import unit_halves
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp


@pytest.mark.parametrize("vector", [[3.0, 4.0], [[3.0, 4.0]], [3e30, 4e30], [3e-30, 4e-30]])
def test_a_vector_gets_length_one_whatever_its_size(vector: list[float]) -> None:
    assert unit_halves(vector, 2) == pytest.approx(np.array([[0.6, 0.8]]), abs=5e-4)


@pytest.mark.parametrize(
    "vector",
    [[0, 0], [np.nan, 1], [np.inf, 1], [1, 2, 3], [], 1.0, [[[1, 2]]], [[1, 0], [0, 0]]],
)
def test_vectors_without_direction_or_of_another_size_are_refused(vector: Any) -> None:
    with pytest.raises(ValueError):
        unit_halves(vector, 2)


@given(
    hnp.arrays(np.float32, (3, 6), elements=st.floats(-1e3, 1e3, width=32)).filter(
        lambda a: (abs(a).max(1) > 1e-3).all()
    )
)
def test_a_stored_vector_that_comes_back_stays_as_it_is(matrix: np.ndarray) -> None:
    stored = unit_halves(matrix, 6)
    assert unit_halves(stored, 6).tolist() == stored.tolist()
    assert unit_halves(stored.astype(np.float32), 6).tolist() == stored.tolist()
