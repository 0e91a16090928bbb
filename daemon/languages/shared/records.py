"""The records of what a source holds: definitions, imports and where it may be cut."""

from __future__ import annotations

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
    """0 for a top-level definition, 1 for a member of one, and so on; for a section its level less one."""


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
    """A line, from 1, at which a statement or a member begins, and how deep in the syntax tree it lies."""

    line: int
    depth: int


class ParsedFile(Struct, frozen=True):
    """What was read out of one file: its definitions in source order, its imports, its count of lines."""

    symbols: tuple[Symbol, ...]
    imports: tuple[Import, ...]
    lines: int
    broken: bool = False
    """The syntax tree had errors; what parsed is here all the same."""
    split_points: tuple[SplitPoint, ...] = ()
    """Where code may be cut, see split_points.py; empty for documents and where there is no syntax tree."""
    references: References = NOTHING
