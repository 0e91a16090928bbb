"""Cuts source text, paths, symbol names and questions into search terms.

Documents and questions are cut in the same way, so that their terms match. Terms contain no white space.
Nothing here knows the lexical index.
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
"""The version of the way in which terms are cut, with the stemmer's version; an index with another version
must be rebuilt."""


class QueryTerms(Struct, frozen=True):
    """A question's terms with their weights, and those of its words that look like identifiers.

    `weights` is in order of the terms' first occurrence. A term that occurs n times weighs 1 + ln n, so that
    a log pasted below a question doesn't outweigh it. Identifiers have no extra weight, because their parts
    and the whole name count already: twice the weight lost .003 to .006 NDCG@10 on 849 commit messages.
    `identifiers` are as written in the text, each once.
    """

    weights: dict[str, float]
    identifiers: tuple[str, ...]


def document_terms(text: str) -> list[str]:
    """Return the terms of a document in order, with repetitions.

    An identifier gives its stemmed parts and the whole name in lower case without separators, so that
    `get_user`, `getUser` and `get-user` match each other: `getUsers` gives `get`, `user`, `getusers`. Words
    with accents are kept as they are and also without accents. Scripts without spaces become pairs of
    characters. Single letters and digits, emoji and punctuation are left out. Time and result size are linear
    in the text.
    """
    words = _ASCII_WORD.findall(text) if text.isascii() else _WORD.findall(text)
    return list(chain.from_iterable(map(_WORDS.__getitem__, words)))


def query_terms(text: str) -> QueryTerms:
    """Return the terms of a question, cut as `document_terms` does, and its identifiers.

    Stop words (`STOP_WORDS`) are left out, unless the question is a single word.
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
    """Whether a word of a question looks like a name in code rather than a word of a natural language.

    Evidence is an underscore, a capital inside the word (`parseUrl`, `HTTPServer`), letters followed by
    digits (`utf8`), names joined by `.`, `::`, `->` or `#`, or a call's parentheses. An initial capital, a
    word all in capitals, an abbreviation or a hyphen (`README`, `e.g.`, `well-known`) is no evidence.
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
"""English words that don't tell what a question is about; the last line has the remains of contractions. They
are left out of questions only: on 849 commit messages of six repositories this gave +.017 NDCG@10 with the
whole message and -.003 (not significant) with the subject alone. Leaving them out of documents too, or
leaving out keywords of programming languages, gained nothing."""

MAX_WORD = 256
"""Maximum characters used of a word; the rest of a longer word (base64, minified data) is ignored."""

MAX_TERM = 64
"""Maximum characters of a term; longer ones are left out. Names of 64 are rare, and SHA-256 in hex has 64."""

MAX_CACHED = 32_768
"""Maximum number of words whose terms are cached, about 300 bytes each; above it the cache is cleared. Source
text repeats its words thirty times on average, so nearly every lookup hits."""

MAX_ALTERNATIONS = 4
"""Maximum number of changes between letters and digits in a word that is cut into parts; a word with more is
a hash or data, not a name."""

# The marks U+0300 to U+036F and the vowel signs of Indic and South-East Asian scripts are part of a word,
# although Python doesn't count them as letters.
_MARKED = r"[\w\u0300-\u036f\u0900-\u109f\u1780-\u17ff]"
_WORD = re.compile(rf"\w{_MARKED}*(?:-{_MARKED}+)*")

# The same for a text that is all ASCII, three times as fast.
_ASCII_WORD = re.compile(r"\w+(?:-\w+)*", re.ASCII)

# Runs of capitals end before a capitalised word (`HTTPServer`) or the s of a plural (`userIDs`).
_ASCII_PART = re.compile(r"[A-Z]{2,}(?=s(?![a-z]))|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_ACCENT = re.compile(r"[\u0300-\u036f]+")
_SEPARATOR = re.compile(r"[_-]+")
_ALTERNATION = re.compile(r"[A-Za-z](?=[0-9])|[0-9](?=[A-Za-z])")

# Thai, Lao, Tibetan, Myanmar, Khmer, kana, Han and Hangul are written without spaces, or with endings that an
# English stemmer doesn't remove.
_UNSPACED = re.compile(
    r"[\u0e00-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
    r"\U00020000-\U0003ffff]+"
)

_QUERY_WORD = re.compile(r"[\w$]+(?:(?:\.|::|->|#)[\w$]+)*(?:\(\))?")
_JOINT = re.compile(r"\.|::|->|#")
_NAMES = re.compile(r"[^\W\d][\w$]*(?:(?:\.|::|->|#)[^\W\d][\w$]*)*|\$[\w$]*")
_HUMP = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]{2}")
_LETTER_THEN_DIGIT = re.compile(r"[A-Za-z]+[0-9]")


class _TermCache(dict[str, tuple[str, ...]]):
    """A cache of the terms of words; as a dict, a hit is a lookup in C. Threads may share it."""

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
    """Cut a word with characters beyond ASCII. It must be short: normalizing may take quadratic time."""
    terms: list[str] = []
    # NFKC may turn a compatibility character into several, with spaces and signs, so words are split again.
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
    """Remove accents from Latin, Greek and Cyrillic letters; in other scripts marks distinguish letters."""
    return unicodedata.normalize("NFC", _ACCENT.sub("", unicodedata.normalize("NFD", word)))


def _stem(word: str) -> str:
    # English endings are ASCII, so a word in another script has none.
    stem: str = _STEMMER.stem_word(word) if word.isascii() else word
    return stem


_STEMMER = SnowballStemmer("english")
_WORDS = _TermCache()
_STOP_TERMS = frozenset(document_terms(STOP_WORDS))
