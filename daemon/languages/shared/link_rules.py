"""The values of names, and a language's link rules: the defaults, which its file overrides.

linking/ evaluates chains with these rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import Enum, auto
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from ...core.vocabulary import words
from .records import LITERALS, Binding, Export

if TYPE_CHECKING:
    from .interface import FileInterface


class What(Enum):
    """The kinds of values."""

    DEFINITION = auto()
    INSTANCE = auto()
    MODULE = auto()
    SUPER = auto()
    ELEMENTS = auto()
    EXTERNAL = auto()

    __hash__ = object.__hash__  # by identity, in C: values are looked up a million times


class Value(NamedTuple):
    """A possible meaning of a chain.

    A `DEFINITION` is that of `name` in the file `path`; an `INSTANCE` is an object of that class; a `MODULE`
    is the file, or the package whose files are in the folder `path` (with its slash). `SUPER` is an object of
    that class as its bases see it. `ELEMENTS` is a container, or one of its methods; `element` is its
    element. `EXTERNAL` certainly lies outside of the project, where it is called `name`. `receiver` is the
    class, as path and name, through which a method was found: the result of the method may depend on it.
    """

    what: What
    path: str = ""
    name: str = ""
    receiver: tuple[str, str] = ("", "")
    element: tuple[Value, ...] = ()


ELEMENT_METHODS: Final = words(
    """
    get pop popleft setdefault first last next at find shift peek poll getFirst getLast unwrap
    expect unwrap_or_default iter cloned clone as_ref as_mut
    """
)
"""Methods of a container that return one of its elements, in any language."""

ELEMENT_METHOD: Final = "()"
"""The name of all these methods in a value."""

Values = tuple[Value, ...]
"""The possible meanings of a chain, the likeliest first; empty if unknown."""


UNKNOWN_VALUE: Final[Values] = ()


VALUES_MAX: Final = 4
"""Maximum number of alternatives followed; more would be guessing."""


def external(name: str = "") -> Values:
    """Return a value that certainly lies outside of the project."""
    return (Value(What.EXTERNAL, "", name),)


def called_external(name: str) -> Values:
    """Return the result of calling an external name: an object if it is a class, else unknown."""
    return external(name) if name.rpartition(".")[2][:1].isupper() else UNKNOWN_VALUE


def merged(groups: Iterable[Values]) -> Values:
    """Return all alternatives without duplicates; external ones only if there are no others."""
    found = dict.fromkeys(value for values in groups for value in values)
    inside = tuple(value for value in found if value.what is not What.EXTERNAL)
    return (inside or tuple(found))[:VALUES_MAX]


def is_external(values: Values) -> bool:
    """Return whether all values lie outside of the project."""
    return bool(values) and all(value.what is What.EXTERNAL for value in values)


CLASS_KINDS: Final = frozenset(
    {"class", "struct", "union", "interface", "trait", "protocol", "enum", "record", "object", "type"}
)
"""Kinds of definitions that have members and instances."""


class ModuleFiles(NamedTuple):
    """The files that an import means, none if it is unresolved; `internal` says that it certainly means a
    file of this project."""

    paths: tuple[str, ...]
    internal: bool


class LinkerView(Protocol):
    """The known facts about a project's files; cheap to query."""

    def interface(self, path: str) -> FileInterface | None:
        """Return a file's interface, or None if it isn't known."""

    def module(self, importer: str, language: str, module: str, name: str = "") -> ModuleFiles:
        """Return the files that an import means: a module, or a name of it that is a file of its own."""

    def siblings(self, path: str) -> tuple[str, ...]:
        """Return the files of the same language in the same folder, sorted, the file itself included."""


