"""Exact text: where a message, a quotation or a name of a question stands, word for word.

Messages come with values filled in where the source has placeholders, and are put together from several
strings, so what counts is which runs of a message's words stand in neighbouring lines as they are.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from msgspec import Struct

from ..index.chunk_table import ChunkPlace
from ..index.lexical_reader import LexicalReader
from ..index.store import Reader
from ..index.terms import STOP_WORDS, document_terms, query_terms
from ..project.path_roles import role_of
from .candidates import DEFINITIONS_MAX, definitions_of
from .error_messages import quoted, value_spans
from .mentions import SHAPED
from .question import Question

TEXTS_MAX: Final = 6
"""Maximum number of messages and names of a question that are looked up."""

CHUNKS_MAX, NAMED_MAX = 80, 200
"""Maximum number of chunks that are read for a text, those with the most of its words first, and for a
name, whose other spellings have the same term."""

BATCH: Final = 20
"""Chunks that are read at a time, until a source has all of a text: reading one takes .15 ms."""

ENOUGH: Final = 0.99
"""The share of a text with which the search for it ends."""

TEXT_CHARACTERS: Final = 400
"""Characters of a message that are looked up; what follows repeats it, or is data."""

NEAR_LINES: Final = 4
"""Lines over which the strings of one message may be spread."""

LEAST_SHARE, LEAST_CHARACTERS = 0.4, 8
"""What must stand in the source of a quoted or reported message, in characters of its words: the rest may be
values. On the tuning half of benchmarks/literals .3 and .5 find fewer."""

PLAIN_SHARE: Final = 0.75
"""The same for a question of one line that nothing marks as a message: the source must say nearly all."""

ABOUT: Final = 0.5
"""The share of a question's words from which on it is about a text."""

SINGLE_WORD: Final = 5
"""Characters of a word that counts by itself, beside a run of several."""

NEARLY_BEST: Final = 0.4
"""Places with at least this share of what the best one counts are told too."""

SOURCE_SHARE: Final = 0.6
"""What a source must have of the best place's share to come before tests and documents, which may have the
values as well."""

BESIDE_SOURCES: Final = 0.7
"""What a test or document counts that uses a name, beside sources that do."""

SHARPER: Final = 3
"""The power with which places count less that have less of a text than the best, and texts that are less of a
question than half."""

PLACES_MAX: Final = 8
"""Maximum number of places of one text; one that stands in more files says little by itself."""

ELSEWHERE = 0.8
"""What a place of a name counts that isn't what is looked for: where it gets its value, or others."""

VALUE_WEIGHT = 0.2
"""What a word counts that looks like a value: a number, a path, what stands in marks or brackets."""

IN_PIECES = 0.03
"""What each run of words takes off: of places with the same words the one that has them in one piece says
it."""

WITHIN_WORD = 0.9
"""What a text counts whose last word goes on where it stands: `class Gson` in `class GsonBuilder`."""

INSIDE_STRING, OUTSIDE = 1.0, 0.9
"""A message that stands within quotation marks is where a program says it; elsewhere it may be a comment."""


class TextPlace(NamedTuple):
    """Where a text stands: its chunk and line, from 1. `share` says how much of it does, 0 to 1."""

    chunk: ChunkPlace
    line: int
    share: float
    text: str


class WantedText(Struct, frozen=True):
    """A text that is looked up. `least` is the share of it that must be there; a name must be there whole."""

    text: str
    least: float
    is_name: bool = False


def find_text(
    question: Question,
    names: Iterable[str],
    reader: Reader,
    lexical: LexicalReader,
    files: Sequence[int] | None = None,
    *,
    used: bool = False,
) -> list[TextPlace]:
    """Return where the messages and quotations of a question stand, and some names, the best first.

    A question of one line is looked up itself. Sources come alone where any has nearly as much of a text as
    the best place. What stands within another text that is found is left out. Of names that are `used`
    places where they get a value count less, and tests and documents are told as well. `files` are the ids
    of those that are searched, None for all. Raises `LexicalDamaged`.
    """
    found: list[TextPlace] = []
    said: list[str] = []
    for wanted in sorted(_wanted(question, names), key=lambda one: -len(one.text)):  # stable
        if any(wanted.text in text for text in said):
            continue
        places = find_places(wanted, reader, lexical, files, used=used)
        found += places
        said += [wanted.text for _ in places[:1]]
    return found


