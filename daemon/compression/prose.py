"""Shortens prose to a selection of headings, sentences and blocks."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from .document import AROUND_MAX, Document, Term
from .lines import Folded, count_of
from .scoring import PROSE_WEIGHTS, PartGroup, PartSelection, TextParts, choose, thinned

UnitKind = Literal["heading", "sentence", "block"]

SENTENCE_MAX = 800
"""Maximum characters of a sentence; longer text is divided at line ends."""

WHOLE_LINES = 30
"""Maximum lines of a code block that is one unit; a longer one is divided into lines."""

TITLE_MAX = 200
"""Maximum characters of a heading."""

LINE = 80
"""Characters of prose that count as one line for the distance between units."""

POSITION = 0.03
"""Value of the first unit of a section; the following ones have less and less."""

_ITEM = re.compile(r"[ \t]*(?:[-*+•]|[0-9]{1,9}[.)]|#\.)[ \t]+\S")
_MARKED = re.compile(r"(#{1,6}|={1,6})[ \t]+\S")
_SECTION = re.compile(r"\\(part|chapter|(?:sub){0,2}section|paragraph)\*?\{")
_LATEX_LEVELS = {"part": 1, "chapter": 2, "section": 3, "subsection": 4, "subsubsection": 5, "paragraph": 6}
_DIRECTIVE = re.compile(
    r"[ \t]*\.\. (?!note|warning|important|tip|hint|caution|danger|attention|seealso|admonition|topic"
    r"|versionadded|versionchanged|deprecated|option|confval|envvar|describe|glossary)[\w:+-]{1,40}::"
)
_FENCE = ("```", "~~~")
_END = re.compile(r"(?<!e\.g)(?<!i\.e)(?<!etc)(?<!vs)[.!?][\"')\]*_`]{0,3}[ \n]+(?=[A-Z0-9\"'(\[`*_:$<])")
_UNDERLINES = frozenset("=-~^\"'`#*+.:_<>")


class ProseUnit(Struct):
    """A piece of prose that is shown whole or not at all: its offsets, and its first and last line, from 0.

    `section` is the index of its heading, or -1; `needs` is the index of the unit that introduces it, or -1;
    `run` is equal for all sentences of a paragraph.
    """

    start: int
    end: int
    first: int
    last: int
    kind: UnitKind
    section: int
    run: int
    needs: int


class Units:
    """The units of a document in order."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._levels: dict[tuple[str, bool], int] = {}
        self._open: list[tuple[int, int]] = []  # headings above the current line: level and unit
        self._line_unit: dict[int, int] = {}
        self._run = 0
        self.all: list[ProseUnit] = []
        line = 0
        while line < len(document.lines):
            if document.indents[line] < 0:
                line += 1
                continue
            self._run += 1
            line = self._heading(line) or self._block(line) or self._paragraph(line)
        self._places = [unit.start for unit in self.all]
        # The document caches this object: a reference back to it would be a cycle.
        del self._document, self._line_unit

    def at(self, place: int) -> int:
        """Return the index of the unit at or before an offset, -1 before the first."""
        return bisect_right(self._places, place) - 1

    def _heading(self, line: int) -> int:
        """Add a heading that begins at a line; return the line after it, or 0 if there is none."""
        text = self._document.lines[line]
        marked, section = _MARKED.match(text[:TITLE_MAX]), _SECTION.match(text)
        if marked is not None:
            return self._add_heading(line, line, len(marked[1]))
        if section is not None:
            return self._add_heading(line, line, _LATEX_LEVELS[section[1]])
        for over in (True, False):
            title = line + over
            if self._is_title(title) and self._is_rule(title + 1) and (not over or self._is_rule(line)):
                key = (self._document.lines[title + 1][0], over)
                return self._add_heading(line, title + 1, self._levels.setdefault(key, len(self._levels) + 1))
        return 0

    def _is_rule(self, line: int) -> bool:
        lines = self._document.lines
        text = lines[line].rstrip() if 0 <= line < len(lines) else ""
        return len(text) >= 3 and text[0] in _UNDERLINES and text == text[0] * len(text)

    def _is_title(self, line: int) -> bool:
        lines, indents = self._document.lines, self._document.indents
        if line + 1 >= len(lines) or indents[line] < 0 or self._is_rule(line):
            return False
        text, below = lines[line].strip(), lines[line + 1].rstrip()
        starts = line == 0 or indents[line - 1] < 0 or self._is_rule(line - 1)
        long = len(below) >= len(text) or below[:1] in ("=", "-")
        return starts and long and len(text) <= TITLE_MAX and text[0] not in "|+"

    def _add_heading(self, first: int, last: int, level: int) -> int:
        while self._open and self._open[-1][0] >= level:
            self._open.pop()
        self._add(first, last, "heading")
        self._open.append((level, len(self.all) - 1))
        return last + 1

    def _block(self, line: int) -> int:
        """Add a code block, list item or table at a line; return the line after it, or 0 if there is none."""
        document, text = self._document, self._document.lines[line]
        stripped, needs = text.lstrip(), self._introduction(line)
        if stripped.startswith(_FENCE):
            end = line
            for end in range(line + 1, len(document.lines)):
                inner = document.lines[end].strip()
                if inner.startswith(stripped[:3]) and not inner.strip("`~"):
                    break
            return self._add_code(line, end, needs)
        if _DIRECTIVE.match(text):
            return self._add_code(line, self._end(line, document.indents[line] + 1), needs)
        if self._follows_colons(line):
            return self._add_code(line, self._end(line, document.indents[line]), needs)
        if stripped[0] in "|+" or (stripped[0] == "=" and " =" in stripped):
            end = line
            while end + 1 < len(document.lines) and document.indents[end + 1] >= 0:
                end += 1
            return self._add_code(line, end, needs)
        if not _ITEM.match(text):
            return 0
        end = line
        while end + 1 < len(document.lines) and document.indents[end + 1] >= 0 and not self._starts(end + 1):
            end += 1
        self._add(line, end, "block", needs)
        return end + 1

    def _end(self, line: int, indent: int) -> int:
        """Return the last of the following lines with at least this indentation."""
        end = line
        for index in range(line + 1, len(self._document.lines)):
            if self._document.indents[index] >= indent:
                end = index
            elif self._document.indents[index] >= 0:
                break
        return end

    def _follows_colons(self, line: int) -> bool:
        """Whether a line begins the literal block below a paragraph that ends with `::`."""
        if not self.all or self.all[-1].kind == "heading":
            return False
        above, indents = self.all[-1].last, self._document.indents
        return indents[line] > indents[above] and self._document.lines[above].rstrip().endswith("::")

    def _starts(self, line: int) -> bool:
        text = self._document.lines[line]
        return bool(_ITEM.match(text)) or text.lstrip().startswith(("#", "|", ".. ", *_FENCE))

    def _add_code(self, first: int, last: int, needs: int) -> int:
        if last - first < WHOLE_LINES:
            self._add(first, last, "block", needs)
            return last + 1
        self._add(first, first, "block", needs)
        opening = len(self.all) - 1
        for line in range(first + 1, last + 1):
            if self._document.indents[line] >= 0:
                self._add(line, line, "block", opening)
        return last + 1

    def _paragraph(self, line: int) -> int:
        document, end = self._document, line
        while end + 1 < len(document.lines) and document.indents[end + 1] >= 0 and not self._starts(end + 1):
            if end == line and document.indents[end + 1] > document.indents[line]:
                break  # a term above its definition
            end += 1
        start, stop = document.starts[line], document.starts[end] + len(document.lines[end])
        needs = self._above(line)
        for match in _END.finditer(document.text, start, stop):
            self._add_sentence(start, match.start() + len(match[0].rstrip()), needs)
            start = match.end()
        if start < stop:
            self._add_sentence(start, stop, needs)
        return end + 1

    def _introduction(self, line: int) -> int:
        """Return the sentence ending with a colon above a block, or the unit that the block lies in."""
        for index in range(len(self.all) - 1, -1, -1):
            unit = self.all[index]
            if unit.kind != "block":
                colon = unit.kind == "sentence" and self._document.lines[unit.last].rstrip().endswith(":")
                return index if colon else self._above(line)
        return self._above(line)

    def _above(self, line: int) -> int:
        """Return the unit that a line is indented below, such as a list item, or -1."""
        return self._line_unit.get(self._document.blocks.parents[line], -1)

    def _add_sentence(self, start: int, end: int, needs: int) -> None:
        """Add a sentence, or several if it is too long."""
        document = self._document
        while start < end:
            stop = end
            if end - start > SENTENCE_MAX:
                stop = max(document.text.rfind("\n", start, start + SENTENCE_MAX), start)
                stop = end if stop == start else stop
            first = bisect_right(document.starts, start) - 1
            last = bisect_right(document.starts, max(start, stop - 1)) - 1
            self._append(start, stop, first, last, "sentence", needs)
            start = stop + 1

    def _add(self, first: int, last: int, kind: UnitKind, needs: int = -1) -> None:
        starts = self._document.starts
        end = starts[last] + len(self._document.lines[last])
        self._append(starts[first], end, first, last, kind, needs)

    def _append(self, start: int, end: int, first: int, last: int, kind: UnitKind, needs: int) -> None:
        section = self._open[-1][1] if self._open else -1
        if kind != "heading":
            self._line_unit.update(dict.fromkeys(range(first, last + 1), len(self.all)))
        self.all.append(ProseUnit(start, end, first, last, kind, section, self._run, needs))


