"""The records of a parsed source (definitions, imports, split points), and the nesting of definitions."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct

from .references import NOTHING, References


class Symbol(Struct, frozen=True):
    """A definition in a source file, or a section of a document.

    Lines are counted from 1 and inclusive. `name` is qualified within the file: `Session.login` for code,
    `Tokens/Refresh` for a Markdown section; the node id is `path#name`. A second definition of the same
    name in a file is `name~2`, so that ids stay unique. `signature` is the definition's head without its
    body, as written but with its own indentation removed, at most 400 characters; for a section it is the
    heading line. `doc` is the first line of its documentation, or empty.
    """

    name: str
    kind: str
    start_line: int
    end_line: int
    signature: str
    doc: str
    depth: int
    """0 for a top-level definition, 1 for its members, and so on; for a section its level minus 1."""


class Import(Struct, frozen=True):
    """One import of a source file, as written and not yet resolved.

    `module` is the specifier: `pkg.auth`, `.auth`, `./auth.js`, `github.com/x/auth`. `name` is the single
    name taken from it where the language has one that could itself be a file (`from pkg import auth`),
    else empty. `required` is false for such a name, which usually is no file: its absence is no error.
    """

    module: str
    name: str
    line: int
    required: bool = True


class SplitPoint(NamedTuple):
    """A line, from 1, at which a statement or a member begins, and its depth in the syntax tree."""

    line: int
    depth: int


class ParsedFile(Struct, frozen=True):
    """The result of parsing a file: its definitions in source order, its imports, its number of lines."""

    symbols: tuple[Symbol, ...]
    imports: tuple[Import, ...]
    lines: int
    broken: bool = False
    """The syntax tree had errors; the readable parts are included."""
    split_points: tuple[SplitPoint, ...] = ()
    """Points at which code may be split into chunks; empty for documents and without a syntax tree."""
    references: References = NOTHING


class Owners:
    """The nesting of a file's symbols, which are in source order; each is given by its index, -1 is the
    file."""

    def __init__(self, symbols: Sequence[Symbol]) -> None:
        self._outer: list[int] = []
        stack: list[int] = []
        starts: list[tuple[int, int]] = []
        for index, symbol in enumerate(symbols):
            while stack and symbols[stack[-1]].end_line < symbol.start_line:
                ended = stack.pop()
                starts.append((symbols[ended].end_line + 1, stack[-1] if stack else -1))
            self._outer.append(stack[-1] if stack else -1)
            starts.append((symbol.start_line, index))
            stack.append(index)
        while stack:
            ended = stack.pop()
            starts.append((symbols[ended].end_line + 1, stack[-1] if stack else -1))
        self._lines = [line for line, _ in starts]
        self._inner = [index for _, index in starts]

    def around(self, line: int) -> int:
        """Return the index of the innermost symbol around a line, -1 for none."""
        at = bisect_right(self._lines, line) - 1
        return self._inner[at] if at >= 0 else -1

    def outer(self, index: int) -> int:
        """Return the index of the symbol around a symbol, -1 for none."""
        return self._outer[index]