class NameLookup(LinkerView, Protocol):
    """The lookups that rules may use while a reference is evaluated; the evaluator implements them."""

    def spend(self, steps: int = 1) -> bool:
        """Count steps; return whether the reference has any left."""

    def is_too_deep(self, depth: int) -> bool:
        """Return whether a depth exceeds the limit."""

    def top(self, path: str, name: str, depth: int = 0, *, builtins: bool = True) -> Values:
        """Return the meaning of a name at the top of a file; with `builtins` also builtin names."""

    def defined(self, path: str, interface: FileInterface, name: str, depth: int) -> Values:
        """Return the meaning of a name that a file defines or assigns, ignoring its imports."""

    def bound_in(self, path: str, interface: FileInterface) -> dict[str, list[Binding]]:
        """Return a file's top-level bindings by the names they introduce."""

    def exports_in(self, path: str, interface: FileInterface) -> dict[str, list[Export]]:
        """Return a file's exports by name."""

    def module_member(self, path: str, name: str, depth: int = 0) -> Values:
        """Return the meaning of a name of a file for its importers."""

    def member(self, value: Value, name: str, depth: int) -> Values:
        """Return a member of a value."""

    def class_member(self, path: str, name: str, member: str, depth: int, *, above: bool = False) -> Values:
        """Return a member of a class or its superclasses; with `above` only of the superclasses."""

    def follow(self, chain: str, path: str, lookup: Callable[[str], Values], depth: int = 0) -> Values:
        """Return the meaning of a chain in a file; `lookup` resolves its first name."""


class LinkRules:
    """The rules of name lookup in a language; the defaults suit most languages."""

    self_names: frozenset[str] = frozenset({"self", "this"})
    """Names of a method's receiver."""

    class_names: frozenset[str] = frozenset({"Self"})
    """Names of the receiver's class."""

    parts_max: int = 0
    """Maximum number of files in a folder that are searched for parts of a class; 0 for languages without
    such parts."""

    super_names: frozenset[str] = frozenset({"super", "base"})
    implicit_members: bool = False
    """Whether a bare name may be a member of the enclosing class."""

    block_scoped: bool = False
    """Whether a top-level name may be shadowed in blocks and anonymous functions."""

    methods_apart: bool = False
    """Whether methods have a namespace of their own, so that a variable never shadows a called method."""

    wildcards_are_files: bool = True
    """Whether a wildcard imports the top-level names of whole files, and nothing else."""

    passes_imports_on: bool = True
    """Whether an import also brings in the imported file's own imports."""

    class_kinds: frozenset[str] = CLASS_KINDS
    opaque_types: frozenset[str] = frozenset({"Any", "object", "Object", "any", "unknown", "never", "T"})
    """Types that say nothing about an object."""

    def ambient(self, evaluator: NameLookup, path: str, name: str) -> Values:
        """Return the meaning of a name that its file doesn't introduce: a neighbour's definition or a
        builtin."""
        return UNKNOWN_VALUE

    def literal(self, root: str) -> Values:
        """Return the value of a literal at the beginning of a chain."""
        return external(root) if root in LITERALS else UNKNOWN_VALUE

    def imported(
        self, evaluator: NameLookup, path: str, language: str, module: str, name: str, depth: int
    ) -> Values:
        """Return the meaning of `name` of a module that the file `path` imports; `*` is the module itself."""
        found = evaluator.module(path, language, module)
        if not found.paths:
            return UNKNOWN_VALUE if found.internal else external(f"{module}.{name}")
        if name == "*":
            return tuple(Value(What.MODULE, each) for each in found.paths)
        for each in found.paths:
            if not evaluator.spend():
                break
            if values := evaluator.module_member(each, name, depth):
                return values
        return UNKNOWN_VALUE

    def module_members(
        self, evaluator: NameLookup, path: str, interface: FileInterface, name: str, depth: int
    ) -> Values:
        """Return the meaning of a name of a file for its importers: by default any top-level name."""
        if not self.passes_imports_on:
            return evaluator.defined(path, interface, name, depth)
        return evaluator.top(path, name, depth, builtins=False)

    def wildcard_files(self, evaluator: NameLookup, path: str, interface: FileInterface) -> Iterator[str]:
        """Yield the files whose names are visible in a file without being named there."""
        for binding in evaluator.bound_in(path, interface).get("*", ()):
            yield from evaluator.module(path, interface.language, binding.module).paths

    def parts(self, evaluator: NameLookup, path: str, name: str) -> tuple[str, ...]:
        """Return the files that may hold members of a file's class, its own first."""
        if not self.parts_max:
            return (path,)
        siblings = evaluator.siblings(path)
        if len(siblings) > self.parts_max:
            return (path,)
        return (path, *(each for each in siblings if each != path and self.adds_to(evaluator, each, name)))

    def adds_to(self, evaluator: NameLookup, path: str, name: str) -> bool:
        """Return whether another file of the folder has members of a class; `parts_max` bounds the search."""
        return False
