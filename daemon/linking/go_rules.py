"""Owns what Go says about names: packages of several files, methods anywhere in them, builtins."""

from __future__ import annotations

from ..project.vocabulary import words
from .evaluator import Evaluator
from .interface import FileInterface
from .rules import LinkRules
from .values import UNKNOWN_VALUE, Value, Values, What, external

_BUILTINS = words(
    """
    append cap clear close complex copy delete imag len make max min new panic print println real
    recover bool byte complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune
    string uint uint8 uint16 uint32 uint64 uintptr any comparable true false nil iota
    """
)
"""The predeclared identifiers of the language's specification (Go 1.24)."""


class GoRules(LinkRules):
    """Go."""

    self_names = frozenset()
    class_names = frozenset()
    super_names = frozenset()
    wildcards_are_files = False
    class_kinds = frozenset({"struct", "interface", "type"})
    opaque_types = frozenset({"any", "error", "interface{}"})

    def ambient(self, evaluator: Evaluator, path: str, name: str) -> Values:
        """Return what another file of the package defines, or the builtin of a name."""
        if values := self._in_package(evaluator, path, name):
            return values
        return external(name) if name in _BUILTINS else UNKNOWN_VALUE

    def imported(
        self, evaluator: Evaluator, path: str, language: str, module: str, name: str, depth: int
    ) -> Values:
        """Return the package of an import path, or what it defines under a name."""
        found = evaluator.module(path, language, module)
        if not found.paths:
            return UNKNOWN_VALUE if found.internal else external(f"{module}.{name}")
        if name == "*":
            return (Value(What.MODULE, found.paths[0]),)
        return self._in_package(evaluator, found.paths[0], name)

    def module_members(
        self, evaluator: Evaluator, path: str, interface: FileInterface, name: str, depth: int
    ) -> Values:
        """Return what a package has under a name, in whichever of its files."""
        return self._in_package(evaluator, path, name)

    def parts(self, evaluator: Evaluator, path: str, name: str) -> tuple[str, ...]:
        """Return the files of the package: each may have methods of a type."""
        return (path, *(each for each in evaluator.siblings(path) if each != path))

    def _in_package(self, evaluator: Evaluator, path: str, name: str) -> Values:
        tests = path.endswith("_test.go")
        parts = self.parts(evaluator, path, name)
        if not evaluator.spend(len(parts)):
            return UNKNOWN_VALUE
        for each in parts:
            if each.endswith("_test.go") and not tests:
                continue
            interface = evaluator.interface(each)
            if interface is not None and name in interface.names:
                return (Value(What.DEFINITION, each, name),)
        return UNKNOWN_VALUE
