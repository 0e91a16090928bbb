"""The records of a source file's references, as written and not yet resolved.

A *chain* is an expression reduced to the names that can be followed: parts joined by `.`, whatever a language
writes between them (`::`, `->`, `?.`). A part is a name, followed by `()` for a call and `[]` for an element,
with nothing inside. Type arguments, casts of nothing, `await`, `new` and parentheses around a single chain
are dropped, so `new Foo<T>(x).bar[0]?.baz` is `Foo().bar[].baz`. An expression without a name to follow
begins with one of `LITERALS` (a value of the language itself) or is `UNKNOWN`: `"".join` is `''.join`, `(a or
b).get` is `?.get`. A chain has at most `CHAIN_MAX` characters.
"""

from __future__ import annotations

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
