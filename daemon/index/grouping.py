"""Owns grouping: which neighbours become one chunk, so that an edit of one changes no group far from it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

TINY = 100
"""Characters below which a group is joined to a neighbour, if both fit into the limit."""

Group = tuple[int, int]
"""A run of units: the index of the first and the one behind the last."""


def group(sizes: Sequence[int], strengths: Sequence[int], limit: int) -> list[Group]:
    """Return how a run of units is grouped: in order, each at most `limit` unless it is one unit.

    `sizes` are in characters. `strengths[i]` says how well the run may be cut before unit `i`; the first is
    not looked at. The run is cut at its strongest gap until what is left fits. Packing from the left gives
    7 % fewer groups (in Django 5.2), but one longer unit moves all cuts behind it, and each moved cut costs
    two embeddings. Here a unit whose size changes only concerns the groups beside it, since strengths don't
    depend on sizes. Linear.
    """
    ends = [0, *accumulate(sizes)]
    parts = _cut(ends, *_strongest_first(strengths), limit)
    groups: list[Group] = []
    for first, last in parts:
        size = ends[last] - ends[first]
        if groups:
            before, _ = groups[-1]
            together = ends[last] - ends[before]
            if together <= limit and (size < TINY or together - size < TINY):
                groups[-1] = (before, last)
                continue
        groups.append((first, last))
    return groups


def _cut(ends: Sequence[int], root: int, below: list[int], above: list[int], limit: int) -> list[Group]:
    """Return the parts of a run in order; `below` and `above` are the children in a tree of its gaps."""
    parts: list[Group] = []
    pending = [(0, len(ends) - 1, root)]
    while pending:
        first, last, gap = pending.pop()
        if gap < 0 or ends[last] - ends[first] <= limit:
            parts.append((first, last))
        else:
            pending.append((gap, last, above[gap]))
            pending.append((first, gap, below[gap]))
    return parts


def _strongest_first(strengths: Sequence[int]) -> tuple[int, list[int], list[int]]:
    """Return the tree (root, left and right children, -1 for none) whose every gap is stronger than those
    below it; of equal ones the first is the higher.
    """
    count = len(strengths)
    left, right = [-1] * count, [-1] * count
    spine: list[int] = []
    for gap in range(1, count):
        last = -1
        while spine and strengths[spine[-1]] < strengths[gap]:
            last = spine.pop()
        left[gap] = last
        if spine:
            right[spine[-1]] = gap
        spine.append(gap)
    return (spine[0] if spine else -1), left, right
