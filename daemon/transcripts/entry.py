"""Entries (the events of a conversation in a common form for all hosts), and tolerant reading of records."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

EntryKind = Literal["user", "agent", "thinking", "call", "result", "handback", "boundary"]
Tool = Literal["edit", "write", "read", "run", "search", "agent", "other", ""]


class Entry(Struct, frozen=True):
    """An event of a conversation, in the order of the transcript.

    Texts are untrusted and their secrets aren't masked: whoever stores them checks them first.
    """

    kind: EntryKind
    """`user`: a message of a person or the parent agent; `agent`: a message of the agent; `handback`: a final
    report to a parent; `boundary`: a compaction, whose text is the summary."""

    line: int
    """The line of its record, counted from 1."""

    text: str = ""
    """The message; for a result its output, cut to 20,000 characters, head and tail."""

    at: str = ""
    """ISO 8601 as the host gave it, or empty."""

    agent_id: str = ""
    session_id: str = ""

    tool: Tool = ""
    """The kind of tool of a call."""

    name: str = ""
    """The host's name for the tool of a call."""

    call_id: str = ""
    """Links a call and its result."""

    paths: tuple[str, ...] = ()
    """Files that a call touches, as the host wrote them."""

    command: str = ""
    """The command of a call that runs a program."""

    failed: bool = False
    """Whether a result is an error, or has an exit code other than 0."""

    sidechain: bool = False
    """Whether the entry belongs to a subagent inside the transcript of another agent."""


Record = dict[str, Any]

RESULT_CHARACTERS = 20_000
"""Maximum characters of a result's output: its head and its tail, which hold errors and totals."""
TEXT_CHARACTERS = 200_000
"""Maximum characters of any other text; the longest reports have some ten thousand."""
MARK = "\n[…]\n"
"""Replaces the omitted middle of a text."""


def record_of(data: bytes) -> Record | None:
    """Return a line as a JSON object; None for anything else, such as a half-written line."""
    try:
        record = json.loads(data)
    except (ValueError, RecursionError):  # no UTF-8, no JSON, a giant number, nested too deeply
        return None
    return record if isinstance(record, dict) else None


def text_at(record: Mapping[str, Any], *keys: str) -> str:
    """Return the first field that is a text and not empty, else ""."""
    for key in keys:
        value = record.get(key)
        if isinstance(value, str) and value:
            return value
    return ""


def map_at(record: Mapping[str, Any], key: str) -> Record:
    """Return a field that is a map, else an empty map."""
    value = record.get(key)
    return value if isinstance(value, dict) else {}


def maps_at(record: Mapping[str, Any], key: str) -> list[Record]:
    """Return the maps in a field that is a list."""
    value = record.get(key)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def texts_at(record: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """Return the texts in a field that is a list, or the field itself if it is a text."""
    value = record.get(key)
    if isinstance(value, str):
        return (value,) if value else ()
    return tuple(item for item in value if isinstance(item, str) and item) if isinstance(value, list) else ()


def parts_at(record: Mapping[str, Any], key: str) -> list[str]:
    """Return the texts of a content, which is a text, or a list of texts and of maps with a `text`."""
    value = record.get(key)
    if isinstance(value, str):
        return [value] if value else []
    if not isinstance(value, list):
        return []
    parts = [text_at(item, "text") if isinstance(item, dict) else item for item in value]
    return [part for part in parts if isinstance(part, str) and part]


def cut(text: str, characters: int) -> str:
    """Return a text of at most `characters`: its head, a mark and its tail."""
    if len(text) <= characters:
        return text
    half = (characters - len(MARK)) // 2
    return text[:half] + MARK + text[-half:]


def joined(parts: list[str]) -> str:
    """Join the blocks of a message: some hosts cut within a sentence, some between paragraphs."""
    text = ""
    for part in parts:
        continues = not text or text[-1].isspace() or part[:1].isspace() or part[:1].islower()
        text += part if continues or part[:1] in ".,;:)" else f"\n\n{part}"
    return text
