"""A source as text: clean bytes, ranges, line numbers, quotations; and patterns compiled on first use."""

from __future__ import annotations

import codecs
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from io import BytesIO
from itertools import accumulate
from typing import TYPE_CHECKING, TypeVar

MAX_SIGNATURE = 400
"""Maximum characters of a signature, from the contract of `Symbol`."""

MAX_NAME = 300
"""Maximum characters of a qualified name; deeper definitions are left out. The longest in Django 5.2 has
141."""

WIDE_MARKS = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""The byte order marks of encodings whose characters hold NULs."""

Span = tuple[int, int]
"""A range of a source: the offset of its first byte and the one after its last byte."""


class SourceText:
    """A source with the offsets of its lines, which converts offsets to lines and ranges to text."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        # Where lines begin, except the first.
        self._starts = list(accumulate(map(len, BytesIO(source))))
        if self._starts and not source.endswith(b"\n"):
            self._starts.pop()

    def line(self, offset: int) -> int:
        """Return the line of a byte offset, counted from 1."""
        return bisect_right(self._starts, offset) + 1

    def last_line(self, start: int, end: int) -> int:
        """Return the line of the last character of a range, ignoring line ends."""
        while end > start and self.source[end - 1] == 10:
            end -= 1
        return bisect_right(self._starts, end) + 1

    def line_start(self, offset: int) -> int:
        """Return the offset of the first byte of the line around an offset."""
        return self.source.rfind(b"\n", 0, offset) + 1

    def slice(self, start: int, end: int) -> str:
        """Return a range as text; a character cut in two at its end is left out."""
        return self.source[start:end].decode("utf-8", "ignore")

    def signature(self, start: int, end: int) -> str:
        """Return a definition's head without its indentation, at most `MAX_SIGNATURE` characters."""
        head = self.slice(start, min(end, start + 4 * MAX_SIGNATURE + 4)).rstrip()
        if "\n" in head:
            indent = self.slice(self.line_start(start), min(start, self.line_start(start) + 200))
            indent = indent[: len(indent) - len(indent.lstrip())]
            head = "\n".join(line.removeprefix(indent).rstrip() for line in head.split("\n"))
        return head if len(head) <= MAX_SIGNATURE else head[: MAX_SIGNATURE - 1].rstrip() + "…"

    def name(self, span: Span) -> str:
        """Return the text of a name's range, at most slightly longer than the longest name that is kept."""
        start, end = span
        return self.slice(start, min(end, start + 4 * MAX_NAME))


def clean_source(data: bytes) -> bytes:
    """Return the source as UTF-8 with the same lines: no mark, no NUL, no carriage return at a line's end.

    NULs are removed because the grammars treat them as errors even in a comment. UTF-16 and UTF-32 are
    recognised by their byte order marks; a source that isn't valid UTF-8 is read as Latin-1. Raises nothing.
    """
    data = _without_mark(data).replace(b"\r\n", b"\n").replace(b"\0", b" ")
    if data.isascii():
        return data
    try:
        data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1").encode()
    return data


def wide_encoding(data: bytes) -> str:
    """Return the encoding of data that begins with one of `WIDE_MARKS`: `utf-16` or `utf-32`."""
    return "utf-32" if data.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)) else "utf-16"


def merged_spans(spans: Iterable[Span]) -> list[Span]:
    """Return ranges in order, without those inside another."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if not merged or start >= merged[-1][1]:
            merged.append((start, end))
    return merged


def is_inside(spans: Sequence[Span], offset: int) -> bool:
    """Return whether an offset is in one of the sorted, disjoint ranges."""
    index = bisect_left(spans, (offset + 1, 0)) - 1
    return index >= 0 and spans[index][0] <= offset < spans[index][1]


def _without_mark(data: bytes) -> bytes:
    """Return a source without its byte order mark; UTF-16 and UTF-32 as UTF-8 with damaged characters
    replaced."""
    if data.startswith(WIDE_MARKS):
        return data.decode(wide_encoding(data), "replace").encode()
    return data.removeprefix(codecs.BOM_UTF8)


Text = TypeVar("Text", str, bytes)

if TYPE_CHECKING:

    def lazy_pattern(pattern: Text, flags: int = 0) -> re.Pattern[Text]:
        """Return a pattern that is compiled on first use."""
        return re.compile(pattern, flags)

else:

    class lazy_pattern:  # noqa: N801 - it is called as a function
        """A pattern compiled on the first use of one of its methods. Compiling those of all languages takes
        30 ms, and the daemon's main process, which parses nothing, needs none of them."""

        def __init__(self, pattern, flags=0):
            self._written = pattern, flags

        def __getattr__(self, name):
            compiled = re.compile(*self._written)
            for method in ("findall", "finditer", "fullmatch", "match", "search", "split", "sub"):
                setattr(self, method, getattr(compiled, method))
            return getattr(compiled, name)
