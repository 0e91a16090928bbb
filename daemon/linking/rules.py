"""Owns what a language says about names: the defaults, which a file a language overrides."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from ..project.references import LITERALS
from .interface import FileInterface
from .values import UNKNOWN_VALUE, Value, Values, What, external

if TYPE_CHECKING:
    from .evaluator import Evaluator

CLASS_KINDS: Final = frozenset(
    {"class", "struct", "union", "interface", "trait", "protocol", "enum", "record", "object", "type"}
)
"""Kinds of definitions that have members and instances."""


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

    def ambient(self, evaluator: Evaluator, path: str, name: str) -> Values:
        """Return what a name means that nothing in its file introduces: that of a neighbour, or a builtin."""
        return UNKNOWN_VALUE

    def literal(self, root: str) -> Values:
        """Return what a chain of a literal begins with."""
        return external(root) if root in LITERALS else UNKNOWN_VALUE

    def imported(
        self, evaluator: Evaluator, path: str, language: str, module: str, name: str, depth: int
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
        self, evaluator: Evaluator, path: str, interface: FileInterface, name: str, depth: int
    ) -> Values:
        """Return what others see under a name in a file: by default all that its top has."""
        if not self.passes_imports_on:
            return evaluator.defined(path, interface, name, depth)
        return evaluator.top(path, name, depth, builtins=False)

    def wildcard_files(self, evaluator: Evaluator, path: str, interface: FileInterface) -> Iterator[str]:
        """Yield the files whose names come into a file without being named there."""
        for binding in evaluator.bound_in(path, interface).get("*", ()):
            yield from evaluator.module(path, interface.language, binding.module).paths

    def parts(self, evaluator: Evaluator, path: str, name: str) -> tuple[str, ...]:
        """Return the files in which a class of a file may have members, its own first."""
        if not self.parts_max:
            return (path,)
        siblings = evaluator.siblings(path)
        if len(siblings) > self.parts_max:
            return (path,)
        return (path, *(each for each in siblings if each != path and self.adds_to(evaluator, each, name)))

    def adds_to(self, evaluator: Evaluator, path: str, name: str) -> bool:
        """Whether another file of the folder has members of a class; asked where `parts_max` says so."""
        return False
