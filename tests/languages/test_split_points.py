"""Large pieces of code may be cut where their statements and members begin, never below their comments."""

from __future__ import annotations

from itertools import pairwise

import pytest
from foveal.daemon.languages.shared.language import LANGUAGES
from foveal.daemon.languages.shared.parse import LARGE_BYTES, SPLIT_DEPTH, SPLIT_STEPS, parse_source


def check(source: str, language: str, expected: list[str]) -> None:
    """Check the points, written as the lines that they stand at, indented by their order of depth."""
    lines = source.split("\n")
    points = parse_source(source.encode(), language).split_points
    depths = sorted({point.depth for point in points})
    assert [f"{depths.index(each.depth)} {lines[each.line - 1].strip()[:12]}" for each in points] == expected


def test_documents_and_unknown_languages_have_none() -> None:
    assert parse_source(b"# a\n\nb\n", "markdown").split_points == ()
    assert parse_source(b"a\n\nb\n", "").split_points == ()


PARSED = [name for name, row in LANGUAGES.items() if row.grammar]


@pytest.mark.parametrize(
    ("source", "languages"),
    [
        ("[\n" * 2_000 + "]\n" * 2_000, PARSED),
        ("f(a,\n" * 2_000, PARSED),
        ("a\n" * 2_000, PARSED),
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


@pytest.mark.parametrize(
    ("head", "end", "language", "entered"),
    [
        ("# why\ndef f():\n", "", "python", ["0 # why", "1 a", "0 b"]),
        ("// why\nfunction f() {\n", "}\n", "javascript", ["0 // why", "1 a", "1 c('xxxxxxxxx", "0 b"]),
    ],
)
def test_what_is_too_large_with_its_head_and_comment_is_entered(
    head: str, end: str, language: str, entered: list[str]
) -> None:
    for size, expected in ((LARGE_BYTES - 50, [entered[0], entered[-1]]), (LARGE_BYTES - 20, entered)):
        check(f"{head}    a\n    c('{'x' * size}')\n{end}b\n", language, expected)
