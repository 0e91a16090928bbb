"""Owns symbols: the unique names of definitions, where they begin and what their heads say; sees no tree."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .definitions import BINDINGS, Definition
from .doc_lines import comment_above, docstring
from .source_text import MAX_NAME, SourceText, Span
from .tree import Symbol


def symbols_of(
    definitions: Iterable[Definition], text: SourceText, language: str, decorators: Sequence[Span]
) -> list[Symbol]:
    """Return the symbols of definitions in source order, with their qualified, unique names."""
    names = UniqueNames()
    found: list[Symbol] = []
    enclosing: list[_Enclosing] = []
    bound: set[str] = set()
    heads = _Heads(text, language, decorators)
    for definition in definitions:
        while enclosing and enclosing[-1].end <= definition.start:
            enclosing.pop()
        # Names that are bound together (`a, b = …`) share their span, and none encloses the other.
        outer = next((each for each in reversed(enclosing) if each.start < definition.start), None)
        if definition.owner and outer is not None and language != "go":
            continue  # an assignment to something's member inside a function defines nothing for others
        prefix, depth = (outer.name, outer.depth + 1) if outer is not None else ("", 0)
        if definition.owner:
            prefix, depth = definition.owner, 1
        name = f"{prefix}.{definition.name}" if prefix else definition.name
        if not name or len(name) > MAX_NAME:
            continue
        if definition.kind in BINDINGS:
            # Binding a variable again changes it; it isn't a second definition.
            if name in bound:
                continue
            bound.add(name)
        name = names.unique(name)
        kind = definition.kind
        if kind == "function" and (definition.owner or (outer is not None and outer.kind == "class")):
            kind = "method"
        enclosing.append(_Enclosing(definition.start, definition.end, name, depth, kind))
        found.append(heads.symbol(definition, name, kind, depth))
    return found


class UniqueNames:
    """Hands out names that are unique within a file: the second `login` is `login~2`."""

    def __init__(self) -> None:
        self._count: dict[str, int] = {}
        self._taken: set[str] = set()

    def unique(self, name: str) -> str:
        """Return the name, with the lowest free number behind it if it is taken."""
        candidate = name
        while candidate in self._taken:
            self._count[name] = self._count.get(name, 1) + 1
            candidate = f"{name}~{self._count[name]}"
        self._taken.add(candidate)
        return candidate


class _Enclosing(NamedTuple):
    """A definition that others may stand in: its span in bytes, its unique name, its depth and kind."""

    start: int
    end: int
    name: str
    depth: int
    kind: str


# What may stand before a definition on its line and belongs to it: `export const` before `x = 1`.
_LEAD = re.compile(rb"(?<![\w$.])(?:(?:export|default|declare|const|let|var|type|async)[ \t]+)+\Z")
_SPACE = {
    "python": re.compile(rb"(?:\s|#[^\n]*)*"),
    "": re.compile(rb"(?:\s|//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/)*"),
}


class _Heads:
    """Turns definitions into symbols: where they begin, what their head says, what is said about them."""

    def __init__(self, text: SourceText, language: str, decorators: Sequence[Span]) -> None:
        self._text = text
        self._source = text.source
        self._language = language
        space = _SPACE.get(language, _SPACE[""])
        self._decorator_at: dict[int, int] = {}
        self._decorator_before: dict[int, int] = {}
        for start, end in decorators:
            gap = space.match(self._source, end, end + 2_000)
            following = gap.end() if gap else end
            self._decorator_at[start] = following
            self._decorator_before[following] = start

    def symbol(self, definition: Definition, name: str, kind: str, depth: int) -> Symbol:
        """Return a definition's symbol under its qualified name."""
        start, head = self._begin(definition)
        if kind in BINDINGS:
            line_end = self._source.find(b"\n", head, definition.end)
            head_end = definition.end if line_end < 0 else line_end
        else:
            head_end = self._head_end(definition)
        return Symbol(
            name,
            kind,
            self._text.line(start),
            self._text.last_line(start, definition.end),
            self._text.signature(head, head_end),
            self._doc(definition, start),
            depth,
        )

    def _begin(self, definition: Definition) -> tuple[int, int]:
        """Return where a definition begins with its decorators and where its head begins."""
        head = definition.head
        while head in self._decorator_at:
            head = self._decorator_at[head]
        start = definition.start
        if self._language != "python":
            line = self._text.line_start(start)
            lead = _LEAD.search(self._source, max(line, start - 60), start)
            if lead is not None:
                head = lead.start() if head == definition.head else head
                start = lead.start()
        while start in self._decorator_before:
            start = self._decorator_before[start]
        return start, head

    def _head_end(self, definition: Definition) -> int:
        """Return where a definition's head ends, before its body and what opens it."""
        start, end = definition.head, definition.head_end
        if definition.kind == "interface" and definition.body < 0:
            brace = self._source.find(b"{", start, end)
            return end if brace < 0 else brace
        if self._language == "python" and definition.body >= 0 and b"#" in self._source[start:end]:
            # A comment behind the colon, or above the first statement, is no part of the head.
            match = _PYTHON_TAIL.search(self._source, max(start, end - 4000), end)
            return match.start(1) if match else end
        return end

    def _doc(self, definition: Definition, start: int) -> str:
        if self._language == "python":
            return docstring(self._text, definition.body) if definition.body >= 0 else ""
        return comment_above(self._text, start)


_PYTHON_TAIL = re.compile(rb":(\s*(?:#[^\n]*\n\s*)+)\Z")
