"""Owns definitions as they stand in a source: query matches in, unqualified definitions out; sees no tree."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .source_text import SourceText, Span

BINDINGS = frozenset({"constant", "variable"})
"""The kinds of symbols that bind a name to a value."""

Captures = dict[str, Span]
"""What a match captured by name, of each name the first range."""

Match = tuple[int, Captures]
"""The index of the pattern that matched and what it captured."""


class Pattern(NamedTuple):
    """What a query says of a pattern's matches: their kind, and their name where none is written."""

    kind: str
    name: str


@dataclass(slots=True)
class Definition:
    """A definition as it stands in the source, before its name is qualified. All offsets are in bytes.

    It spans `start` to `end`, with decorators; its head `head` to `head_end`. `owner` qualifies the name of
    one that isn't written inside its owner.
    """

    start: int
    end: int
    head: int
    head_end: int
    name: str
    kind: str
    body: int
    owner: str = ""
    rank: int = 0


class DefinitionReader:
    """Gathers the definitions of one code file from its query matches."""

    def __init__(self, text: SourceText, language: str, patterns: Sequence[Pattern]) -> None:
        self._text = text
        self._source = text.source
        self._language = language
        self._patterns = patterns
        self._found: dict[tuple[int, str], Definition] = {}
        self._decorators: list[Span] = []

    def read(self, matches: Iterable[Match]) -> None:
        """Take in the matches of the query for definitions; those of imports are passed over."""
        for pattern, captures in matches:
            if "def" in captures:
                self._add(pattern, captures)
            elif "decorator" in captures:
                self._decorators.append(captures["decorator"])

    def definitions(self) -> list[Definition]:
        """Return the definitions in source order, outer ones before what they enclose."""
        return sorted(self._found.values(), key=lambda each: (each.start, -each.end))

    def decorators(self) -> list[Span]:
        """Return the ranges of the decorators, in order."""
        return sorted(self._decorators)

    def _add(self, pattern: int, captures: Captures) -> None:
        start, end = captures["def"]
        kind, name = self._patterns[pattern]
        body = captures["body"][0] if "body" in captures else -1
        owner = ""
        if "target" in captures:
            name, owner = _assigned(self._text.name(captures["target"]))
            if not name:
                return
            if name == "exports" and kind == "function":
                name = _own_name(self._source[start:body]) or "module.exports"
            elif name == "exports":
                name = "module.exports"
        elif not name:
            name = self._text.name(captures["name"]).strip("\"'")
        if name == "_" or not name:
            return
        if "receiver" in captures:
            owner = _receiver_type(self._text.name(captures["receiver"]))
        if kind == "constant" and "target" in captures and self._is_require(start, end):
            return
        if kind == "variable":
            kind, value_is_import = self._binding(name, start, end)
            if value_is_import:
                return
        known = self._found.get((start, name))
        if known is None or pattern < known.rank:
            head_end = body if body >= 0 else end
            self._found[start, name] = Definition(
                start, end, start, head_end, name, kind, body, owner, pattern
            )

    def _binding(self, name: str, start: int, end: int) -> tuple[str, bool]:
        """Return whether a binding is a constant or a variable, and whether it only names an import."""
        if self._language == "python":
            return ("constant" if name.isupper() else "variable"), False
        if self._language == "go":
            return "variable", False
        line = self._source[max(self._text.line_start(start), start - 200) : start]
        kind = "constant" if line.rstrip().endswith(b"const") else "variable"
        return kind, self._is_require(start, end)

    def _is_require(self, start: int, end: int) -> bool:
        """Return whether what is assigned is another module, so that the name only passes it on."""
        value = self._source[start : min(end, start + 400)].partition(b"=")[2].lstrip()
        return value.startswith(b"require(")


_TARGET = re.compile(r"(?:(?P<owner>[\w$]+)(?P<prototype>\.prototype)?\.)(?P<name>[\w$]+)")


def _assigned(target: str) -> tuple[str, str]:
    """Return the name and the owner that an assignment to a member defines, or two empty strings.

    `exports.x` and `module.exports.x` define `x`; `Foo.prototype.bar` and `Foo.bar` define `bar` of `Foo`;
    `this.x` defines `x` of whatever encloses it; `module.exports` alone is the name `exports`.
    """
    match = _TARGET.fullmatch(target.removeprefix("module.exports.").removeprefix("exports."))
    if target.startswith(("module.exports.", "exports.")):
        name = target.rpartition("exports.")[2]
        return (name, "") if re.fullmatch(r"[\w$]+", name) else ("", "")
    if match is None:
        return "", ""
    owner, name = match["owner"], match["name"]
    if owner == "module":
        return ("exports", "") if name == "exports" else ("", "")
    return (name, "") if owner == "this" else (name, owner)


def _own_name(head: bytes) -> str:
    """Return the name that a function expression gives itself, from its head: `function createApp(`."""
    match = re.search(rb"function\s*\*?\s*([\w$]+)\s*\($", head[:400].partition(b"(")[0] + b"(")
    return match[1].decode("ascii", "ignore") if match else ""


def _receiver_type(receiver: str) -> str:
    """Return the type of a Go receiver: `Stack` for `(s *Stack[T])`."""
    words = receiver.strip("()").partition("[")[0].replace("*", " ").split()
    return words[-1] if words else ""
