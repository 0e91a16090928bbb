"""JSON with comments: a tree of where each value stands, and edits that leave the rest of the text as it is.

Accepted is JSON (RFC 8259) and what hosts and editors allow beside it: `//` and `/* */` comments and a comma
before a closing bracket. No library that keeps comments is maintained and light: json-five needs two more
packages and writes the whole text anew from its model.

An edit takes the text and a node from `parse` of that text, and returns the new text. Removing what was
inserted gives the former text, except that a container that held only blanks becomes `{}`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from .errors import InstallError, unreadable_at

MAX_DEPTH = 200
"""Maximum nesting; settings nest about six deep, and Python's recursion ends at a thousand calls."""

Kind = Literal["object", "array", "scalar"]


@dataclass(frozen=True, slots=True)
class JsoncItem:
    """A member of an object or an element of an array. `start` is the offset of the key, or of the value.

    `comma` is the offset of the following comma, -1 for none. `key` is "" in arrays.
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
        """Return the value as `json.loads` does; the last of equal keys wins."""
        if self.kind == "object":
            return {item.key: item.node.plain() for item in self.items}
        if self.kind == "array":
            return [item.node.plain() for item in self.items]
        return self.value

    def index(self, key: str) -> int | None:
        """Return the position of a key's member. Raises `InstallError` for a duplicate key."""
        found = [number for number, item in enumerate(self.items) if item.key == key]
        if len(found) > 1:
            raise InstallError(f"the key {key!r} stands there twice, and only one can count", "remove one")
        return found[0] if self.kind == "object" and found else None

    def at(self, path: Sequence[str | int]) -> JsoncNode:
        """Return the value at a path that is there."""
        return self.items[self.position(path[0])].node.at(path[1:]) if path else self

    def position(self, key: str | int) -> int:
        """Return the position of a key's member, which is there, or of an element."""
        index = self.index(key) if isinstance(key, str) else key
        assert index is not None
        return index

    def get(self, key: str) -> JsoncNode | None:
        """Return the value of a key. Raises as `index` does."""
        index = self.index(key)
        return None if index is None else self.items[index].node


def parse(text: str) -> JsoncNode:
    """Return the tree of a text without BOM. Raises `UnreadableText` with the position of the error."""
    return _Parser(text).document()


