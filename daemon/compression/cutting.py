"""Owns cutting: whole lines from the beginning, or pieces of a line that is too long. It always works."""

from __future__ import annotations

from collections.abc import Sequence

from .document import Document
from .folded import Folded, gap, numbered, width_of
from .prompt_terms import Term

PIECE = 160
"""Characters around a place in a long line that are shown; about two lines of a terminal."""

PIECES_MAX = 50

LONG_LINE = 1_000
"""A line of more characters was written by no person."""


def cut(document: Document, terms: Sequence[Term], characters: int) -> Folded:
    """Return the first lines that fit, under their numbers, or pieces of the first one if it doesn't fit.

    Pieces are taken around the terms, with the beginning of the line, and `…` between them.
    """
    lines = document.lines
    total = document.filled_between(0, document.count)
    if characters <= 0 or not total:
        return Folded("", total)
    width = width_of(len(lines))
    room = characters - len(gap(max(len(lines), 2), width)) - 1
    rows: list[str] = []
    for index, line in enumerate(lines):
        if not line.strip():
            continue
        room -= len(line) + width + 3
        if room < 0:
            break
        rows.append(numbered(line, index + 1, width))
    if rows:
        return Folded("\n".join([*rows, gap(total - len(rows), width)]), total - len(rows))
    return Folded(_pieces(document, terms, characters), total)


def is_packed(document: Document, characters: int) -> bool:
    """Whether most of a text stands in lines too long for the room: of these only pieces could be shown."""
    most = max(LONG_LINE, characters // 3)
    return 2 * sum(length for length in map(len, document.lines) if length > most) > len(document.text)


def _pieces(document: Document, terms: Sequence[Term], characters: int) -> str:
    """Return pieces of the text around the terms, no longer than so many characters."""
    text = document.text
    start = len(text) - len(text.lstrip())
    if characters < PIECE:
        return text[start : start + characters - 1].replace("\n", " ") + "…"
    count = min(PIECES_MAX, max(1, characters // PIECE) - 1)
    # The rarest terms first: what stands everywhere in a packed file says nothing.
    places = sorted((document.places_of(term) for term in terms), key=lambda found: (len(found), found))
    chosen: list[int] = []
    for found in places:
        for place in found[:count]:
            if len(chosen) < count and all(abs(place - other) >= PIECE for other in (start, *chosen)):
                chosen.append(place)
    before = PIECE // 4
    pieces = [text[start : start + (characters - len(chosen) * PIECE - 3)]]
    end = start + len(pieces[0])
    for place in sorted(chosen):
        first = max(place - before, end)
        last = min(max(place - before, 0) + PIECE - 3, len(text))
        if first < last:
            pieces.append(text[first:last])
            end = last
    joined = " … ".join(piece.replace("\n", " ") for piece in pieces)
    return joined[: characters - 1] + "…" if len(joined) >= characters or end < len(text) else joined
