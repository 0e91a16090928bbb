"""Owns the excerpt: a file shown whole, in part with line numbers, or as an outline of its definitions."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate

from ..compression.compress import Compress, compress
from ..lazy_dataclass import dataclass
from ..project.tree import Symbol

HASH_COMMENTS = frozenset(
    {"python", "ruby", "bash", "yaml", "toml", "makefile", "dockerfile", "perl", "r", "elixir", "cmake"}
)


@dataclass(frozen=True)
class Source:
    """A file's content as it was read, with the definitions that belong to it (empty if unknown)."""

    path: str
    text: str
    tag: str
    """The language tag of its code fence."""
    symbols: tuple[Symbol, ...] = ()
    compress: Compress = compress
    """What shortens it where it is a document."""

    @cached_property
    def lines(self) -> list[str]:
        """The lines without their ends."""
        return split_lines(self.text)

    @cached_property
    def units(self) -> Sequence[_Unit]:
        """What the file is made of, for `excerpt`."""
        return _Divider(self).units

    @cached_property
    def sizes(self) -> Sequence[int]:
        """The characters that each unit takes when it is shown whole, with line numbers and ends."""
        around = _width(len(self.lines)) + 3
        sums = [0, *accumulate(map(len, self.lines))]
        return [
            sums[unit.end] - sums[unit.start - 1] + around * (unit.end - unit.start + 1)
            for unit in self.units
        ]

    @cached_property
    def written(self) -> Sequence[bool]:
        """Whether a line isn't blank, by its number; there is no line 0."""
        return [False, *map(bool, map(str.strip, self.lines))]

    @cached_property
    def outlines(self) -> Sequence[_Outline]:
        """The outlines of the file, the richest first; the first two are of all heads of each kind."""
        levels = ((DOCUMENTED, 99), (PLAIN, 99), (PLAIN, 1), (PLAIN, 0))
        return [_Outline([_head_at(unit, kind, depth) for unit in self.units]) for kind, depth in levels]

    def ranked(self, words: frozenset[str], wanted: frozenset[str]) -> tuple[Sequence[int], int]:
        """Return the order of the units for a prompt (see `_ranked`); the last one is kept, as a file that is
        given more and more room is asked for it each time."""
        known = self._rankings.get((words, wanted))
        if known is None:
            plain = self.text.lower()
            stems = {stem for stem in map(_stem, words) if stem in plain}
            known = _ranked(self.units, stems, wanted)
            self._rankings.clear()
            self._rankings[words, wanted] = known
        return known

    @cached_property
    def _rankings(self) -> dict[tuple[frozenset[str], frozenset[str]], tuple[Sequence[int], int]]:
        return {}


