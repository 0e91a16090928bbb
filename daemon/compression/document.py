"""A text to shorten: its kind, its lines, and how they are nested."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from typing import Final, Literal

from ..languages.shared.language import language_of
from .words import Term, lower_of, places_of

TextKind = Literal["code", "prose", "data", "log"]
"""The kind of a text, by which its lines are rated."""

LineRange = tuple[int, int]
"""A first and a last line, from 1, both inclusive."""

HEAD = 8_192
"""Characters at the beginning of a text by which its kind is recognized."""

TAB = 4
"""Columns of a tab."""

AROUND_MAX = 12
"""Maximum number of enclosing blocks shown for a line, the innermost ones."""

SENTENCES_MIN = 160
"""Minimum characters of a line of prose that is divided into sentences."""

LONG_LINE = 800
CLIPPED = 240
"""A line of a log with more than `LONG_LINE` characters is clipped to its two ends of together `CLIPPED`."""

BODY: Final = 6
"""Columns by which the lines below a heading are nested deeper than any heading."""


class Document:
    """A text with its lines, numbered from 0, which end at line feeds only, as the parser counts them.

    `numbers` has the number of each line in the text as it was given."""

    def __init__(self, text: str, kind: TextKind) -> None:
        self.text = text
        self.kind: TextKind = kind
        lines = [line.removesuffix("\r") for line in text.split("\n")]
        if not lines[-1]:
            lines.pop()
        if kind == "prose":
            pieces = [_sentences(line) for line in lines]
            self.lines = [piece for line in pieces for piece in line]
            self.numbers: Sequence[int] = [number for number, line in enumerate(pieces) for _ in line]
        else:
            self.lines = lines
            self.numbers = range(len(lines))
        self.width = len(str(max(len(lines), 1)))

    @cached_property
    def indents(self) -> list[int]:
        """The indentation of each line in columns, -1 for a blank line; headings of prose and data count."""
        if self.kind in ("prose", "data"):
            return _nested(self.lines, _HEADING if self.kind == "prose" else _SECTION)
        return [indent_of(line) for line in self.lines]

    @cached_property
    def filled(self) -> list[int]:
        """The lines that aren't blank."""
        return [line for line, indent in enumerate(self.indents) if indent >= 0]

    @cached_property
    def costs(self) -> list[int]:
        """The characters of the lines that aren't blank, as they are shown, with a line end and, in prose, a
        blank line before."""
        return [len(self.shown(line)) + 1 + (self.kind == "prose") for line in self.filled]

    @cached_property
    def parents(self) -> list[int]:
        """For each line the nearest line above with less indentation, or -1."""
        parents = [-1] * len(self.lines)
        openers: list[int] = []
        for line in self.filled:
            while openers and self.indents[openers[-1]] >= self.indents[line]:
                openers.pop()
            if openers:
                parents[line] = openers[-1]
            openers.append(line)
        return parents

    def around(self, line: int) -> list[int]:
        """Return the lines that open the blocks around a line, the innermost first, without brackets."""
        found: list[int] = []
        line = self.parents[line]
        while line >= 0 and len(found) < AROUND_MAX:
            if not _is_bracket(self.lines[line]):
                found.append(line)
            line = self.parents[line]
        return found

    def blocks(self) -> list[tuple[int, int]]:
        """Return the lines that open blocks of two or more lines, with the lines after these, in order."""
        ends: dict[int, int] = {}
        for line in reversed(self.filled):
            parent = self.parents[line]
            if parent >= 0:
                ends[parent] = max(ends.get(parent, 0), ends.get(line, line + 1))
        return sorted((head, end) for head, end in ends.items() if end - head > 2)

    def lines_with(self, term: Term) -> list[int]:
        """Return the lines in which a term occurs, in order, once for each occurrence."""
        text, lower, starts = self._joined
        return [bisect_right(starts, place) - 1 for place in places_of(term, text, lower)]

    def shown(self, line: int) -> str:
        """Return a line as it is shown: with its number, but for prose."""
        text = self.lines[line]
        if self.is_clipped(line):
            text = f"{text[: CLIPPED // 2]} … {text[-CLIPPED // 2 :]}"
        return text if self.kind == "prose" else f"{self.numbers[line] + 1:>{self.width}}  {text}"

    def is_clipped(self, line: int) -> bool:
        """Whether only both ends of a line are shown, which is so for long lines of logs."""
        return self.kind == "log" and len(self.lines[line]) > LONG_LINE

    def gap(self, lines: int) -> str:
        """Return the mark for a number of omitted lines."""
        return "…" if self.kind == "prose" else f"{'…':>{self.width}}  {lines:,} line{'s' * (lines != 1)}"

    @cached_property
    def _joined(self) -> tuple[str, str, list[int]]:
        """The lines as one text, the same in lower case, and the offsets where lines begin in it."""
        text = "\n".join(self.lines)
        starts = list(accumulate((len(line) + 1 for line in self.lines), initial=0))
        return text, lower_of(text), starts


