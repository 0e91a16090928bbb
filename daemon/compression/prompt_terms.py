"""Owns prompt terms: how the words of a prompt are looked for in a text, by their stems and parts."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

TERMS_MAX = 64
"""Maximum number of terms looked for, the weightiest first: each costs a pass over the text, about 0.3 ms a
MB."""

WORD_MAX = 64
"""A longer word (base64, a hash) is left out, in characters."""

HITS_MAX = 3_000
"""Of one term so many places are found in a text; one that occurs oftener tells nothing."""

PART_WEIGHT = 0.6
"""What a part of an identifier weighs, of the identifier: `retry` of `retry_policy`."""

SHORT = 3
"""A word of so many letters is looked for as a whole part of an identifier; of a longer one the stem is."""

Words = Mapping[str, float] | Sequence[str]
"""The words of a prompt with their weights, or by themselves, each with the weight 1."""


class Term(Struct, frozen=True):
    """What is looked for in lower case, and how a name or a word may go on behind it.

    `tail` is how many more letters it may have, `next_letters` which ones may come first ("" for any).
    """

    prefix: str
    weight: float
    tail: int
    next_letters: str = ""


def terms_of(words: Words) -> tuple[Term, ...]:
    """Return the terms of the words of a prompt, each once, the weightiest first; at most `TERMS_MAX`.

    An identifier (`getUserName`, `get_user_name`) gives itself and, with less weight, its parts. Endings are
    taken off, so that `retries` is found in `retry` and `expiration` in `expired`; words that were stemmed
    already do as well. Weights that aren't positive and finite leave a word out.
    """
    weighted = words.items() if isinstance(words, Mapping) else ((word, 1.0) for word in words)
    found: dict[str, Term] = {}
    for word, weight in weighted:
        if not (weight > 0 and math.isfinite(weight)) or not 1 < len(word) <= WORD_MAX:
            continue
        for term in _terms(word, weight):
            known = found.get(term.prefix)
            if known is None or known.weight < term.weight:
                found[term.prefix] = term
    return tuple(sorted(found.values(), key=lambda term: -term.weight)[:TERMS_MAX])


def places_of(term: Term, text: str, lower: str) -> list[int]:
    """Return where a term begins in a text, of which `lower` is the lower case of the same length.

    A place counts where a word begins or a part of an identifier does: `name` stands in `fileName` and in
    `file_name`, not in `filename`. Linear in the text, at most `HITS_MAX` places.
    """
    found: list[int] = []
    prefix, size = term.prefix, len(term.prefix)
    end = len(lower)
    place = lower.find(prefix)
    while place >= 0:
        after = place + size
        if _begins(text, place) and (after >= end or _goes_on(term, text, lower, after)):
            found.append(place)
            if len(found) >= HITS_MAX:
                break
        place = lower.find(prefix, after)
    return found


def lower_of(text: str) -> str:
    """Return a text in lower case, of the same length: where a letter would become two, ASCII only."""
    lower = text.lower()
    return lower if len(lower) == len(text) else text.translate(_ASCII_LOWER)


_ASCII_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+|[^\W\d_A-Za-z]+")
_TAIL_ANY = 99


def _terms(word: str, weight: float) -> Iterator[Term]:
    parts = _PART.findall(word)
    if len(parts) > 1:
        yield Term(word.lower().strip("_"), weight, _TAIL_ANY)
        weight *= PART_WEIGHT
    for part in parts:
        if len(part) > 1:
            yield _term(part.lower(), weight)


def _term(word: str, weight: float) -> Term:
    if len(word) <= SHORT or not word.isascii():
        return Term(word, weight, 1 if word.isascii() else _TAIL_ANY, "s" if word.isascii() else "")
    for ending, least, keep, letters in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= least:
            stem = word.removesuffix(ending) + keep
            return Term(stem, weight, 3 if letters == "yi" else _tail(stem), letters)
    return Term(word, weight, _tail(word))


_ENDINGS = (
    ("ization", 4, "i", "z"), ("ations", 4, "", ""), ("ation", 4, "", ""), ("ities", 3, "it", "yi"),
    ("ies", 3, "", "yi"), ("ied", 3, "", "yi"), ("ing", 4, "", ""), ("ions", 4, "", ""), ("ion", 4, "", ""),
    ("ers", 4, "", ""), ("ed", 4, "", ""), ("es", 4, "", ""), ("er", 4, "", ""), ("ss", 2, "ss", ""),
    ("y", 3, "", "yi"), ("i", 3, "", "yi"), ("s", 3, "", ""), ("e", 3, "", ""),
)  # fmt: skip
"""Endings, how much has to be left of the word, what stays of the ending, and which letters may follow then.
The plain `i` is what a stemmer leaves of a y."""


def _tail(stem: str) -> int:
    """Return how many letters may follow a stem: a short one would be found in quite other words."""
    return 5 if len(stem) <= 4 else _TAIL_ANY


def _begins(text: str, place: int) -> bool:
    if not place:
        return True
    before = text[place - 1]
    if not before.isalpha():
        return True
    if not text[place].isupper():
        return False
    return before.islower() or text[place + 1 : place + 2].islower()


def _goes_on(term: Term, text: str, lower: str, after: int) -> bool:
    """Whether what follows a term, at `after`, is an ending that it may have."""
    letter = text[after]
    if not letter.islower():
        return True
    if term.next_letters and letter not in term.next_letters:
        return False
    if term.tail == _TAIL_ANY:
        return True
    rest = text[after : after + term.tail + 1]
    return len(rest) <= term.tail or not (rest.islower() and rest.isalpha())
