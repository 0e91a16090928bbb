"""Owns which definition a line belongs to: the innermost around it, and around that the next."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from .records import Symbol


class Owners:
    """The nesting of a file's symbols, which come in source order; each goes by its index, -1 is the file."""

    def __init__(self, symbols: Sequence[Symbol]) -> None:
        self._outer: list[int] = []
        stack: list[int] = []
        starts: list[tuple[int, int]] = []
        for index, symbol in enumerate(symbols):
            while stack and symbols[stack[-1]].end_line < symbol.start_line:
                ended = stack.pop()
                starts.append((symbols[ended].end_line + 1, stack[-1] if stack else -1))
            self._outer.append(stack[-1] if stack else -1)
            starts.append((symbol.start_line, index))
            stack.append(index)
        while stack:
            ended = stack.pop()
            starts.append((symbols[ended].end_line + 1, stack[-1] if stack else -1))
        self._lines = [line for line, _ in starts]
        self._inner = [index for _, index in starts]

    def around(self, line: int) -> int:
        """Return the index of the innermost symbol around a line, -1 for none."""
        at = bisect_right(self._lines, line) - 1
        return self._inner[at] if at >= 0 else -1

    def outer(self, index: int) -> int:
        """Return the index of the symbol around a symbol, -1 for none."""
        return self._outer[index]
