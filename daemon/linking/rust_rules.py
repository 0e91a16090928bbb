"""Owns what Rust says about names: module paths, `use`, impl blocks, the prelude."""

from __future__ import annotations

from ..project.vocabulary import words
from .evaluator import Evaluator
from .rules import LinkRules
from .values import UNKNOWN_VALUE, Value, Values, What, external

_PRELUDE = words(
    """
    Some None Ok Err Option Result Vec String Box ToString ToOwned Clone Copy Send Sync Sized Drop
    Fn FnMut FnOnce Iterator IntoIterator Extend DoubleEndedIterator ExactSizeIterator Default Eq
    Ord PartialEq PartialOrd AsRef AsMut Into From TryFrom TryInto FromIterator drop str bool char
    u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 std core alloc true false
    """
)
"""The prelude of the standard library (2021 and 2024), primitive types, and the crates of the language."""


class RustRules(LinkRules):
    """Rust."""

    parts_max = 200
    self_names = frozenset({"self"})
    class_names = frozenset({"Self"})
    super_names = frozenset()
    wildcards_are_files = False
    class_kinds = frozenset({"struct", "enum", "union", "trait", "type"})
    opaque_types = frozenset({"T", "Any"})

    def ambient(self, evaluator: Evaluator, path: str, name: str) -> Values:
        """Return the module that begins a path, or what the prelude brings."""
        if name in _PRELUDE:
            return external(name)
        found = evaluator.module(path, "rust", name)
        return tuple(Value(What.MODULE, each) for each in found.paths)

    def imported(
        self, evaluator: Evaluator, path: str, language: str, module: str, name: str, depth: int
    ) -> Values:
        """Return what a module has under a name: a definition, what it passes on, or a module in it."""
        found = evaluator.module(path, language, module)
        if name == "*":
            if found.paths:
                return tuple(Value(What.MODULE, each) for each in found.paths)
            return UNKNOWN_VALUE if found.internal else external(module)
        for each in found.paths:
            if values := evaluator.module_member(each, name, depth):
                return values
        inside = evaluator.module(path, language, module, name)
        further = tuple(Value(What.MODULE, each) for each in inside.paths if each not in found.paths)
        if further or found.paths or found.internal:
            return further or self._in_holder(evaluator, path, language, module, name, depth)
        return external(f"{module}::{name}")

    def adds_to(self, evaluator: Evaluator, path: str, name: str) -> bool:
        """Whether a file adds to a type that it doesn't define itself, by an impl block."""
        interface = evaluator.interface(path)
        return interface is not None and name not in interface.names

    def _in_holder(
        self, evaluator: Evaluator, path: str, language: str, module: str, name: str, depth: int
    ) -> Values:
        """Return what a type or an inline module holds that a path leads through: `use crate::Kind::One`."""
        outer, _, holder = module.rpartition("::")
        if not outer or depth > 8:
            return UNKNOWN_VALUE
        values = self.imported(evaluator, path, language, outer, holder, depth + 1)
        return tuple(
            found
            for value in values
            if value.what is What.DEFINITION
            for found in evaluator.member(value, name, depth + 1)
        )
