"""Exact-text search: finds the messages, quotations and names of a question word for word.

A reported message has values where the source code has placeholders, and the source code may join the message
from several strings. The search therefore scores a match by the runs of the message's words that occur
unchanged in neighbouring lines.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import Struct

from ..index.records import STOP_WORDS, ChunkPlace
from ..index.service import Reader, document_terms, query_terms
from ..project.service import role_of
from .candidates import DEFINITIONS_MAX, definitions_of
from .error_messages import quoted, value_spans
from .mentions import SHAPED
from .question import Question

if TYPE_CHECKING:
    from ..index.service import LexicalReader

TEXTS_MAX: Final = 6
"""Maximum number of messages and names of a question that are looked up."""

CHUNKS_MAX, NAMED_MAX = 80, 200
"""Maximum number of chunks read for a text and for a name, best lexical match first. Names need more, because
spellings of a name in other cases have the same term in the lexical index."""

BATCH: Final = 20
"""Number of chunks read at a time. Reading stops when a source file contains the whole text; reading one
chunk takes 0.15 ms."""

ENOUGH: Final = 0.99
"""Share of a text (0 to 1) found in one place above which the search stops."""

TEXT_CHARACTERS: Final = 400
"""Maximum characters of a message that are searched; the rest is usually a repetition or data."""

NEAR_LINES: Final = 4
"""Maximum number of lines over which the strings of one message may be spread."""

LEAST_SHARE, LEAST_CHARACTERS = 0.4, 8
"""Minimum share and minimum characters of a quoted or reported message that the source must contain; the rest
may be values. On the tuning half of benchmarks/literals the shares 0.3 and 0.5 find fewer."""

PLAIN_SHARE: Final = 0.75
"""Minimum share for a one-line question that isn't marked as a message: nearly all of it must match."""

ABOUT: Final = 0.5
"""Share of a question's words that a text must have to get its full weight."""

SINGLE_WORD: Final = 5
"""Minimum characters of a single word that counts as a match; the line must also have a run of several
words."""

NEARLY_BEST: Final = 0.4
"""Minimum score of a returned place, relative to the best one."""

SOURCE_SHARE: Final = 0.6
"""Minimum share of a source file, relative to the best place, to replace tests and documents; these may match
better because they contain the values too."""

BESIDE_SOURCES: Final = 0.7
"""Factor for tests and documents that use a name, relative to source files."""

SHARPER: Final = 3
"""Exponent that lowers the score of places with a smaller share than the best one, and of texts that are less
than half of the question."""

PLACES_MAX: Final = 8
"""Maximum number of places returned for one text. A text that occurs in many files is weak evidence."""

ELSEWHERE = 0.8
"""Factor for assignments to a name if uses are wanted, and for uses if assignments are wanted."""

VALUE_WEIGHT = 0.2
"""Weight of a word that looks like a value: a number, a path, or text in quotation marks or brackets."""

IN_PIECES = 0.03
"""Penalty for each separate run of words, so that a place with all words in one run wins."""

WITHIN_WORD = 0.9
"""Factor for a match that ends inside a longer word, such as `class Gson` in `class GsonBuilder`."""

INSIDE_STRING, OUTSIDE = 1.0, 0.9
"""Factors for a match inside and outside of a string literal. A match outside may be only a comment."""


class TextPlace(NamedTuple):
    """A place where a text occurs: its chunk and line, from 1. `share` (0 to 1) is the part that matches."""

    chunk: ChunkPlace
    line: int
    share: float
    text: str


class WantedText(Struct, frozen=True):
    """A text to search for. `least` is the minimum share that must match; a name must match as a whole.

    Prose that isn't marked as a message (`is_prose`) must match inside of a string literal: comments and
    names of tests often say the same as a question."""

    text: str
    least: float
    is_name: bool = False
    is_prose: bool = False


def find_text(
    question: Question,
    names: Iterable[str],
    reader: Reader,
    lexical: LexicalReader,
    files: Sequence[int] | None = None,
    *,
    used: bool = False,
) -> list[TextPlace]:
    """Return the places of a question's messages and quotations, and of `names`, best first.

    A one-line question is itself a text to search for. Tests and documents are left out if a source file
    matches nearly as well. A text that is part of another found text is skipped. With `used`, assignments to
    the names count less than other uses, and tests and documents are returned too. `files` are the ids of the
    files to search, None for all. Raises `LexicalDamaged`.
    """
    found: list[TextPlace] = []
    said: list[str] = []
    for wanted in sorted(_wanted(question, names), key=lambda one: -len(one.text)):  # longest first
        if any(wanted.text in text for text in said):
            continue
        places = find_places(wanted, reader, lexical, files, used=used)
        found += places
        said += [wanted.text for _ in places[:1]]
    return found


