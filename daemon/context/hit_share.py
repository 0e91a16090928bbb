"""Owns how much of a context what was found for a prompt may take: how many hits, how heavy, how long."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ..retrieval.hits import Hit
from .tokens import CHARACTERS_PER_TOKEN

HITS_MIN = 4
"""So many hits a context has however small it is,"""

TOKENS_PER_HIT = 600
"""and one more for so many of its tokens. Above `LEAST_TOKENS`, which a further hit takes at first,
so that a larger context never loses what a smaller one has."""

USUAL_TOKENS = 6_000
HIT_CHARACTERS = (8_000, 5_000, 4_000, 3_000)
"""In a context of the usual size a hit takes at most so many characters, the best first; more of its file is
named. A larger context gives all of them more in proportion."""

FOLDER_DECAY = 0.97
"""What a hit is worth for each better one of its folder: the tenth of a folder still has three quarters,
since what belongs to a change often lies together, but one folder doesn't take the whole context."""


def hits_wanted(tokens: int, most: int) -> int:
    """Return how many hits a context of so many tokens is given, at most `most`; more for more tokens."""
    return min(most, HITS_MIN + tokens // TOKENS_PER_HIT)


def hit_characters(position: int, tokens: int, hits: int) -> int:
    """Return how long the hit at a position, from 0, of so many may be in a context of so many tokens.

    Few hits may have an equal part of all of it each: nobody else needs the room.
    """
    usual = HIT_CHARACTERS[min(position, len(HIT_CHARACTERS) - 1)] * max(tokens, USUAL_TOKENS) // USUAL_TOKENS
    return max(usual, tokens * CHARACTERS_PER_TOKEN // max(hits, 1))


def hit_values(hits: Sequence[Hit]) -> list[float]:
    """Return what each hit is worth, from 0 to 1: its score, and less for those that share its folder.

    A score is calibrated, e / (1 + e) for the evidence e: from .6 to .8 for a good first one, about .5 for
    the tenth. Steeper functions of it gave no better contexts (101 prompts). All hits are taken
    together, so that how many are shown changes nothing about it.
    """
    folders: Counter[str] = Counter()
    values = []
    for hit in hits:
        folder = hit.path.rpartition("/")[0]
        values.append(round(hit.score * FOLDER_DECAY ** folders[folder], 4))
        folders[folder] += 1
    return values
