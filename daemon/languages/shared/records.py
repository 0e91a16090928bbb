"""The records of a parsed source (definitions, imports, split points), and the nesting of definitions."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from msgspec import Struct

UNKNOWN: Final = "?"
LITERALS: Final = frozenset({"''", "0", "[]", "{}"})
"""Chains of literals begin with one of these: strings, numbers and constants, lists, maps."""

JOINT: Final = "·"
"""Replaces the dots inside the name of an Elixir module."""

CHAIN_MAX: Final = 200

ReferenceKind = Literal["call", "inherit", "decorate", "type", "use"]
"""`call` calls or constructs the target, `inherit` extends, implements or mixes it in, `decorate` uses it as
a decorator, `type` names it in a type, `use` reads it otherwise (a callback, a constant)."""


class Reference(NamedTuple):
    """A reference in a source.

    `line` counts from 1, `scope` is the index of the innermost symbol around it in the file's symbols, -1 at
    the top. The chain of a `call` is its target, without the last `()`.
    """

    line: int
    kind: ReferenceKind
    chain: str
    scope: int


class Binding(NamedTuple):
    """A name that an import introduces in a file.

    `module` is the specifier as in `Import.module`; `imported` is the imported name, `*` for the module as a
    whole, `default` for its default export. `name` is the name in this file, `*` for all names of the module.
    `scope` is the symbol in which it is valid, -1 for the whole file.
    """

    name: str
    module: str
    imported: str
    scope: int = -1


class Export(NamedTuple):
    """A name that a file exports by a statement apart from its definition (JavaScript).

    If `module` is empty, `imported` is a chain in this file; otherwise the name is re-exported from that
    module as with `Binding`. `name` may be `default`, and `*` for all names of `module`.
    """

    name: str
    module: str
    imported: str


class TypeFact(NamedTuple):
    """Evidence for a variable: its type, or the expression that it is bound to.

    `name` is a local variable or parameter, a variable at the top, an attribute of the enclosing object as
    `self.x` (whatever the language calls it), or `()` for the result of `scope`. With `is_type` the chain
    names the variable's type (`x: Foo`), else an expression (`x = Foo()`); a container is `list[].Foo` if its
    elements are of type Foo. An empty chain is a variable with an unknown value, which shadows outer
    variables of its name.
    """

    name: str
    chain: str
    is_type: bool
    line: int
    scope: int


class References(Struct, frozen=True):
    """All references and facts of a file, each in source order."""

    references: tuple[Reference, ...] = ()
    bindings: tuple[Binding, ...] = ()
    exports: tuple[Export, ...] = ()
    types: tuple[TypeFact, ...] = ()
    package: str = ""
    """The package or namespace that the file declares (`com.shop.auth`), if any."""


NOTHING: Final = References()


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
