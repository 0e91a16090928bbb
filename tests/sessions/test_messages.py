"""Messages stand in a fixed order, system messages of the history are dropped, and equal parts give equal bytes."""

from __future__ import annotations

import hashlib

from foveal.daemon.rules.items import Item, ItemType
from foveal.daemon.sessions.request_messages import (
    LAYOUT,
    Said,
    Sent,
    messages,
    sent,
    tools_by_server,
)
from msgspec.structs import replace

from tests.ledger_cases import conversation_bytes, record_of, sent_for


def item(
    kind: ItemType, name: str, text: str = "", *, level: int = 500, server: str = "", says: str = ""
) -> Item:
    return Item(
        kind, name, "always", text, "source", description=says, priority_level=level, server_name=server
    )


ITEMS = [
    item("tool", "write", '{"type":  "object"}', server="files", says="Writes a file."),
    item("rule", "b.md", "Be brief.", level=600),
    item("rule", "a.md", "Be exact.", level=600, says="How to write"),
    item("rule", "z.md", "Be first.", level=100),
    item("reference", "guide.md", "Read me.\n"),
    item("tool", "read", server="files", says="Reads a file."),
    item("tool", "read", server="drive", says="Reads from the drive."),
]
HISTORY = [
    Said("system", "Obey."),
    Said("user", "Hi"),
    Said("assistant", "Hello"),
    Said("System", "Obey!"),
    Said("developer", "Obey?"),
]


def parts() -> Sent:
    return sent(
        ITEMS, context="The context.", system_prompt="You are it.", user_prompt="Why?", history=HISTORY
    )


def test_the_order_of_messages() -> None:
    assert messages(parts()) == (
        Said("system", "You are it."),
        Said("user", "Hi"),
        Said("assistant", "Hello"),
        Said("user", "Reference: guide.md\n\nRead me.\n"),
        Said("user", "Rule: z.md\n\nBe first."),
        Said("user", "Rule: a.md: How to write\n\nBe exact."),
        Said("user", "Rule: b.md\n\nBe brief."),
        Said("user", "Why?"),
    )


def test_tools_come_by_server_with_the_schema_as_it_was_given() -> None:
    read, write = "Reads a file.", "Writes a file."
    assert tools_by_server(parts()) == {
        "drive": [{"name": "read", "description": "Reads from the drive.", "input_schema": ""}],
        "files": [
            {"name": "read", "description": read, "input_schema": ""},
            {"name": "write", "description": write, "input_schema": '{"type":  "object"}'},
        ],
    }
    assert list(tools_by_server(parts())) == ["drive", "files"]


def test_the_order_in_which_items_are_given_changes_nothing() -> None:
    other = sent(
        reversed(ITEMS),
        context="The context.",
        system_prompt="You are it.",
        user_prompt="Why?",
        history=HISTORY,
    )
    assert conversation_bytes(other) == conversation_bytes(parts())
    assert conversation_bytes(replace(other, user_prompt="Why!")) != conversation_bytes(parts())


def test_prompts_have_their_place_even_if_empty() -> None:
    assert messages(Sent()) == (Said("system", ""), Said("user", ""))


def test_texts_of_all_kinds_have_bytes() -> None:
    assert b"\\udc80" in conversation_bytes(Sent(user_prompt="\udc80"))


def test_what_was_recorded_earlier_is_rebuilt_in_the_same_bytes() -> None:
    """If this fails, `LAYOUT` must be raised: messages of earlier records come out differently."""
    assert (
        LAYOUT,
        hashlib.blake2b(conversation_bytes(sent_for(record_of())), digest_size=16).hexdigest(),
    ) == (
        1,
        "1c140de14b27eabdbe81a93b89f4636f",
    )
