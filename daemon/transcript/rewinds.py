"""Owns what a person took back: after a rewind Claude Code's file still holds the turns that were left.

The new prompt has the same parent as the one that it replaces. Between the two stands what came of the old
one, which the conversation goes on without.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from .claude_code import prompt_of
from .records import record_of, text_at
from .transcript_file import Line

PROMPTS_MAX = 100_000
"""So many prompts are compared; the longest conversations have some thousand."""


class LeftTurns:
    """The lines that rewinds left, as ranges that neither overlap nor touch."""

    def __init__(self, lines: Iterable[Line]) -> None:
        """Look through the prompts. Cheap, since only lines that may hold one are parsed."""
        first: dict[tuple[str, str], int] = {}
        ranges: list[tuple[int, int]] = []
        for line in lines:
            if line.data is None or b'"user"' not in line.data or b'"tool_result"' in line.data:
                continue
            record = record_of(line.data)
            if record is None or not (parent := text_at(record, "parentUuid")) or not prompt_of(record):
                continue
            key = (text_at(record, "agentId"), parent)
            if key not in first:
                if len(first) < PROMPTS_MAX:
                    first[key] = line.number
                continue
            start = first[key]
            while ranges and ranges[-1][0] >= start:
                ranges.pop()  # a rewind to before another one
            if ranges and ranges[-1][1] >= start:
                start = ranges.pop()[0]
            ranges.append((start, line.number))
            first[key] = line.number
        self._starts = [start for start, _ in ranges]
        self._ends = [end for _, end in ranges]

    def has(self, number: int) -> bool:
        """Whether a line belongs to what was left."""
        place = bisect_right(self._starts, number) - 1
        return place >= 0 and number < self._ends[place]
