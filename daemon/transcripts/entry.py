"""Owns the entry: one thing that happened in a conversation, whichever host wrote it down."""

from __future__ import annotations

from typing import Literal

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
