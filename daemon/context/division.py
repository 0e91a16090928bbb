"""A file divided into its definitions and the lines between them, and the cache of such divisions."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

from msgspec import Struct

from ..core.sized_cache import SizedCache
from ..languages.shared.records import Symbol

KEPT_CHARACTERS = 8_000_000
"""Maximum characters of all files together whose divisions are kept, each of which takes about 2.5
bytes with the definitions that it holds: 20 MB. In 3,000 files of Django these are three of four characters
that new prompts come upon: it is the large files that are found again and again."""


HASH_COMMENTS = frozenset(
    {"python", "ruby", "bash", "yaml", "toml", "makefile", "dockerfile", "perl", "r", "elixir", "cmake"}
)

DOCUMENTED, PLAIN = 0, 1
"""The places in `Unit.heads`."""

RANKED_CHARACTERS = 2_000
"""Of a section, or of what stands between definitions, so much is searched for the words of a prompt."""

RANKED_LINES = 201
"""And no more lines of it."""

_WHOLE_ONLY = frozenset({"function", "method"})
"""Kinds whose inside makes no sense without the rest of it, unlike that of a class."""

_WORD = re.compile(r"\w{2}")

_BETWEEN = "\0"
"""What stands between the texts of two units; where a word reaches across it, it isn't found."""


class CodeUnit(Struct):
    """A definition, or with `symbol` None a run of lines between definitions. Lines count from 1, inclusive.

    `after` is the index of the first unit that doesn't lie inside this one. `heads` are the ways to show a
    definition by its signature, the richest first: with documentation and without. `head_lines` are those
    that a head shows all of, but for what opens the body.
    """

    start: int
    end: int
    symbol: Symbol | None = None
    head_line: int = 0
    heads: tuple[str, str] = ("", "")
    head_lines: tuple[int, ...] = ()
    after: int = 0


class Outline:
    """The heads of a file's units, empty where none is shown; what each takes, and what the first ones do."""

    __slots__ = ("costs", "heads", "sums")

    def __init__(self, heads: Sequence[str]) -> None:
        self.heads = heads
        self.costs = [len(head) + 1 if head else 0 for head in heads]  # with the end of its line
        self.sums = [0, *accumulate(self.costs)]


class Division:
    r"""A file taken apart. Nothing in it changes, so that several threads may use it.

    `sizes` are the characters that each unit takes when it is shown whole, with line numbers and ends;
    `outlines` those of the file, the richest first, of which the first two are of all heads of each kind.
    `line_starts` are where lines begin, from the first up to one behind the last, in a text without a `\r`.
    `written` says of a line by its number whether it isn't blank (there is no line 0), `written_count` of how
    many. It doesn't hold the text, and takes about twice its memory with the definitions.
    """

    __slots__ = (
        "_ends",
        "_searched",
        "_starts",
        "characters",
        "line_count",
        "line_starts",
        "outlines",
        "sizes",
        "symbols",
        "units",
        "written",
        "written_count",
    )

    def __init__(self, text: str, tag: str, symbols: tuple[Symbol, ...]) -> None:
        lines = split_lines(text)
        divider = _Divider(lines, tag, symbols)
        self.characters = len(text)
        self.symbols = symbols
        self.line_count = len(lines)
        self.line_starts: Sequence[int] = array("I", [0, *accumulate(len(line) + 1 for line in lines)])
        self.units: Sequence[CodeUnit] = divider.units
        self.written = divider.written
        self.written_count = sum(divider.written)
        self.sizes = _sizes(lines, divider.units)
        levels = ((DOCUMENTED, 99), (PLAIN, 99), (PLAIN, 1), (PLAIN, 0))
        self.outlines = [Outline([_head_at(unit, *level) for unit in divider.units]) for level in levels]
        self.search_in(divider.texts)

    def search_in(self, texts: Sequence[str]) -> None:
        """Look for words in these texts, one for each unit; the last step of making a division."""
        self._searched = _BETWEEN.join(texts)
        self._ends = array("I", accumulate(len(text) + 1 for text in texts))
        self._starts = array("I", [0, *self._ends])

    def holders(self, word: str) -> Iterator[int]:
        """Yield the indexes of the units in whose text a word in lower case stands, in order.

        That of a definition is its signature and documentation; that of a section, or of what stands between
        definitions, its beginning.
        """
        text, starts, length = self._searched, self._starts, len(word)
        place = text.find(word)
        while place >= 0:
            index = bisect_right(self._ends, place)
            if index >= len(self._ends):
                return
            if place + length < self._ends[index]:
                yield index
                place = text.find(word, starts[index + 1])
            else:
                place = text.find(word, place + 1)


