"""Owns what words say of items: how much of a query an item's words cover, and whether it is named in it."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from msgspec import Struct

from ..index.terms import document_terms, query_terms
from .item_text import CHUNK_CHARACTERS, MAX_CHUNKS, item_text
from .items import Item

NAMED_MAX = 3
"""An identifier that stands in more items than these names none of them."""

IDENTIFIERS_MAX = 50
"""Of a piece of a query: more are a log or a listing."""

DOUBT = 1.5
"""Added to the weight of a query's words, that of the rarest word being 1. So the one word of a short query
proves less than the ten of a long one: `continue` gives .4 at most. Chosen with `LEXICAL_WEIGHT`."""


class ItemWords(Struct, frozen=True):
    """The words of one item: its terms, those of its server too, its text, and the names that it goes by."""

    terms: frozenset[str]
    text: str
    names: tuple[str, ...]


def item_words(item: Item) -> ItemWords:
    """Return the words of an item, as far as its text is searched."""
    text = item_text(item)[: MAX_CHUNKS * CHUNK_CHARACTERS]
    stem = item.name.rsplit("/", 1)[-1].rsplit(".", 1)[0]
    # A name that is an everyday word, such as `naming`, is no more than a word where it stands in a query.
    names = tuple(name for name in {item.name, stem} if len(name) > 3 and _UNLIKE_PROSE.search(name))
    return ItemWords(frozenset(document_terms(f"{text} {item.server_name}")), text, names)


class WordEvidence:
    """The words of all items that are searched together; rare ones weigh more."""

    def __init__(self, items: Sequence[ItemWords]) -> None:
        self._items = items
        self._holding: dict[str, list[int]] = {}
        for position, item in enumerate(items):
            for term in item.terms:
                self._holding.setdefault(term, []).append(position)
        # What a term weighs that no item has.
        self._rarest = _weight(len(items), 0)

    def cover(self, text: str) -> list[float]:
        """Return for each item how much of a text's words it has, by weight: from 0 to below 1."""
        covered = [0.0] * len(self._items)
        total = DOUBT
        for term, weight in query_terms(text).weights.items():
            holding = self._holding.get(term, ())
            share = weight * _weight(len(self._items), len(holding)) / self._rarest
            total += share
            for position in holding:
                covered[position] += share
        return [one / total for one in covered]

    def named(self, text: str) -> set[int]:
        """Return the positions of the items that a text names: by their name, or by an identifier in them
        that few others hold."""
        found: set[int] = set()
        for identifier in query_terms(text).identifiers[:IDENTIFIERS_MAX]:
            holders = self._holders(identifier.removesuffix("()"))
            if len(holders) <= NAMED_MAX:
                found.update(holders)
        for position, item in enumerate(self._items):
            if any(_stands_in(name, text) for name in item.names):
                found.add(position)
        return found

    def _holders(self, identifier: str) -> list[int]:
        terms = document_terms(identifier)
        if not terms:
            return []
        # Where one of its terms is missing it can't stand; of the rest few are left to look at.
        fewest = min((self._holding.get(term, ()) for term in terms), key=len)
        return [position for position in fewest if _stands_in(identifier, self._items[position].text)]


def _weight(items: int, holding: int) -> float:
    """Return Robertson's weight of a term, as BM25 has it, always positive."""
    return math.log(1 + (items - holding + 0.5) / (holding + 0.5))


_UNLIKE_PROSE = re.compile(r"[-_./]|[a-z][A-Z]")


def _stands_in(name: str, text: str) -> bool:
    """Whether a text holds a name that is no part of a longer one."""
    start = text.find(name)
    while start >= 0:
        end = start + len(name)
        if not _continues(text[max(start - 1, 0) : start]) and not _continues(text[end : end + 1]):
            return True
        start = text.find(name, end)
    return False


def _continues(character: str) -> bool:
    return character.isalnum() or character == "_"
