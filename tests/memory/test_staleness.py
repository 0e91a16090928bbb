"""An experience is stale when its files changed much or went, and fresh again."""

from __future__ import annotations

import pytest
from foveal.daemon.memory.file_sketches import (
    LINES_KEPT,
    decoded,
    encoded,
    similarity,
    sketch_of,
    staleness_of,
)

BODY = "\n".join(f"statement {number}" for number in range(60))
OTHER = "\n".join(f"another {number}" for number in range(60))


def check(before: dict[str, str], now: dict[str, str], reason: str) -> None:
    sketches = {path: sketch_of(text) for path, text in before.items()}
    today = {path: sketch_of(text) for path, text in now.items()}
    assert staleness_of(sketches, today.get) == reason


def test_freshness_and_staleness() -> None:
    check({"a.py": BODY}, {"a.py": BODY}, "")
    check({"a.py": BODY}, {"a.py": BODY + "\nmore"}, "")
    check({"a.py": BODY}, {"a.py": OTHER}, "a.py changed much since")
    check({"a.py": BODY}, {}, "a.py is gone")
    check({"a.py": BODY, "b.py": BODY}, {}, "a.py, b.py are gone")
    check({"a.py": BODY, "b.py": BODY}, {"a.py": BODY}, "b.py is gone")
    check({"a.py": BODY, "b.py": BODY}, {"a.py": OTHER}, "a.py changed much since")
    check(dict.fromkeys("abcd", BODY), dict.fromkeys("abcd", OTHER), "a, b and 2 more changed much since")
    check({}, {}, "")


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
    found = similarity(sketch_of(text), sketch_of(other))
    assert found == pytest.approx(expected, abs=max(error, 1e-9))
    assert found == similarity(sketch_of(other), sketch_of(text))


def test_a_sketch_is_stored_and_read_back() -> None:
    for text in ("", "a", lines(0, 5000), "\ud800"):
        sketch = sketch_of(text)
        assert len(sketch) <= LINES_KEPT
        assert decoded(encoded(sketch)) == sketch


@pytest.mark.parametrize("text", ["???", "AAA", "AAAAAAA=", "/////wAAAAA=", "AAAA" * 1000, "é"])
def test_invalid_sketch_is_none(text: str) -> None:
    assert decoded(text) is None
