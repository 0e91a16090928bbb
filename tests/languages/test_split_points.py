"""Large pieces of code may be cut where their statements and members begin, never below their comments."""

from __future__ import annotations

from itertools import pairwise

import pytest
from foveal.daemon.languages.shared.language import LANGUAGES
from foveal.daemon.languages.shared.parse import SPLIT_DEPTH, SPLIT_STEPS, parse_source

PARSED = [name for name, row in LANGUAGES.items() if row.grammar]


@pytest.mark.parametrize(
    ("source", "languages"),
    [
        ("[\n" * 600 + "]\n" * 600, PARSED),
        ("f(a,\n" * 600, PARSED),
        ("a\n" * 600, PARSED),
        ("x = [\n" + "1,\n" * (2 * SPLIT_STEPS) + "]\n", ["python"]),
    ],
    ids=["deep", "open", "flat", "wide"],
)
def test_points_rise_and_are_bounded(source: str, languages: list[str]) -> None:
    lines = source.count("\n")
    assert languages == ["python"] or len(languages) > 15
    for language in languages:
        points = parse_source(source.encode(), language).split_points
        assert len(points) <= SPLIT_STEPS
        assert all(before.line < after.line for before, after in pairwise(points))
        assert all(1 <= point.line <= lines and 1 <= point.depth <= SPLIT_DEPTH for point in points)
