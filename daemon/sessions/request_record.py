"""The record of a request: what was used for one message, and what was sent, as messages."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, convert, field, to_builtins

from ..core.times import milliseconds_of, moment_in
from ..rules.records import IncludeMode, Item, ItemKey
from ..rules.service import item_text, key_of

LeftOut = Literal["floor", "near_best", "top_n", "removed", "denied", "budget"]
"""Why a considered item was not taken; see `selection.Reason`."""

MAX_CONSIDERED = 100
"""Maximum number of considered items that are recorded, the best: a search looks at 40 chunks."""

Number = int | Annotated[float, Meta(ge=-1e300, le=1e300)]
"""A finite number. An int stays one, so that a record that is read and written again has the same bytes."""


class DamagedRecord(Exception):  # caught in this room; never shown to a person
    """A map that is no record. The text says why."""


class UsedItem(Struct, frozen=True, omit_defaults=True):
    """An item that was in a request, its include mode, its score where a search chose it, and the priority
    level that it had, 0 in records that have none."""

    key: ItemKey
    include: IncludeMode = field(name="include_mode")
    score: Number | None = field(name="similarity_score", default=None)
    priority_level: int = 0


class ConsideredItem(Struct, frozen=True, omit_defaults=True):
    """An item that a search considered and left, with its best score, the reason and its priority level."""

    key: ItemKey
    score: Number = field(name="similarity_score")
    reason: LeftOut
    priority_level: int = 0


class RecordedSlice(Struct, frozen=True, omit_defaults=True):
    """A slice as it was shown: `compressed` tells that parts of it were left out, of `tokens_before`.

    The lines are those of its file, from 1, both inclusive, and 0 for the whole file.
    """

    id: str
    type: str
    layer: str
    weight: Number
    tokens: int
    compressed: bool
    source: str
    tokens_before: int = 0
    start_line: int = 0
    end_line: int = 0
    path: str = ""
    score: Number | None = None


class DroppedSlice(Struct, frozen=True):
    """A slice that was considered and not shown, and why: `budget` or `duplicate`."""

    id: str
    type: str
    weight: Number
    reason: str


class RequestRecord(Struct, frozen=True):
    """The items and slices used for a message of a session; the log stores the sent texts beside it.

    `at` is ISO 8601 UTC with milliseconds and `Z`. `message_hash` identifies the message, see there.
    `elapsed_ms` is the whole time, `steps_ms` that of named parts of it. `degraded` says in words what was
    missing. `considered` holds the best first. `masked` counts values in the caller's texts that looked like
    secrets and were masked before it was kept.
    """

    id: str
    session_id: str
    project_root: str
    at: str
    message_hash: str
    agent_name: str = ""
    format: str = "markdown"
    tokens: int = 0
    bytes: int = 0
    elapsed_ms: Number = 0.0
    steps_ms: Mapping[str, Number] = {}
    degraded: tuple[str, ...] = ()
    items: tuple[UsedItem, ...] = ()
    considered: tuple[ConsideredItem, ...] = ()
    slices: tuple[RecordedSlice, ...] = ()
    dropped: tuple[DroppedSlice, ...] = ()
    masked: int = 0

    @property
    def milliseconds(self) -> int:
        """The time `at` in milliseconds since 1970."""
        return milliseconds_of(moment_in(self.at))


def new_request_id() -> str:
    """Return a new request id: 64 random bits."""
    return f"req_{secrets.token_hex(8)}"


def message_hash(message: str) -> str:
    """Return the hash of a message: BLAKE2b-128 of its UTF-8, in hexadecimal."""
    return hashlib.blake2b(message.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def record_map(record: RequestRecord) -> dict[str, Any]:
    """Return a record as a map of plain values, items with the fields of their keys."""
    plain: dict[str, Any] = to_builtins(record)
    plain["items"] = [{**item.pop("key"), **item} for item in plain["items"]]
    plain["considered"] = [{**item.pop("key"), **item} for item in plain["considered"][:MAX_CONSIDERED]]
    for name in ("dropped", "masked"):
        if not plain[name]:
            del plain[name]
    return plain


def record_in(plain: Mapping[str, Any]) -> RequestRecord:
    """Return the record in a map; unknown fields are ignored. Raises `DamagedRecord`."""
    try:
        keyed = {name: [{**item, "key": item} for item in plain[name]] for name in ("items", "considered")}
        return convert({**plain, **keyed}, RequestRecord)
    except Exception as error:
        raise DamagedRecord(f"can't be read: {error}") from error


LAYOUT = 1
"""The version of how `messages` combines parts. Raised when that changes, so that rebuilt messages are never
passed off as the sent ones."""

RULE_PREFIX = "Rule: "
REFERENCE_PREFIX = "Reference: "

_INSTRUCTING_ROLES = frozenset({"system", "developer"})
"""Roles of system messages; `developer` is OpenAI's newer name."""


