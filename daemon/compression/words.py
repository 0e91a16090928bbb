"""The words of a prompt as terms, and the places where a text has them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

TERMS_MAX = 64
"""Maximum number of terms searched for, those with the most weight; each takes about 0.3 ms a MB."""

WORD_MAX = 64
"""Maximum characters of a word; longer ones are hashes or base64."""

HITS_MAX = 3_000
"""Maximum number of occurrences of a term that are found in a text."""

PART_WEIGHT = 0.6
"""Weight of a part of an identifier, such as `retry` in `retry_policy`, relative to the whole."""

SHORT = 3
"""Maximum number of letters of a word that must match exactly; longer words match by their stem."""

Words = Mapping[str, float] | Sequence[str]
"""The words of a prompt with their weights, or a sequence of words with the weight 1."""


class Term(Struct, frozen=True):
    """A prefix in lower case to search for, and which word endings may follow it.

    `tail` is the maximum number of further letters; `next_letters` are the allowed first ones ("" for any).
    """

    prefix: str
    weight: float
    tail: int
    next_letters: str = ""


def terms_of(words: Words) -> tuple[Term, ...]:
    """Return the terms of a prompt's words, each once, by descending weight, at most `TERMS_MAX`.

    An identifier (`getUserName`, `get_user_name`) becomes a term, and so do its parts with less weight.
    Endings are removed, so that `retries` matches `retry` and `expiration` matches `expired`. Words without a
    positive finite weight are ignored.
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
    """Return the offsets of a term in a text; `lower` is the text in lower case with the same length.

    A term matches at the beginning of a word or of a part of an identifier: `name` matches in `fileName` and
    `file_name`, but not in `filename`. Takes linear time and returns at most `HITS_MAX` offsets.
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
    """Return a text in lower case with the same length; if lengths differ, only ASCII is changed."""
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
"""Each ending with the minimum length of the stem, the part of the ending that stays, and the letters that
may follow. The plain `i` is what a stemmer makes of a `y`."""


def _tail(stem: str) -> int:
    """Return the maximum number of letters after a stem, few for a short stem, which many words share."""
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
    """Whether the text at `after` is an allowed ending of the term."""
    letter = text[after]
    if not letter.islower():
        return True
    if term.next_letters and letter not in term.next_letters:
        return False
    if term.tail == _TAIL_ANY:
        return True
    rest = text[after : after + term.tail + 1]
    return len(rest) <= term.tail or not (rest.islower() and rest.isalpha())