def weight_of(text: str, question: Question) -> float:
    """Return how much a text is what a question is about, 0 to 1: all where it is half of it or more.

    A quoted line in a report of twenty is one hint of many.
    """
    asked = query_terms(question.text).weights.keys() - _ASKING
    own = asked & query_terms(text).weights.keys()
    return min(1.0, (len(own) / len(asked) / ABOUT) ** SHARPER) if asked else 0.0


def has_name(name: str, reader: Reader, lexical: LexicalReader) -> bool:
    """Whether a name stands anywhere in the tree as it is written."""
    return bool(find_places(WantedText(name, 1.0, is_name=True), reader, lexical))


def find_places(
    wanted: WantedText,
    reader: Reader,
    lexical: LexicalReader,
    files: Sequence[int] | None = None,
    *,
    used: bool = False,
) -> list[TextPlace]:
    """Return where one text stands, as `find_text` does."""
    if wanted.is_name:
        hits = holding = lexical.search(_terms(wanted, lexical), NAMED_MAX, files=files)
    else:
        message = _message(wanted.text)
        least = wanted.least * OUTSIDE * message.characters - message.everywhere
        # Of most messages no chunk holds enough, and to read one takes .15 ms.
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
    """Return the names in a question that nothing of the project defines: keys, options, locals, what comes
    from elsewhere."""
    reported = {error.type for error in question.errors if error.message}
    return [
        symbol.name
        for symbol in question.symbols[:TEXTS_MAX]
        if symbol.certainty >= SHAPED
        and symbol.name not in reported
        and not definitions_of(reader, symbol.name)
    ]


def defines_alone(question: Question, reader: Reader) -> dict[str, float]:
    """Return by file how surely it defines what a question names, where it is of a name or two and of nothing
    else, so that these must be what is meant."""
    names = {term for symbol in question.symbols for term in document_terms(symbol.name)}
    if not names or not names.issuperset(query_terms(question.asked).weights.keys() - _ASKING):
        return {}
    shares: dict[str, float] = {}
    for symbol in question.symbols[:TEXTS_MAX]:
        found = reader.definitions_named(symbol.name, DEFINITIONS_MAX + 1)
        for path, _ in found if len(found) <= DEFINITIONS_MAX else ():
            shares[path] = max(shares.get(path, 0.0), symbol.certainty / (1 + math.log(len(found))))
    return shares


def _wanted(question: Question, names: Iterable[str]) -> list[WantedText]:
    """Return what is looked up, each once: names, quotations, errors, and a single line that asks nothing."""
    wanted = [WantedText(name, 1.0, is_name=True) for name in names]
    marked = [*quoted(question.asked), *(error.message for error in question.errors)]
    wanted += [WantedText(text, LEAST_SHARE) for text in map(_cleaned, marked) if _tells(text)]
    lines = [] if "\n" in question.asked or len(question.asked) > TEXT_CHARACTERS else [question.asked]
    lines = [_LEVEL.sub("", line) for line in lines if not _ASKS.match(line)]
    symbols = {symbol.name for symbol in question.symbols}  # those that nothing defines are among the names
    lines = [line for line in lines if line.strip(" `\"'") not in symbols]
    wanted += [WantedText(text, PLAIN_SHARE) for text in map(_cleaned, lines) if _tells(text)]
    unique: dict[str, WantedText] = {}
    for one in wanted:
        unique.setdefault(one.text, one)
    return list(unique.values())[:TEXTS_MAX]


def _cleaned(text: str) -> str:
    return " ".join(text[:TEXT_CHARACTERS].split()).strip("\"'`")


def _tells(text: str) -> bool:
    """Whether a text says enough to be looked up: a few words, or one that is no plain word."""
    words = _WORD.findall(text)
    return len(text) >= LEAST_CHARACTERS and (len(words) > 1 or not text.isalpha())