class SentMessage(Struct, frozen=True):
    """A message of the conversation, as a client gave it or as it is sent."""

    role: str
    content: str


class ItemPart(Struct, frozen=True):
    """An item with the exact text that was sent.

    For a tool `text` is its description and `schema` the JSON schema of its input; for a rule or reference
    `text` is its message after the prefix.
    """

    key: ItemKey
    text: str
    schema: str = ""


class Sent(Struct, frozen=True):
    """All parts of what was sent for a request, in order. `context` is in the system prompt too.

    Parts without a place in the request's format are empty. `history` has no system messages.
    """

    context: str = ""
    system_prompt: str = ""
    user_prompt: str = ""
    history: tuple[SentMessage, ...] = ()
    references: tuple[ItemPart, ...] = ()
    rules: tuple[ItemPart, ...] = ()
    tools: tuple[ItemPart, ...] = ()

    @property
    def characters(self) -> int:
        """The characters of a reply with all parts: prompts are in it twice, alone and as messages."""
        said = sum(len(message.content) for message in self.history)
        items = sum(
            len(item.text) + len(item.schema) for item in (*self.references, *self.rules, *self.tools)
        )
        return len(self.context) + 2 * (len(self.system_prompt) + len(self.user_prompt)) + said + items


def sent(
    items: Iterable[Item],
    *,
    context: str = "",
    system_prompt: str = "",
    user_prompt: str = "",
    history: Iterable[SentMessage] = (),
) -> Sent:
    """Return the parts of a request: items by priority level, server and name, the history without system
    messages."""
    ordered = sorted(items, key=lambda item: (item.priority_level, item.server_name, item.name))
    return Sent(
        context,
        system_prompt,
        user_prompt,
        tuple(message for message in history if message.role.strip().lower() not in _INSTRUCTING_ROLES),
        tuple(_part(item) for item in ordered if item.type == "reference"),
        tuple(_part(item) for item in ordered if item.type == "rule"),
        tuple(_part(item) for item in ordered if item.type == "tool"),
    )


def messages(parts: Sent) -> tuple[SentMessage, ...]:
    """Return the messages: system prompt, history, references, rules, the user's message.

    The system prompt and the user's message are included even if empty, since clients address them by
    position. The same parts always give the same messages, see `LAYOUT`.
    """
    return (
        SentMessage("system", parts.system_prompt),
        *parts.history,
        *(SentMessage("user", f"{REFERENCE_PREFIX}{item.text}") for item in parts.references),
        *(SentMessage("user", f"{RULE_PREFIX}{item.text}") for item in parts.rules),
        SentMessage("user", parts.user_prompt),
    )


def tools_by_server(parts: Sent) -> dict[str, list[dict[str, str]]]:
    """Return the tools of each server, servers by name, tools in their order.

    `input_schema` is the JSON text exactly as the server gave it.
    """
    servers: dict[str, list[dict[str, str]]] = {
        name: [] for name in sorted({item.key.server_name for item in parts.tools})
    }
    for item in parts.tools:
        servers[item.key.server_name].append(
            {"name": item.key.name, "description": item.text, "input_schema": item.schema}
        )
    return servers


def conversation(parts: Sent) -> dict[str, Any]:
    """Return the messages and the tools as plain values for a reply."""
    return {
        "messages": [{"role": message.role, "content": message.content} for message in messages(parts)],
        "tools": tools_by_server(parts),
    }


def _part(item: Item) -> ItemPart:
    key = key_of(item)
    if item.type == "tool":
        return ItemPart(key, item.description, item.text)
    return ItemPart(key, item_text(item))
