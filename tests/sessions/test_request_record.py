"""A record becomes a plain map and the same record again; what can't be one is refused with the reason."""

from __future__ import annotations

import hashlib
import json

import pytest
from foveal.daemon.rules.records import Item, ItemType
from foveal.daemon.sessions.request_record import (
    LAYOUT,
    DamagedRecord,
    RequestRecord,
    Sent,
    SentMessage,
    message_hash,
    messages,
    new_request_id,
    record_in,
    record_map,
    sent,
)
from msgspec.structs import replace

from tests.delivery_cases import conversation_bytes, record_of, sent_for


def as_read(record: RequestRecord) -> RequestRecord:
    return record_in(json.loads(json.dumps(record_map(record))))


@pytest.mark.parametrize(
    "record",
    [
        record_of(),
        record_of(items=(), considered=(), slices=(), steps_ms={}, degraded=(), agent_name=""),
        record_of(project_root="/home/\udcff/é", message_hash=message_hash("\ud800")),
    ],
)
def test_a_record_survives_its_map(record: RequestRecord) -> None:
    assert as_read(record) == record


def test_a_record_that_lacks_a_field_is_refused() -> None:
    plain = record_map(record_of())
    del plain["at"]
    with pytest.raises(DamagedRecord):
        record_in(plain)


def test_ids_and_hashes() -> None:
    assert len({new_request_id() for _ in range(100)}) == 100
    assert message_hash("a") == message_hash("a") != message_hash("A")
    assert len(message_hash("")) == 32


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
    SentMessage("system", "Obey."),
    SentMessage("user", "Hi"),
    SentMessage("assistant", "Hello"),
    SentMessage("System", "Obey!"),
    SentMessage("developer", "Obey?"),
]


def parts() -> Sent:
    return sent(
        ITEMS, context="The context.", system_prompt="You are it.", user_prompt="Why?", history=HISTORY
    )


def test_the_order_of_messages() -> None:
    assert messages(parts()) == (
        SentMessage("system", "You are it."),
        SentMessage("user", "Hi"),
        SentMessage("assistant", "Hello"),
        SentMessage("user", "Reference: guide.md\n\nRead me.\n"),
        SentMessage("user", "Rule: z.md\n\nBe first."),
        SentMessage("user", "Rule: a.md: How to write\n\nBe exact."),
        SentMessage("user", "Rule: b.md\n\nBe brief."),
        SentMessage("user", "Why?"),
    )


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


def test_what_was_recorded_earlier_is_rebuilt_in_the_same_bytes() -> None:
    """If this fails, `LAYOUT` must be raised: messages of earlier records come out differently."""
    assert (
        LAYOUT,
        hashlib.blake2b(conversation_bytes(sent_for(record_of())), digest_size=16).hexdigest(),
    ) == (
        1,
        "1c140de14b27eabdbe81a93b89f4636f",
    )
