"""Owns the table of the rules by language; a new one is a file and a row."""

from __future__ import annotations

from .csharp_rules import CsharpRules
from .go_rules import GoRules
from .java_rules import JavaRules
from .python_rules import PythonRules
from .rules import LinkRules
from .rust_rules import RustRules
from .script_rules import ScriptRules

_PLAIN = LinkRules()


class _OwnImports(LinkRules):
    """What a file imports stays its own affair (Swift)."""

    passes_imports_on = False


_SCRIPT = ScriptRules()
_JAVA = JavaRules()

_RULES: dict[str, LinkRules] = {
    "python": PythonRules(),
    "csharp": CsharpRules(),
    "go": GoRules(),
    "swift": _OwnImports(),
    "rust": RustRules(),
    "java": _JAVA,
    "kotlin": _JAVA,
    "scala": _JAVA,
    "javascript": _SCRIPT,
    "typescript": _SCRIPT,
    "tsx": _SCRIPT,
}


def rules_of(language: str) -> LinkRules:
    """Return the rules of a language; those that most have in common where it has none of its own."""
    return _RULES.get(language, _PLAIN)
