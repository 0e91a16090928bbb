"""Owns when two statements say the same: by the words that they share."""

from __future__ import annotations

import re

from ..experience.experience import OutcomeKind
from .phrases import words

_SHARED = 0.6
"""Of the words of the shorter one that the other has too, from which on they say the same. Restatements in a
report share 0.6 to 1 with what was said on the way, two decisions about one file up to 0.45."""
_LEAST = 3


def telling_words(text: str) -> frozenset[str]:
    """Return the words of a text by their stems, without common ones; of Chinese and Japanese the pairs of
    characters."""
    stems = {
        _stem(word)
        for word in re.findall(r"[^\W_]+", text.lower())
        if (len(word) > 2 or word.isdigit()) and word not in _COMMON and not _is_wide(word)
    }
    wide = "".join(char if _is_wide(char) else " " for char in text)
    pairs = {part[at : at + 2] for part in wide.split() for at in range(len(part) - 1)}
    return frozenset(stems | pairs)


def _stem(word: str) -> str:
    """Return a word without its ending, roughly: enough to know `rows` for `row`."""
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    return word[:6].rstrip("e")


def say_the_same(
    one: frozenset[str], other: frozenset[str], share: float = _SHARED, least: int = _LEAST
) -> bool:
    """Whether two texts have `share` of their telling words in common, and at least `least` of them."""
    shorter = min(len(one), len(other))
    shared = len(one & other)
    return shared >= min(least, shorter) and bool(shorter) and shared >= share * shorter


def joined_outcome(one: OutcomeKind, other: OutcomeKind) -> OutcomeKind:
    """Return the outcome of two that are folded: the later one's, unless it has none."""
    return other or one


def _is_wide(text: str) -> bool:
    return any("\u3040" <= char <= "\u30ff" or "\u3400" <= char <= "\u9fff" for char in text)


_COMMON = words(
    """
    the and for with that this was were has have had not but because since instead rather than over chose
    chosen decided went used use using now from into they them its our are would could which when then also
    only just kept keep made make more less each all any there root cause der die das und ist war ich wir
    nicht ein eine
    den dem mit weil statt für auf les des est pas une avec parce que pour dans los las una con porque para
    del
    """
)
