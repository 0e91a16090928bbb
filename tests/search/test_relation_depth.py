"""The number of edges that is asked for is told from numbers, words and chains, and is bounded."""

from __future__ import annotations

import pytest
from foveal.daemon.search.clauses import split_clauses
from foveal.daemon.search.relation_phrases import MAX_DEPTH, depth_of


@pytest.mark.parametrize(
    ("text", "depth"),
    [
        ("callers of f to depth 3", 3),
        ("callers of f, depth=4", 4),
        ("callers of f up to a depth of two", 2),
        ("callers of f, three levels deep", 3),
        ("callers of f within 2 hops", 2),
        ("callers of callers of f", 2),
        ("callers of the callers of its callers", 3),
        ("direct callers of f", 1),
        ("what calls f, directly or indirectly", 0),
        ("callers of f", 0),
        ("what is called in step 3 of f", 0),
        ("callers of f to depth 999", MAX_DEPTH),
    ],
)
def test_depths(text: str, depth: int) -> None:
    assert depth_of(split_clauses(text)[0]) == depth
