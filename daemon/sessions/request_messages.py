"""Owns what was sent for a request, and how messages are made of it; knows no ledger and no search."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from ..rules.item_keys import ItemKey, key_of
from ..rules.item_text import item_text
from ..rules.items import Item

LAYOUT = 1
"""Names the way in which `messages` puts parts together. Raised when that changes, so that what was sent in
another way isn't passed off as rebuilt."""

RULE_PREFIX = "Rule: "
REFERENCE_PREFIX = "Reference: "

_INSTRUCTING_ROLES = frozenset({"system", "developer"})
"""`developer` is what newer models of one vendor call the system's messages."""


class Said(Struct, frozen=True):
    """One message of the conversation, as a client gave it or as it is sent."""

    role: str
    content: str


class ItemPart(Struct, frozen=True):
    """An item with the very text that it had when it was sent.

    Of a tool `text` is its description and `schema` the JSON schema of its input; of a rule or reference
    `text` is what its message says after the prefix.
    """

    key: ItemKey
    text: str
    schema: str = ""


MESSAGE_CHARACTERS = 24
"""What a message takes beside its role and text: a map with the names of both, packed."""

ITEM_CHARACTERS = 80
"""What an item takes beside its texts and names."""


class Sent(Struct, frozen=True):
    """All parts of what was sent for a request, in their order. `context` is in the system prompt too.

    A part that the format of the request has no place for is empty. `history` is without system messages.
    """

    context: str = ""
    system_prompt: str = ""
    user_prompt: str = ""
    history: tuple[Said, ...] = ()
    references: tuple[ItemPart, ...] = ()
    rules: tuple[ItemPart, ...] = ()
    tools: tuple[ItemPart, ...] = ()

    @property
    def characters(self) -> int:
        """How many characters an answer with all of it takes: the prompts stand alone and as messages."""
        said = sum(len(one.content) for one in self.history)
        items = sum(len(one.text) + len(one.schema) for one in (*self.references, *self.rules, *self.tools))
        return len(self.context) + 2 * (len(self.system_prompt) + len(self.user_prompt)) + said + items

    @property
    def framed_characters(self) -> int:
        """About the same with roles, names and the keys of fields: the most of many short parts."""
        said = sum(MESSAGE_CHARACTERS + len(one.role) for one in self.history)
        items = (*self.references, *self.rules, *self.tools)
        named = sum(len(one.key.name) + len(one.key.server_name) + ITEM_CHARACTERS for one in items)
        return self.characters + said + named


def sent(
    items: Iterable[Item],
    *,
    context: str = "",
    system_prompt: str = "",
    user_prompt: str = "",
    history: Iterable[Said] = (),
) -> Sent:
    """Return the parts of a request: items by priority level, server and name, the history without system
    messages."""
    ordered = sorted(items, key=lambda one: (one.priority_level, one.server_name, one.name))
    return Sent(
        context,
        system_prompt,
        user_prompt,
        tuple(one for one in history if one.role.strip().lower() not in _INSTRUCTING_ROLES),
        tuple(_part(one) for one in ordered if one.type == "reference"),
        tuple(_part(one) for one in ordered if one.type == "rule"),
        tuple(_part(one) for one in ordered if one.type == "tool"),
    )


def messages(parts: Sent) -> tuple[Said, ...]:
    """Return the messages: system prompt, history, references, rules, the user's message.

    The system prompt and the user's message are there even if they are empty, since a client addresses them
    by their place. The same parts give the same messages, for ever: see `LAYOUT`.
    """
    return (
        Said("system", parts.system_prompt),
        *parts.history,
        *(Said("user", f"{REFERENCE_PREFIX}{one.text}") for one in parts.references),
        *(Said("user", f"{RULE_PREFIX}{one.text}") for one in parts.rules),
        Said("user", parts.user_prompt),
    )


def tools_by_server(parts: Sent) -> dict[str, list[dict[str, str]]]:
    """Return the tools of each server, servers by name, tools in their order.

    `input_schema` is the schema's JSON text as the server gave it, so that not even its spaces change.
    """
    servers: dict[str, list[dict[str, str]]] = {
        name: [] for name in sorted({one.key.server_name for one in parts.tools})
    }
    for one in parts.tools:
        servers[one.key.server_name].append(
            {"name": one.key.name, "description": one.text, "input_schema": one.schema}
        )
    return servers


def conversation(parts: Sent) -> dict[str, Any]:
    """Return the messages and the tools as plain values, as a reply holds them."""
    return {
        "messages": [{"role": one.role, "content": one.content} for one in messages(parts)],
        "tools": tools_by_server(parts),
    }


def _part(item: Item) -> ItemPart:
    key = key_of(item)
    if item.type == "tool":
        return ItemPart(key, item.description, item.text)
    return ItemPart(key, item_text(item))
