"""An item as it is given: every field is checked, and what can't be used is said with the field's name."""

from __future__ import annotations

from typing import Any

import pytest
from foveal.daemon.core.errors import InvalidRequest
from foveal.daemon.rules.item_store import MAX_TEXT_BYTES, draft_of, fields_of, key_in
from foveal.daemon.rules.items import ItemKey

RULE: dict[str, Any] = {"type": "rule", "name": "commits", "include": "always", "text": "Sign them."}
TOOL: dict[str, Any] = {"type": "tool", "name": "search", "server_name": "web", "include": "agent"}


def test_a_draft_keeps_what_was_given() -> None:
    draft = draft_of(
        RULE
        | {
            "include": "glob",
            "globs": ["*.py", "src/**", "*.py"],
            "description": "How to\ncommit",
            "priority_level": 120,
            "source": "an editor",
            "text": "\nSign them.\r\nAll.\n\n",
            "stranger": 1,
        }
    )
    assert draft.key == ItemKey("rule", "commits")
    assert draft.globs == ("*.py", "src/**")
    assert draft.description == "How to commit"
    assert draft.text == "Sign them.\nAll."
    assert draft.priority_level == 120
    assert draft_of(fields_of(draft)) == draft
    item = draft.item("elsewhere", 7)
    assert (item.source, item.line, item.priority_level, item.globs) == ("an editor", 7, 120, draft.globs)


def test_globs_hold_in_their_mode_only() -> None:
    draft = draft_of(RULE | {"globs": ["*.py"]})
    assert draft.globs == ("*.py",)
    assert draft.item("x").globs == ()
    assert draft.item("x").source == "x"
    assert draft.item("x").priority_level == 500


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"type": "command"}, "item.type"),
        ({"type": 1}, "item.type"),
        ({"type": None}, "item.type"),
        ({"name": ""}, "item.name"),
        ({"name": "  "}, "item.name"),
        ({"name": "a\nb"}, "item.name"),
        ({"name": "a\x1b[2J"}, "item.name"),
        ({"name": "x" * 2_000}, "item.name"),
        ({"name": 3}, "item.name"),
        ({"include": "sometimes"}, "item.include"),
        ({"include": None}, "item.include"),
        ({"include": "glob"}, "item.globs"),
        ({"include": "glob", "globs": []}, "item.globs"),
        ({"globs": "*.py"}, "item.globs"),
        ({"globs": [1]}, "item.globs"),
        ({"globs": ["../secret"]}, "item.globs"),
        ({"globs": ["a"] * 101}, "item.globs"),
        ({"server_name": "web"}, "item.server_name"),
        ({"text": 5}, "item.text"),
        ({"text": "x" * (MAX_TEXT_BYTES + 1)}, "item.text"),
        ({"text": "ä" * (MAX_TEXT_BYTES // 2 + 1)}, "item.text"),
        ({"text": "a\0b"}, "item.text"),
        ({"text": "\u202egnihton"}, "item.text"),
        ({"description": "x" * 3_000}, "item.description"),
        ({"priority_level": 99}, "item.priority_level"),
        ({"priority_level": 1000}, "item.priority_level"),
        ({"priority_level": True}, "item.priority_level"),
        ({"priority_level": "100"}, "item.priority_level"),
        ({"source": "a\nb"}, "item.source"),
    ],
)
def test_what_cannot_be_used_is_named(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidRequest) as raised:
        draft_of(RULE | changes)
    assert raised.value.field == field
    assert str(raised.value).startswith("item.")


def test_a_tool_needs_its_server() -> None:
    assert draft_of(TOOL).key == ItemKey("tool", "search", "web")
    assert draft_of(TOOL).stands_alone
    assert not draft_of(RULE | {"text": " \n"}).stands_alone
    for missing in (None, "", " "):
        with pytest.raises(InvalidRequest) as raised:
            draft_of(TOOL | {"server_name": missing})
        assert raised.value.field == "item.server_name"
    with pytest.raises(InvalidRequest) as raised:
        key_in({"type": "tool", "name": "search"})
    assert raised.value.field == "server_name"
