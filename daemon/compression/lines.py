"""Shortens code, data and logs to a selection of numbered lines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from functools import lru_cache

from msgspec import Struct

from ..languages.shared.records import Symbol
from .document import NO_LINE, Blocks, Document, Term
from .scoring import (
    LOG_WEIGHTS,
    PartGroup,
    PartSelection,
    ScoredParts,
    TextParts,
    choose,
    score,
    select,
    thinned,
)

SHORTENED_MAX, SCORED_MAX = 32, 16
"""Maximum number of cached texts, and of rated documents: while a context is selected, each file in focus is
shortened three times for the same prompt."""

DECIDES = 0.03
"""Value of a line that returns, raises or branches."""

COMMENT_SHARE = 0.8
"""Value of a comment line relative to a line of code in its place."""

BEARERS_MAX = 3
"""Maximum number of definitions with the same name that a call may refer to."""

BODY_LINES = 400
"""Maximum number of lines of a definition that are searched for calls."""

EDGE_HEAD, EDGE_TAIL = 4, 6
"""Number of lines at the beginning and at the end of a log that get the extra value `EDGE`."""

EDGE, RARE, ERROR, WARNING = 0.2, 0.25, 0.6, 0.3
"""Values of a log line at the beginning or end, of a unique one, of an error and of a warning."""

LONG_LINE = 800
CLIPPED = 240
"""A log line with more than `LONG_LINE` characters is clipped to its two ends of together `CLIPPED`."""

SEARCHED = 240
"""Characters of a log line that are searched for its level."""

TRACE_LINES = 40
"""Maximum number of indented lines below an error that belong to it, such as a stack trace."""

_DECIDING = frozenset(
    [
        "return",
        "raise",
        "throw",
        "throws",
        "yield",
        "if",
        "elif",
        "else",
        "for",
        "while",
        "switch",
        "case",
        "match",
        "except",
        "catch",
        "rescue",
        "panic",
        "assert",
        "break",
        "continue",
        "goto",
        "try",
        "defer",
        "select",
        "when",
        "unless",
        "until",
        "guard",
        "await",
    ]
)
_UNFINISHED = frozenset("([,=+&|\\?")
_ERROR = re.compile(
    r"\b(?:fatal|panic|critical|emerg|alert|severe|error|err|exception|traceback|failed|failure|abort(?:ed)?"
    r"|segfault|undefined reference)\b|(?:Error|Exception)\b",
    re.IGNORECASE,
)
_WARNING = re.compile(r"\bwarn(?:ing)?\b|\bdeprecated\b", re.IGNORECASE)
_TROUBLE = tuple(
    Term(word, 0.7, 99)
    for word in ("fatal", "panic", "critical", "error", "exception", "traceback", "fail", "warn")
)
_DIGITS = re.compile(r"[0-9]+")


class Folded(Struct, frozen=True):
    """A shortened text, and the number of its non-blank lines that are left out."""

    text: str
    left_out_lines: int


def compress_code(
    document: Document,
    symbols: Sequence[Symbol],
    terms: Sequence[Term],
    characters: int,
    wanted: Collection[str] = (),
) -> Folded:
    """Shorten code to its signatures and the most relevant lines of bodies."""
    document, symbols = thinned(document, terms, symbols, characters, wanted)
    return _shortened(document, tuple(symbols), tuple(terms), characters, frozenset(wanted))


@lru_cache(maxsize=SHORTENED_MAX)
def _shortened(
    document: Document,
    symbols: tuple[Symbol, ...],
    terms: tuple[Term, ...],
    characters: int,
    wanted: frozenset[str],
) -> Folded:
    rows, scored = _scored(document, symbols, terms, wanted)
    return rows.render(select(scored, rows.room(characters)))


@lru_cache(maxsize=SCORED_MAX)
def _scored(
    document: Document, symbols: tuple[Symbol, ...], terms: tuple[Term, ...], wanted: frozenset[str]
) -> tuple[Rows, ScoredParts]:
    rows = Rows(document)
    return rows, score(rows.code(symbols), terms, wanted=wanted)


def compress_data(
    document: Document, path: str, terms: Sequence[Term], characters: int, summary: str
) -> Folded:
    """Shorten data to its most relevant lines, below a summary (or "")."""
    document, _ = thinned(document, terms, (), characters)
    rows = Rows(document)
    return rows.render(choose(rows.code((), path), terms, rows.room(characters, summary)), summary)


def compress_log(document: Document, terms: Sequence[Term], characters: int, summary: str) -> Folded:
    """Shorten a log to errors, matching and rare lines, below a summary (or "")."""
    document, _ = thinned(document, (*terms, *_TROUBLE), (), characters)
    half = CLIPPED // 2
    rows = Rows(
        document,
        [line if len(line) <= LONG_LINE else f"{line[:half]} … {line[-half:]}" for line in document.lines],
    )
    return rows.render(choose(rows.log(), terms, rows.room(characters, summary), LOG_WEIGHTS), summary)


class Rows:
    """The non-blank lines of a document as parts for the scorer, and their rendering.

    `lines` are the numbers of these lines, and `place` the position of each among them. `shown` replaces the
    lines of the document if some are clipped.
    """

    def __init__(self, document: Document, shown: Sequence[str] | None = None) -> None:
        self._document = document
        self._shown = document.lines if shown is None else shown
        self._width = width_of(document.count)
        self._gap_cost = len(gap(max(document.count, 2), self._width)) + 1
        self.lines = [index for index, indent in enumerate(document.indents) if indent >= 0]
        self.place = {line: part for part, line in enumerate(self.lines)}

    def room(self, characters: int, summary: str = "") -> int:
        """Return the characters available for lines."""
        thin = self._document.count > len(self._document.numbers)
        return characters - (len(summary) + 1 if summary else 0) - (self._gap_cost if thin else 0)

    def first(self, characters: int) -> PartSelection:
        """Return the first lines that fit."""
        selection = PartSelection(self._costs(), characters, self._gap_cost)
        for part in range(len(self.lines)):
            if not selection.add((part,)):
                break
        return selection

    def code(self, symbols: Sequence[Symbol], data_path: str = "") -> TextParts:
        """Return the lines as parts, grouped by definitions, or by blocks if there are no symbols.

        `data_path` is the path of a data file, whose sections and tables are blocks too.
        """
        document, place = self._document, self.place
        blocks = document.blocks
        if data_path:
            blocks = document.worked_out(
                (Blocks, data_path), lambda: Blocks(document.lines, _data_indents(document, data_path))
            )
        definitions = document.worked_out(
            (Definitions, (tuple(symbols), data_path)), lambda: Definitions(document, symbols, blocks)
        )
        owner = definitions.owner

        def around(part: int) -> list[int]:
            """Return the lines that open the blocks that a line lies in."""
            line = self.lines[part]
            found = [*blocks.around(line)]
            index = owner[line]
            while index >= 0:
                definition = definitions.all[index]
                if line >= definition.head:
                    found.append(definition.head)
                index = definition.outer
            return [place[line] for line in found]

        groups = []
        for item in definitions.all:
            head = [place[line] for line in range(item.head, item.head_end) if line in place]
            heads = ([*head, place[item.doc]], head) if item.doc in place else (head,)
            groups.append(PartGroup(heads, item.end - item.start, item.outer, item.depth, item.name))
        texts = [document.lines[line].lstrip() for line in self.lines]
        parents = [blocks.parents[line] for line in self.lines]
        return TextParts(
            costs=self._costs(),
            gap_cost=self._gap_cost,
            at=range(len(self.lines)),
            found=self._found,
            groups=groups,
            group=[owner[line] for line in self.lines],
            prior=[DECIDES * _decides(text) for text in texts],
            discount=[COMMENT_SHARE if text.startswith(COMMENT_MARKS) else 1.0 for text in texts],
            continues=[
                place[line] if line >= 0 and document.lines[line].rstrip()[-1:] in _UNFINISHED else -1
                for line in parents
            ],
            carried=0.9,
            around=around,
            names=lambda index: self._named(definitions, index),
        )

    def log(self) -> TextParts:
        """Return the lines of a log as parts."""
        texts = [self._document.lines[line][:SEARCHED] for line in self.lines]
        shapes = [_DIGITS.sub("0", text) for text in texts]
        counts, seen = Counter(shapes), Counter[str]()
        prior: list[float] = []
        for part, (text, shape) in enumerate(zip(texts, shapes, strict=True)):
            severity = ERROR if _ERROR.search(text) else WARNING if _WARNING.search(text) else 0.0
            # A repeated line adds little: each repetition has half the value of the one before.
            repeated = 0.5 ** min(seen[shape], 20)
            seen[shape] += 1
            edge = part < EDGE_HEAD or part >= len(texts) - EDGE_TAIL
            prior.append((severity + RARE / counts[shape]) * repeated + (EDGE if edge else 0.0))
        owners = self._owners()
        return TextParts(
            costs=self._costs(),
            gap_cost=self._gap_cost,
            at=range(len(self.lines)),
            found=self._found,
            groups=(),
            group=[-1] * len(texts),
            prior=prior,
            continues=owners,
            carried=0.8,
            around=lambda part: (owners[part],) if owners[part] >= 0 else (),
        )

    def render(self, selection: PartSelection, summary: str = "") -> Folded:
        """Return the selected lines with their numbers, and marks for omitted ones; "" if none is selected.

        A clipped line counts as left out.
        """
        rows = [summary] if summary else []
        numbers, left_out, done = self._document.numbers, 0, 0
        for part, line in enumerate(self.lines):
            if not selection.shown[part]:
                continue
            hidden = self._document.filled_between(done, numbers[line])
            if hidden:
                rows.append(gap(hidden, self._width))
            rows.append(numbered(self._shown[line], numbers[line] + 1, self._width))
            left_out += hidden + (self._shown[line] is not self._document.lines[line])
            done = numbers[line] + 1
        hidden = self._document.filled_between(done, self._document.count)
        if hidden:
            rows.append(gap(hidden, self._width))
        return Folded("\n".join(rows) if done else "", left_out + hidden)

    def _costs(self) -> list[int]:
        document, numbers = self._document, self._document.numbers
        costs = [len(self._shown[line]) + self._width + 3 for line in self.lines]
        if document.count > len(numbers):
            # Lines that `thinned` left out need a mark between the shown ones.
            for part in range(1, len(costs)):
                if numbers[self.lines[part]] != numbers[self.lines[part - 1]] + 1:
                    costs[part] += self._gap_cost
        return costs

    def _found(self, term: Term) -> list[int]:
        return [self.place[line] for line in self._document.lines_with(term)]

    def _named(self, definitions: Definitions, index: int) -> list[int]:
        """Return the indexes of the definitions that a definition calls or uses by name."""
        definition = definitions.all[index]
        body = "\n".join(
            self._document.lines[definition.head_end : min(definition.end, definition.head_end + BODY_LINES)]
        )
        return [
            bearer
            for name, bearers in definitions.by_name.items()
            if len(bearers) <= BEARERS_MAX and name in body and any(f"{name}{mark}" in body for mark in "(.")
            for bearer in bearers
            if bearer != index
        ]

    def _owners(self) -> list[int]:
        """Return for each line of a log the index of the error that it belongs to, or -1."""
        owners = [-1] * len(self.lines)
        last, count = -1, 0
        for part, line in enumerate(self.lines):
            if self._document.indents[line] > 0 and last >= 0:
                count += 1
                if count <= TRACE_LINES and _ERROR.search(self._document.lines[self.lines[last]][:SEARCHED]):
                    owners[part] = last
            else:
                last, count = part, 0
        return owners


def numbered(line: str, number: int, width: int) -> str:
    """Return a line with its number, right-aligned in `width` characters."""
    return f"{number:>{width}}  {line}"


def gap(count: int, width: int) -> str:
    """Return the mark for a number of omitted lines."""
    return f"{'…':>{width}}  {count_of(count)}"


def count_of(lines: int) -> str:
    """Return a number of lines in words."""
    return f"{lines:,} line{'s' * (lines != 1)}"


def width_of(lines: int) -> int:
    """Return the number of digits of the largest line number."""
    return len(str(max(lines, 1)))


def _decides(stripped: str) -> bool:
    word = stripped[:12].replace("(", " ").replace(":", " ").replace("{", " ").replace(";", " ")
    return word.lstrip("} ").partition(" ")[0] in _DECIDING


def _data_indents(document: Document, path: str) -> list[int]:
    """Return the logical indentation of data: keys lie in their section, rows below a table's head."""
    if separator_of(path):
        head = next((index for index, indent in enumerate(document.indents) if indent >= 0), NO_LINE)
        return [indent if index == head or indent < 0 else 1 for index, indent in enumerate(document.indents)]
    indents = list(document.indents)
    inside = False
    for index, line in enumerate(document.lines):
        if indents[index] == 0 and line[0] == "[" and line.rstrip()[-1:] == "]" and len(line.strip()) > 1:
            inside = True
        elif indents[index] >= 0 and inside:
            indents[index] += 1
    return indents