def compress_prose(document: Document, terms: Sequence[Term], characters: int) -> Folded:
    """Shorten prose to its most relevant headings, sentences and blocks."""
    document, _ = thinned(document, terms, (), characters)
    units = document.worked_out((Units, None), lambda: Units(document))
    parts = _parts(document, units)
    thin = document.count > len(document.numbers)
    room = characters - (2 * parts.gap_cost if thin else 0)
    return _render(document, units.all, choose(parts, terms, room, PROSE_WEIGHTS))


def _parts(document: Document, units: Units) -> TextParts:
    found = units.all
    gap_cost = len(f"… {count_of(max(2, document.count))}") + 2
    costs = [unit.end - unit.start + 2 for unit in found]
    numbers = document.numbers
    if document.count > len(numbers):
        # Lines that `thinned` left out need a mark between the shown units.
        for index in range(1, len(found)):
            if document.filled_between(numbers[found[index - 1].last] + 1, numbers[found[index].first]):
                costs[index] += gap_cost
    headings = [index for index, unit in enumerate(found) if unit.kind == "heading"]
    group_of = {heading: group for group, heading in enumerate(headings)} | {-1: -1}
    group = [group_of[index if unit.kind == "heading" else unit.section] for index, unit in enumerate(found)]
    sizes = [0] * len(headings)
    prior: list[float] = []
    for item in group:
        prior.append(POSITION / (1 + (sizes[item] if item >= 0 else len(prior))))
        if item >= 0:
            sizes[item] += 1
    groups: list[PartGroup] = []
    for size, heading in zip(sizes, headings, strict=True):
        outer = group_of[found[heading].section]
        depth = groups[outer].depth + 1 if outer >= 0 else 0
        groups.append(PartGroup(((*_needed(found, heading), heading),), size, outer, depth))
    return TextParts(
        costs=costs,
        gap_cost=gap_cost,
        at=[unit.start // LINE for unit in found],
        groups=groups,
        group=group,
        prior=prior,
        continues=[-1] * len(found),
        carried=0.0,
        found=lambda term: [unit for place in document.places_of(term) if (unit := units.at(place)) >= 0],
        around=lambda index: _needed(found, index),
    )


def _needed(found: Sequence[ProseUnit], index: int) -> list[int]:
    """Return the units needed to understand a unit: its headings, its introduction, and theirs."""
    needed = [index]
    for unit in needed:
        for item in (found[unit].section, found[unit].needs):
            if item >= 0 and item not in needed and len(needed) <= AROUND_MAX:
                needed.append(item)
    return needed[1:]


def _render(document: Document, found: Sequence[ProseUnit], selection: PartSelection) -> Folded:
    """Return the selected units with marks for omitted lines; "" if none is selected."""
    text, numbers = document.text, document.numbers
    parts: list[str] = []
    last: ProseUnit | None = None
    after = 0  # all lines before this one were shown or marked
    whole = {line for line, indent in enumerate(document.indents) if indent >= 0}
    for index, unit in enumerate(found):
        if not selection.shown[index]:
            whole.difference_update(range(unit.first, unit.last + 1))
            continue
        together = index > 0 and last is found[index - 1]
        if last is not None and unit.kind == last.kind == "sentence" and unit.run == last.run:
            parts.append(text[last.end : unit.start] if together else " … ")
        else:
            paragraph = "\n\n" if parts else ""
            missing = document.filled_between(after, numbers[unit.first])
            if missing:
                parts.append(f"{paragraph}… {count_of(missing)}\n\n")
            else:
                tight = together and last is not None and unit.first == last.last + 1
                parts.append("\n" if tight else paragraph)
        parts.append(text[unit.start : unit.end])
        last, after = unit, numbers[unit.last] + 1
    missing = document.filled_between(after, document.count)
    if missing and parts:
        parts.append(f"\n\n… {count_of(missing)}")
    return Folded("".join(parts), document.filled_between(0, document.count) - len(whole))
