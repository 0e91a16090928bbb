"""Owns JSON with comments as a tree that knows where each value stands; changes nothing.

Accepted is JSON (RFC 8259) and what hosts and editors allow beside it: `//` and `/* */` comments and a comma
before a closing bracket. No library that keeps comments is maintained and light: json-five needs two more
packages and writes the text anew from its model, so that edits reach further than they should.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from .errors import InstallError, unreadable_at

MAX_DEPTH = 200
"""Settings nest about six deep; Python's own recursion ends at a thousand calls."""

Kind = Literal["object", "array", "scalar"]


@dataclass(frozen=True, slots=True)
class JsoncItem:
    """One member of an object or element of an array. `start` is the key's place, or the value's.

    `comma` is the place of the comma behind it, -1 where there is none. `key` is "" in arrays.
    """

    start: int
    key: str
    node: JsoncNode
    comma: int


@dataclass(frozen=True, slots=True)
class JsoncNode:
    """A value: `text[start:end]`. `value` is Python's for scalars, None for the others."""

    kind: Kind
    start: int
    end: int
    value: Any = None
    items: tuple[JsoncItem, ...] = ()

    def plain(self) -> Any:
        """Return the value as `json.loads` has it, the last of equal keys winning."""
        if self.kind == "object":
            return {item.key: item.node.plain() for item in self.items}
        if self.kind == "array":
            return [item.node.plain() for item in self.items]
        return self.value

    def index(self, key: str) -> int | None:
        """Return the position of a key's member. Raises `InstallError` where the key stands twice."""
        found = [number for number, item in enumerate(self.items) if item.key == key]
        if len(found) > 1:
            raise InstallError(f"the key {key!r} stands there twice, and only one can count", "remove one")
        return found[0] if self.kind == "object" and found else None

    def get(self, key: str) -> JsoncNode | None:
        """Return the value of a key. Raises as `index` does."""
        index = self.index(key)
        return None if index is None else self.items[index].node


def parse(text: str) -> JsoncNode:
    """Return the tree of a text without BOM. Raises `UnreadableText` with the place of what is wrong."""
    return _Parser(text).document()


def comments(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the places of comments in a stretch without values; those of a line end before its newline."""
    for match in _COMMENT.finditer(text, start, end):
        yield match.span()


def skip_blank(text: str, place: int) -> int:
    """Return the place behind the blanks and comments at a place."""
    match = _BLANK.match(text, place)
    assert match
    return match.end()


_COMMENT = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_BLANK = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORD = re.compile(r"true|false|null")
_WORDS = {"true": True, "false": False, "null": None}


class _Parser:
    """Reads one text from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def document(self) -> JsoncNode:
        self._skip()
        node = self._value(0)
        self._skip()
        if self._at < len(self._text):
            raise self._wrong("nothing more was expected here")
        return node

    def _value(self, depth: int) -> JsoncNode:
        if depth > MAX_DEPTH:
            raise self._wrong(f"values nest deeper than {MAX_DEPTH}")
        first = self._text[self._at : self._at + 1]
        if first == "{":
            return self._container("object", "}", depth)
        if first == "[":
            return self._container("array", "]", depth)
        for pattern, read in ((_STRING, json.loads), (_NUMBER, _number), (_WORD, _WORDS.__getitem__)):
            match = pattern.match(self._text, self._at)
            if match:
                self._at = match.end()
                return JsoncNode("scalar", match.start(), match.end(), read(match.group()))
        raise self._wrong(
            "a value was expected here" if first else "the file ends where a value was expected"
        )

    def _container(self, kind: Kind, closing: str, depth: int) -> JsoncNode:
        start = self._at
        self._at += 1
        items: list[JsoncItem] = []
        self._skip()
        while self._text[self._at : self._at + 1] != closing:
            if items and items[-1].comma < 0:
                raise self._wrong(f"a comma or {closing} was expected here")
            items.append(self._item(kind, depth))
            self._skip()
        self._at += 1
        return JsoncNode(kind, start, self._at, items=tuple(items))

    def _item(self, kind: Kind, depth: int) -> JsoncItem:
        start = self._at
        key = self._key() if kind == "object" else ""
        node = self._value(depth + 1)
        self._skip()
        comma = self._at if self._text[self._at : self._at + 1] == "," else -1
        self._at += comma >= 0
        return JsoncItem(start, key, node, comma)

    def _key(self) -> str:
        match = _STRING.match(self._text, self._at)
        if not match:
            raise self._wrong("a key in double quotes was expected here")
        self._at = match.end()
        self._skip()
        if self._text[self._at : self._at + 1] != ":":
            raise self._wrong("a colon was expected here")
        self._at += 1
        self._skip()
        key: str = json.loads(match.group())
        return key

    def _skip(self) -> None:
        self._at = skip_blank(self._text, self._at)

    def _wrong(self, what: str) -> InstallError:
        return unreadable_at(self._text, self._at, what)


def _number(text: str) -> int | float:
    # Python refuses to read integers of thousands of digits; as a float such a number is near enough.
    return int(text) if text.lstrip("-").isdigit() and len(text) < 1000 else float(text)
