"""Excerpts: a file shown whole, in part with line numbers, shortened, or as an outline of its definitions."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from ..compression.compress import MARK, Compress, Compressed, compress, kind_of
from ..languages.shared.records import Symbol
from .division import (
    DIVISIONS,
    DOCUMENTED,
    PLAIN,
    Division,
    Outline,
    count_lines,
    doc_line,
    numbered,
    split_lines,
    width_of,
)

WANTED_WEIGHT = 2.0
"""What the name of a definition that is asked for weighs, beside a word of the prompt."""

LARGE_CHARACTERS = 20_000
"""Of a document that is longer only segments are shown, whatever the budget: nobody reads all of it."""


class Shortened(Struct, frozen=True):
    """A text within its room, and how many lines that aren't blank it leaves out."""

    text: str
    left_out: int


def shorten(source: FileSource, words: Iterable[str], wanted: Collection[str], characters: int) -> Shortened:
    """Show as much of a file as fits into so many characters.

    Code by its definitions, whole ones and signatures (see `excerpt`), of which `wanted` come first; all
    other text by the parts that are nearest to the `words` of the prompt.
    """
    if source.symbols and not is_document(source):
        return Shortened(*excerpt(source, tuple(words), wanted, characters))
    weights = dict.fromkeys(sorted(words), 1.0)
    weights |= dict.fromkeys(sorted(name.rpartition(".")[2] for name in wanted), WANTED_WEIGHT)
    found = source.compress(source.text, source.path, weights, characters, source.symbols)
    return Shortened(found.text, found.left_out_lines)


def shorten_definition(
    source: FileSource, symbol: Symbol, words: Iterable[str], characters: int, last: int = 0
) -> Shortened:
    """Show the lines of one definition that matter most, with the numbers that they have in their file.

    Of one that ends behind the line `last` only what stands up to there: the head of a class.
    """
    head = (replace(symbol, end_line=last),) if last and last < symbol.end_line else ()
    symbol = head[0] if head else symbol
    before = symbol.start_line - 1
    lines = source.lines[before : symbol.end_line]
    # Blank lines in its place, so that the lines keep their numbers.
    text = "\n" * before + "\n".join(lines)
    inside = (*head, *(item for item in source.symbols if _holds(symbol, item)))
    room = min(characters, len(text) - 1)  # a text that fits would come back without its numbers
    found = compress(text, source.path, sorted(words), room, inside)
    shown = found.text.split("\n")
    if before and shown and shown[0].lstrip().startswith("…"):
        shown = shown[1:]
    return Shortened("\n".join(shown), found.left_out_lines)


def shorten_text(text: str, path: str, words: Iterable[str], characters: int) -> Compressed:
    """Show the parts of a text that are nearest to the words of the prompt; prose unless `path` says else."""
    return compress(text, path or "text.md", sorted(words), characters)


def is_document(source: FileSource) -> bool:
    """Whether a file is read for what it says: prose, data or a log, and no code."""
    return kind_of(source.path, source.text, bool(source.symbols)) != "code"


def _holds(outer: Symbol, inner: Symbol) -> bool:
    return outer.start_line <= inner.start_line <= inner.end_line <= outer.end_line


def left_out_note(count: int, what: str) -> str:
    """Return the note on what a text leaves out; `what` says how to get it."""
    return f"{MARK} {count:,} line{'s' * (count != 1)} left out: {what}"


class FileSource(Struct, frozen=True, dict=True):
    """A file's content as it was read, with the definitions that belong to it (empty if unknown)."""

    path: str
    text: str
    tag: str
    """The language tag of its code fence."""
    symbols: tuple[Symbol, ...] = ()
    compress: Compress = compress
    """What shortens it where it is a document."""
    digest: bytes | None = None
    """That of the file, where it tells the text: nothing was masked, cut or put in its place."""

    @cached_property
    def lines(self) -> list[str]:
        """The lines without their ends."""
        return split_lines(self.text)

    @cached_property
    def line_count(self) -> int:
        """How many lines there are."""
        return count_lines(self.text)

    def part(self, first: int, last: int) -> list[str]:
        """Return some of the lines, counted from 1 and inclusive."""
        return self.lines[first - 1 : last]

    @cached_property
    def fence(self) -> str:
        """A fence that no run of backticks in the text can end."""
        return fence_of(self.text)

    @cached_property
    def division(self) -> Division:
        """What the file is made of, for `excerpt`."""
        return DIVISIONS.of(self.text, self.tag, self.symbols, self.digest)

    def ranked(self, words: frozenset[str], wanted: frozenset[str]) -> tuple[Sequence[int], int]:
        """Return the order of the units for a prompt (see `_ranked`); the last one is kept, as a file that is
        given more and more room is asked for it each time."""
        known = self._rankings.get((words, wanted))
        if known is None:
            known = _ranked(self.division, set(map(_stem, words)), wanted)
            self._rankings.clear()
            self._rankings[words, wanted] = known
        return known

    @cached_property
    def _rankings(self) -> dict[tuple[frozenset[str], frozenset[str]], tuple[Sequence[int], int]]:
        return {}


