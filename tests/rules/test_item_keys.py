"""A key names an item by type, name and, for a tool, its server; another form is refused by field."""

from __future__ import annotations

import pytest
from foveal.daemon.core.errors import InvalidRequest
from foveal.daemon.rules.items import MAX_NAME_CHARACTERS, Item, ItemKey, item_key, key_of


def test_a_key_is_made_of_what_a_caller_names() -> None:
    def check(given: tuple[str, ...], expected: ItemKey, said: str) -> None:
        assert item_key(*given) == expected
        assert str(expected) == said

    check(("rule", "docs/AGENTS.md"), ItemKey("rule", "docs/AGENTS.md"), "rule docs/AGENTS.md")
    check(("reference", "naïve 参考"), ItemKey("reference", "naïve 参考"), "reference naïve 参考")
    check(("tool", "search", "github"), ItemKey("tool", "search", "github"), "tool search of github")
    check(
        ("rule", "x" * MAX_NAME_CHARACTERS), ItemKey("rule", "x" * MAX_NAME_CHARACTERS), f"rule {'x' * 200}"
    )


def test_an_item_has_a_key() -> None:
    assert key_of(Item("rule", "A", "always", "text", "/A.md")) == ItemKey("rule", "A")
    assert key_of(Item("tool", "t", "agent", "", "", server_name="srv")) == ItemKey("tool", "t", "srv")


def test_what_names_no_item_is_refused_by_field() -> None:
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
