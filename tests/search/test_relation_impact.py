"""What a change breaks is asked with words for change and for breaking; reports ask for nothing."""

from __future__ import annotations

import pytest
from foveal.daemon.search.clauses import split_clauses
from foveal.daemon.search.relation_phrases import find_impact


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("what breaks if I change f_x", "f_x"),
        ("If the signature of Matrix4::invert changes, what else has to be adapted", "Matrix4::invert"),
        ("ripple effects of a change in f_x", "f_x"),
        ("how risky is it to change f_x", "f_x"),
        ("can I safely delete f_x", "f_x"),
        ("what happens when the signature changes between releases", None),
        ("what happens if f_x gets an empty list", None),
        ("what does f_x change", None),
        ("what breaks if I change count", "count"),
        ("feat: update version constant to v1.10.0", None),
        ("which tests fail if I change f_x", None),
    ],
)
def test_impact(text: str, subject: str | None) -> None:
    found = find_impact(split_clauses(text)[0], pronouns=False)
    assert (found.subjects if found else None) == ((subject,) if subject else None)
