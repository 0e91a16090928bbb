"""Lists merge by rank or by score, each weighing what it should, whatever is empty or equal in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest
from foveal.daemon.search.ranking import RANK_CONSTANT, fuse_ranks, fuse_scores

Lists = Mapping[str, Sequence[tuple[str, float]]]
WEIGHTS = {"a": 0.75, "b": 0.25}
FIRST, SECOND = 1.0, (RANK_CONSTANT + 1) / (RANK_CONSTANT + 2)


@pytest.mark.parametrize(
    ("lists", "expected"),
    [
        ({"a": [], "b": []}, {}),
        ({"a": [("x", 5.0)], "b": []}, {"x": 1.0}),
        ({"a": [("x", 5.0), ("y", 4.9)], "b": []}, {"x": 1.0, "y": SECOND}),
        ({"a": [("x", 5.0), ("y", 1.0)], "b": [("y", 0.1)]}, {"x": 0.75, "y": 0.75 * SECOND + 0.25}),
        ({"a": [("x", 2.0)], "b": [("x", 0.3)]}, {"x": 1.0}),
        ({"a": [("x", 2.0), ("x", 1.0), ("y", 1.0)], "b": []}, {"x": 1.0, "y": SECOND}),
    ],
)
def test_by_ranks(lists: Lists, expected: dict[str, float]) -> None:
    assert fuse_ranks(lists, WEIGHTS) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("lists", "expected"),
    [
        ({"a": [], "b": []}, {}),
        ({"a": [("x", 9.0), ("y", 6.0), ("z", 3.0)], "b": []}, {"x": 1.0, "y": 0.5, "z": 0.0}),
        ({"a": [("x", 9.0), ("z", 3.0)], "b": [("z", 0.5), ("y", 0.1)]}, {"x": 0.75, "z": 0.25, "y": 0.0}),
        ({"a": [("x", 2.0), ("y", 2.0)], "b": []}, {"x": 1.0, "y": 1.0}),
        ({"a": [("x", 0.0)], "b": [("y", -0.5)]}, {"x": 0.75, "y": 0.25}),
        ({"a": [("x", 4.0), ("y", 3.0), ("y", 9.0), ("z", 2.0)], "b": []}, {"x": 2 / 7, "y": 1.0, "z": 0.0}),
    ],
)
def test_by_scores(lists: Lists, expected: dict[str, float]) -> None:
    assert fuse_scores(lists, WEIGHTS) == pytest.approx(expected)


@pytest.mark.parametrize("fuse", [fuse_ranks, fuse_scores])
def test_a_list_without_weight_counts_as_none(fuse: Callable[..., dict[str, float]]) -> None:
    lists: Lists = {"a": [("x", 2.0), ("y", 1.0)], "b": [("z", 1.0)]}

    assert set(fuse(lists, {"a": 1.0, "b": 0.0})) == {"x", "y"}
    assert fuse({"a": [], "b": [("z", 1.0)]}, {"a": 1.0, "b": 0.0}) == {}