def split_lines(text: str) -> list[str]:
    r"""Split a text at its line feeds, as the parser counts lines; the \r of a \r\n is no part of a line.

    The other breaks of `str.splitlines` end no line, so that numbers agree with compilers and editors.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def fenced(text: str, tag: str) -> str:
    """Put a text into a code fence that no run of backticks inside can end."""
    runs = re.findall(r"`{3,}", text) if "```" in text else ()  # which to know takes a tenth of the time
    longest = max(map(len, runs), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{tag}\n{text}{'' if text.endswith(chr(10)) or not text else chr(10)}{fence}\n"


def numbered(lines: Sequence[str], start: int, width: int) -> list[str]:
    """Put its number before each line, counted from `start` and right-aligned in `width` characters."""
    return [
        f"{str(number).rjust(width)}  {line}" if line else str(number).rjust(width)
        for number, line in enumerate(lines, start)
    ]


def outline(symbols: Sequence[Symbol], tag: str, *, docs: bool, depth: int = 99) -> str:
    """List definitions by signature, each on one line with the line it begins at, down to a depth.

    With `docs` the first line of its documentation follows below, as a comment of the language `tag`.
    """
    chosen = [symbol for symbol in symbols if symbol.depth <= depth]
    width = _width(max((symbol.start_line for symbol in chosen), default=1))
    lines: list[str] = []
    for symbol in chosen:
        indent = "" if symbol.kind == "section" else "    " * symbol.depth
        lines.append(f"{symbol.start_line:>{width}}  {indent}{_on_one_line(symbol.signature)}")
        if docs and symbol.doc:
            lines.append(_doc_line(symbol, tag, width, indent))
    return "\n".join(lines)


def excerpt(
    source: Source, words: Collection[str], wanted: Collection[str], characters: int
) -> tuple[str, int]:
    """Show as much of a file as fits into so many characters: whole definitions, the rest as signatures.

    `wanted` names definitions that come first; `words` (lower case, whatever their endings) rank the others
    by those that stand in a definition's signature and documentation, a word that few of them hold before
    one that all do. What stands between the definitions, such as imports, is shown where there is room.
    Returns the numbered text, never longer than `characters`, and how many lines that aren't blank it
    leaves out. A file without definitions is cut after a line.

    Linear but for sorting: 3,000 definitions take about 20 ms.
    """
    if not source.symbols:
        return _first_lines(source.lines, characters)
    order, relevant = source.ranked(frozenset(words), frozenset(wanted))
    plan = _Plan(source, characters)
    plan.choose_heads(order)
    plan.show_whole(order[:relevant])
    plan.add_heads(order, PLAIN)
    plan.show_whole(order[relevant:])
    plan.add_heads(order, DOCUMENTED)
    text, left_out = plan.render()
    return (text, left_out) if text else _first_lines(source.lines, characters)


# How a file is divided


@dataclass(slots=True)
class _Unit:
    """A definition, or with `symbol` None a run of lines between definitions. Lines count from 1, inclusive.

    `after` is the index of the first unit that doesn't lie inside this one. `heads` are the ways to show a
    definition by its signature, the richest first: with documentation and without.
    """

    start: int
    end: int
    symbol: Symbol | None = None
    head_line: int = 0
    heads: tuple[str, str] = ("", "")
    after: int = 0
    text: str = ""
    """What the words of a prompt are looked for in, in lower case."""


_WHOLE_ONLY = frozenset({"function", "method"})
"""Kinds whose inside makes no sense without the rest of it, unlike that of a class."""

DOCUMENTED, PLAIN = 0, 1
"""The places in `_Unit.heads`."""

_WORD = re.compile(r"\w{2}")

RANKED_CHARACTERS = 2_000
"""Of a section, or of what stands between definitions, so much is searched for the words of a prompt."""


class _Divider:
    """Walks the definitions and the lines between them; `_open` are the units around the present place."""

    def __init__(self, source: Source) -> None:
        self._lines = source.lines
        self._tag = source.tag
        self._comment_marks = ("#",) if source.tag in HASH_COMMENTS else ("//", "/*", "*")
        self._width = _width(len(self._lines))
        self._open: list[_Unit] = []
        self._next_line = 1
        self.units: list[_Unit] = []
        for symbol in source.symbols:
            self._add_definition(symbol)
        while self._open:
            self._close()
        self._add_between(len(self._lines))

    def _add_definition(self, symbol: Symbol) -> None:
        while self._open and not _holds(self._open[-1], symbol):
            self._close()
        start = symbol.start_line if symbol.kind == "section" else self._comment_start(symbol.start_line)
        self._add_between(start - 1)
        unit = _Unit(start, symbol.end_line, symbol)
        unit.head_line = self._find_head(symbol)
        unit.heads = self._heads(symbol, unit.head_line)
        unit.text = f"{symbol.signature} {symbol.doc}".lower()
        if symbol.kind == "section":
            unit.text = self._beginning(symbol.start_line, symbol.end_line)
        self._next_line = max(self._next_line, unit.head_line + symbol.signature.count("\n") + 1)
        self._open.append(unit)
        self.units.append(unit)

    def _close(self) -> None:
        unit = self._open[-1]
        if self.units[-1] is not unit:  # without inner ones all of it is one piece
            self._add_between(unit.end)
        self._next_line = max(self._next_line, unit.end + 1)
        unit.after = len(self.units)
        self._open.pop()

    def _add_between(self, end: int) -> None:
        """Add the lines from the last unit to a line, without the blank ones around them."""
        start, self._next_line = self._next_line, max(self._next_line, end + 1)
        owner = self._open[-1].symbol if self._open else None
        if owner is not None and owner.kind in _WHOLE_ONLY:
            return
        while start <= end and not self._lines[start - 1].strip():
            start += 1
        while start <= end and not self._lines[end - 1].strip():
            end -= 1
        text = self._beginning(start, end)
        if _WORD.search(text):  # a bracket or a rule of dashes by itself says nothing
            self.units.append(_Unit(start, end, after=len(self.units) + 1, text=text))

    def _comment_start(self, start: int) -> int:
        """Return the line where the comment above a definition begins; it is shown with its definition."""
        line = start - 1
        if line > self._next_line and not self._lines[line - 1].strip():
            line -= self._lines[line - 2].rstrip().endswith("*/")  # older JSDoc leaves a line empty below it
        while line >= self._next_line and self._lines[line - 1].lstrip().startswith(self._comment_marks):
            start = line
            line -= 1
        return start

    def _find_head(self, symbol: Symbol) -> int:
        """Return the line of a definition's signature, which decorators may stand above."""
        first = symbol.signature.partition("\n")[0].removesuffix("…")
        for number in range(symbol.start_line, min(symbol.end_line, symbol.start_line + 100) + 1):
            line = self._lines[number - 1]
            if len(line) > RANKED_CHARACTERS or first in line:
                return number
        return symbol.start_line

    def _heads(self, symbol: Symbol, head_line: int) -> tuple[str, str]:
        first = symbol.signature.partition("\n")[0].removesuffix("…")
        line = self._lines[head_line - 1][:RANKED_CHARACTERS]
        bare = line.lstrip()
        indent = line[: len(line) - len(bare)] if bare.startswith(first) else ""
        signature = symbol.signature
        if signature and "\n" not in signature:  # nearly all of them, in a third of the time
            head = f"{str(head_line).rjust(self._width)}  {indent}{signature}"
        else:
            rows = [indent + row for row in signature.split("\n")]
            head = "\n".join(numbered(rows, head_line, self._width))
        if not symbol.doc:
            return head, head
        return f"{head}\n{_doc_line(symbol, self._tag, self._width, indent)}", head

    def _beginning(self, start: int, end: int) -> str:
        lines = self._lines[start - 1 : min(end, start + 200)]
        return "\n".join(lines)[:RANKED_CHARACTERS].lower()


