"""Owns what Python says about names: modules and their attributes, builtins."""

from __future__ import annotations

import builtins

from ..project.references import LITERALS
from .evaluator import Evaluator
from .interface import FileInterface
from .rules import LinkRules
from .values import UNKNOWN_VALUE, Value, Values, What, external

_BUILTINS = frozenset(dir(builtins)) | {"__file__", "__name__", "__path__", "reveal_type"}
_CONSTANTS = frozenset({"None", "True", "False", "NotImplemented", "Ellipsis"})


class PythonRules(LinkRules):
    """Python."""

    self_names = frozenset({"self"})
    class_names = frozenset({"cls", "Self", "__class__"})
    super_names = frozenset({"super"})
    wildcards_are_files = False
    class_kinds = frozenset({"class"})
    opaque_types = frozenset({"Any", "object", "type", "T", "Callable"})

    def ambient(self, evaluator: Evaluator, path: str, name: str) -> Values:
        """Return the builtin of a name."""
        return external(name) if name in _BUILTINS else UNKNOWN_VALUE

    def literal(self, root: str) -> Values:
        """Return the values of literals and of the constants that can't be bound."""
        return external(root) if root in LITERALS or root in _CONSTANTS else UNKNOWN_VALUE

    def imported(
        self, evaluator: Evaluator, path: str, language: str, module: str, name: str, depth: int
    ) -> Values:
        """Return a name of a module: what its file has at the top, else the module of that name in it."""
        found = evaluator.module(path, language, module)
        if name == "*":
            if found.paths:
                return tuple(Value(What.MODULE, each) for each in found.paths)
            return UNKNOWN_VALUE if found.internal else external(module)
        for each in found.paths:
            if each != path and (values := evaluator.module_member(each, name, depth)):
                return values
        inside = evaluator.module(path, language, module, name)
        if inside.paths:
            return tuple(Value(What.MODULE, each) for each in inside.paths)
        if found.paths or found.internal:
            return UNKNOWN_VALUE
        return external(f"{module}.{name}")

    def module_members(
        self, evaluator: Evaluator, path: str, interface: FileInterface, name: str, depth: int
    ) -> Values:
        """Return what a module has at the top, or for a package the module in it."""
        values = evaluator.top(path, name, depth, builtins=False)
        if values or not path.endswith(("__init__.py", "__init__.pyi")):
            return values
        inside = evaluator.module(path, interface.language, f".{name}")
        return tuple(Value(What.MODULE, each) for each in inside.paths)
