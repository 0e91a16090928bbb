"""Search terms: how source text, paths, symbol names and questions become the words that are matched.

Documents and questions are cut in the same way, so that what stands in one can be found by the other. Terms
hold no white space. Nothing here knows the index that they end in.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from importlib.metadata import version
from itertools import chain, pairwise

from msgspec import Struct
from py_rust_stemmers import SnowballStemmer  # type: ignore[import-untyped]  # compiled, without annotations

VERSION = f"1-{version('py_rust_stemmers')}"
"""Names this way of cutting, the stemmer's version included: an index made in another way must be rebuilt."""


class QueryTerms(Struct, frozen=True):
    """A question's terms with their weights, and those of its words that look like identifiers.

    `weights` is in the order in which the terms first occur. One that occurs n times weighs 1 + ln n, so that
    a log pasted below a question doesn't drown it. Identifiers weigh no more than other words, as their parts
    and their whole count already: on 849 commit messages, twice the weight lost .003 to .006 NDCG@10.
    `identifiers` are as they stand in the text, each once.
    """

    weights: dict[str, float]
    identifiers: tuple[str, ...]


def document_terms(text: str) -> list[str]:
    """Return the terms of a document in their order, with repetitions.

    An identifier gives its parts, stemmed, and itself in lower case without separators, so that `get_user`,
    `getUser` and `get-user` meet: `getUsers` gives `get`, `user`, `getusers`. Words outside ASCII are kept,
    and once more without accents; scripts without spaces become pairs of characters. Single letters and
    digits, emoji and punctuation are left out. Time and result are linear in the text.
    """
    words = _ASCII_WORD.findall(text) if text.isascii() else _WORD.findall(text)
    return list(chain.from_iterable(map(_WORDS.__getitem__, words)))


def query_terms(text: str) -> QueryTerms:
    """Return the terms of a question, cut as `document_terms` does, and its identifiers.

    Stop words are left out (`STOP_WORDS`), but for a question of one word.
    """
    counts = Counter(document_terms(text))
    if len(counts) > 1:
        counts = Counter({term: n for term, n in counts.items() if term not in _STOP_TERMS})
    words = (match[0] for match in _QUERY_WORD.finditer(text))
    identifiers = dict.fromkeys(word for word in words if looks_like_identifier(word))
    return QueryTerms({term: 1 + math.log(n) for term, n in counts.items()}, tuple(identifiers))


def path_terms(path: str) -> list[str]:
    """Return the terms of a path with `/` between its parts, each once: folders, name and extension."""
    return list(dict.fromkeys(document_terms(path)))


def looks_like_identifier(word: str) -> bool:
    """Whether a word of a question is a name in code rather than a word of a language.

    By its shape: an underscore, a hump (`parseUrl`, `HTTPServer`), letters followed by digits (`utf8`), names
    joined by `.`, `::`, `->` or `#`, or a call's parentheses. A capital at the start says nothing, nor do
    capitals alone, abbreviations or hyphens (`README`, `e.g.`, `well-known`).
    """
    names = word.removesuffix("()")
    if len(word) > MAX_WORD or not _NAMES.fullmatch(names):
        return False
    if names != word or _HUMP.search(names) or _LETTER_THEN_DIGIT.match(names):
        return True
    parts = _JOINT.split(names)
    if len(parts) > 1:
        return "." not in names or all(len(part) > 1 for part in parts)
    return "_" in names and names.strip("_") != ""


STOP_WORDS = """
    a about all also am an and any are as at be because been being both but by can could did do does doing
    each for from had has have having he her him his how i if in into is it its just me more most my no nor
    not of on only or other our out over please same she should so some such than that the their them then
    there these they this those to too up us very was we were what when where which while who whom whose why
    will with would you your
    aren couldn didn doesn don hadn hasn haven isn ll mustn shouldn ve wasn weren wouldn
"""
"""English words that say nothing of what is asked for; the last line is what contractions leave. Left out of
questions only: on 849 commit messages of six repositories that gave +.017 NDCG@10 with the whole message and
-.003 (not significant) with the subject alone. Leaving them out of documents too, or keywords of programming
languages anywhere, gave nothing."""

MAX_WORD = 256
"""Longer words (base64, minified data) count by their first characters only; in characters."""

MAX_TERM = 64
"""A longer term is left out, in characters: names of 64 are rare, and hashes end there (SHA-256 in hex)."""

MAX_CACHED = 32_768
"""Words whose terms are remembered, about 300 bytes each; all are forgotten when there are more. Source text
repeats its words thirty times on average, so nearly every look-up hits."""

MAX_ALTERNATIONS = 4
"""A word that changes oftener between letters and digits is no name but a hash or data, and isn't cut."""