def _terms(wanted: WantedText, lexical: LexicalReader) -> dict[str, float]:
    """Return the terms that the chunks of a text have: of a name the name itself."""
    if wanted.is_name and wanted.text.replace("_", "").isalnum():
        whole = document_terms(wanted.text)[-1:]
        return dict.fromkeys((term for term in whole if lexical.document_frequency(term)), 1.0)
    said = list(wanted.text)
    for start, end in value_spans(wanted.text):
        said[start:end] = " " * (end - start)
    return query_terms("".join(said)).weights or query_terms(wanted.text).weights


def _whole(wanted: WantedText, text: str, *, used: bool) -> Iterator[tuple[int, float]]:
    """Yield the lines, from 0, with a name as it is written; by `used` those that give it a value say more or
    less than others."""
    if wanted.text not in text:
        return
    name = re.compile(rf"(?<![\w$]){re.escape(wanted.text)}(?![\w$])")
    for at, line in enumerate(text.split("\n")):
        match = name.search(line)
        if match:
            gives = _GIVEN.match(line, match.end()) is not None
            yield at, (ELSEWHERE if gives == used else 1.0) * (OUTSIDE if _COMMENT.match(line) else 1.0)


def _runs(wanted: WantedText, text: str) -> Iterator[tuple[int, float]]:
    """Yield the line, from 0, from which on most of a message stands in neighbouring lines, and its share."""
    message = _message(wanted.text)
    plain = text.replace('\\"', '"').replace("\\'", "'")
    if not message.may_stand_in(plain):
        return
    lines = [message.covered(line) for line in plain.split("\n")]
    best, at = 0.0, 0
    for place, one in enumerate(lines):
        if not one.words:
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
    """The words of a message, by place, that a line has in runs, what they count there, and in how many
    pieces they stand: none where all of the message is one."""

    words: frozenset[int]
    factor: float
    pieces: int = 0


_NOTHING = _Covered(frozenset(), 1.0)


class _Message:
    """A message as words with what stands between them.

    `terms` are the words as the lexical index knows them, by what they count, in characters; `everywhere` is
    what those count that stand in nearly every text.
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
        """Whether any two neighbouring words stand there as they are: most texts have none."""
        return self.text in text or any(pair in text for pair in self._pairs)

    def share(self, words: Iterable[int]) -> float:
        """Return which part of the message some of its words are, in characters."""
        return sum(self._lengths[at] for at in words) / self.characters

    def covered(self, line: str) -> _Covered:
        """Return which words of the message stand in a line in runs of two or more, and long ones beside."""
        where = line.find(self.text)
        if where >= 0:
            behind = line[where + len(self.text) :][:1]
            factor = _factor(line, where) * (WITHIN_WORD if behind.isalnum() else 1.0)
            return _Covered(frozenset(range(len(self._spans))), factor)
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
        return _Covered(frozenset(found | single), factor, pieces) if found else _NOTHING

    def _counts_alone(self, at: int, line: str) -> bool:
        """Whether a line has a word beside which it has others: a long one, or with the mark behind it."""
        start, end = self._spans[at]
        if end - start >= SINGLE_WORD and self.text[start:end] in line:
            return True
        marked = self.text[start : end + 2].rstrip()
        return bool(_MARKED.fullmatch(marked)) and marked in line

    def _run(self, first: int, last: int) -> str:
        return self.text[self._spans[first][0] : self._spans[last][1]]


@lru_cache(maxsize=64)
def _message(text: str) -> _Message:
    """Return a message taken apart once: it is looked for in hundreds of chunks."""
    return _Message(text)


def _factor(line: str, at: int) -> float:
    """Return what a place in a line counts: behind an odd number of quotation marks it is in a string."""
    before = line[:at]
    return INSIDE_STRING if any(before.count(mark) % 2 for mark in "\"'`") else OUTSIDE


def _is_source(chunk: ChunkPlace) -> bool:
    return role_of(chunk.path, chunk.language) in _SOURCES


def _chosen(places: Sequence[TextPlace], *, everywhere: bool) -> list[TextPlace]:
    """Return the best places of a text, a line a file: in sources if one of them is nearly the best."""
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
    for one in sorted(good, key=lambda one: -one.share):  # stable: those with the most words first
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
