"""Transcripts in the formats of hosts, with invented content, for the tests of their readers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from foveal.daemon.transcripts.cursor import Cursor
from foveal.daemon.transcripts.entry import TranscriptEntry, TranscriptReader
from foveal.daemon.transcripts.transcripts import read

AT = "2026-11-20T10:00:00.000Z"


def write(path: Path, records: Iterable[dict[str, Any]], *, end: str = "\n") -> str:
    """Write records as JSON Lines and return the path."""
    path.write_text("\n".join(json.dumps(record) for record in records) + end)
    return str(path)


def append(path: str, *records: dict[str, Any]) -> None:
    """Add records to a transcript."""
    with open(path, "a") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)


def entries_of(path: str, cursor: Cursor | None = None) -> list[TranscriptEntry]:
    """Return all that a transcript says."""
    with read(path, cursor) as reading:
        return list(reading.entries())


def read_all(path: str, cursor: Cursor | None = None) -> tuple[list[TranscriptEntry], Cursor]:
    """Return all that a transcript says, and where the next reading goes on."""
    with read(path, cursor) as reading:
        return list(reading.entries()), reading.cursor


def read_records(reader: Callable[[], TranscriptReader], *records: dict[str, Any]) -> list[TranscriptEntry]:
    """Return all that some records say to a new reader."""
    reading = reader()
    entries: list[TranscriptEntry] = []
    for number, record in enumerate(records, start=1):
        entries += reading.read(number, json.dumps(record).encode()) or []
    return entries + reading.finish()


def said_in(entries: Iterable[TranscriptEntry]) -> list[tuple[str, str]]:
    """Return entries as pairs of what they are and what they say."""
    return [(entry.kind, entry.text or entry.command or entry.tool) for entry in entries]


class Claude:
    """Makes the records of one conversation of Claude Code, each the child of the one before."""

    def __init__(self, session_id: str = "s1", agent_id: str = "", *, cwd: str = "/w/app") -> None:
        self._session_id = session_id
        self._agent_id = agent_id
        self._cwd = cwd
        self._count = 0
        self.last: str | None = None

    def record(self, kind: str, **fields: Any) -> dict[str, Any]:
        """Return a record with its envelope."""
        self._count += 1
        parent, self.last = self.last, f"{self._session_id}-{self._agent_id}-{self._count}"
        envelope = {
            "type": kind, "uuid": self.last, "parentUuid": parent, "isSidechain": bool(self._agent_id),
            "sessionId": self._session_id, "cwd": self._cwd, "version": "2.1.330", "timestamp": AT,
        }  # fmt: skip
        if self._agent_id:
            envelope["agentId"] = self._agent_id
        return {**envelope, **fields}

    def user(self, content: Any, **fields: Any) -> dict[str, Any]:
        """Return what a person said."""
        return self.record("user", message={"role": "user", "content": content}, **fields)

    def block(self, block: dict[str, Any], message_id: str = "", **fields: Any) -> dict[str, Any]:
        """Return one block of a reply; each has a message of its own unless one is named."""
        message = {
            "id": message_id or f"m{self._count}",
            "role": "assistant",
            "model": "x",
            "content": [block],
        }
        return self.record("assistant", message=message, requestId="r1", **fields)

    def text(self, text: str, message_id: str = "", **fields: Any) -> dict[str, Any]:
        """Return something that the agent said."""
        return self.block({"type": "text", "text": text}, message_id, **fields)

    def call(self, name: str, given: dict[str, Any], call_id: str = "tu1") -> dict[str, Any]:
        """Return a call of a tool."""
        return self.block({"type": "tool_use", "id": call_id, "name": name, "input": given})

    def result(
        self, content: Any, call_id: str = "tu1", *, is_error: bool = False, **fields: Any
    ) -> dict[str, Any]:
        """Return a tool's result."""
        block = {"type": "tool_result", "tool_use_id": call_id, "content": content, "is_error": is_error}
        return self.user([block], **{"toolUseResult": {}, **fields})


def codex_line(kind: str, payload: dict[str, Any]) -> dict[str, Any]:
    """Return a line of a rollout."""
    return {"timestamp": AT, "type": kind, "payload": payload}


def codex_meta(session_id: str = "t1", **fields: Any) -> dict[str, Any]:
    """Return a rollout's first line."""
    return codex_line("session_meta", {"id": session_id, "cwd": "/w/app", "source": "cli", **fields})


def codex_item(kind: str, **fields: Any) -> dict[str, Any]:
    """Return an item of a rollout, as the model saw it."""
    return codex_line("response_item", {"type": kind, **fields})


def codex_event(kind: str, **fields: Any) -> dict[str, Any]:
    """Return an event of a rollout, as the screen showed it."""
    return codex_line("event_msg", {"type": kind, **fields})


def codex_message(role: str, text: str, **fields: Any) -> dict[str, Any]:
    """Return a message as an item."""
    kind = "output_text" if role == "assistant" else "input_text"
    return codex_item("message", role=role, content=[{"type": kind, "text": text}], **fields)
