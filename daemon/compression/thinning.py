"""Owns thinning: the lines of a large text that are worth a closer look, with what they lie in.

Everything after it costs tens of microseconds a line; finding words costs nearly nothing. So of a text of
30,000 lines the 2,000 near the rarest words are looked at, and the time doesn't depend on the text.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Sequence

from msgspec.structs import replace

from ..project.tree import Symbol
from .document import Document, indent_of
from .prompt_terms import Term

LINES_MIN = 1_250
CHARACTERS_PER_LINE = 15
"""Lines looked at, or more where the room is for more: one for this many characters of it.
A text is thinned if it has more than twice as many."""

BUCKET = 16
"""Lines that are judged together."""

SHARE_NEAR = 0.6
SHARE_HEADS = 0.2
SHARE_WANTED = 0.4
"""What the lines around words, the heads of definitions or sections, and definitions that are wanted may take
of the lines looked at."""

EDGE_LINES = 40
"""Lines at the beginning and the end that are always looked at."""

CLIMB_LINES = 1_500
CLIMBS_LINES = 30_000
"""Lines that are passed upwards to find what a line lies in, for one bucket and for all."""

HEAD_LINES = 3

_RULES = frozenset(mark * 3 for mark in "=-~^\"'`#*+.:_")


def thinned(
    document: Document,
    terms: Sequence[Term],
    symbols: Sequence[Symbol],
    characters: int,
    wanted: Collection[str] = (),
) -> tuple[Document, Sequence[Symbol]]:
    """Return the part of a document that is worth a closer look for a prompt, with the symbols of it.

    Those of definitions that are `wanted` by their names are among them. The lines keep their numbers. A
    document that isn't large comes back as it is.
    """
    most = max(LINES_MIN, characters // CHARACTERS_PER_LINE)
    if len(document.lines) <= 2 * most:
        return document, symbols
    lines = document.lines
    kept = {*range(min(EDGE_LINES, len(lines))), *range(max(0, len(lines) - EDGE_LINES), len(lines))}
    for symbol in symbols if wanted else ():
        if symbol.name in wanted and len(kept) < most * SHARE_WANTED:
            kept.update(
                range(symbol.start_line - 1, min(symbol.end_line, len(lines), symbol.start_line + 300))
            )
    passed = 0
    for bucket in _buckets(document, terms):
        if len(kept) >= most * SHARE_NEAR:
            break
        first = bucket * BUCKET
        kept.update(range(max(0, first - BUCKET // 2), min(len(lines), first + BUCKET + BUCKET // 2)))
        if passed < CLIMBS_LINES:
            passed += _climb(lines, first, kept)
    near = sorted(kept)
    limit = len(kept) + int(most * SHARE_HEADS)
    for line in _heads(document, terms, symbols, near):
        if len(kept) >= limit:
            break
        kept.update(range(line, min(line + HEAD_LINES, len(lines))))
    # What is left goes to the beginning, which says what the text is.
    for line in range(len(lines)):
        if len(kept) >= most:
            break
        kept.add(line)
    numbers = sorted(kept)
    return document.part(numbers), _mapped(symbols, numbers)


def _buckets(document: Document, terms: Sequence[Term]) -> list[int]:
    """Return the stretches of lines with terms, those with the most and rarest ones first."""
    count = len(document.lines) // BUCKET + 1
    scores: dict[int, float] = {}
    for term in terms:
        found = {line // BUCKET for line in document.lines_with(term)}
        rarity = term.weight * math.log(1 + (count - len(found) + 0.5) / (len(found) + 0.5))
        for bucket in found:
            scores[bucket] = scores.get(bucket, 0.0) + rarity
    return sorted(scores, key=lambda bucket: (-scores[bucket], bucket))


def _climb(lines: Sequence[str], line: int, kept: set[int]) -> int:
    """Keep the lines that open what a line lies in; return how many were passed to find them."""
    indent = next((found for one in lines[line : line + BUCKET] if (found := indent_of(one)) >= 0), 0)
    end = max(0, line - CLIMB_LINES)
    for index in range(line - 1, end - 1, -1):
        if indent <= 0:
            return line - index
        found = indent_of(lines[index])
        if 0 <= found < indent:
            indent = found
            kept.add(index)
    return line - end


def _heads(
    document: Document, terms: Sequence[Term], symbols: Sequence[Symbol], near: Sequence[int]
) -> Iterable[int]:
    """Return the lines on which definitions or sections begin: those around kept lines, then near the terms,
    then the outer ones."""
    if not symbols:
        titles = _titles(document.lines)
        around = dict.fromkeys(
            titles[place]
            for line in near
            for place in range(max(0, bisect_right(titles, line) - 2), bisect_right(titles, line))
        )
        return [*around, *titles]
    found = {line for term in terms for line in document.lines_with(term)}

    def rank(symbol: Symbol) -> tuple[bool, bool, int, int]:
        first, end = symbol.start_line - 1, symbol.end_line
        place = bisect_left(near, first)
        holds = place < len(near) and near[place] < end
        return (not holds, first not in found, symbol.depth, first)

    count = len(document.lines)
    return [symbol.start_line - 1 for symbol in sorted(symbols, key=rank) if 0 < symbol.start_line <= count]


def _titles(lines: Sequence[str]) -> list[int]:
    """Return the lines that look like headings of prose, or like the head of a section of data."""
    return [
        index - (index > 0 and line[:3] in _RULES)
        for index, line in enumerate(lines)
        if line and (line[0] == "#" or line[:3] in _RULES or (line[0] == "[" and line[-1] == "]"))
    ]


def _mapped(symbols: Sequence[Symbol], numbers: Sequence[int]) -> list[Symbol]:
    """Return the symbols of which the head is among the lines, with their places among them."""
    found = []
    for symbol in symbols:
        first = bisect_left(numbers, symbol.start_line - 1)
        if first < len(numbers) and numbers[first] == symbol.start_line - 1:
            end = bisect_right(numbers, symbol.end_line - 1)
            found.append(replace(symbol, start_line=first + 1, end_line=max(end, first + 1)))
    return found
