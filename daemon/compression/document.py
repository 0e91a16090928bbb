"""A text to shorten: its lines, their nesting, and the places where words of the prompt occur.

Documents of longer texts are cached for the next prompt about them.
"""

from __future__ import annotations

import hashlib
import math
import re
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, repeat
from typing import TypeVar

from msgspec import Struct

from ..core.sized_cache import SizedCache

POSTINGS_MAX = 256
"""Maximum number of terms whose places are cached for a document; above it the cache is cleared."""

TAB = 4
"""Columns of a tab."""

WORKED_OUT_MAX = 4
"""Maximum number of results cached by `worked_out` for a document; above it the cache is cleared."""

AROUND_MAX = 12
"""Maximum number of enclosing blocks shown for a line, the innermost ones."""

NO_LINE = -1

KEPT_FROM = 4_000
"""Minimum characters of a cached text: a shorter one is analysed in a fraction of a millisecond."""

KEPT_CHARACTERS = 1_500_000
"""Maximum characters of cached documents; with their results each takes about ten bytes, 15 MB together."""

T = TypeVar("T")


class Document:
    """A text with its lines and what was computed from them, or a part of a larger document. Thread-safe.

    Lines are numbered from 0 and end at line feeds only, as the parser counts them.
    """

    def __init__(
        self, text: str, numbers: Sequence[int] | None = None, whole: Document | None = None
    ) -> None:
        self.text = text
        self._numbers = numbers
        self._whole = whole
        self._postings: dict[Term, tuple[int, ...]] = {}
        self._worked_out: dict[Hashable, object] = {}

    @cached_property
    def lines(self) -> list[str]:
        """The lines without line ends."""
        lines = self.text.split("\n")
        if not lines[-1]:
            lines.pop()
        return [line.removesuffix("\r") for line in lines] if "\r" in self.text else lines

    @cached_property
    def starts(self) -> list[int]:
        """The offsets in the text where lines begin, and where the last one ends."""
        lengths = map(len, self.text.split("\n"))
        return list(accumulate(map(int.__add__, lengths, repeat(1)), initial=0))

    @cached_property
    def lower(self) -> str:
        """The text in lower case, with the same offsets."""
        return lower_of(self.text)

    @cached_property
    def indents(self) -> list[int]:
        """The indentation of each line in columns, -1 for a blank line."""
        return [indent_of(line) for line in self.lines]

    @cached_property
    def blocks(self) -> Blocks:
        """The nesting of the lines by their indentation."""
        return Blocks(self.lines, self.indents)

    @cached_property
    def numbers(self) -> Sequence[int]:
        """The number of each line in the whole document, from 0."""
        return range(len(self.lines)) if self._numbers is None else self._numbers

    def part(self, numbers: Sequence[int]) -> Document:
        """Return some lines as a document that knows their numbers in this one."""
        text = "\n".join([self.lines[number] for number in numbers]) + "\n"
        return Document(text, numbers, self)

    def filled_between(self, start: int, end: int) -> int:
        """Return the number of non-blank lines of the whole document from `start` to before `end`."""
        lines = self.lines if self._whole is None else self._whole.lines
        return sum(map(bool, map(str.strip, lines[start:end])))

    @property
    def count(self) -> int:
        """The number of lines of the whole document."""
        return len(self.lines) if self._whole is None else len(self._whole.lines)

    def worked_out(self, key: tuple[type[T], Hashable], make: Callable[[], T]) -> T:
        """Return the cached result for a key, or compute it; the first part of the key is its class."""
        known = self._worked_out.get(key)
        if not isinstance(known, key[0]):
            if len(self._worked_out) >= WORKED_OUT_MAX:
                self._worked_out.clear()
            self._worked_out[key] = known = make()
        return known

    def places_of(self, term: Term) -> tuple[int, ...]:
        """Return the offsets where a term occurs, in order."""
        found = self._postings.get(term)
        if found is None:
            found = tuple(places_of(term, self.text, self.lower))
            if len(self._postings) >= POSTINGS_MAX:
                self._postings.clear()
            self._postings[term] = found
        return found

    def lines_with(self, term: Term) -> tuple[int, ...]:
        """Return the lines in which a term occurs, in order, once for each occurrence."""
        starts = self.starts
        return tuple(bisect_right(starts, place) - 1 for place in self.places_of(term))