def fenced(text: str, tag: str) -> str:
    """Put a text into a code fence that no run of backticks inside can end."""
    fence = fence_of(text)
    return f"{fence}{tag}\n{text}{'' if text.endswith(chr(10)) or not text else chr(10)}{fence}\n"


def fence_of(text: str) -> str:
    """Return a fence that no run of backticks in a text can end."""
    runs = re.findall(r"`{3,}", text) if "```" in text else ()  # which to know takes a tenth of the time
    return "`" * (max(map(len, runs), default=2) + 1)


def outline(symbols: Sequence[Symbol], tag: str, *, docs: bool, depth: int = 99) -> str:
    """List definitions by signature, each on one line with the line it begins at, down to a depth.

    With `docs` the first line of its documentation follows below, as a comment of the language `tag`.
    """
    chosen = [symbol for symbol in symbols if symbol.depth <= depth]
    width = width_of(max((symbol.start_line for symbol in chosen), default=1))
    lines: list[str] = []
    for symbol in chosen:
        indent = "" if symbol.kind == "section" else "    " * symbol.depth
        lines.append(f"{symbol.start_line:>{width}}  {indent}{_on_one_line(symbol.signature)}")
        if docs and symbol.doc:
            lines.append(doc_line(symbol, tag, width, indent))
    return "\n".join(lines)


def excerpt(
    source: FileSource, words: Collection[str], wanted: Collection[str], characters: int
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


# Which parts of it a prompt is about


def _stem(word: str) -> str:
    """Return a word without its ending, so that `expire` is found in `expiry` and `expiration`."""
    stem = _ENDING.sub("", word)
    return stem if len(stem) >= 4 else word


_ENDING = re.compile(r"(?:ations?|ing|ies|es|ed|[esy])\Z")


def _ranked(division: Division, words: Collection[str], wanted: Collection[str]) -> tuple[list[int], int]:
    """Return indexes, what is wanted first, then by the words that are found, then as they stand.

    A word counts the more the fewer units hold it. The number says how many units are wanted or hold any.
    """
    units = division.units
    scores = [0.0] * len(units)
    for word in sorted(words):
        holders = list(division.holders(word))
        for index in holders:
            scores[index] += 1 / len(holders)
    asked = [unit.symbol is not None and unit.symbol.name in wanted for unit in units]
    order = sorted(range(len(units)), key=lambda index: (not asked[index], -scores[index], index))
    return order, sum(asked[index] or scores[index] > 0 for index in order)


# What is shown of it


class _Plan:
    """What is shown of a file: heads of definitions, and units that are shown whole in their place."""

    def __init__(self, source: FileSource, characters: int) -> None:
        division = source.division
        self._source = source
        self._division = division
        self._units = division.units
        self._width = width_of(division.line_count)
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
        outlines = self._division.outlines
        outline = next((item for item in outlines if item.sums[-1] <= room), None)
        if outline is None:
            heads = [""] * len(self._units)
            for index in order:
                cost = outlines[-1].costs[index]
                if cost <= room:
                    room -= cost
                    heads[index] = outlines[-1].heads[index]
            outline = Outline(heads)
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
        rich = self._division.outlines[kind]
        before = self._room
        for index in indexes:
            if self._room <= 0:
                break
            extra = rich.costs[index] - self._costs[index]
            if 0 < extra <= self._room and not self._is_inside_whole(index):
                self._room -= extra
                self._heads[index], self._costs[index] = rich.heads[index], rich.costs[index]
        if self._room != before:
            self._take(Outline(self._heads))

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
                parts.extend(numbered(self._source.part(start, unit.end), start, self._width))
                covered = max(covered, unit.end)
                shown.update(range(start, unit.end + 1))
            elif self._heads[index] and unit.head_line > covered:
                # Where the docstring follows, its first line needn't stand above it.
                documented = index + 1 in whole and self._units[index + 1].symbol is None
                parts.append(unit.heads[PLAIN] if documented else self._heads[index])
                shown.update(unit.head_lines)
        written = self._division.written
        left_out = self._division.written_count - sum(map(written.__getitem__, shown))
        return "\n".join(parts), left_out

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
        return self._division.sizes[index] - replaced

    def _take(self, outline: Outline) -> None:
        self._heads, self._costs = list(outline.heads), list(outline.costs)
        self._head_sums = outline.sums


def _first_lines(lines: Sequence[str], characters: int) -> tuple[str, int]:
    """Return the first lines with their numbers, and how many that aren't blank are left out.

    A first line that is too long by itself is cut inside, and counts as left out.
    """
    width = width_of(len(lines))
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
