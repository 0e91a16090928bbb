"""JSON with comments is edited as text: the values are as asked, and outside of the edit no byte changes."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from foveal.hooks.install.errors import InstallError, UnreadableText
from foveal.hooks.install.jsonc import JsoncNode, insert, parse, remove, replace
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties import examples

NEW = {"a": [1, "x"], "ü": None}

BLANKS = st.sampled_from(
    ["", "", " ", "\n", "\r\n", "\n  ", "\t", " // c\n", "/* c, } */", '\n// ] " x\n  ', "//\n"]
)
SCALARS: st.SearchStrategy[object] = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=4)
    | st.sampled_from([0.5, 1e300, "//", "/*"])
)


@st.composite
def documents(draw: st.DrawFn, depth: int = 3) -> str:
    """Text of a container with comments, blanks and trailing commas wherever they may stand."""
    is_object = draw(st.booleans())
    keys = draw(st.lists(st.text(max_size=3), max_size=4, unique=True))
    pieces = []
    for key in keys:
        value = draw(documents(depth - 1)) if depth and draw(st.booleans()) else json.dumps(draw(SCALARS))
        name = f"{json.dumps(key)}{draw(BLANKS)}:{draw(BLANKS)}" if is_object else ""
        pieces.append(f"{draw(BLANKS)}{name}{value}{draw(BLANKS)}")
    trailing = f",{draw(BLANKS)}" if bool(pieces) and draw(st.booleans()) else ""
    inside = ",".join(pieces) + trailing if pieces else draw(BLANKS)
    return f"{{{inside}}}" if is_object else f"[{inside}]"


def containers(node: JsoncNode) -> list[JsoncNode]:
    below = [found for item in node.items for found in containers(item.node)]
    return [node, *below] if node.kind != "scalar" else []


def same_outside(before: str, after: str, start: int, end: int) -> bool:
    return after.startswith(before[:start]) and after.endswith(before[end:])


@settings(max_examples=examples(150))
@given(documents(), st.data())
def test_jsonc_insert_can_be_undone(text: str, data: st.DataObject) -> None:
    number = data.draw(st.integers(0, len(containers(parse(text))) - 1))
    container = containers(parse(text))[number]
    key = "new key" if container.kind == "object" else None
    after = insert(text, container, NEW, key)
    found = containers(parse(after))[number]
    value = container.plain()
    expected: Any = {**value, key: NEW} if isinstance(value, dict) else [*value, NEW]
    assert found.plain() == expected
    assert same_outside(text, after, container.start, container.end)
    back = remove(after, found, len(found.items) - 1)
    assert parse(back).plain() == parse(text).plain()
    if container.items:
        assert back == text


@settings(max_examples=examples(150))
@given(documents(), st.data())
def test_jsonc_remove_and_replace(text: str, data: st.DataObject) -> None:
    filled = [number for number, one in enumerate(containers(parse(text))) if one.items]
    if not filled:
        return
    number = data.draw(st.sampled_from(filled))
    container = containers(parse(text))[number]
    index = data.draw(st.integers(0, len(container.items) - 1))
    item = container.items[index]
    after = remove(text, container, index)
    expected = [(one.key, one.node.plain()) for one in container.items if one is not item]
    found = containers(parse(after))[number]
    assert [(one.key, one.node.plain()) for one in found.items] == expected
    assert same_outside(text, after, container.start + 1, container.end - 1)
    assert re.findall(r"// c|/\* c, } \*/", after) == re.findall(
        r"// c|/\* c, } \*/", text[: item.start] + text[item.node.end :]
    )
    replaced = replace(text, item.node, NEW)
    assert containers(parse(replaced))[number].items[index].node.plain() == NEW
    assert same_outside(text, replaced, item.node.start, item.node.end)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{}", '{\n  "k": 1\n}'),
        ("{}\n", '{\n  "k": 1\n}\n'),
        ('{\n    "a": 1\n}\n', '{\n    "a": 1,\n    "k": 1\n}\n'),
        ('{\r\n\t"a": 1\r\n}\r\n', '{\r\n\t"a": 1,\r\n\t"k": 1\r\n}\r\n'),
        ('{"a":1}', '{"a":1,"k":1}'),
        ('{ "a": 1 }', '{ "a": 1, "k": 1 }'),
        ('{\n  "a": 1, // why\n}', '{\n  "a": 1, // why\n  "k": 1,\n}'),
        ('{\n  "a": 1 // why\n  // "b": 2\n}', '{\n  "a": 1, // why\n  // "b": 2\n  "k": 1\n}'),
        ("{\n  // nothing yet\n}", '{\n  // nothing yet\n  "k": 1\n}'),
    ],
)
def test_jsonc_insert_keeps_the_style(text: str, expected: str) -> None:
    assert insert(text, parse(text), 1, "k") == expected


@pytest.mark.parametrize(
    ("text", "index", "expected"),
    [
        ("[1, 2, 3]", 0, "[2, 3]"),
        ("[1, 2, 3]", 1, "[1, 3]"),
        ("[1, 2, 3]", 2, "[1, 2]"),
        ("[\n  1\n]", 0, "[]"),
        ("[\n  1, // one\n  2 // two\n]", 1, "[\n  1 // one\n   // two\n]"),
        ("[ // one\n 1]", 0, "[ // one\n ]"),
        ("[1 /* a */ , 2]", 0, "[ /* a */ 2]"),
    ],
)
def test_jsonc_remove_keeps_comments(text: str, index: int, expected: str) -> None:
    after = remove(text, parse(text), index)
    assert after == expected
    parse(after)


@pytest.mark.parametrize(
    ("text", "line", "column", "what"),
    [
        ("", 1, 1, "ends where a value"),
        ('{"a": }', 1, 7, "a value was expected"),
        ('{\n  "a": 1\n  "b": 2\n}', 3, 3, "a comma or }"),
        ('{"a": 1', 1, 8, "a comma or }"),
        ("{a: 1}", 1, 2, "a key in double quotes"),
        ("{'a': 1}", 1, 2, "a key in double quotes"),
        ('{"a" 1}', 1, 6, "a colon"),
        ('{"a": NaN}', 1, 7, "a value"),
        ('{"a": 01}', 1, 8, "a comma or }"),
        ('{"a": "x\ny"}', 1, 7, "a value"),
        ("{} x", 1, 4, "nothing more"),
        ("{ /* open }", 1, 3, "a key"),
        ("[,]", 1, 2, "a value"),
        ("[1,,2]", 1, 4, "a value"),
        ("[" * 300, 1, 202, "nest deeper"),
    ],
)
def test_jsonc_errors_name_line_and_column(text: str, line: int, column: int, what: str) -> None:
    with pytest.raises(UnreadableText, match=re.escape(what)) as found:
        parse(text)
    assert (found.value.line, found.value.column) == (line, column)


def test_jsonc_duplicate_key_fails_when_read() -> None:
    node = parse('{"a": 1, "a": 2, "b": 3}')
    assert node.get("b") is not None
    with pytest.raises(InstallError, match="twice"):
        node.get("a")