def weight_of(text: str, question: Question) -> float:
    """Return the weight of a text in a question, 0 to 1: 1 if it has at least half of the question's words.

    The weight is low for a short part of a long question, such as one quoted line in a report of twenty
    lines.
    """
    asked = query_terms(question.text).weights.keys() - _ASKING
    own = asked & query_terms(text).weights.keys()
    return min(1.0, (len(own) / len(asked) / ABOUT) ** SHARPER) if asked else 0.0


def has_name(name: str, reader: Reader, lexical: LexicalReader) -> bool:
    """Whether a name occurs anywhere in the project exactly as written."""
    return bool(find_places(WantedText(name, 1.0, is_name=True), reader, lexical))


def find_places(
    wanted: WantedText,
    reader: Reader,
    lexical: LexicalReader,
    files: Sequence[int] | None = None,
    *,
    used: bool = False,
) -> list[TextPlace]:
    """Return the places of one text, best first; the other parameters are those of `find_text`."""
    if wanted.is_name:
        hits = holding = lexical.search(_terms(wanted, lexical), NAMED_MAX, files=files)
    else:
        message = _message(wanted.text)
        least = wanted.least * OUTSIDE * message.characters - message.everywhere
        # For most messages no chunk has enough of the words, and reading a chunk takes 0.15 ms.
        if not lexical.may_hold(message.terms, least):
            return []
        hits = lexical.search(_terms(wanted, lexical), CHUNKS_MAX, files=files)
        enough = lexical.holding(hits, message.terms, least)
        holding = [hit for hit in hits if hit.chunk_id in enough]
    chunks = reader.chunks.places(hit.chunk_id for hit in holding)
    places: list[TextPlace] = []
    for start in range(0, len(hits), BATCH):
        batch = [chunks[hit.chunk_id] for hit in hits[start : start + BATCH] if hit.chunk_id in chunks]
        texts = reader.chunks.texts_of(batch)
        for chunk in batch:
            text = texts.get(chunk.id, "")
            lines = _whole(wanted, text, used=used) if wanted.is_name else _runs(wanted, text)
            places += (TextPlace(chunk, chunk.start_line + at, share, wanted.text) for at, share in lines)
        if not used and any(place.share >= ENOUGH and _is_source(place.chunk) for place in places):
            break
    return _chosen(places, everywhere=used and wanted.is_name)


def unknown_names(question: Question, reader: Reader) -> list[str]:
    """Return the names in a question that the project doesn't define, such as keys, options and locals."""
    reported = {error.type for error in question.errors if error.message}
    return [
        symbol.name
        for symbol in question.symbols[:TEXTS_MAX]
        if symbol.certainty >= SHAPED
        and symbol.name not in reported
        and not definitions_of(reader, symbol.name)
    ]


def defines_alone(question: Question, reader: Reader) -> dict[str, float]:
    """Return, by file, the certainty (0 to 1) that it defines the names of a question that has only names.

    Empty for a question with other words, since the question may then be about something else."""
    names = {term for symbol in question.symbols for term in document_terms(symbol.name)}
    if not names or not names.issuperset(query_terms(question.asked).weights.keys() - _ASKING):
        return {}
    shares: dict[str, float] = {}
    for symbol in question.symbols[:TEXTS_MAX]:
        definitions = reader.definitions_named(symbol.name, DEFINITIONS_MAX + 1)
        for path, _ in definitions if len(definitions) <= DEFINITIONS_MAX else ():
            shares[path] = max(shares.get(path, 0.0), symbol.certainty / (1 + math.log(len(definitions))))
    return shares


def _wanted(question: Question, names: Iterable[str]) -> list[WantedText]:
    """Return the texts to search for, each once: names, quotations, errors, and a line that asks nothing."""
    wanted = [WantedText(name, 1.0, is_name=True) for name in names]
    marked = [*quoted(question.asked), *(error.message for error in question.errors)]
    wanted += [WantedText(text, LEAST_SHARE) for text in map(_cleaned, marked) if _tells(text)]
    lines = [] if "\n" in question.asked or len(question.asked) > TEXT_CHARACTERS else [question.asked]
    lines = [_LEVEL.sub("", line) for line in lines if not _ASKS.match(line)]
    symbols = {symbol.name for symbol in question.symbols}  # `names` has those without a definition
    lines = [line for line in lines if line.strip(" `\"'") not in symbols]
    wanted += [WantedText(text, PLAIN_SHARE, is_prose=True) for text in map(_cleaned, lines) if _tells(text)]
    unique: dict[str, WantedText] = {}
    for one in wanted:
        unique.setdefault(one.text, one)
    return list(unique.values())[:TEXTS_MAX]


