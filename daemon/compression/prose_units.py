"""Owns the units of prose: headings, sentences, items, tables, blocks of code, and what belongs to what."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Literal

from ..core.lazy_dataclass import dataclass
from .document import Document

UnitKind = Literal["heading", "sentence", "block"]

WHOLE = 700
"""A list or a table of at most so many characters is shown whole or not at all; of a longer one items are."""

SENTENCE_MAX = 800
"""Characters of a sentence; what goes on for longer is no sentence."""

FENCE_LINES = 30
"""A block of code of more lines is shown in part, between its first and its last line."""

TITLE_MAX = 200

_ITEM = re.compile(r"[ \t]*(?:[-*+•]|[0-9]{1,9}[.)]|#\.)[ \t]+\S")
_MARKED = re.compile(r"(#{1,6}|={1,6})[ \t]+(\S.*)")
_SECTION = re.compile(r"\\(part|chapter|(?:sub){0,2}section|paragraph)\*?\{")
_LATEX_LEVELS = {"part": 1, "chapter": 2, "section": 3, "subsection": 4, "subsubsection": 5, "paragraph": 6}
_DIRECTIVE = re.compile(r"[ \t]*\.\. [\w:+-]{1,40}::")
_PROSE_DIRECTIVE = re.compile(
    r"[ \t]*\.\. (?:note|warning|important|tip|hint|caution|danger|attention|seealso|admonition|topic"
    r"|versionadded|versionchanged|deprecated|option|confval|envvar|describe|glossary)::"
)
_END = re.compile(r"[.!?][\"')\]*_`]{0,3}[ \n]+(?=[A-Z0-9\"'(\[`*_:$<])")
_ABBREVIATIONS = ("e.g.", "i.e.", "etc.", "vs.", "cf.", "Mr.", "Dr.", "No.", "approx.", "resp.", "incl.")
_UNDERLINES = frozenset("=-~^\"'`#*+.:_<>")


@dataclass(slots=True)
class Unit:
    """A piece of prose that is shown whole: where it lies in the text, and its first and last line, from 0.

    `section` is the index of the heading that it stands under, -1 for none; `needs` are units without which
    it isn't understood; `run` is equal for the sentences of a paragraph and the items of a list.
    """

    start: int
    end: int
    first: int
    last: int
    kind: UnitKind
    section: int
    run: int
    needs: tuple[int, ...] = ()


class Units:
    """The units of a document, in its order; `at` finds the one that a place in the text lies in."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._lines = document.lines
        self._starts = document.starts
        self._levels: dict[tuple[str, bool], int] = {}
        self._open: list[tuple[int, int]] = []  # headings around the present line: level and unit
        self._line_unit: dict[int, int] = {}
        self._run = 0
        self.all: list[Unit] = []
        self._read()
        self._unit_starts = [unit.start for unit in self.all]
        # The document keeps its units: holding it as well, both would stay until cycles are collected.
        del self._document, self._lines, self._starts, self._line_unit

    def at(self, place: int) -> int:
        """Return the index of the unit that a place of the text lies in or follows, -1 before the first."""
        return bisect_right(self._unit_starts, place) - 1

    def _read(self) -> None:
        line = 0
        if self._lines and self._lines[0].rstrip() == "---":
            line = self._front_matter()
        while line < len(self._lines):
            if self._document.indents[line] < 0:
                line += 1
                continue
            self._run += 1
            line = self._block(line)

    def _block(self, line: int) -> int:
        """Read the block that begins on a line; return the line after it."""
        text = self._lines[line]
        after = self._heading(line)
        if after > line:
            return after
        stripped = text.lstrip()
        if stripped.startswith(("```", "~~~")):
            return self._fence(line, self._fence_end(line, stripped))
        if _DIRECTIVE.match(text) and not _PROSE_DIRECTIVE.match(text):
            return self._fence(line, self._indented_end(line))
        if self._follows_colons(line):
            return self._fence(line, self._deeper_end(line))
        if _ITEM.match(text):
            return self._list(line)
        if stripped[0] in "|+" or (stripped[0] == "=" and " =" in stripped):
            return self._table(line)
        return self._paragraph(line)

    # Headings

    def _heading(self, line: int) -> int:
        """Read a heading; return the line after it, or the same line if there is none."""
        text = self._lines[line]
        match = _MARKED.match(text[:TITLE_MAX])
        if match is not None:
            self._add_heading(line, line, len(match[1]))
            return line + 1
        section = _SECTION.match(text)
        if section is not None:
            self._add_heading(line, line, _LATEX_LEVELS[section[1]])
            return line + 1
        if self._is_rule(line) and self._is_title(line + 1) and self._is_rule(line + 2):
            self._add_heading(line, line + 2, self._level(text[0], over=True))
            return line + 3
        if self._is_title(line) and self._is_rule(line + 1):
            self._add_heading(line, line + 1, self._level(self._lines[line + 1][0], over=False))
            return line + 2
        return line

    def _is_rule(self, line: int) -> bool:
        if not 0 <= line < len(self._lines):
            return False
        text = self._lines[line].rstrip()
        return len(text) >= 3 and text[0] in _UNDERLINES and text == text[0] * len(text)

    def _is_title(self, line: int) -> bool:
        if not 0 <= line < len(self._lines) or self._document.indents[line] < 0:
            return False
        text = self._lines[line].strip()
        if len(text) > TITLE_MAX or self._is_rule(line) or text[0] in "|+":
            return False
        below = self._lines[line + 1].rstrip() if line + 1 < len(self._lines) else ""
        above_is_blank = line == 0 or self._document.indents[line - 1] < 0 or self._is_rule(line - 1)
        return above_is_blank and (len(below) >= len(text) or below[:1] in ("=", "-"))

    def _level(self, mark: str, *, over: bool) -> int:
        return self._levels.setdefault((mark, over), len(self._levels) + 1)

    def _add_heading(self, first: int, last: int, level: int) -> None:
        while self._open and self._open[-1][0] >= level:
            self._open.pop()
        index = self._add(first, last, "heading")
        self._open.append((level, index))

    # Blocks

    def _front_matter(self) -> int:
        for line in range(1, min(len(self._lines), 60)):
            if self._lines[line].rstrip() == "---":
                self._add(0, line, "block")
                return line + 1
        return 0

    def _fence_end(self, line: int, opening: str) -> int:
        mark = opening[0] * 3
        for index in range(line + 1, len(self._lines)):
            if self._lines[index].lstrip().startswith(mark) and not self._lines[index].strip(" \t`~"):
                return index
        return len(self._lines) - 1

    def _indented_end(self, line: int) -> int:
        """Return the last line of what is indented below a line, or that line."""
        indent, end = self._document.indents[line], line
        for index in range(line + 1, len(self._lines)):
            if self._document.indents[index] > indent:
                end = index
            elif self._document.indents[index] >= 0:
                break
        return end

    def _deeper_end(self, line: int) -> int:
        indent, end = self._document.indents[line], line
        for index in range(line + 1, len(self._lines)):
            if self._document.indents[index] >= indent:
                end = index
            elif self._document.indents[index] >= 0:
                break
        return end

    def _follows_colons(self, line: int) -> bool:
        """Whether a line begins the literal block of a paragraph that ends with two colons."""
        if not self.all or self.all[-1].last >= line or self.all[-1].kind == "heading":
            return False
        above = self.all[-1].last
        deeper = self._document.indents[line] > self._document.indents[above]
        return deeper and self._lines[above].rstrip().endswith("::")

    def _fence(self, first: int, last: int) -> int:
        needs = self._introduction()
        if last - first < FENCE_LINES:
            self._add(first, last, "block", needs)
            return last + 1
        opening = self._add(first, first, "block", needs)
        for line in range(first + 1, last + 1):
            if self._document.indents[line] >= 0:
                self._add(line, line, "block", (opening,))
        return last + 1

    def _list(self, line: int) -> int:
        """Read the items that follow one another, with what is indented below each."""
        needs = self._introduction()
        base = self._document.indents[line]
        items: list[list[int]] = []
        index = line
        blank = False
        while index < len(self._lines):
            indent = self._document.indents[index]
            if indent < 0:
                blank = True
            elif indent >= base and _ITEM.match(self._lines[index]):
                items.append([index, index])
                blank = False
            elif indent > base or (not blank and not self._starts_block(index)):
                items[-1][1] = index
                blank = False
            else:
                break
            index += 1
        end = items[-1][1]
        if self._starts[end + 1] - self._starts[line] <= WHOLE:
            self._add(line, end, "block", needs)
            return end + 1
        for first, last in items:
            inner = self._needs(first)
            self._add(first, last, "block", (*needs, *inner))
        return end + 1

    def _starts_block(self, line: int) -> bool:
        return self._lines[line].lstrip().startswith(("#", "```", "~~~", "|", ".. "))

    def _table(self, line: int) -> int:
        end = line
        while end + 1 < len(self._lines) and self._document.indents[end + 1] >= 0:
            end += 1
        needs = self._introduction()
        if self._starts[end + 1] - self._starts[line] <= WHOLE or end - line < 3:
            self._add(line, end, "block", needs)
            return end + 1
        head = self._add(line, line + 1, "block", needs)
        for row in range(line + 2, end + 1):
            self._add(row, row, "block", (head,))
        return end + 1

    def _paragraph(self, line: int) -> int:
        end = line
        while end + 1 < len(self._lines) and self._document.indents[end + 1] >= 0:
            following = self._lines[end + 1]
            deeper = self._document.indents[end + 1] > self._document.indents[line]
            if self._starts_block(end + 1) or _ITEM.match(following) or (deeper and end == line):
                break
            end += 1
        start, stop = self._starts[line], self._starts[end] + len(self._lines[end])
        needs = self._needs(line)
        begin = start
        for match in _END.finditer(self._document.text, start, stop):
            if self._document.text[max(start, match.start() - 6) : match.start() + 1].endswith(
                _ABBREVIATIONS
            ):
                continue
            self._add_span(begin, match.start() + len(match[0].rstrip()), needs)
            begin = match.end()
        if begin < stop:
            self._add_span(begin, stop, needs)
        return end + 1

    # Adding

    def _introduction(self) -> tuple[int, ...]:
        """Return the sentence that introduces what follows, if the last one ends with a colon."""
        if not self.all or self.all[-1].kind == "heading":
            return ()
        last = self._lines[self.all[-1].last].rstrip()
        return (len(self.all) - 1,) if last.endswith(":") else ()

    def _needs(self, line: int) -> tuple[int, ...]:
        """Return the unit of the line that a line is indented below: a term, or an item of a list."""
        parent = self._document.blocks.parents[line]
        if parent < 0:
            return ()
        unit = self._line_unit.get(parent, -1)
        return (unit,) if unit >= 0 else ()

    def _add(self, first: int, last: int, kind: UnitKind, needs: tuple[int, ...] = ()) -> int:
        end = self._starts[last] + len(self._lines[last])
        return self._append(
            Unit(self._starts[first], end, first, last, kind, self._section(), self._run, needs)
        )

    def _add_span(self, start: int, end: int, needs: tuple[int, ...]) -> None:
        """Add a sentence; one that never ends is divided at the ends of its lines."""
        while end - start > SENTENCE_MAX:
            line_end = self._document.text.rfind("\n", start, start + SENTENCE_MAX)
            if line_end <= start:
                break
            self._add_sentence(start, line_end, needs)
            start = line_end + 1
        self._add_sentence(start, end, needs)

    def _add_sentence(self, start: int, end: int, needs: tuple[int, ...]) -> None:
        first = bisect_right(self._starts, start) - 1
        last = bisect_right(self._starts, max(start, end - 1)) - 1
        self._append(Unit(start, end, first, last, "sentence", self._section(), self._run, needs))

    def _append(self, unit: Unit) -> int:
        index = len(self.all)
        self.all.append(unit)
        if unit.kind != "heading":
            for line in range(unit.first, unit.last + 1):
                self._line_unit[line] = index
        return index

    def _section(self) -> int:
        return self._open[-1][1] if self._open else -1
