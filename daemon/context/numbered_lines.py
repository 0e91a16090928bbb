"""Owns lines as a context shows them: split as compilers count them, each behind its number."""

from __future__ import annotations

from collections.abc import Sequence


def split_lines(text: str) -> list[str]:
    r"""Split a text at its line feeds, as the parser counts lines; the \r of a \r\n is no part of a line.

    The other breaks of `str.splitlines` end no line, so that numbers agree with compilers and editors.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def count_lines(text: str) -> int:
    """Return how many lines `split_lines` makes of a text."""
    return text.count("\n") + (not text.endswith("\n") and text != "")


def numbered(lines: Sequence[str], start: int, width: int) -> list[str]:
    """Put its number before each line, counted from `start` and right-aligned in `width` characters."""
    return [
        f"{str(number).rjust(width)}  {line}" if line else str(number).rjust(width)
        for number, line in enumerate(lines, start)
    ]


def width_of(number: int) -> int:
    """Return the digits of a number: how wide numbers up to it are shown."""
    return len(str(number))