class Documents:
    """A cache of documents by the digest of their text. Thread-safe."""

    def __init__(self, most: int = KEPT_CHARACTERS) -> None:
        self._most = most
        self._kept = SizedCache[bytes, Document](most)

    @property
    def characters(self) -> int:
        """The characters of all cached texts."""
        return self._kept.size

    def get(self, text: str) -> Document:
        """Return the document of a text: a cached one where the text is long enough to be worth it."""
        if not KEPT_FROM <= len(text) <= self._most:
            return Document(text)
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        document = self._kept.get(digest)
        if document is None:
            document = Document(text)
            self._kept.put(digest, document, len(text))
        return document


DOCUMENTS = Documents()
"""The cache of this process; projects may share it, since a document depends on its text alone."""


class Blocks:
    """The nesting of lines: which line opens the block around a line, and which statement a line continues.

    `parents[i]` is the nearest line above with less indentation, or -1. `partners[i]` is set for a line that
    begins with a bracket, `else`, `except`, `case` and the like: it is the line with the same indentation
    that it continues, or -1.
    """

    def __init__(self, lines: Sequence[str], indents: Sequence[int]) -> None:
        self._lines = lines
        self._around: dict[int, tuple[int, ...]] = {}
        self.parents = [NO_LINE] * len(lines)
        self.partners = [NO_LINE] * len(lines)
        levels: list[int] = []
        openers: list[int] = []
        for index, indent in enumerate(indents):
            if indent < 0:
                continue
            if not indent and openers and lines[index][0] == "#" and lines[index][1:2].isalpha():
                if lines[openers[0]][0] != "}":
                    self.parents[index] = openers[0]  # a preprocessor directive doesn't end a block
                continue
            last = NO_LINE
            while levels and levels[-1] >= indent:
                level, last = levels.pop(), openers.pop()
                if level != indent:
                    last = NO_LINE
            if openers:
                self.parents[index] = openers[-1]
            if last >= 0 and _continues(lines[index], indent):
                partner = self.partners[last]
                self.partners[index] = partner if partner >= 0 else last
            levels.append(indent)
            openers.append(index)

    def around(self, index: int) -> Sequence[int]:
        """Return the lines that open the blocks around a line, the innermost first, without lone brackets.

        An `else` is preceded by its `if`. The result is cached: every line of a block asks for the same.
        """
        path: list[tuple[int, int]] = []
        line = index
        while line not in self._around:
            above = self.partners[line] if self.partners[line] >= 0 else self.parents[line]
            if above < 0:
                self._around[line] = ()
                break
            path.append((line, above))
            line = above
        for line, above in reversed(path):
            outer = self._around[above]
            self._around[line] = outer if _is_bracket(self._lines[above]) else (above, *outer)[:AROUND_MAX]
        return self._around[index]


_CONTINUING = frozenset(
    [
        "else",
        "elif",
        "elsif",
        "elseif",
        "except",
        "finally",
        "catch",
        "rescue",
        "ensure",
        "case",
        "default",
        "when",
        "fi",
        "done",
        "end",
        "esac",
        "endif",
        "otherwise",
        "then",
        "do",
        "while",
    ]
)
_BRACKETS = frozenset("(){}[];,")


def indent_of(line: str) -> int:
    """Return the indentation of a line in columns, -1 for a blank line."""
    stripped = line.lstrip()
    if not stripped:
        return -1
    columns = len(line) - len(stripped)
    return len(line[:columns].expandtabs(TAB)) if "\t" in line[:columns] else columns


def _continues(line: str, indent: int) -> bool:
    stripped = line.lstrip()
    if stripped[0] in "}])":
        return True
    if stripped[0] == "{":
        return True
    if not stripped[0].isalpha():
        return False
    word = stripped[:10].replace(":", " ").replace("(", " ").replace("{", " ").partition(" ")[0]
    return word.rstrip(";") in _CONTINUING


def _is_bracket(line: str) -> bool:
    stripped = line.strip()
    return len(stripped) <= 3 and all(character in _BRACKETS for character in stripped)


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
