"""Owns masking what the index says of a file whose content has secrets: signatures and documentation."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from msgspec.structs import replace

from ..privacy.secret_values import MASK, mask_piece, may_hold_secrets
from ..project.tree import Symbol

SIGNATURE_MAX = 400
"""Characters of a signature, as in the index."""


def masked_symbols(symbols: Iterable[Symbol], text: str) -> tuple[Symbol, ...]:
    """Return the definitions of a file with the secrets masked that its content has, given as `text` in which
    they are masked already.

    What the index keeps may be cut within a secret, so that its form can't be told any more. So where the
    lines of a head have one, its first line as it is in the text takes its place, and a line of documentation
    from such lines is left out.
    """
    known = tuple(symbols)
    lines = text.split("\n")
    masked = [number for number, line in enumerate(lines) if MASK in line]
    clean = not may_hold_secrets(part for symbol in known for part in (symbol.signature, symbol.doc))
    return tuple(_masked(symbol, lines, masked, clean=clean) for symbol in known)


def _masked(symbol: Symbol, lines: list[str], masked: list[int], *, clean: bool) -> Symbol:
    """Return a definition; `masked` are the indexes of the lines with a secret, in order. With `clean` what
    the index keeps of it has none."""
    first = symbol.start_line - 1
    head = first + symbol.signature.count("\n") + 1
    signature, doc = symbol.signature, symbol.doc
    if not clean:
        signature, doc = mask_piece(signature).text, mask_piece(doc).text
    if _any_between(masked, first, head):
        signature = lines[first].strip()[:SIGNATURE_MAX]
    if doc and _any_between(masked, first - 1, symbol.end_line):
        doc = doc if doc == symbol.doc and any(doc in line for line in lines) else ""
    if signature == symbol.signature and doc == symbol.doc:
        return symbol
    return replace(symbol, signature=signature, doc=doc)


def _any_between(masked: list[int], start: int, end: int) -> bool:
    """Whether any of the lines from one to before another is among those that are masked."""
    place = bisect_left(masked, start)
    return place < len(masked) and masked[place] < end