def _cleaned(text: str) -> str:
    return " ".join(text[:TEXT_CHARACTERS].split()).strip("\"'`")


def _tells(text: str) -> bool:
    """Whether a text is long enough to search for: several words, or a word with digits or punctuation."""
    words = _WORD.findall(text)
    return len(text) >= LEAST_CHARACTERS and (len(words) > 1 or not text.isalpha())


def _terms(wanted: WantedText, lexical: LexicalReader) -> dict[str, float]:
    """Return the terms to search for in the lexical index; for a name only the name itself."""
    if wanted.is_name and wanted.text.replace("_", "").isalnum():
        whole = document_terms(wanted.text)[-1:]
        return dict.fromkeys((term for term in whole if lexical.document_frequency(term)), 1.0)
    said = list(wanted.text)
    for start, end in value_spans(wanted.text):
        said[start:end] = " " * (end - start)
    return query_terms("".join(said)).weights or query_terms(wanted.text).weights


def _whole(wanted: WantedText, text: str, *, used: bool) -> Iterator[tuple[int, float]]:
    """Yield the lines, from 0, that contain a name exactly, each with its score.

    With `used` assignments to the name score lower than other uses, otherwise higher."""
    if wanted.text not in text:
        return
    name = re.compile(rf"(?<![\w$]){re.escape(wanted.text)}(?![\w$])")
    for at, line in enumerate(text.split("\n")):
        match = name.search(line)
        if match:
            gives = _GIVEN.match(line, match.end()) is not None
            yield at, (ELSEWHERE if gives == used else 1.0) * (OUTSIDE if _COMMENT.match(line) else 1.0)


def _runs(wanted: WantedText, text: str) -> Iterator[tuple[int, float]]:
    """Yield the first of the neighbouring lines with most of a message, from 0, and the share that they
    have."""
    message = _message(wanted.text)
    plain = text.replace('\\"', '"').replace("\\'", "'")
    if not message.may_stand_in(plain):
        return
    lines = [message.covered(line) for line in plain.split("\n")]
    best, at = 0.0, 0
    for place, one in enumerate(lines):
        if not one.words or (wanted.is_prose and not one.in_string):
            continue
        near = lines[place : place + NEAR_LINES]
        share = message.share(set().union(*(each.words for each in near))) * one.factor
        share -= IN_PIECES * min(sum(each.pieces for each in near), 5)
        if share > best + 0.001:
            best, at = share, place
    if best >= wanted.least * OUTSIDE and best * message.characters >= min(
        LEAST_CHARACTERS, message.characters * OUTSIDE
    ):
        yield at, min(best, 1.0)


class _Covered(NamedTuple):
    """The words of a message, by index, that a line contains in runs, with the factor of the line.

    `pieces` is the number of runs, 0 if the line contains the message as a whole; `in_string` if one of them
    begins inside of a string literal."""

    words: frozenset[int]
    factor: float
    pieces: int = 0
    in_string: bool = False


_NOTHING = _Covered(frozenset(), 1.0)


