"""Owns the key of an item, by which sessions and requests name it; knows no item's text and no session."""

from __future__ import annotations

from typing import cast, get_args

from msgspec import Struct

from ..core.errors import InvalidRequest
from .item_texts import has_harmful
from .items import Item, ItemType

MAX_NAME_CHARACTERS = 1_000
"""Of an item's or a server's name: the name of an instruction file is a path, and few are a third as long."""


class ItemKey(Struct, frozen=True, order=True):
    """What makes two items the same: type, name and, for a tool, the server that offers it.

    `server_name` is empty for rules and references.
    """

    type: ItemType
    name: str
    server_name: str = ""

    def __str__(self) -> str:
        """Return it as a person is told: `rule AGENTS.md`, `tool search of github`."""
        of_server = f" of {self.server_name}" if self.server_name else ""
        return f"{self.type} {self.name:.200}{of_server:.200}"


def key_of(item: Item) -> ItemKey:
    """Return the key of an item."""
    return ItemKey(item.type, item.name, item.server_name)


def item_key(kind: str, name: str, server_name: str = "") -> ItemKey:
    """Return the key that a caller names. Raises `InvalidRequest` with the field that can't be used."""
    if kind not in get_args(ItemType):
        raise InvalidRequest(f"type must be one of {', '.join(get_args(ItemType))}, not {kind!r:.60}", "type")
    _check_name("name", name)
    if kind == "tool":
        if not server_name:
            raise InvalidRequest(
                "server_name is missing; a tool is named with the server it is of", "server_name"
            )
        _check_name("server_name", server_name)
    elif server_name:
        raise InvalidRequest(f"server_name belongs to tools only; leave it out for a {kind}", "server_name")
    return ItemKey(cast("ItemType", kind), name, server_name)


def _check_name(field: str, name: str) -> None:
    if not name.strip():
        raise InvalidRequest(f"{field} must not be empty", field)
    if len(name) > MAX_NAME_CHARACTERS:
        raise InvalidRequest(f"{field} is longer than {MAX_NAME_CHARACTERS:,} characters", field)
    if has_harmful(name) or "\n" in name:
        raise InvalidRequest(f"{field} holds control characters; leave them out", field)
