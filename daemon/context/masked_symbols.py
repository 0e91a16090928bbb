"""Owns masking what the index says of a file whose content has secrets: signatures and documentation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..privacy.secret_values import MASK, mask_secrets
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
    lines = text.split("\n")
    return tuple(_masked(symbol, lines) for symbol in symbols)


def _masked(symbol: Symbol, lines: list[str]) -> Symbol:
    first = symbol.start_line - 1
    head = lines[first : first + symbol.signature.count("\n") + 1]
    signature, doc = mask_secrets(symbol.signature).text, mask_secrets(symbol.doc).text
    if any(MASK in line for line in head):
        signature = (head[0].strip() if head else "")[:SIGNATURE_MAX]
    if doc and any(MASK in line for line in lines[max(first - 1, 0) : symbol.end_line]):
        doc = doc if doc == symbol.doc and any(doc in line for line in lines) else ""
    return replace(symbol, signature=signature, doc=doc)
