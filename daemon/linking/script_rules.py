"""Owns what JavaScript and TypeScript say about names: exports, default exports, CommonJS, globals."""

from __future__ import annotations

from ..project.vocabulary import words
from .evaluator import Evaluator
from .interface import FileInterface
from .rules import LinkRules
from .values import UNKNOWN_VALUE, Value, Values, What, external

COMMON_JS = "module.exports"
"""The name of what a CommonJS module is as a whole, see definitions.py."""

_GLOBALS = words(
    """
    console Object Array String Number Boolean Symbol BigInt Math JSON Date RegExp Error TypeError
    RangeError SyntaxError ReferenceError EvalError URIError AggregateError Map Set WeakMap WeakSet
    WeakRef Promise Proxy Reflect Intl ArrayBuffer SharedArrayBuffer DataView Atomics Int8Array
    Uint8Array Uint8ClampedArray Int16Array Uint16Array Int32Array Uint32Array Float32Array
    Float64Array BigInt64Array BigUint64Array parseInt parseFloat isNaN isFinite encodeURIComponent
    decodeURIComponent encodeURI decodeURI escape unescape eval globalThis window document navigator
    location history self global process Buffer require module exports setTimeout clearTimeout
    setInterval clearInterval setImmediate clearImmediate queueMicrotask requestAnimationFrame
    cancelAnimationFrame structuredClone fetch URL URLSearchParams Headers Request Response FormData
    Blob File FileReader AbortController AbortSignal Event EventTarget CustomEvent TextEncoder
    TextDecoder crypto performance localStorage sessionStorage alert confirm prompt Function NaN
    Infinity HTMLElement Element Node MutationObserver IntersectionObserver ResizeObserver WebSocket
    Worker arguments Readonly Record Partial Pick Omit Exclude Extract ReturnType Parameters
    NonNullable Awaited Iterable Iterator AsyncIterable AsyncIterator Generator PromiseLike
    ArrayLike
    """
)
"""What the language and its usual hosts bring (ECMAScript 2024, browsers, Node), by name."""

_TYPES = words(
    """
    string number boolean bigint symbol undefined null void
    """
)


class ScriptRules(LinkRules):
    """JavaScript and TypeScript."""

    self_names = frozenset({"this"})
    class_names = frozenset()
    block_scoped = True
    super_names = frozenset({"super"})
    wildcards_are_files = False
    class_kinds = frozenset({"class", "interface", "enum", "type"})

    def ambient(self, evaluator: Evaluator, path: str, name: str) -> Values:
        """Return the global of a name."""
        return external(name) if name in _GLOBALS or name in _TYPES else UNKNOWN_VALUE

    def literal(self, root: str) -> Values:
        """Return the values of literals and of the words for them."""
        if root in {"undefined", "null", "true", "false"}:
            return external(root)
        return super().literal(root)

    def imported(
        self, evaluator: Evaluator, path: str, language: str, module: str, name: str, depth: int
    ) -> Values:
        """Return a name of a module; a CommonJS module is also what it assigns to `module.exports`."""
        found = evaluator.module(path, language, module)
        if not found.paths:
            return UNKNOWN_VALUE if found.internal else external(f"{module}.{name}")
        target = found.paths[0]
        if name == "*":
            whole = self._export(evaluator, target, COMMON_JS, depth)
            return (*whole, Value(What.MODULE, target))
        values = evaluator.module_member(target, name, depth)
        if not values and name == "default":  # as bundlers see a CommonJS module
            values = self._export(evaluator, target, COMMON_JS, depth) or (Value(What.MODULE, target),)
        return values

    def module_members(
        self, evaluator: Evaluator, path: str, interface: FileInterface, name: str, depth: int
    ) -> Values:
        """Return what a module exports under a name, passed on by others or defined in it."""
        if values := self._export(evaluator, path, name, depth):
            return values
        if name in interface.names:
            return (Value(What.DEFINITION, path, name),)
        for export in evaluator.exports_in(path, interface).get("*", ()):
            values = self.imported(evaluator, path, interface.language, export.module, name, depth + 1)
            if values and values[0].what is What.DEFINITION:
                return values
        return UNKNOWN_VALUE

    def _export(self, evaluator: Evaluator, path: str, name: str, depth: int) -> Values:
        interface = evaluator.interface(path)
        if interface is None or evaluator.questions.is_too_deep(depth):
            return UNKNOWN_VALUE
        for export in evaluator.exports_in(path, interface).get(name, ()):
            if export.module:
                return self.imported(
                    evaluator, path, interface.language, export.module, export.imported, depth + 1
                )
            return evaluator.follow(
                export.imported, path, lambda first: evaluator.top(path, first, depth + 1), depth + 1
            )
        if name == COMMON_JS and name in interface.names:
            return (Value(What.DEFINITION, path, name),)
        return UNKNOWN_VALUE
