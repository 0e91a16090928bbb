"""A key names an item by type, name and, for a tool, its server; another form is refused by field."""

from __future__ import annotations

import pytest
from foveal.daemon.core.errors import InvalidRequest
from foveal.daemon.rules.items import (
    CHUNK_CHARACTERS,
    MAX_CHUNKS,
    MAX_NAME_CHARACTERS,
    IncludeMode,
    Item,
    ItemKey,
    PlannedItem,
    chunks,
    has_harmful,
    item_key,
    plan_without_session,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties import examples


def test_invalid_keys_are_refused_with_their_field() -> None:
    def check(given: tuple[str, ...], field: str, said: str) -> None:
        with pytest.raises(InvalidRequest, match=said) as raised:
            item_key(*given)
        assert raised.value.field == field

    check(("prompt", "a"), "type", "rule, reference, tool")
    check(("", "a"), "type", "rule, reference, tool")
    check(("rule", ""), "name", "empty")
    check(("rule", " \t"), "name", "empty")
    check(("rule", "x" * (MAX_NAME_CHARACTERS + 1)), "name", "longer")
    check(("rule", "a\nb"), "name", "control")
    check(("rule", "a\x1b[31m"), "name", "control")
    check(("rule", "a\u202eb"), "name", "control")
    check(("rule", "a\ud800"), "name", "control")
    check(("tool", "search"), "server_name", "missing")
    check(("tool", "search", " "), "server_name", "empty")
    check(("tool", "search", "a\0"), "server_name", "control")
    check(("rule", "a", "github"), "server_name", "tools only")


def test_tools_of_two_servers_are_two_items() -> None:
    assert ItemKey("tool", "search", "a") != ItemKey("tool", "search", "b")
    assert ItemKey("rule", "a") != ItemKey("reference", "a")


def item(name: str, include: IncludeMode, *globs: str) -> Item:
    return Item("rule", name, include, "text", "PutItem", globs=globs)


def test_without_a_session_modes_decide() -> None:
    items = [
        item("a", "always"),
        item("m", "manual"),
        item("s", "agent"),
        item("py", "glob", "*.py"),
        item("go", "glob", "*.go"),
    ]
    plan = plan_without_session(items)
    assert [one.item.name for one in plan.items] == ["a", "py", "go"]
    assert [one.item.name for one in plan.entering({"src/a.py"})] == ["a", "py"]
    assert [one.item.name for one in plan.entering(())] == ["a"]


def test_tools_of_two_servers_have_ids_of_their_own() -> None:
    ids = {
        PlannedItem(Item("tool", "search", "always", "", "s", server_name=server), "always").slice_id
        for server in ("hub", "cat")
    }
    assert ids == {"tool:hub/search", "tool:cat/search"}


def test_harmful_characters_are_found() -> None:
    def check(text: str, expected: bool) -> None:
        assert has_harmful(text) is expected

    check("plain", False)
    check("naïve 参考 👩‍💻", False)
    check("Screenshot 10.30\u202fAM", False)  # a space that macOS puts into names
    check("a\nb\tc", False)
    check("\x1b[2J", True)
    check("a\rb", True)
    check("a\x85b", True)
    check("a\u2028b", True)
    check("a\u202eb", True)
    check("a\udcffb", True)
    check("a\U000e0041", True)


SENTENCE = "Every sentence of this paragraph has exactly sixty-four letters. "
assert len(SENTENCE) == 65


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n\t\n ", []),
        ("one\n\ntwo", ["one\n\ntwo"]),
        ("a" * 499 + "\n\n" + "b", ["a" * 499, "b"]),
        ("a" * 300 + "\n \n\n" + "b" * 300 + "\n\nc", ["a" * 300, "b" * 300 + "\n\nc"]),
        (SENTENCE * 8, [(SENTENCE * 7).strip(), SENTENCE.strip()]),
        ("short\n\n" + SENTENCE * 8, ["short\n\n" + (SENTENCE * 7).strip(), SENTENCE.strip()]),
        ("- item\n" * 100, [("- item\n" * 71).strip(), ("- item\n" * 29).strip()]),
        ("word " * 120, [("word " * 100).strip(), ("word " * 20).strip()]),
        ("x" * 1_100, ["x" * 500, "x" * 500, "x" * 100]),
        ("文" * 480 + "。" + "字" * 100, ["文" * 480 + "。", "字" * 100]),
    ],
)
def test_chunks(text: str, expected: list[str]) -> None:
    assert list(chunks(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "x" * 5_000_000,
        "\n\n" * 2_000_000,
        ". " * 2_000_000,
        "a\n\n" * 1_000_000,
        "\n" + " " * 3_000_000 + "a",
    ],
)
def test_a_text_of_any_size_gives_few_chunks(text: str) -> None:
    assert len(chunks(text)) <= MAX_CHUNKS


@settings(max_examples=examples(200))
@given(
    st.lists(st.sampled_from(["a", "word ", "End. ", "\n", "\n\n", " ", "é", "x" * 120, "。"]), max_size=200)
)
def test_nothing_that_can_be_seen_is_lost(parts: list[str]) -> None:
    text = "".join(parts)
    found = chunks(text)
    assert all(0 < len(chunk) <= CHUNK_CHARACTERS and chunk == chunk.strip() for chunk in found)
    if len(found) < MAX_CHUNKS:
        assert "".join("".join(found).split()) == "".join(text.split())