def comments(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of comments between values; a line comment ends before its newline."""
    for match in _COMMENT.finditer(text, start, end):
        yield match.span()


def skip_blank(text: str, place: int) -> int:
    """Return the offset after the blanks and comments at an offset."""
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
    # Python refuses integers of thousands of digits; a float is close enough.
    return int(text) if text.lstrip("-").isdigit() and len(text) < 1000 else float(text)


DEFAULT_INDENT = "  "


def insert(text: str, container: JsoncNode, value: Any, key: str | None = None) -> str:
    """Append a value to a container; an object needs its key."""
    place = _behind_last(text, container)
    inline = _is_inline(text, container)
    indent = "" if inline else _item_indent(text, container)
    body = _render(text, value, indent, inline=inline)
    if key is not None:
        gap = "" if inline and _is_packed(text) else " "
        body = f"{json.dumps(key, ensure_ascii=False)}:{gap}{body}"
    last = container.items[-1] if container.items else None
    if last is None:
        ends_line = inline or "\n" in text[place : container.end - 1]
        lead = "" if inline else newline(text) + indent
        tail = "" if ends_line else newline(text) + _line_indent(text, container.start)
        return text[:place] + lead + body + tail + text[place:]
    lead = ("" if _is_packed(text) else " ") if inline else newline(text) + indent
    if last.comma >= 0:
        return f"{text[:place]}{lead}{body},{text[place:]}"
    return f"{text[: last.node.end]},{text[last.node.end : place]}{lead}{body}{text[place:]}"


def remove(text: str, container: JsoncNode, index: int) -> str:
    """Remove a value with its key and comma. Comments stay."""
    item = container.items[index]
    is_last = index == len(container.items) - 1
    cuts = [(item.start, item.node.end)]
    if item.comma >= 0:
        cuts.append((item.comma, item.comma + 1))
    elif index:
        before = container.items[index - 1].comma
        cuts.append((before, before + 1))
    if index or is_last:
        cuts.append(_gap_before(text, container, index))
    else:
        cuts.append(_gap_behind(text, item))
    text = _cut(text, cuts)
    if len(container.items) > 1:
        return text
    removed = sum(end - start for start, end in cuts)
    inside = text[container.start + 1 : container.end - removed - 1]
    if inside.strip(" \t\r\n"):
        return text
    return text[: container.start + 1] + text[container.end - removed - 1 :]


def replace(text: str, node: JsoncNode, value: Any) -> str:
    """Replace a value; the new one is spread over lines if the old one was."""
    inline = "\n" not in text[node.start : node.end]
    body = _render(text, value, "" if inline else _line_indent(text, node.start), inline=inline)
    return text[: node.start] + body + text[node.end :]


def is_bare(text: str, container: JsoncNode) -> bool:
    """Whether a container holds neither a value nor a comment."""
    return not text[container.start + 1 : container.end - 1].strip(" \t\r\n")


def newline(text: str) -> str:
    """Return the line end of a text's first line."""
    found = re.search(r"\r?\n", text)
    return found.group() if found else "\n"


def render_file(value: Any) -> str:
    """Return the text of a new file."""
    return json.dumps(value, indent=DEFAULT_INDENT, ensure_ascii=False) + "\n"


def _behind_last(text: str, container: JsoncNode) -> int:
    """Return the offset after a container's last value, its comma and their comments."""
    place = container.start + 1
    if container.items:
        last = container.items[-1]
        place = last.comma + 1 if last.comma >= 0 else last.node.end
    for _, end in comments(text, place, container.end - 1):
        place = end
    return place


def _gap_before(text: str, container: JsoncNode, index: int) -> tuple[int, int]:
    """Return the span of blanks before an item, if it may be removed."""
    item = container.items[index]
    start = container.items[index - 1].comma + 1 if index else container.start + 1
    line_comment = False
    for begin, end in comments(text, start, item.start):
        start = end
        line_comment = text.startswith("//", begin)
    rest = item.comma + 1 if item.comma >= 0 else item.node.end
    if line_comment and not re.match(r"[ \t]*\r?\n", text[rest : rest + 1000]):
        return item.start, item.start  # a line comment must not swallow the following text
    return start, item.start


def _gap_behind(text: str, item: JsoncItem) -> tuple[int, int]:
    """Return the span of blanks after the comma of a first item, so that the next item moves up."""
    start = item.comma + 1
    blank = re.compile(r"[ \t\r\n]*").match(text, start)
    assert blank
    return start, blank.end()


def _cut(text: str, cuts: list[tuple[int, int]]) -> str:
    for start, end in sorted(cuts, reverse=True):
        text = text[:start] + text[end:]
    return text


def _is_inline(text: str, container: JsoncNode) -> bool:
    """Whether new values of a container stand on its line."""
    if "\n" in text[container.start : container.end]:
        return False
    return bool(container.items) or (
        container.start != _root(text) and "\n" not in text[_root(text) :].rstrip()
    )


def _is_packed(text: str) -> bool:
    """Whether a text was written without any blanks."""
    return not re.search(r'[,:\[{][ \t\r\n]|[ \t\r\n][\]}"]', text.strip())


def _item_indent(text: str, container: JsoncNode) -> str:
    """Return the indentation of a container's values, or what it is elsewhere in the file."""
    for item in container.items:
        line = text[_line_start(text, item.start) : item.start]
        if not line.strip(" \t"):
            return line
    return _line_indent(text, container.start) + _unit(text)


def _unit(text: str) -> str:
    """Return one step of indentation, as of the outermost values."""
    root = _root(text)
    first = skip_blank(text, root + 1)
    line = text[_line_start(text, first) : first]
    if not line or line.strip(" \t") or _line_start(text, first) <= root:
        return DEFAULT_INDENT
    return line.removeprefix(_line_indent(text, root)) or DEFAULT_INDENT


def _root(text: str) -> int:
    """Return where the outermost value begins."""
    return skip_blank(text, 0)


def _render(text: str, value: Any, indent: str, *, inline: bool) -> str:
    if inline:
        separators = (",", ":") if _is_packed(text) else (", ", ": ")
        return json.dumps(value, ensure_ascii=False, separators=separators)
    rendered = json.dumps(value, indent=_unit(text), ensure_ascii=False)
    return rendered.replace("\n", newline(text) + indent)


def _line_start(text: str, place: int) -> int:
    return text.rfind("\n", 0, place) + 1


def _line_indent(text: str, place: int) -> str:
    match = re.compile(r"[ \t]*").match(text, _line_start(text, place))
    assert match
    return match.group()
