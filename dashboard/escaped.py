"""Owns what a text takes in a page's HTML, its beginnings that fit, and its exact form; knows no page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from markupsafe import Markup, escape

PAGE_BYTES: Final = 300_000
"""No page is larger: one takes 30 ms to draw then, and a browser shows it at once."""

GROWING: Final = "<>&\"'\r"
"""Characters that are written with five bytes: `&lt;`, which has four, counts as five too."""


def escaped_bytes(text: str) -> int:
    """Return the bytes that a text takes in HTML at most."""
    return len(text.encode("utf-8", "replace")) + 4 * sum(map(text.count, GROWING))


def beginning(text: str, room: int) -> str:
    """Return as much of a text as takes `room` bytes in HTML, the whole if it fits."""
    text = text[:room]
    while (taken := escaped_bytes(text)) > room:
        text = text[: int(len(text) * room / taken * 0.98)]
    return text


def exact(text: str) -> Markup:
    """Write a text so that an HTML parser gives it back as it is: it takes a carriage return for a line
    break, so that one is written by its number."""
    return escape(text).replace("\r", Markup("&#13;"))


def pages_of(sizes: Sequence[int], room: int, rows: int) -> list[range]:
    """Return which rows stand on each page: `rows` of them at most, and no more than take `room` bytes.

    `sizes` are those of all rows in their order. A page has one row at least, so that none is left out.
    """
    pages, start, taken = [], 0, 0
    for at, size in enumerate(sizes):
        if at > start and (at - start >= rows or taken + size > room):
            pages.append(range(start, at))
            start, taken = at, 0
        taken += size
    return [*pages, range(start, len(sizes))]
