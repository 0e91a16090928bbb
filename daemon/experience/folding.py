"""Owns the folding of near-duplicates when experiences are shown; the pool keeps each of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from ..core.lazy_dataclass import dataclass
from .experience import Experience
from .relevance import words_of

THRESHOLD = 0.75
"""Of the words of both decisions this share must be common to them. Of 30 pairs of decisions that say the
same in other words and 40 that differ in a word or a number (`benchmarks/experiences/pairs.py`, on which it
was chosen) it folds 29 and 0; 0.7 folds two of the 40, 0.8 only 28 of the 30. One word of five or six that
differs leaves 0.67 to 0.71."""

DECISION_CHARACTERS = 2_000
"""Of a decision so much is compared, as much as a context shows of it."""


@dataclass(frozen=True, slots=True)
class Fold:
    """An experience that is shown, and those that say nearly the same, in their order."""

    shown: Experience
    others: tuple[Experience, ...] = ()


@dataclass(frozen=True, slots=True)
class _Gist:
    """What two decisions are compared by."""

    words: frozenset[str]
    numbers: tuple[str, ...]
    names: tuple[str, ...]
    negated: bool
    failed: bool


def fold(experiences: Iterable[Experience], threshold: float = THRESHOLD) -> list[Fold]:
    """Return experiences in their order, each near-duplicate with the first one that says nearly the same.

    Two fold if their decisions share enough words, hold the same numbers, name what both name in the same
    order, are both negated or both not, and both came to nothing or both did not: no failure hides behind a
    success. Numbers, names and negations are what else tells apart sentences with nearly the same words.
    """
    heads: list[tuple[Experience, list[Experience]]] = []
    gists: list[_Gist] = []
    by_word: dict[str, list[int]] = {}
    for experience in experiences:
        gist = _gist_of(experience)
        near = _first_near(gist, gists, by_word, threshold)
        if near is not None:
            heads[near][1].append(experience)
            continue
        for word in gist.words:
            by_word.setdefault(word, []).append(len(heads))
        heads.append((experience, []))
        gists.append(gist)
    return [Fold(shown, tuple(others)) for shown, others in heads]


def _first_near(
    gist: _Gist, gists: Sequence[_Gist], by_word: dict[str, list[int]], threshold: float
) -> int | None:
    shared: Counter[int] = Counter()
    for word in gist.words:
        shared.update(by_word.get(word, ()))
    for place in sorted(shared):
        other = gists[place]
        both = len(gist.words) + len(other.words) - shared[place]
        if shared[place] >= threshold * both and _alike(gist, other):
            return place
    return None


def _alike(one: _Gist, other: _Gist) -> bool:
    """Whether two decisions with nearly the same words differ in nothing that turns their meaning."""
    if (one.numbers, one.negated, one.failed) != (other.numbers, other.negated, other.failed):
        return False
    return [name for name in one.names if name in other.names] == [
        name for name in other.names if name in one.names
    ]


_NEGATIONS = frozenset("not no never without don dont doesn isn cannot avoid".split())  # noqa: SIM905 - a line
_TOKENS = re.compile(r"[^\W_]+")
_NUMBERS = re.compile(r"\d+")


def _gist_of(experience: Experience) -> _Gist:
    text = experience.decision[:DECISION_CHARACTERS]
    tokens = _TOKENS.findall(text)
    names = dict.fromkeys(token for token in tokens[1:] if not token.islower() and not token.isdigit())
    return _Gist(
        frozenset(map(_stem, words_of(text))),
        tuple(_NUMBERS.findall(text)),
        tuple(names),
        any(token.casefold() in _NEGATIONS for token in tokens),
        experience.outcome in ("failure", "reverted"),
    )


def _stem(word: str) -> str:
    """Return a word without the ending of its form: `moved` and `move` are one, `logged` and `log` too."""
    for ending in ("ing", "ed"):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) >= 3:
            return stem[:-1] if stem[-1] == stem[-2] else stem
    return word[:-1] if word.endswith("e") and len(word) > 3 else word
