"""Boxes fill their rectangle to scale, without overlaps, and near to squares."""

from __future__ import annotations

from itertools import combinations

import pytest
from foveal.dashboard.drawings import Box, treemap
from hypothesis import given
from hypothesis import strategies as st

VALUES = st.lists(st.floats(1, 10_000), min_size=1, max_size=40).map(
    lambda values: sorted(values, reverse=True)
)


@given(VALUES, st.floats(10, 2_000), st.floats(10, 2_000))
def test_areas_are_to_scale_and_fill_the_rectangle(values: list[float], width: float, height: float) -> None:
    boxes = treemap(values, width, height)
    scale = width * height / sum(values)
    for value, box in zip(values, boxes, strict=True):
        assert box.width * box.height == pytest.approx(value * scale, rel=1e-6)
        assert -1e-6 <= box.x <= box.x + box.width <= width * (1 + 1e-6)
        assert -1e-6 <= box.y <= box.y + box.height <= height * (1 + 1e-6)


@given(VALUES)
def test_no_two_boxes_overlap(values: list[float]) -> None:
    for one, other in combinations(treemap(values, 760, 480), 2):
        assert (
            min(
                _shared(one.x, one.width, other.x, other.width),
                _shared(one.y, one.height, other.y, other.height),
            )
            < 1e-6
        )


def test_equal_values_come_out_as_squares() -> None:
    assert {(round(box.width), round(box.height)) for box in treemap([1.0] * 4, 100, 100)} == {(50, 50)}


def test_one_value_takes_all() -> None:
    assert treemap([7.0], 30, 20) == [Box(0.0, 0.0, 30.0, 20.0)]


def _shared(start: float, length: float, other: float, other_length: float) -> float:
    return min(start + length, other + other_length) - max(start, other)
