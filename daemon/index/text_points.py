"""Owns cutting text by its looks: blank lines, indentation, lists and fences say where its parts begin."""

from __future__ import annotations

import re
from collections.abc import Sequence

MAX_LEVEL = 8
"""Levels at which indentation is followed; below them every line is a part. Text made to be a staircase of
a thousand levels would otherwise be read a thousand times."""


def paragraph_starts(lines: Sequence[str], first: int, last: int, level: int) -> list[int]:
    """Return where the parts of a range of prose begin: paragraphs, else list items, else lines.

    Ranges are line numbers from 1, inclusive; the first line is never named. What is indented or fenced
    belongs to the paragraph above it, unless there is nothing else to cut at or `level` is `MAX_LEVEL`.
    """
    paragraphs: list[tuple[int, int]] = []
    items: list[int] = []
    rest: list[int] = []
    fence = ""
    was_blank = False
    for number in range(first, last + 1):
        line = lines[number - 1]
        text = line.lstrip()
        if not text:
            was_blank = True
            continue
        if number > first:
            if fence or level >= MAX_LEVEL:
                rest.append(number)
            elif was_blank:
                paragraphs.append((len(line) - len(text), number))
            elif _ITEM.match(text):
                items.append(number)
            else:
                rest.append(number)
        was_blank = False
        mark = text[:3]
        if mark in {"```", "~~~"}:
            fence = "" if fence == mark else fence or mark
    if paragraphs:
        base = min(paragraphs)[0]
        return [number for indent, number in paragraphs if indent == base]
    return items or rest


def block_starts(lines: Sequence[str], first: int, last: int, level: int) -> list[int]:
    """Return where the parts of a range of code begin, when no syntax tree says it.

    Ranges are line numbers from 1, inclusive; the first line is never named. The parts are what stands
    behind a blank line at the least indentation of the range, else any line at that; `MAX_LEVEL` levels
    down they are lines. Those that only close something begin none if there are others.
    """
    written = []
    before = first
    for number in range(first, last + 1):
        line = lines[number - 1]
        text = line.lstrip()
        if text:
            if number > first:
                closes = text[0] in _CLOSER_STARTS and _CLOSER.match(text) is not None
                written.append((number, len(line) - len(text), number > before + 1, closes))
            before = number
    parts = [each for each in written if not each[3]] or written
    if level >= MAX_LEVEL:
        return [number for number, *_ in parts]
    base = min((indent for _, indent, *_ in parts), default=0)
    at_base = [each for each in parts if each[1] == base]
    behind_blank = [each for each in at_base if each[2]]
    return [number for number, *_ in behind_blank or at_base]


_ITEM = re.compile(r"[-*+•]\s|\d{1,4}[.)]\s")
_CLOSER_STARTS = frozenset(")]}>*<efdc")
_CLOSER = re.compile(r"[)\]}>]|end\b|fi\b|done\b|esac\b|\*/|else\b|elif\b|except\b|catch\b|finally\b|</")
