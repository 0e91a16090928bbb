"""What grammars can't read though compilers can: it is written over, so that no offset and no line moves."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import partial


def readable(source: bytes, gaps: Iterable[tuple[re.Pattern[bytes], bytes]]) -> bytes:
    """Return a source in which what its language's grammar can't read is written over.

    Its length and its lines stay, so that ranges of the result are ranges of the source, from which names
    and heads must be quoted.
    """
    for pattern, filler in gaps:
        source = pattern.sub(partial(_over, filler), source)
    return source


def is_tangled(source: bytes, opening: Sequence[bytes]) -> bool:
    """Return whether a source would cost its parser minutes or gigabytes: none that anybody wrote does.

    A parser puts off what it can't decide until the source ends, and what it put off costs the square of its
    count: 24,000 generics that nobody closed (`a<a<a<…`) took Java's 6 s, 50,000 more than 2 GB, between two
    looks at the clock. `MAX_OPEN` of them take 0.2 s.
    """
    if not opening:
        return False
    for piece in _STATEMENT_END.split(source):
        if len(piece) > MAX_OPEN and any(_open(piece, each) > MAX_OPEN for each in opening):
            return True
    return False


MAX_OPEN = 2_000
"""Brackets that one statement may leave open, or signs of another language that it may hold. Data in a
statement of its own may be long, but closes them."""

_STATEMENT_END = re.compile(rb"[;{}]")


def _open(piece: bytes, sign: bytes) -> int:
    """Return how many of a bracket stay open, shifts aside; of another sign, how many there are."""
    if sign == b"<":
        return piece.count(b"<") - 2 * piece.count(b"<<") - piece.count(b">")
    return piece.count(sign) - (piece.count(b"]") if sign == b"[" else 0)


def _over(filler: bytes, match: re.Match[bytes]) -> bytes:
    """Return what matched with its first group written over."""
    whole, start = match[0], match.start()
    first, last = match.start(1) - start, match.end(1) - start
    return whole[:first] + _NOT_LINE_END.sub(filler, whole[first:last]) + whole[last:]


_NOT_LINE_END = re.compile(rb"[^\n]")
