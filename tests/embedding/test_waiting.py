"""Contents wait in the order of their turn: preferred ones, then as they came, then tests and documents."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from foveal.daemon.embedding import project_vectors as waiting_file
from foveal.daemon.embedding.project_vectors import Waiting


def filled() -> Waiting:
    """Give `a`, `b` and `c`, and between them `x` and `y` that come later."""
    waiting = Waiting()
    for place, name in enumerate("axbyc", 1):
        waiting.put(name.encode(), place, later=name in "xy")
    return waiting


def order(waiting: Waiting) -> str:
    return b"".join(waiting.first(100)).decode()


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda waiting: None, "abcxy"),
        (lambda waiting: waiting.prefer([b"y", b"b"]), "ybacx"),
        (lambda waiting: (waiting.prefer([b"c"]), waiting.prefer([b"b"])), "bcaxy"),
        (lambda waiting: (waiting.prefer([b"c", b"b"]), waiting.prefer([b"b"])), "bcaxy"),
        (lambda waiting: waiting.prefer([b"unknown"]), "abcxy"),
        (lambda waiting: (waiting.prefer([b"y"]), waiting.forget([b"y", b"a", b"unknown"])), "bcx"),
        (lambda waiting: waiting.retain({b"x", b"c", b"unknown"}), "cx"),
        (lambda waiting: waiting.retain({}), ""),
        (lambda waiting: waiting.put(b"a", 9), "abcxy"),
        (lambda waiting: waiting.put(b"a", 9, later=True), "abcxy"),
        (lambda waiting: waiting.put(b"x", 9), "abcxy"),
        (lambda waiting: (waiting.forget([b"a"]), waiting.put(b"a", 9)), "bcaxy"),
    ],
)
def test_the_order(change: Callable[[Waiting], object], expected: str) -> None:
    waiting = filled()
    change(waiting)
    assert order(waiting) == expected
    assert len(waiting) == len(expected)
    assert [name in waiting for name in (b"a", b"x")] == ["a" in expected, "x" in expected]


def test_the_number_of_waiting_questions_is_bounded() -> None:
    waiting = filled()
    assert waiting.first(2) == waiting.first(2) == {b"a": 1, b"b": 3}
    assert waiting.first(0) == {}
    assert Waiting().first(5) == {}


def test_a_content_that_comes_again_has_the_later_chunk() -> None:
    waiting = filled()
    waiting.put(b"a", 40)
    waiting.put(b"x", 50)
    assert waiting.first(100) == {b"a": 40, b"b": 3, b"c": 5, b"x": 50, b"y": 4}


def test_preferences_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting_file, "PREFERRED_MAX", 2)
    waiting = filled()
    waiting.prefer([b"x", b"y", b"c"])
    assert order(waiting) == "xyabc"
    waiting.prefer([b"c"])
    assert order(waiting) == "cxaby"