# Marks of U+0300 to U+036F and the vowel signs of Indic and South-East Asian scripts belong to their word,
# though Python doesn't count them as letters.
_MARKED = r"[\w\u0300-\u036f\u0900-\u109f\u1780-\u17ff]"
_WORD = re.compile(rf"\w{_MARKED}*(?:-{_MARKED}+)*")

# The same words of a text that is all ASCII, found three times as fast.
_ASCII_WORD = re.compile(r"\w+(?:-\w+)*", re.ASCII)

# Runs of capitals end before a capitalised word (`HTTPServer`) or the s of a plural (`userIDs`).
_ASCII_PART = re.compile(r"[A-Z]{2,}(?=s(?![a-z]))|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_ACCENT = re.compile(r"[\u0300-\u036f]+")
_SEPARATOR = re.compile(r"[_-]+")
_ALTERNATION = re.compile(r"[A-Za-z](?=[0-9])|[0-9](?=[A-Za-z])")

# Thai, Lao, Tibetan, Myanmar, Khmer; kana, Han, Hangul: written without spaces, or with endings that no
# English stemmer takes off.
_UNSPACED = re.compile(
    r"[\u0e00-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
    r"\U00020000-\U0003ffff]+"
)

_QUERY_WORD = re.compile(r"[\w$]+(?:(?:\.|::|->|#)[\w$]+)*(?:\(\))?")
_JOINT = re.compile(r"\.|::|->|#")
_NAMES = re.compile(r"[^\W\d][\w$]*(?:(?:\.|::|->|#)[^\W\d][\w$]*)*|\$[\w$]*")
_HUMP = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]{2}")
_LETTER_THEN_DIGIT = re.compile(r"[A-Za-z]+[0-9]")


class _Words(dict[str, tuple[str, ...]]):
    """Remembers the terms of words: a look-up in C when the word is known. Threads may share it."""

    def __missing__(self, word: str) -> tuple[str, ...]:
        if len(word) > MAX_WORD:
            return _cut(word[:MAX_WORD])
        if len(self) >= MAX_CACHED:
            self.clear()
        terms = self[word] = _cut(word)
        return terms


def _cut(word: str) -> tuple[str, ...]:
    terms = _cut_ascii(word) if word.isascii() else _cut_unicode(word)
    return tuple(term for term in terms if len(term) <= MAX_TERM)


def _cut_ascii(word: str) -> list[str]:
    if word.isalpha() and word.islower():
        return [_stem(word)] if len(word) > 1 else []
    whole = _SEPARATOR.sub("", word).lower()
    if len(_ALTERNATION.findall(word)) > MAX_ALTERNATIONS:
        return [whole]
    parts = _ASCII_PART.findall(word)
    terms = [_stem(part.lower()) for part in parts if len(part) > 1]
    return [*terms, whole] if len(parts) > 1 else terms


def _cut_unicode(word: str) -> list[str]:
    """Cut a word with characters beyond ASCII; it is short, for composing characters takes quadratic time."""
    terms: list[str] = []
    # Taken apart, compatibility forms may contain spaces and signs, so words are looked for anew.
    for piece in _WORD.findall(unicodedata.normalize("NFKC", word)):
        end = 0
        for run in _UNSPACED.finditer(piece):
            terms += _cut_letters(piece[end : run.start()])
            terms += _pairs(run[0])
            end = run.end()
        terms += _cut_letters(piece[end:])
    return terms


def _cut_letters(word: str) -> list[str]:
    if word.isascii():
        return _cut_ascii(word)
    parts = [part.lower() for piece in _SEPARATOR.split(word) for part in _humps(piece) if part]
    wholes = [_SEPARATOR.sub("", word).lower()] if len(parts) > 1 else []
    terms = [form for part in parts for form in dict.fromkeys((part, _stem(_fold(part)))) if len(form) > 1]
    return terms + [form for whole in wholes for form in dict.fromkeys((whole, _fold(whole)))]


def _humps(word: str) -> list[str]:
    starts = [i for i in range(1, len(word)) if word[i].isupper() and not word[i - 1].isupper()]
    return [word[start:end] for start, end in pairwise((0, *starts, len(word)))]


def _pairs(run: str) -> list[str]:
    return [first + second for first, second in pairwise(run)] if len(run) > 1 else [run]


def _fold(word: str) -> str:
    """Take accents off Latin, Greek and Cyrillic letters; marks of other scripts are letters of their own."""
    return unicodedata.normalize("NFC", _ACCENT.sub("", unicodedata.normalize("NFD", word)))


def _stem(word: str) -> str:
    # English endings are ASCII; a word in another script has none of them.
    stem: str = _STEMMER.stem_word(word) if word.isascii() else word
    return stem


_STEMMER = SnowballStemmer("english")
_WORDS = _Words()
_STOP_TERMS = frozenset(document_terms(STOP_WORDS))
