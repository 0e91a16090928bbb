"""The records of what a source file refers to, as written and not yet resolved.

A *chain* is an expression reduced to what names can be followed: parts joined by `.`, whatever a language
writes between them (`::`, `->`, `?.`). A part is a name; behind it stand `()` for a call and `[]` for an
element, with nothing inside. Type arguments, casts of nothing, `await`, `new` and parentheses around one
chain are left out, so `new Foo<T>(x).bar[0]?.baz` is `Foo().bar[].baz`. What has no name to follow begins
with one of `LITERALS` (a value of the language itself) or is `UNKNOWN`: `"".join` is `''.join`,
`(a or b).get` is `?.get`. A chain is at most `CHAIN_MAX` characters.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from msgspec import Struct

UNKNOWN: Final = "?"
LITERALS: Final = frozenset({"''", "0", "[]", "{}"})
"""What chains of literals begin with: strings, numbers and constants of the language, lists, maps."""

JOINT: Final = "·"
"""Stands for a dot inside of a name that has some: that of an Elixir module."""

CHAIN_MAX: Final = 200

ReferenceKind = Literal["call", "inherit", "decorate", "type", "use"]
"""`call` calls or constructs what the chain leads to, `inherit` extends, implements or mixes it in,
`decorate` puts it above a definition, `type` names it in a type, `use` reads it otherwise (a callback, a
constant)."""


class Reference(NamedTuple):
    """One place that refers to something.

    `line` counts from 1, `scope` is the index of the innermost symbol around it in the file's symbols, -1 at
    the top. For `call` the chain is what is called, without the last `()`.
    """

    line: int
    kind: ReferenceKind
    chain: str
    scope: int


class Binding(NamedTuple):
    """A name that an import brings into a file.

    `module` is the specifier as in `Import.module`; `imported` what is taken from it: a name, `*` for the
    module as a whole, `default` for a module's one export. `name` is the name here, `*` when all names of the
    module come in. `scope` is where it holds, -1 for the whole file.
    """

    name: str
    module: str
    imported: str
    scope: int = -1


class Export(NamedTuple):
    """A name that a file gives to others where the language says so beside the definitions (JavaScript).

    `module` is empty for what stands in this file, then `imported` is a chain in it; else the export is
    passed on from there as with `Binding`. `name` may be `default`, and `*` for all names of `module`.
    """

    name: str
    module: str
    imported: str


class TypeFact(NamedTuple):
    """What is evident of a variable: of what type it is, or which expression it is bound to.

    `name` is a local variable or parameter, a variable at the top, an attribute of what encloses it as
    `self.x` (whatever the language calls itself), or `()` for what `scope` returns. With `is_type` the
    chain names a type of which it is an instance (`x: Foo`), else an expression (`x = Foo()`); a
    container is `list[].Foo` where its elements are of type Foo. An empty chain says that the name is a
    variable of which nothing is known, so that it hides what has its name further out."""

    name: str
    chain: str
    is_type: bool
    line: int
    scope: int


class References(Struct, frozen=True):
    """All that one file refers to, each in source order."""

    references: tuple[Reference, ...] = ()
    bindings: tuple[Binding, ...] = ()
    exports: tuple[Export, ...] = ()
    types: tuple[TypeFact, ...] = ()
    package: str = ""
    """The package or namespace that the file says it belongs to (`com.shop.auth`), if it says any."""


NOTHING: Final = References()
