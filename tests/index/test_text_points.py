"""Text is cut at paragraphs and blocks first, at lists and lines where it must be."""

from __future__ import annotations

from foveal.daemon.index.divider import MAX_LEVEL, block_starts, paragraph_starts


def check_prose(text: str, expected: list[int], level: int = 0) -> None:
    lines = text.split("\n")
    assert paragraph_starts(lines, 1, len(lines), level) == expected


def check_code(text: str, expected: list[int], level: int = 0) -> None:
    lines = text.split("\n")
    assert block_starts(lines, 1, len(lines), level) == expected


def test_prose() -> None:
    check_prose("a\nb\n\nc\n\n\nd", [4, 7])
    check_prose("a\n- b\n  c\n- d\n1. e", [2, 4, 5])
    check_prose("a\nb\nc", [2, 3])
    check_prose("a", [])
    check_prose("", [])


def test_code() -> None:
    check_code("a {\n  b\n}\n\nc {\n\n  d\n}", [5])
    check_code("a {\n  b\n}\nc {\n  d\n}", [4])
    check_code("a:\n  b\n  c", [2, 3])
    check_code("a:\n    b\n\n  c\n\n    d", [4])
    check_code("{\n}\n}", [2, 3])
    check_code("if a\n  b\nelse\n  c\nend\nelsewhere", [6])
    check_code("a\n b\n\n  c", [2, 4], MAX_LEVEL)
    check_code("a", [])
