"""What names may mean, and what a language says about that: the defaults, which its file overrides.

linking/ follows chains with these rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import Enum, auto
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from ...core.vocabulary import words
from .references import LITERALS, Binding, Export

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
    """One thing that a chain may mean.

    A `DEFINITION` is that of `name` in the file `path`; an `INSTANCE` one of that class; a `MODULE` the file,
    or the package whose files lie in the folder `path` (with its slash). `SUPER` is an object of that class
    seen as its bases see it. `ELEMENTS` is a container, or one of its methods: `element` is what it holds.
    `EXTERNAL` certainly lies outside of the project; `name` is what it is called there. A `receiver` is the
    class, as path and name, through which a method was found: what it returns may depend on it.
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
"""Methods of a container that give one of its elements, in whatever language."""

ELEMENT_METHOD: Final = "()"
"""The name that all of them go by in a value."""

Values = tuple[Value, ...]
"""What a chain may mean, the likeliest first; empty where nothing is known."""


UNKNOWN_VALUE: Final[Values] = ()


VALUES_MAX: Final = 4
"""Maximum number of alternatives that are followed; more would be guessing."""


def external(name: str = "") -> Values:
    """Return a value that certainly lies outside of the project."""
    return (Value(What.EXTERNAL, "", name),)


def called_external(name: str) -> Values:
    """Return the result of calling something outside: an object if it is a class, else unknown."""
    return external(name) if name.rpartition(".")[2][:1].isupper() else UNKNOWN_VALUE


def merged(groups: Iterable[Values]) -> Values:
    """Return the alternatives of several without repetitions; what is outside only if nothing is inside."""
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
    """The files that an import means, none if it doesn't resolve; `internal` says that it certainly meant one
    of this project all the same."""

    paths: tuple[str, ...]
    internal: bool


class World(Protocol):
    """What is known of a project's files; cheap to ask."""

    def interface(self, path: str) -> FileInterface | None:
        """Return what a file shows to others, or None if it isn't known."""

    def module(self, importer: str, language: str, module: str, name: str = "") -> ModuleFiles:
        """Return the files that an import means: a module, or a name of it that is a file of its own."""

    def siblings(self, path: str) -> tuple[str, ...]:
        """Return the files of the same language in the same folder, sorted, the file itself included."""


class NameLookup(World, Protocol):
    """What rules may ask while a reference is followed; the evaluator answers."""

    def spend(self, steps: int = 1) -> bool:
        """Count steps; return whether the reference may take another."""

    def is_too_deep(self, depth: int) -> bool:
        """Return whether something lies too many steps away to be looked at."""

    def top(self, path: str, name: str, depth: int = 0, *, builtins: bool = True) -> Values:
        """Return what a name means at the top of a file; with `builtins` also what the language brings."""

    def defined(self, path: str, interface: FileInterface, name: str, depth: int) -> Values:
        """Return what a name means that a file defines or assigns, whatever it imports."""

    def bound_in(self, path: str, interface: FileInterface) -> dict[str, list[Binding]]:
        """Return the bindings of a whole file by the names that they bring in."""

    def exports_in(self, path: str, interface: FileInterface) -> dict[str, list[Export]]:
        """Return the exports of a file by their names."""

    def module_member(self, path: str, name: str, depth: int = 0) -> Values:
        """Return what others see under a name in a file."""

    def member(self, value: Value, name: str, depth: int) -> Values:
        """Return a member of a value."""

    def class_member(self, path: str, name: str, member: str, depth: int, *, above: bool = False) -> Values:
        """Return a member of a class or of those above it; with `above` only of those."""

    def follow(self, chain: str, path: str, lookup: Callable[[str], Values], depth: int = 0) -> Values:
        """Return what a chain means in a file; `lookup` says what its first name means there."""


class LinkRules:
    """How names are looked up in one language; the defaults suit most languages."""

    self_names: frozenset[str] = frozenset({"self", "this"})
    """Names of the object whose method runs."""

    class_names: frozenset[str] = frozenset({"Self"})
    """Names of its class."""

    parts_max: int = 0
    """Maximum number of files in a folder whose classes may have parts in its other files; 0 where the
    language has no such parts."""

    super_names: frozenset[str] = frozenset({"super", "base"})
    implicit_members: bool = False
    """Whether a bare name may be a member of the class around it."""

    block_scoped: bool = False
    """Whether a name at the top may be hidden in blocks and in functions that have no name."""

    methods_apart: bool = False
    """Whether methods have names of their own, so that no variable hides one that is called."""

    wildcards_are_files: bool = True
    """Whether a wildcard brings in what whole files have at their top, and nothing else."""

    passes_imports_on: bool = True
    """Whether importing a file also brings in what that file imports."""

    class_kinds: frozenset[str] = CLASS_KINDS
    opaque_types: frozenset[str] = frozenset({"Any", "object", "Object", "any", "unknown", "never", "T"})
    """Types that say nothing about an object."""

    def ambient(self, evaluator: NameLookup, path: str, name: str) -> Values:
        """Return what a name means that its file doesn't introduce: a neighbour's definition or a builtin."""
        return UNKNOWN_VALUE

    def literal(self, root: str) -> Values:
        """Return the value of a literal at the beginning of a chain."""
        return external(root) if root in LITERALS else UNKNOWN_VALUE

    def imported(
        self, evaluator: NameLookup, path: str, language: str, module: str, name: str, depth: int
    ) -> Values:
        """Return what `name` of a module means where the file `path` imports it; `*` is the module itself."""
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
        """Return what others see under a name in a file: by default all that its top has."""
        if not self.passes_imports_on:
            return evaluator.defined(path, interface, name, depth)
        return evaluator.top(path, name, depth, builtins=False)

    def wildcard_files(self, evaluator: NameLookup, path: str, interface: FileInterface) -> Iterator[str]:
        """Yield the files whose names come into a file without being named there."""
        for binding in evaluator.bound_in(path, interface).get("*", ()):
            yield from evaluator.module(path, interface.language, binding.module).paths

    def parts(self, evaluator: NameLookup, path: str, name: str) -> tuple[str, ...]:
        """Return the files in which a class of a file may have members, its own first."""
        if not self.parts_max:
            return (path,)
        siblings = evaluator.siblings(path)
        if len(siblings) > self.parts_max:
            return (path,)
        return (path, *(each for each in siblings if each != path and self.adds_to(evaluator, each, name)))

    def adds_to(self, evaluator: NameLookup, path: str, name: str) -> bool:
        """Return whether another file of the folder has members of a class; `parts_max` bounds the search."""
        return False
