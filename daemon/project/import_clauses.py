"""Owns the imports of Java, Kotlin, Scala, C# and Swift as text: a clause in, what it brings in out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from .source_text import MAX_NAME
from .use_trees import UseItem, used_names

CLAUSE_MAX = 20_000
"""Characters of one clause that are read."""


def brought_in(language: str, clause: str, inside: tuple[str, ...] = ()) -> list[UseItem]:
    """Return what an import brings in, in order.

    A module is a package, a namespace or a module with dots, or a class if its members come in; Rust's are
    those of `used_names`, for which `inside` are the inline modules around it.
    """
    if language == "rust":
        return used_names(clause, inside)
    text = _COMMENT.sub(" ", clause[:CLAUSE_MAX])
    return [use for use in _READERS[language](text) if use.module and len(use.module) <= MAX_NAME]


_COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_NAME = r"`?[^\W\d][\w$]*`?"
_PATH = rf"{_NAME}(?:\s*\.\s*{_NAME})*+"


def _plain(path: str) -> str:
    return re.sub(r"[\s`]+", "", path)


def _split(path: str, name: str = "") -> UseItem:
    """Return the use of the last name of a path."""
    module, _, last = _plain(path).rpartition(".")
    return UseItem(module, last, _plain(name) or last)


_JAVA = re.compile(rf"\s*import\s+(?:static\s+)?({_PATH})\s*(\.\s*\*)?(?:\s+as\s+({_NAME}))?\s*;?\s*")


def _java(text: str) -> Iterator[UseItem]:
    match = _JAVA.fullmatch(text)
    if match is None:
        return
    if match[2]:
        yield UseItem(_plain(match[1]), "*", "*")
    elif "." in match[1]:
        yield _split(match[1], match[3] or "")


_SCALA = re.compile(rf"\s*({_PATH})\s*(?:\.\s*(?:(\*)|\{{([^{{}}]*)\}})|\s+as\s+({_NAME}))?\s*(?:,|;|\Z)")
_SELECTOR = re.compile(rf"\s*({_NAME}|\*)\s*(?:(?:=>|as\b)\s*({_NAME}))?\s*")


def _scala(text: str) -> Iterator[UseItem]:
    at = re.match(r"\s*import\b", text)
    position = at.end() if at is not None else len(text)
    while position < len(text):
        match = _SCALA.match(text, position)
        if match is None:
            return
        position = match.end()
        module = _plain(match[1])
        if match[3] is not None:
            for selector in match[3].split(","):
                yield from _selected(module, selector)
        elif match[2] is not None:
            yield UseItem(module, "*", "*")
        elif module.endswith(("._", ".given")):
            yield UseItem(module.rpartition(".")[0], "*", "*")
        elif "." in module:
            yield _split(module, match[4] or "")


def _selected(module: str, selector: str) -> Iterator[UseItem]:
    match = _SELECTOR.fullmatch(selector)
    if match is None:
        return
    name, alias = _plain(match[1]), _plain(match[2] or "")
    if name in {"_", "*", "given"}:
        yield UseItem(module, "*", "*")
    elif alias != "_":  # `D => _` leaves it out
        yield UseItem(module, name, alias or name)


_CSHARP = re.compile(
    rf"\s*(?:global\s+)?using\s+(static\s+|unsafe\s+)?(?:({_NAME})\s*=\s*)?(?:global\s*::\s*)?({_PATH})(\s*<[^;]*>)?\s*;?\s*"
)


def _csharp(text: str) -> Iterator[UseItem]:
    match = _CSHARP.fullmatch(text)
    if match is None:
        return
    if match[2]:
        yield _split(match[3], match[2])
    else:
        yield UseItem(_plain(match[3]), "*", "*")


_SWIFT = re.compile(
    rf"(?:[^;]*\s)??import\s+(?:(typealias|struct|class|enum|protocol|let|var|func|actor)\s+)?({_PATH})\s*;?\s*"
)


def _swift(text: str) -> Iterator[UseItem]:
    match = _SWIFT.fullmatch(text)
    if match is None:
        return
    if match[1]:
        yield _split(match[2])
    else:
        yield UseItem(_plain(match[2]).partition(".")[0], "*", "*")


_READERS: Mapping[str, Callable[[str], Iterator[UseItem]]] = {
    "csharp": _csharp,
    "java": _java,
    "kotlin": _java,
    "scala": _scala,
    "swift": _swift,
}
