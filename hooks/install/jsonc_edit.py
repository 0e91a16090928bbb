"""Owns edits of JSON with comments as text: one value is put in, taken out or replaced, the rest stays.

Each function takes the text and the node from `jsonc_tree.parse` of that text, and returns the new text.
Taking out what was put in gives the former text, but for a container that held nothing: it becomes `{}`.
"""

from __future__ import annotations

import json
import re
from typing import Any

from .jsonc_tree import JsoncItem, JsoncNode, comments, skip_blank

DEFAULT_INDENT = "  "


def insert(text: str, container: JsoncNode, value: Any, key: str | None = None) -> str:
    """Put a value behind the last one of a container; in an object it needs its key."""
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
    """Take out one value with its key and comma. Comments stay where they are."""
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
    """Put a value in another's place; it is spread over lines if that one was."""
    inline = "\n" not in text[node.start : node.end]
    body = _render(text, value, "" if inline else _line_indent(text, node.start), inline=inline)
    return text[: node.start] + body + text[node.end :]


def is_bare(text: str, container: JsoncNode) -> bool:
    """Whether there is neither a value nor a comment in a container."""
    return not text[container.start + 1 : container.end - 1].strip(" \t\r\n")


def newline(text: str) -> str:
    """Return how lines of a text end: as the first one does."""
    found = re.search(r"\r?\n", text)
    return found.group() if found else "\n"


def render_file(value: Any) -> str:
    """Return the text of a new file."""
    return json.dumps(value, indent=DEFAULT_INDENT, ensure_ascii=False) + "\n"


def _behind_last(text: str, container: JsoncNode) -> int:
    """Return the place behind a container's last value, its comma and the comments there."""
    place = container.start + 1
    if container.items:
        last = container.items[-1]
        place = last.comma + 1 if last.comma >= 0 else last.node.end
    for _, end in comments(text, place, container.end - 1):
        place = end
    return place


def _gap_before(text: str, container: JsoncNode, index: int) -> tuple[int, int]:
    """Return the blank stretch between an item and what stands before it, if it may go."""
    item = container.items[index]
    start = container.items[index - 1].comma + 1 if index else container.start + 1
    line_comment = False
    for begin, end in comments(text, start, item.start):
        start = end
        line_comment = text.startswith("//", begin)
    rest = item.comma + 1 if item.comma >= 0 else item.node.end
    if line_comment and not re.match(r"[ \t]*\r?\n", text[rest : rest + 1000]):
        return item.start, item.start  # a comment to the end of the line must not swallow what follows
    return start, item.start


def _gap_behind(text: str, item: JsoncItem) -> tuple[int, int]:
    """Return the blank stretch behind the comma of a first item, so that the next takes its place."""
    start = item.comma + 1
    blank = re.compile(r"[ \t\r\n]*").match(text, start)
    assert blank
    return start, blank.end()


def _cut(text: str, cuts: list[tuple[int, int]]) -> str:
    for start, end in sorted(cuts, reverse=True):
        text = text[:start] + text[end:]
    return text


def _is_inline(text: str, container: JsoncNode) -> bool:
    """Whether what comes into a container goes on its line."""
    if "\n" in text[container.start : container.end]:
        return False
    return bool(container.items) or (
        container.start != _root(text) and "\n" not in text[_root(text) :].rstrip()
    )


def _is_packed(text: str) -> bool:
    """Whether a text was written without any blanks."""
    return not re.search(r'[,:\[{][ \t\r\n]|[ \t\r\n][\]}"]', text.strip())


def _item_indent(text: str, container: JsoncNode) -> str:
    """Return the indentation of a container's values, or what it would be by the rest of the file."""
    for item in container.items:
        line = text[_line_start(text, item.start) : item.start]
        if not line.strip(" \t"):
            return line
    return _line_indent(text, container.start) + _unit(text)


def _unit(text: str) -> str:
    """Return one step of indentation, as the outermost values show it."""
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