def doc_line(symbol: Symbol, tag: str, width: int, indent: str) -> str:
    """Return the first line of a definition's documentation as a comment of the language `tag`."""
    mark = "#" if tag in HASH_COMMENTS else "//"
    return f"{' ' * width}  {indent}    {mark} {symbol.doc}"


class _Divider:
    """Walks the definitions and the lines between them; `_open` are the units around the present place.

    `texts` is what the words of a prompt are looked for in, for each unit, in lower case.
    """

    def __init__(self, lines: Sequence[str], tag: str, symbols: Sequence[Symbol]) -> None:
        self._lines = lines
        self._bare = [line.strip() for line in lines]
        self._tag = tag
        self._comment_marks = ("#",) if tag in HASH_COMMENTS else ("//", "/*", "*")
        self._width = width_of(len(lines))
        self._open: list[CodeUnit] = []
        self._next_line = 1
        self.written = bytes([0, *map(bool, self._bare)])
        self.units: list[CodeUnit] = []
        self.texts: list[str] = []
        for symbol in symbols:
            self._add_definition(symbol)
        while self._open:
            self._close()
        self._add_between(len(lines))

    def _add_definition(self, symbol: Symbol) -> None:
        while self._open and not _holds(self._open[-1], symbol):
            self._close()
        first_line, is_section = symbol.start_line, symbol.kind == "section"
        start = first_line if is_section else self._comment_start(first_line)
        if start > self._next_line:
            self._add_between(start - 1)
        signature = symbol.signature
        rows = signature.count("\n")
        first = (signature.partition("\n")[0] if rows else signature).removesuffix("…")
        head_line = self._find_head(symbol, first)
        heads = self._heads(symbol, head_line, first, is_one_row=not rows)
        unit = CodeUnit(start, symbol.end_line, symbol, head_line, heads)
        unit.head_lines = tuple(
            number
            for number, row in enumerate(signature.split("\n"), head_line)
            if number <= unit.end and len(self._bare[number - 1]) <= len(row.strip()) + 2
        )
        if is_section:
            self.texts.append(self._beginning(first_line, symbol.end_line))
        else:
            self.texts.append(f"{signature} {symbol.doc}".lower())
        self._next_line = max(self._next_line, head_line + rows + 1)
        self._open.append(unit)
        self.units.append(unit)

    def _close(self) -> None:
        unit = self._open.pop()
        if self.units[-1] is not unit:  # without inner ones all of it is one piece
            self._open.append(unit)
            self._add_between(unit.end)
            self._open.pop()
        if unit.end >= self._next_line:
            self._next_line = unit.end + 1
        unit.after = len(self.units)

    def _add_between(self, end: int) -> None:
        """Add the lines from the last unit to a line, without the blank ones around them."""
        start, self._next_line = self._next_line, max(self._next_line, end + 1)
        owner = self._open[-1].symbol if self._open else None
        if owner is not None and owner.kind in _WHOLE_ONLY:
            return
        written = self.written
        while start <= end and not written[start]:
            start += 1
        if start > end:
            return
        while not written[end]:
            end -= 1
        text = self._beginning(start, end)
        if _WORD.search(text):  # a bracket or a rule of dashes by itself says nothing
            self.units.append(CodeUnit(start, end, after=len(self.units) + 1))
            self.texts.append(text)

    def _comment_start(self, start: int) -> int:
        """Return the line where the comment above a definition begins; it is shown with its definition."""
        bare, next_line = self._bare, self._next_line
        line = start - 1
        if line > next_line and not bare[line - 1]:
            line -= bare[line - 2].endswith("*/")  # older JSDoc leaves a line empty below it
        while line >= next_line and bare[line - 1].startswith(self._comment_marks):
            start = line
            line -= 1
        return start

    def _find_head(self, symbol: Symbol, first: str) -> int:
        """Return the line of a definition's signature, which decorators may stand above."""
        lines = self._lines
        for number in range(symbol.start_line, min(symbol.end_line, symbol.start_line + 100) + 1):
            line = lines[number - 1]
            if len(line) > RANKED_CHARACTERS or first in line:
                return number
        return symbol.start_line

    def _heads(self, symbol: Symbol, head_line: int, first: str, *, is_one_row: bool) -> tuple[str, str]:
        line = self._lines[head_line - 1][:RANKED_CHARACTERS]
        bare = line.lstrip()
        indent = line[: len(line) - len(bare)] if bare.startswith(first) else ""
        signature = symbol.signature
        if is_one_row and signature:  # nearly all of them, in a third of the time
            head = f"{str(head_line).rjust(self._width)}  {indent}{signature}"
        else:
            rows = [indent + row for row in signature.split("\n")]
            head = "\n".join(numbered(rows, head_line, self._width))
        if not symbol.doc:
            return head, head
        return f"{head}\n{doc_line(symbol, self._tag, self._width, indent)}", head

    def _beginning(self, start: int, end: int) -> str:
        lines = self._lines[start - 1 : min(end, start + RANKED_LINES - 1)]
        return "\n".join(lines)[:RANKED_CHARACTERS].lower()