class _Message:
    """A message divided into words, with the characters between them.

    `terms` maps the terms of the lexical index to their weights in characters; `everywhere` is the total
    weight of stop words, which occur in nearly every text.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._spans = [match.span() for match in _WORD.finditer(text)] or [(0, len(text))]
        values = list(value_spans(text))
        self._lengths = [
            (end - start) * (VALUE_WEIGHT if any(a <= start < b for a, b in values) else 1.0)
            for start, end in self._spans
        ]
        self.characters = sum(self._lengths)
        self.everywhere = 0.0
        self.terms: dict[str, float] = {}
        for (start, end), length in zip(self._spans, self._lengths, strict=True):
            term = next(iter(document_terms(text[start:end])), "")
            if not term or term in _STOP_TERMS:
                self.everywhere += length
            else:
                self.terms[term] = self.terms.get(term, 0.0) + length
        self._pairs = [self._run(at, at + 1) for at in range(len(self._spans) - 1)] or [text]

    def may_stand_in(self, text: str) -> bool:
        """Whether a text contains any two neighbouring words unchanged; most texts don't."""
        return self.text in text or any(pair in text for pair in self._pairs)

    def share(self, words: Iterable[int]) -> float:
        """Return the share of the message that some of its words make up, by characters."""
        return sum(self._lengths[at] for at in words) / self.characters

    def covered(self, line: str) -> _Covered:
        """Return the words that a line contains in runs of two or more, and its long single words."""
        where = line.find(self.text)
        if where >= 0:
            behind = line[where + len(self.text) :][:1]
            place = _factor(line, where)
            factor = place * (WITHIN_WORD if behind.isalnum() else 1.0)
            return _Covered(frozenset(range(len(self._spans))), factor, in_string=place == INSIDE_STRING)
        if not any(pair in line for pair in self._pairs):
            return _NOTHING
        found: set[int] = set()
        single: set[int] = set()
        factor = OUTSIDE
        pieces = at = 0
        while at < len(self._spans):
            last = at
            while last + 1 < len(self._spans) and self._run(at, last + 1) in line:
                last += 1
            if last > at:
                found.update(range(at, last + 1))
                pieces += 1
                factor = max(factor, _factor(line, line.index(self._run(at, last))))
            elif self._counts_alone(at, line):
                single.add(at)
            at = last + 1
        return (
            _Covered(frozenset(found | single), factor, pieces, factor == INSIDE_STRING)
            if found
            else _NOTHING
        )

    def _counts_alone(self, at: int, line: str) -> bool:
        """Whether a single word counts: it is long, or the line also has the punctuation that follows it."""
        start, end = self._spans[at]
        if end - start >= SINGLE_WORD and self.text[start:end] in line:
            return True
        marked = self.text[start : end + 2].rstrip()
        return bool(_MARKED.fullmatch(marked)) and marked in line

    def _run(self, first: int, last: int) -> str:
        return self.text[self._spans[first][0] : self._spans[last][1]]


@lru_cache(maxsize=64)
def _message(text: str) -> _Message:
    """Return a divided message, cached because it is compared with hundreds of chunks."""
    return _Message(text)


def _factor(line: str, at: int) -> float:
    """Return the factor of a position in a line. After an odd number of quotation marks it is in a string."""
    before = line[:at]
    return INSIDE_STRING if any(before.count(mark) % 2 for mark in "\"'`") else OUTSIDE


def _is_source(chunk: ChunkPlace) -> bool:
    return role_of(chunk.path, chunk.language) in _SOURCES


def _chosen(places: Sequence[TextPlace], *, everywhere: bool) -> list[TextPlace]:
    """Return the best places of a text, one for each file; only source files if one is nearly the best."""
    best = max((place.share for place in places), default=0.0)
    sources = [place for place in places if place.share >= SOURCE_SHARE * best and _is_source(place.chunk)]
    if everywhere:
        sources = [
            place if _is_source(place.chunk) else place._replace(share=place.share * BESIDE_SOURCES)
            for place in places
        ]
    best = max((place.share for place in sources), default=best)
    places = [
        source._replace(share=source.share * (source.share / best) ** SHARPER) for source in sources or places
    ]
    good = [place for place in places if everywhere or place.share >= NEARLY_BEST * best]
    if not everywhere:
        good = [
            place for place in good if role_of(place.chunk.path, place.chunk.language) != "document"
        ] or good
    by_file: dict[str, TextPlace] = {}
    for one in sorted(good, key=lambda one: -one.share):  # equal places keep their order
        by_file.setdefault(one.chunk.path, one)
    return list(by_file.values())[:PLACES_MAX]


_ASKS = re.compile(
    r"(?i)\s*(?:(?:where|what|which|who|whose|why|how|when|show|find|list|explain|usages?|callers?|references?)\b"
    r"(?!.*: )|.*\?\s*$)"
)
_ASKING = frozenset(document_terms("defined definition declared find show usage used uses use file code"))
_STOP_TERMS = frozenset(document_terms(STOP_WORDS))
_SOURCES = frozenset(("source", "barrel", "shim", "stub"))
_WORD = re.compile(r"[^\W_]+(?:['\u2019][a-z]+)?|[^\s\w]{2,}")
_MARKED = re.compile(r"\w+ ?[^\w\s]+")
_COMMENT = re.compile(r"\s*(?:#(?!\[)|//|/?\*|--|;|%)")
_LEVEL = re.compile(r"^\s*(?:[\w.]*(?:Error|Exception|Warning)|[Ff]atal|[Pp]anic|ERROR|WARN)\s*:")
_GIVEN = re.compile(r"[\"'`]?\s*(?::?=(?!=)|:(?!:)|=>)|[\"'`]\]\s*=(?!=)")
