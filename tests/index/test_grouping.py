"""Neighbours are grouped up to a limit, and what changes in one moves no boundary far from it."""

from __future__ import annotations

import random

from foveal.daemon.index.divider import TINY, group
from hypothesis import given
from hypothesis import strategies as st

UNITS = st.lists(st.tuples(st.integers(1, 900), st.integers(0, 50)), min_size=1, max_size=60)


@given(UNITS, st.integers(1, 1_500))
def test_every_unit_is_in_one_group_of_bounded_size(units: list[tuple[int, int]], limit: int) -> None:
    sizes, strengths = [size for size, _ in units], [strength for _, strength in units]
    groups = group(sizes, strengths, limit)
    assert [first for first, _ in groups] == [0, *(last for _, last in groups[:-1])]
    assert groups[-1][1] == len(units)
    assert all(sum(sizes[first:last]) <= limit or last == first + 1 for first, last in groups)


@given(st.data())
def test_a_unit_that_changes_its_size_moves_only_boundaries_beside_it(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(TINY, 400), min_size=2, max_size=40))
    strengths = list(range(len(sizes)))
    random.Random(data.draw(st.integers(0, 99))).shuffle(strengths)
    changed = data.draw(st.integers(0, len(sizes) - 1))
    resized = [*sizes]
    resized[changed] = data.draw(st.integers(TINY, 400))
    before, after = group(sizes, strengths, 600), group(resized, strengths, 600)
    # What was cut or is cut differently lies in one run of groups that fits into little more than a chunk.
    moved = [bounds for bounds in before if bounds not in after]
    touched = [bounds for bounds in moved if not bounds[0] <= changed < bounds[1]]
    assert sum(sum(sizes[first:last]) for first, last in touched) <= 600