def _holds(outer: _Unit, symbol: Symbol) -> bool:
    """Whether a definition lies inside another. Several on one line don't, whatever their ranges say."""
    return outer.symbol is not None and outer.symbol.depth < symbol.depth and symbol.end_line <= outer.end


def _stem(word: str) -> str:
    """Return a word without its ending, so that `expire` is found in `expiry` and `expiration`."""
    stem = _ENDING.sub("", word)
    return stem if len(stem) >= 4 else word


_ENDING = re.compile(r"(?:ations?|ing|ies|es|ed|[esy])\Z")


def _ranked(units: Sequence[_Unit], words: Collection[str], wanted: Collection[str]) -> tuple[list[int], int]:
    """Return indexes, what is wanted first, then by the words that are found, then as they stand.

    A word counts the more the fewer units hold it. The number says how many units are wanted or hold any.
    """
    scores = [0.0] * len(units)
    for word in sorted(words):
        holders = [index for index, unit in enumerate(units) if word in unit.text]
        for index in holders:
            scores[index] += 1 / len(holders)
    asked = [unit.symbol is not None and unit.symbol.name in wanted for unit in units]
    order = sorted(range(len(units)), key=lambda index: (not asked[index], -scores[index], index))
    return order, sum(asked[index] or scores[index] > 0 for index in order)


# What is shown of it


class _Outline:
    """The heads of a file's units, empty where none is shown; what each takes, and what the first ones do."""

    __slots__ = ("costs", "heads", "sums")

    def __init__(self, heads: Sequence[str]) -> None:
        self.heads = heads
        self.costs = [len(head) + 1 if head else 0 for head in heads]  # with the end of its line
        self.sums = [0, *accumulate(self.costs)]


