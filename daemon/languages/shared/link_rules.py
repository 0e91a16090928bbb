"""What a language says about names when references are linked: the defaults, which its file overrides.

`values.py` are what names may mean; linking/ follows chains with these rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from .references import LITERALS, Binding, Export
from .values import UNKNOWN_VALUE, Value, Values, What, external

if TYPE_CHECKING:
    from .interface import FileInterface

CLASS_KINDS: Final = frozenset(
    {"class", "struct", "union", "interface", "trait", "protocol", "enum", "record", "object", "type"}
)
"""Kinds of definitions that have members and instances."""


class ModuleFiles(NamedTuple):
    """The files that an import means, none if it doesn't resolve; `internal` says that it certainly meant one
    of this project all the same."""

    paths: tuple[str, ...]
    internal: bool


class NameLookup(Protocol):
    """What rules ask about the files of a project while a reference is followed."""

    def interface(self, path: str) -> FileInterface | None:
        """Return what a file shows to others, or None if it isn't known."""

    def module(self, importer: str, language: str, module: str, name: str = "") -> ModuleFiles:
        """Return the files that an import means: a module, or a name of it that is a file of its own."""

    def siblings(self, path: str) -> tuple[str, ...]:
        """Return the files of the same language in the same folder, sorted, the file itself included."""

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
    """How names are looked up in one language; the defaults are those that most have in common."""

    self_names: frozenset[str] = frozenset({"self", "this"})
    """What the object is called whose code runs."""

    class_names: frozenset[str] = frozenset({"Self"})
    """What its class is called."""

    parts_max: int = 0
    """Maximum number of files of a folder in which a class may have further parts; larger folders hold no
    one's parts, and with 0 none does."""

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
    """Whether who imports a file also sees what that file imports."""

    class_kinds: frozenset[str] = CLASS_KINDS
    opaque_types: frozenset[str] = frozenset({"Any", "object", "Object", "any", "unknown", "never", "T"})
    """Types of which an object says nothing: it may be of any."""

    def ambient(self, evaluator: NameLookup, path: str, name: str) -> Values:
        """Return what a name means that nothing in its file introduces: that of a neighbour, or a builtin."""
        return UNKNOWN_VALUE

    def literal(self, root: str) -> Values:
        """Return what a chain of a literal begins with."""
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
        """Whether another file of the folder has members of a class; asked where `parts_max` says so."""
        return False
