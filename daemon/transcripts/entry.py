"""Owns the entry: one thing that happened in a conversation, whichever host wrote it down."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

EntryKind = Literal["user", "agent", "thinking", "call", "result", "handback", "boundary"]
Tool = Literal["edit", "write", "read", "run", "search", "agent", "other", ""]


class Entry(Struct, frozen=True):
    """One thing that happened, in the order of the transcript; host formats are translated at the door.

    Texts are masked of nothing and come from strangers: whoever keeps them checks them first.
    """

    kind: EntryKind
    """`user`: what a person or the parent agent said; `agent`: what the agent said; `handback`: a final
    report given to a parent; `boundary`: a compaction, whose text is the summary."""

    line: int
    """The line of the record that it came from, counted from 1."""

    text: str = ""
    """What was said; of a result its output, cut to 20,000 characters, head and tail."""

    at: str = ""
    """ISO 8601 as the host gave it, or empty."""

    agent_id: str = ""
    session_id: str = ""

    tool: Tool = ""
    """Of a call: what kind of tool it is."""

    name: str = ""
    """Of a call: the host's name of the tool."""

    call_id: str = ""
    """Joins a call and its result."""

    paths: tuple[str, ...] = ()
    """Files that a call touches, as the host wrote them."""

    command: str = ""
    """Of a call that runs something."""

    failed: bool = False
    """Of a result: an error, or an exit code other than 0."""

    sidechain: bool = False
    """Of a subagent inside the transcript of another agent."""


Record = dict[str, Any]

RESULT_CHARACTERS = 20_000
"""A result's output is kept to this: its head and its tail, where errors and totals stand."""
TEXT_CHARACTERS = 200_000
"""Anything else that was said. The longest reports have some ten thousand characters."""
MARK = "\n[…]\n"
"""Stands where the middle of a text was left out."""


def record_of(data: bytes) -> Record | None:
    """Return a line as a JSON object; None for anything else, a half-written line among it."""
    try:
        record = json.loads(data)
    except (ValueError, RecursionError):  # no UTF-8, no JSON, a giant number, nested too deeply
        return None
    return record if isinstance(record, dict) else None


def text_at(record: Mapping[str, Any], *keys: str) -> str:
    """Return the first of some fields that is a text with something in it, or an empty one."""
    for key in keys:
        value = record.get(key)
        if isinstance(value, str) and value:
            return value
    return ""


def map_at(record: Mapping[str, Any], key: str) -> Record:
    """Return a field that is a map, or an empty one."""
    value = record.get(key)
    return value if isinstance(value, dict) else {}


def maps_at(record: Mapping[str, Any], key: str) -> list[Record]:
    """Return the maps in a field that is a list."""
    value = record.get(key)
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def texts_at(record: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """Return the texts in a field that is a list, or the one that it is."""
    value = record.get(key)
    if isinstance(value, str):
        return (value,) if value else ()
    return tuple(one for one in value if isinstance(one, str) and one) if isinstance(value, list) else ()


def parts_at(record: Mapping[str, Any], key: str) -> list[str]:
    """Return a content's texts: it is a text, or a list of texts and of maps with one."""
    value = record.get(key)
    if isinstance(value, str):
        return [value] if value else []
    if not isinstance(value, list):
        return []
    parts = [text_at(one, "text") if isinstance(one, dict) else one for one in value]
    return [part for part in parts if isinstance(part, str) and part]


def cut(text: str, characters: int) -> str:
    """Return a text of at most so many characters: its head and its tail, a mark between them."""
    if len(text) <= characters:
        return text
    half = (characters - len(MARK)) // 2
    return text[:half] + MARK + text[-half:]


def joined(parts: list[str]) -> str:
    """Put blocks of one message together: some hosts cut within a sentence, some between paragraphs."""
    text = ""
    for part in parts:
        continues = not text or text[-1].isspace() or part[:1].isspace() or part[:1].islower()
        text += part if continues or part[:1] in ".,;:)" else f"\n\n{part}"
    return text