def indent_of(line: str) -> int:
    """Return the indentation of a line in columns, -1 for a blank line."""
    stripped = line.lstrip()
    if not stripped:
        return -1
    columns = len(line) - len(stripped)
    return len(line[:columns].expandtabs(TAB)) if "\t" in line[:columns] else columns


def _nested(lines: Sequence[str], heading: re.Pattern[str]) -> list[int]:
    """Return the indentation of lines, with those below a heading inside of it."""
    indents: list[int] = []
    levels: dict[str, int] = {}
    fenced = False
    for line in lines:
        indent, rule = indent_of(line), line.rstrip()
        fenced ^= line.lstrip().startswith(_FENCES)
        marked = None if fenced else heading.match(line)
        if marked:
            indents.append(len(marked[1]) - 1)
        elif _RULE.fullmatch(rule) and indents and indents[-1] == BODY and not fenced:
            indents[-1] = levels.setdefault(rule[0], len(levels))
            indents.append(BODY)
        else:
            indents.append(indent + BODY if indent >= 0 else -1)
    return indents


def _sentences(line: str) -> list[str]:
    """Return a line of prose, divided at the ends of its sentences if it is long."""
    return _END.split(line) if len(line) >= SENTENCES_MIN else [line]


def _is_bracket(line: str) -> bool:
    stripped = line.strip()
    return len(stripped) <= 3 and all(character in _BRACKETS for character in stripped)


def kind_of(path: str, text: str) -> TextKind:
    """Return the kind of a text by its path and content."""
    name = path.rpartition("/")[2].lower()
    if _LOG_NAME.search(name):
        return "log"
    if _DATA_NAME.search(name):
        return "data"
    language = language_of(path, text[:256].encode("utf-8", "replace"))
    if language in _DATA:
        return "data"
    if language not in _PROSE:
        return "code"
    if language in ("", "text") and _is_log(text):
        return "log"
    return "prose" if language else _kind_of_unknown(text)


def _is_log(text: str) -> bool:
    lines = [line for line in text[:HEAD].split("\n")[:60] if line.strip()]
    return len(lines) >= 3 and 2 * sum(bool(_LOG_LINE.match(line)) for line in lines) > len(lines)


def _kind_of_unknown(text: str) -> TextKind:
    """Return whether a text of unknown type is code, data or prose, judged by the ends of its lines."""
    head = text[:HEAD].lstrip()
    if head[:1] in ("{", "[", "<"):
        return "data"
    lines = [line.rstrip() for line in head.split("\n")[:200] if line.strip()]
    codelike = sum(line[-1] in ";{}),:" or line[:1] in "\t#" for line in lines)
    return "code" if lines and 2 * codelike > len(lines) else "prose"


_PROSE = frozenset({"markdown", "mdx", "restructuredtext", "text", "latex", ""})
_DATA = frozenset({"json", "json5", "jsonc", "jsonl", "yaml", "toml", "ini", "xml", "diff", "notebook"})
_DATA_NAME = re.compile(r"\.(?:csv|tsv|tab|geojson|svg|po|pot|lock|sum|properties|env|plist)$")
_LOG_NAME = re.compile(r"\.(?:log|out|err|trace)(?:\.[0-9]{1,8})?$|(?:^|[-_.])log\.txt$")
_LOG_LINE = re.compile(
    r"(?:\[?[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}[T ][0-9]{2}:[0-9]{2}|[0-9]{2}:[0-9]{2}:[0-9]{2}[.,: ]"
    r"|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +[0-9]{1,2} [0-9]{2}:[0-9]{2}"
    r"|\[?(?:ERROR|WARN|WARNING|INFO|DEBUG|TRACE|FATAL|CRITICAL)\b)"
)
_BRACKETS = frozenset("(){}[];,")
_FENCES = ("```", "~~~")
_HEADING = re.compile(r"(#{1,6})[ \t]+\S")
_SECTION = re.compile(r"(\[)\[?[^\[\]]+\]?\][ \t]*$")
_RULE = re.compile(r"=+|-{3,}|~{3,}|\^{3,}|\"{3,}|\+{3,}|\*{3,}")
_END = re.compile(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!etc\.)[ ]+(?=[A-Z0-9\"'(\[`*_])")