def separator_of(path: str) -> str:
    """Return the column separator of a table file, "" for other files."""
    extension = path.rpartition(".")[2].lower()
    return {"csv": ",", "tsv": "\t", "tab": "\t"}.get(extension, "")


HEAD_LINES = 12
"""Maximum number of lines of a definition's head."""

DOC_SEARCH = 40
"""Maximum number of lines searched for a signature or documentation."""

LONG_BLOCK = 60
"""Maximum lines of an unnamed block that isn't divided into inner blocks."""

DEPTH_MAX = 8
"""Maximum nesting of definitions; deeper ones count as a part of the outer one."""

NAME_MIN = 3
"""Minimum characters of a name by which calls are recognized."""


class DefinitionLines(Struct, frozen=True):
    """A definition's lines, from 0: `start` to before `end`, its head to before `head_end`.

    `doc` is the first line of its documentation, or `NO_LINE`; `outer` the index of the definition around it,
    or -1; `name` the name of its symbol, "" for an unnamed block.
    """

    start: int
    end: int
    head: int
    head_end: int
    doc: int
    outer: int
    depth: int
    name: str


class Definitions:
    """The definitions of a document in order.

    `owner[i]` is the index of the innermost definition with line i, or -1; `by_name` has the indexes by the
    last part of the name."""

    def __init__(self, document: Document, symbols: Sequence[Symbol], blocks: Blocks) -> None:
        self._document = document
        self.all: list[DefinitionLines] = []
        code = [symbol for symbol in symbols if symbol.kind != "section"]
        if code:
            self._read_symbols(code)
        else:
            self._read_blocks(blocks)
        self.owner = self._owners()
        self.by_name: dict[str, list[int]] = {}
        for index, item in enumerate(self.all):
            name = item.name.rpartition(".")[2].partition("~")[0]
            if len(name) >= NAME_MIN:
                self.by_name.setdefault(name, []).append(index)
        # The document caches this object: a reference back to it would be a cycle.
        del self._document

    def _read_symbols(self, symbols: Sequence[Symbol]) -> None:
        lines = self._document.lines
        open_ones: list[int] = []
        previous_end = 0
        for symbol in sorted(symbols, key=lambda symbol: (symbol.start_line, -symbol.end_line)):
            first, end = symbol.start_line - 1, min(symbol.end_line, len(lines))
            if not 0 <= first < end or self._document.indents[first] < 0:
                continue  # the symbol is of another version of the text, or a blank line would be its head
            while open_ones and self.all[open_ones[-1]].end <= first:
                previous_end = max(previous_end, self.all[open_ones.pop()].end)
            outer = open_ones[-1] if open_ones else -1
            if len(open_ones) >= DEPTH_MAX:
                continue
            floor = max(previous_end, self.all[outer].head_end if outer >= 0 else 0)
            head = self._head(symbol, first, end)
            head_end = min(end, head + min(symbol.signature.count("\n") + 1, HEAD_LINES))
            doc = self._doc(symbol, head_end, end) if symbol.doc else NO_LINE
            start = self._comment_start(first, floor)
            if doc == NO_LINE and symbol.doc:
                doc = self._doc(symbol, start, first)
            depth = len(open_ones)
            self.all.append(DefinitionLines(start, end, head, head_end, doc, outer, depth, symbol.name))
            open_ones.append(len(self.all) - 1)

    def _head(self, symbol: Symbol, first: int, end: int) -> int:
        """Return the line of the signature, which may come after decorators."""
        written = symbol.signature.partition("\n")[0].removesuffix("…").strip()
        for line in range(first, min(end, first + DOC_SEARCH)):
            if written in self._document.lines[line][:2_000]:
                return line
        return first

    def _doc(self, symbol: Symbol, start: int, end: int) -> int:
        words = symbol.doc.rstrip("…. ")[:40]
        for line in range(start, min(end, start + DOC_SEARCH)):
            if words in self._document.lines[line][:2_000]:
                return line
        return NO_LINE

    def _comment_start(self, first: int, floor: int) -> int:
        """Return the line on which the comment right above a definition begins."""
        line = first
        while line > floor and self._document.lines[line - 1].lstrip().startswith(COMMENT_MARKS):
            line -= 1
        return line

    def _read_blocks(self, blocks: Blocks) -> None:
        """Use indented blocks as definitions: the outer ones, and those inside long ones."""
        open_ones: list[int] = []
        for head, end in _opening_lines(blocks):
            while open_ones and self.all[open_ones[-1]].end <= head:
                open_ones.pop()
            outer = open_ones[-1] if open_ones else -1
            if len(open_ones) >= DEPTH_MAX or (
                outer >= 0 and self.all[outer].end - self.all[outer].start <= LONG_BLOCK
            ):
                continue
            floor = self.all[outer].head_end if outer >= 0 else (self.all[-1].end if self.all else 0)
            start = self._comment_start(head, min(floor, head))
            block = DefinitionLines(start, end, head, head + 1, NO_LINE, outer, len(open_ones), "")
            self.all.append(block)
            open_ones.append(len(self.all) - 1)

    def _owners(self) -> list[int]:
        owner = [-1] * len(self._document.lines)
        for index, item in enumerate(self.all):
            # Inner definitions come later and overwrite their part.
            owner[item.start : item.end] = [index] * (item.end - item.start)
        return owner


COMMENT_MARKS = ("#", "//", "/*", "*", "--", ";;", '"""', "@")


def _opening_lines(blocks: Blocks) -> list[tuple[int, int]]:
    """Return the lines that open blocks of two or more lines, with the ends of these, in order."""
    last = {parent: line for line, parent in enumerate(blocks.parents) if parent >= 0}
    ends: dict[int, int] = {}
    for parent in sorted(last, reverse=True):
        end = max(last[parent], ends.get(last[parent], 0))
        ends[parent] = end
    found: dict[int, int] = {}
    for parent, end in ends.items():
        head = blocks.partners[parent] if blocks.partners[parent] >= 0 else parent
        if end - head >= 2:
            found[head] = max(found.get(head, 0), end + 1)
    return sorted(found.items())
