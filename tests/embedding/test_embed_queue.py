"""Contents wait in the order of their turn: preferred ones, then as they came, then tests and documents."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from foveal.daemon.embedding import embed_queue
from foveal.daemon.embedding.embed_queue import EmbedQueue


def filled() -> EmbedQueue:
    """Give `a`, `b` and `c`, and between them `x` and `y` that come later."""
    queue = EmbedQueue()
    for place, name in enumerate("axbyc", 1):
        queue.put(name.encode(), place, later=name in "xy")
    return queue


def order(queue: EmbedQueue) -> str:
    return b"".join(queue.first(100)).decode()


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda queue: None, "abcxy"),
        (lambda queue: queue.prefer([b"y", b"b"]), "ybacx"),
        (lambda queue: (queue.prefer([b"c"]), queue.prefer([b"b"])), "bcaxy"),
        (lambda queue: (queue.prefer([b"c", b"b"]), queue.prefer([b"b"])), "bcaxy"),
        (lambda queue: queue.prefer([b"unknown"]), "abcxy"),
        (lambda queue: (queue.prefer([b"y"]), queue.forget([b"y", b"a", b"unknown"])), "bcx"),
        (lambda queue: queue.retain({b"x", b"c", b"unknown"}), "cx"),
        (lambda queue: queue.retain({}), ""),
        (lambda queue: queue.put(b"a", 9), "abcxy"),
        (lambda queue: queue.put(b"a", 9, later=True), "abcxy"),
        (lambda queue: queue.put(b"x", 9), "abcxy"),
        (lambda queue: (queue.forget([b"a"]), queue.put(b"a", 9)), "bcaxy"),
    ],
)
def test_the_order(change: Callable[[EmbedQueue], object], expected: str) -> None:
    queue = filled()
    change(queue)
    assert order(queue) == expected
    assert len(queue) == len(expected)
    assert [name in queue for name in (b"a", b"x")] == ["a" in expected, "x" in expected]


def test_preferences_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embed_queue, "PREFERRED_MAX", 2)
    queue = filled()
    queue.prefer([b"x", b"y", b"c"])
    assert order(queue) == "xyabc"
    queue.prefer([b"c"])
    assert order(queue) == "cxaby"
