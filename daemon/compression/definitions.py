"""Owns the definitions of a text: where they lie, which one each line belongs to, what prompts say of them.

They come from the parser's symbols, or, where there are none, from what the indentation opens.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from ..core.lazy_dataclass import dataclass
from ..project.tree import Symbol
from .document import NO_LINE, Document
from .prompt_terms import Term

HEAD_LINES = 12
"""A head of more lines is a table of arguments; its first ones tell."""

DOC_SEARCH = 40
"""So many lines above a definition may its documentation begin."""

LONG_BLOCK = 60
"""An unnamed block of more lines is divided into what lies in it."""

DEPTH_MAX = 8
"""Definitions that lie deeper in others are part of these."""

SATURATION = 1.2
LENGTH_SHARE = 0.5
"""BM25's k1 and b: b is lower than usual, since a long function may well be the one that is asked about."""

HEAD_HIT = 3.0
DOC_HIT = 1.5
"""What a term on a definition's head or in its documentation counts, compared with one in its body."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A definition's lines, from 0: `start` to before `end`, its head to before `head_end`.

    `doc` is the line on which its documentation begins, or `NO_LINE`; `outer` the index of the definition
    that it lies in, or -1; `name` as the symbol has it, "" for a block without one.
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
    """The definitions of a document, in the order in which they begin; `owner[i]` is that of line i or -1."""

    def __init__(self, document: Document, symbols: Sequence[Symbol]) -> None:
        self._document = document
        self.all: list[Definition] = []
        code = [symbol for symbol in symbols if symbol.kind != "section"]
        if code:
            self._read_symbols(code)
        else:
            self._read_blocks()
        self.owner = self._owners()
        # The document keeps its definitions: holding it as well, both would stay until cycles are collected.
        del self._document

    def scores(self, document: Document, terms: Sequence[Term]) -> list[float]:
        """Return how near each definition of the document is to the terms, 1 for the nearest one, 0 for those
        without any.

        BM25 over definitions; a term counts more on the head. What a definition holds counts for it as well,
        and a member is nearer if the class around it is.
        """
        found = self.all
        raw = [0.0] * len(found)
        lengths = [max(1, one.end - one.start) for one in found]
        average = sum(lengths) / max(1, len(lengths))
        for term in terms:
            hits = self._hits(document, term)
            rarity = math.log(1 + (len(found) - len(hits) + 0.5) / (len(hits) + 0.5)) if hits else 0.0
            for index, count in hits.items():
                length = 1 - LENGTH_SHARE + LENGTH_SHARE * lengths[index] / average
                raw[index] += term.weight * rarity * count / (count + SATURATION * length)
        for index, one in enumerate(found):
            if one.outer >= 0:
                raw[index] += OUTER_SHARE * raw[one.outer]
        most = max(raw, default=0.0)
        return [score / most for score in raw] if most > 0 else raw

    def _hits(self, document: Document, term: Term) -> dict[int, float]:
        """Return the weighted count of a term in each definition that has it."""
        hits: dict[int, float] = {}
        for line, count in Counter(document.lines_with(term)).items():
            index = self.owner[line]
            first = True
            while index >= 0:
                one = self.all[index]
                weight = 1.0
                if one.head <= line < one.head_end:
                    weight = HEAD_HIT
                elif line == one.doc or line < one.head:
                    weight = DOC_HIT
                hits[index] = hits.get(index, 0.0) + count * (weight if first else INNER_SHARE)
                index, first = one.outer, False
        return hits

    def _read_symbols(self, symbols: Sequence[Symbol]) -> None:
        lines = self._document.lines
        open_ones: list[int] = []
        previous_end = 0
        for symbol in sorted(symbols, key=lambda one: (one.start_line, -one.end_line)):
            first, end = symbol.start_line - 1, min(symbol.end_line, len(lines))
            if not 0 <= first < end:
                continue  # of an older text than this one
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
            self.all.append(Definition(start, end, head, head_end, doc, outer, depth, symbol.name))
            open_ones.append(len(self.all) - 1)

    def _head(self, symbol: Symbol, first: int, end: int) -> int:
        """Return the line of the signature, above which decorators may stand."""
        written = symbol.signature.partition("\n")[0].removesuffix("…")
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

    def _read_blocks(self) -> None:
        """Take what the indentation opens for definitions: at the top, and inside of what is long."""
        document = self._document
        heads = _opening_lines(document)
        open_ones: list[int] = []
        for head, end in heads:
            while open_ones and self.all[open_ones[-1]].end <= head:
                open_ones.pop()
            outer = open_ones[-1] if open_ones else -1
            if len(open_ones) >= DEPTH_MAX or (
                outer >= 0 and self.all[outer].end - self.all[outer].start <= LONG_BLOCK
            ):
                continue
            floor = self.all[outer].head_end if outer >= 0 else (self.all[-1].end if self.all else 0)
            start = self._comment_start(head, min(floor, head))
            one = Definition(start, end, head, head + 1, NO_LINE, outer, len(open_ones), "")
            self.all.append(one)
            open_ones.append(len(self.all) - 1)

    def _owners(self) -> list[int]:
        owner = [-1] * len(self._document.lines)
        for index, one in enumerate(self.all):
            # Inner ones come later, and overwrite the part that is theirs.
            owner[one.start : one.end] = [index] * (one.end - one.start)
        return owner


OUTER_SHARE = 0.25
INNER_SHARE = 0.5
"""What of a class's score its members have too, and of a member's terms its class."""

COMMENT_MARKS = ("#", "//", "/*", "*", "--", ";;", '"""', "@")


def _opening_lines(document: Document) -> list[tuple[int, int]]:
    """Return the lines that open blocks of two lines or more, with where these end, in order."""
    blocks = document.blocks
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
