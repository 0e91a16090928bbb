"""Owns the definitions of a text: where they lie, which one each line belongs to, what prompts say of them.

They come from the parser's symbols, or, where there are none, from what the indentation opens.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ..project.tree import Symbol
from .document import NO_LINE, Blocks, Document

HEAD_LINES = 12
"""A head of more lines is a table of arguments; its first ones tell."""

DOC_SEARCH = 40
"""Maximum number of lines above a definition where its documentation may begin."""

LONG_BLOCK = 60
"""An unnamed block of more lines is divided into what lies in it."""

DEPTH_MAX = 8
"""Definitions that lie deeper in others are part of these."""

NAME_MIN = 3
"""A shorter name stands in too many texts to say that a definition is called."""


class DefinitionLines(Struct, frozen=True):
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
    """The definitions of a document, in the order in which they begin; `owner[i]` is that of line i or -1,
    `by_name` finds them by their last names."""

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
        for index, one in enumerate(self.all):
            name = one.name.rpartition(".")[2].partition("~")[0]
            if len(name) >= NAME_MIN:
                self.by_name.setdefault(name, []).append(index)
        # The document keeps its definitions: holding it as well, both would stay until cycles are collected.
        del self._document

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
            self.all.append(DefinitionLines(start, end, head, head_end, doc, outer, depth, symbol.name))
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

    def _read_blocks(self, blocks: Blocks) -> None:
        """Take what the indentation opens for definitions: at the top, and inside of what is long."""
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
            one = DefinitionLines(start, end, head, head + 1, NO_LINE, outer, len(open_ones), "")
            self.all.append(one)
            open_ones.append(len(self.all) - 1)

    def _owners(self) -> list[int]:
        owner = [-1] * len(self._document.lines)
        for index, one in enumerate(self.all):
            # Inner ones come later, and overwrite the part that is theirs.
            owner[one.start : one.end] = [index] * (one.end - one.start)
        return owner


COMMENT_MARKS = ("#", "//", "/*", "*", "--", ";;", '"""', "@")


def _opening_lines(blocks: Blocks) -> list[tuple[int, int]]:
    """Return the lines that open blocks of two lines or more, with where these end, in order."""
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