class _Plan:
    """What is shown of a file: heads of definitions, and units that are shown whole in their place."""

    def __init__(self, source: Source, characters: int) -> None:
        self._source = source
        self._lines = source.lines
        self._units = source.units
        self._width = _width(len(source.lines))
        self._room = characters
        self._heads: list[str] = []
        self._costs: list[int] = []
        self._head_sums: Sequence[int] = ()
        # Indexes of the units that are shown whole, in order; none lies inside another.
        self._whole: list[int] = []

    def choose_heads(self, order: Sequence[int]) -> None:
        """Take the richest outline that leaves half of the room to whole definitions, else the best ranked.

        Without its members, and then without documentation, an outline still says where to look.
        """
        room = self._room // 2
        outlines = self._source.outlines
        outline = next((one for one in outlines if one.sums[-1] <= room), None)
        if outline is None:
            heads = [""] * len(self._units)
            for index in order:
                cost = outlines[-1].costs[index]
                if cost <= room:
                    room -= cost
                    heads[index] = outlines[-1].heads[index]
            outline = _Outline(heads)
        self._take(outline)
        self._room -= outline.sums[-1]

    def show_whole(self, indexes: Iterable[int]) -> None:
        """Show units whole, each in place of its head and of all that is inside it, while there is room."""
        units, whole = self._units, self._whole
        for index in indexes:
            place = bisect_right(whole, index)
            if place and units[whole[place - 1]].after > index:
                continue  # it lies inside of one that is shown
            cost = self._added_cost(index)
            end = bisect_left(whole, units[index].after, place)
            if end > place:
                cost -= sum(map(self._added_cost, whole[place:end]))
            if cost <= self._room:
                self._room -= cost
                whole[place:end] = [index]

    def add_heads(self, indexes: Iterable[int], kind: int) -> None:
        """Spend what is left on heads that were left out or poorer."""
        rich = self._source.outlines[kind]
        before = self._room
        for index in indexes:
            if self._room <= 0:
                break
            extra = rich.costs[index] - self._costs[index]
            if 0 < extra <= self._room and not self._is_inside_whole(index):
                self._room -= extra
                self._heads[index], self._costs[index] = rich.heads[index], rich.costs[index]
        if self._room != before:
            self._take(_Outline(self._heads))

    def render(self) -> tuple[str, int]:
        """Return the text in the order of the file, and how many lines that aren't blank it leaves out."""
        whole = frozenset(self._whole)
        parts: list[str] = []
        shown: set[int] = set()
        covered = 0
        for index in self._visible(whole):
            unit = self._units[index]
            if index in whole:
                start = max(unit.start, covered + 1)
                parts.extend(numbered(self._lines[start - 1 : unit.end], start, self._width))
                covered = max(covered, unit.end)
                shown.update(range(start, unit.end + 1))
            elif self._heads[index] and unit.head_line > covered:
                # Where the docstring follows, its first line needn't stand above it.
                documented = index + 1 in whole and self._units[index + 1].symbol is None
                parts.append(unit.heads[PLAIN] if documented else self._heads[index])
                shown.update(self._lines_of_head(unit))
        written = self._source.written
        return "\n".join(parts), sum(written) - sum(written[number] for number in shown)

    def _lines_of_head(self, unit: _Unit) -> Iterator[int]:
        """Yield the lines that a head shows all of, but for what opens the body."""
        rows = unit.symbol.signature.split("\n") if unit.symbol is not None else ()
        for number, row in enumerate(rows, unit.head_line):
            if number <= unit.end and len(self._lines[number - 1].strip()) <= len(row.strip()) + 2:
                yield number

    def _visible(self, whole: Collection[int]) -> Iterator[int]:
        """Yield the indexes of the units that aren't inside one that is shown whole."""
        index = 0
        while index < len(self._units):
            yield index
            index = self._units[index].after if index in whole else index + 1

    def _is_inside_whole(self, index: int) -> bool:
        position = bisect_right(self._whole, index)
        return position > 0 and self._units[self._whole[position - 1]].after > index

    def _added_cost(self, index: int) -> int:
        """Return what a unit costs whole beyond the heads that it replaces."""
        replaced = self._head_sums[self._units[index].after] - self._head_sums[index]
        return self._source.sizes[index] - replaced

    def _take(self, outline: _Outline) -> None:
        self._heads, self._costs = list(outline.heads), list(outline.costs)
        self._head_sums = outline.sums


def _head_at(unit: _Unit, kind: int, depth: int) -> str:
    return unit.heads[kind] if unit.symbol is not None and unit.symbol.depth <= depth else ""


def _first_lines(lines: Sequence[str], characters: int) -> tuple[str, int]:
    """Return the first lines with their numbers, and how many that aren't blank are left out.

    A first line that is too long by itself is cut inside, and counts as left out.
    """
    width = _width(len(lines))
    kept: list[str] = []
    room = characters
    for text in numbered(lines[: max(characters, 0) + 1], 1, width):
        room -= len(text) + 1
        if room < -1:
            break
        kept.append(text)
    left_out = sum(bool(line.strip()) for line in lines[len(kept) :])
    if not kept and lines and characters > 0:
        return numbered(lines[:1], 1, width)[0][: characters - 1] + "…", left_out
    return "\n".join(kept), left_out


def _on_one_line(signature: str) -> str:
    """Return a signature with its lines joined, unless a comment in it would swallow the rest."""
    if "\n" not in signature or "#" in signature or "//" in signature:
        return signature
    joined = " ".join(line.strip() for line in signature.split("\n"))
    return re.sub(r",? (?=[)\]}])", "", re.sub(r"(?<=[(\[]) ", "", joined))


def _doc_line(symbol: Symbol, tag: str, width: int, indent: str) -> str:
    mark = "#" if tag in HASH_COMMENTS else "//"
    return f"{' ' * width}  {indent}    {mark} {symbol.doc}"


def _width(number: int) -> int:
    return len(str(number))