def _holds(outer: CodeUnit, symbol: Symbol) -> bool:
    """Whether a definition lies inside another. Several on one line don't, whatever their ranges say."""
    return outer.symbol is not None and outer.symbol.depth < symbol.depth and symbol.end_line <= outer.end


def _sizes(lines: Sequence[str], units: Sequence[CodeUnit]) -> Sequence[int]:
    around = width_of(len(lines)) + 3
    sums = [0, *accumulate(map(len, lines))]
    return array(
        "I",
        [sums[unit.end] - sums[unit.start - 1] + around * (unit.end - unit.start + 1) for unit in units],
    )


def _head_at(unit: CodeUnit, kind: int, depth: int) -> str:
    return unit.heads[kind] if unit.symbol is not None and unit.symbol.depth <= depth else ""


def split_lines(text: str) -> list[str]:
    r"""Split a text at its line feeds, as the parser counts lines; the \r of a \r\n is no part of a line.

    The other breaks of `str.splitlines` end no line, so that numbers agree with compilers and editors.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def count_lines(text: str) -> int:
    """Return how many lines `split_lines` makes of a text."""
    return text.count("\n") + (not text.endswith("\n") and text != "")


def numbered(lines: Sequence[str], start: int, width: int) -> list[str]:
    """Put its number before each line, counted from `start` and right-aligned in `width` characters."""
    return [
        f"{str(number).rjust(width)}  {line}" if line else str(number).rjust(width)
        for number, line in enumerate(lines, start)
    ]


def width_of(number: int) -> int:
    """Return the digits of a number: how wide numbers up to it are shown."""
    return len(str(number))


class Divisions:
    """Divisions by the digest of their file, the least recently used ones forgotten first. Thread-safe.

    What is kept can't become wrong: a content that changed has another digest, and definitions that the index
    read anew are compared.
    """

    def __init__(self, most: int = KEPT_CHARACTERS) -> None:
        self._most = most
        self._kept = SizedCache[bytes, tuple[str, Division]](most)

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def characters(self) -> int:
        """How long the files are together whose divisions are kept."""
        return self._kept.size

    def of(self, text: str, tag: str, symbols: tuple[Symbol, ...], digest: bytes | None) -> Division:
        """Return the division of a text; with a digest, which tells the text, the same as before."""
        if digest is None:
            return Division(text, tag, symbols)
        kept_tag, known = self._kept.get(digest) or ("", None)
        asked = (tag, len(text), symbols)
        if known is not None and (kept_tag, known.characters, known.symbols) == asked:
            return known
        made = Division(text, tag, symbols)
        if made.characters > self._most:
            self._kept.discard(digest)
        else:
            self._kept.put(digest, (tag, made), made.characters)
        return made

    def forget(self, digest: bytes) -> None:
        """Forget the division of a content that a file had until now: mostly no other one has it."""
        self._kept.discard(digest)


DIVISIONS = Divisions()
"""Those of this process: what is in them follows from the files alone, so all projects may share them."""
