"""A sketch tells how much of a text is still there, within its error, and survives being stored."""

from __future__ import annotations

import pytest
from foveal.daemon.memory.staleness import LINES_KEPT, Sketch, decoded, encoded, sketch_of


def lines(first: int, last: int) -> str:
    return "\n".join(f"    line {number}" for number in range(first, last))


@pytest.mark.parametrize(
    ("text", "other", "expected", "error"),
    [
        ("", "", 1.0, 0.0),
        ("a\nb", "b\n\n  a\n", 1.0, 0.0),
        ("a", "b", 0.0, 0.0),
        ("", "a", 0.0, 0.0),
        (lines(0, 40), lines(20, 60), 20 / 60, 0.0),
        (lines(0, 1000), lines(0, 1000), 1.0, 0.0),
        (lines(0, 1000), lines(500, 1500), 1 / 3, 0.18),
        (lines(0, 1000), lines(100, 1000), 0.9, 0.12),
        (lines(0, 1000), lines(5000, 6000), 0.0, 0.0),
    ],
)
def test_similarity_is_the_share_of_common_lines(
    text: str, other: str, expected: float, error: float
) -> None:
    found = sketch_of(text).similarity(sketch_of(other))
    assert found == pytest.approx(expected, abs=max(error, 1e-9))
    assert found == sketch_of(other).similarity(sketch_of(text))


def test_a_sketch_is_stored_and_read_back() -> None:
    for text in ("", "a", lines(0, 5000), "\ud800"):
        sketch = sketch_of(text)
        assert len(sketch.hashes) <= LINES_KEPT
        assert decoded(encoded(sketch)) == sketch


@pytest.mark.parametrize("text", ["???", "AAA", "AAAAAAA=", "/////wAAAAA=", "AAAA" * 1000, "é"])
def test_what_is_no_sketch_is_none(text: str) -> None:
    assert decoded(text) is None


def test_an_empty_sketch_is_one() -> None:
    assert decoded("") == Sketch()
