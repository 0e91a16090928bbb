"""Cline's `<id>.messages.json`: one JSON object, indented by two, of which each message is read by itself.

The file is written anew with each message. Each agent has a file of its own; a subagent's is named for it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from .entry import (
    TOOLS,
    Call,
    Record,
    TranscriptEntry,
    TranscriptReader,
    map_at,
    maps_at,
    record_of,
    text_at,
    time_of,
)
from .injections import said
from .transcript_file import MAX_LINE_BYTES

_OPENING, _CLOSING, _LIST = b"    {", (b"    }", b"    },"), b'  "messages": ['
HEAD_LINES = 100
"""Maximum number of lines before the messages."""
_INPUT = re.compile(r"<user_input[^>]*>(.*?)</user_input>", re.DOTALL)


class ClineReader(TranscriptReader):
    """Reads one agent's messages."""

    source = "cline"

    def __init__(self) -> None:
        super().__init__()
        self._head: list[bytes] | None = []
        """The lines before the messages, None behind them."""
        self._lines: list[bytes] = []
        self._size = 0
        self._start = 0
        """The line on which the message in `_lines` begins, 0 between messages."""

    @staticmethod
    def recognises(record: Record) -> bool:
        """Whether a record is the head of such a file."""
        return "sessionId" in record and "messages" in record and "origin" in record

    @classmethod
    def begins(cls, head: Iterable[bytes]) -> bool:
        """Whether a file that begins with these lines is one."""
        found = _head_of(head)
        return found is not None and cls.recognises(found)

    def read(self, line: int, data: bytes) -> list[TranscriptEntry] | None:
        """Return the entries of the message that a line ends."""
        data = data.rstrip(b"\r\n")
        if self._head is not None and data.startswith((_LIST, _OPENING)):
            self._begin(_head_of([*self._head, data]) or {})
        elif self._head is not None:
            self._head.append(data)
            del self._head[HEAD_LINES:]
        if data == _OPENING:
            self._lines, self._size, self._start = [], 0, line
        if not self._start:
            return []
        self._size += len(data)
        if self._size <= MAX_LINE_BYTES:
            self._lines.append(data)
        if data not in _CLOSING:
            return []
        start, self._start = self._start, 0
        record = record_of(b"\n".join(self._lines).rstrip(b",")) if self._size <= MAX_LINE_BYTES else None
        return [] if record is None else self.entries_of(start, record)

    def ends(self, data: bytes) -> bool:
        """Whether a last line without a line break ends the file."""
        return data.strip() == b"}"

    def entries_of(self, line: int, record: Record) -> list[TranscriptEntry]:
        """Return the entries of a message."""
        blank = TranscriptEntry(
            "agent", line, at=time_of(record.get("ts")), agent_id=self.owner, session_id=self.session_id
        )
        if text_at(map_at(record, "metadata"), "displayRole") == "system":  # what hooks added
            return []
        is_user = record.get("role") == "user"
        entries: list[TranscriptEntry] = []
        for part in maps_at(record, "content"):
            match text_at(part, "type"):
                case "text" if is_user:
                    text = text_at(part, "text")
                    typed = _INPUT.search(text)
                    entries += blank.message("user", said(typed[1] if typed else text))
                case "text":
                    entries += blank.message("agent", said(text_at(part, "text")))
                case "tool_use":
                    name = text_at(part, "name")
                    entries += self.called(
                        blank, name, text_at(part, "id"), _call(name, map_at(part, "input"))
                    )
                case "tool_result":
                    text, failed = _result(part)
                    entries += self.ended(blank, text_at(part, "tool_use_id"), text, failed=failed)
        return entries

    def _begin(self, head: Record) -> None:
        origin = map_at(head, "origin")
        self.owner = text_at(origin, "subagent")
        self.session_id = text_at(origin, "parentThreadId") or text_at(head, "sessionId")
        self._head = None


def _head_of(lines: Iterable[bytes]) -> Record | None:
    """Return what precedes the messages, with none of these; None if it isn't the head of such a file."""
    kept: list[bytes] = []
    for number, data in enumerate(line.rstrip(b"\r\n") for line in lines):
        if number > HEAD_LINES or (number == 0 and data != b"{"):
            return None
        if data.startswith(_LIST):
            return record_of(b"\n".join([*kept, _LIST + b"]}"]))
        kept.append(data)
    return None


def _call(name: str, given: Record) -> Call:
    paths = [text_at(given, "path"), *(text_at(file, "path") for file in maps_at(given, "files"))]
    commands = given.get("commands")
    lines = [line for line in commands if isinstance(line, str)] if isinstance(commands, list) else []
    return Call(TOOLS.get(name, "other"), tuple(filter(None, paths)), "\n".join(lines))


def _result(part: Record) -> tuple[str, bool]:
    """Return a result's text, and whether it is a failure."""
    content: Any = part.get("content")
    if isinstance(content, str) and content[:1] in {"[", "{"}:
        with suppress(ValueError, RecursionError):
            content = json.loads(content)
    items = content if isinstance(content, list) else [content]
    maps = [item for item in items if isinstance(item, dict)]
    texts = [text_at(item, "result", "text", "error") for item in maps] or [str(content or "")]
    failed = part.get("is_error") is True or any(item.get("success") is False for item in maps)
    return "\n".join(texts), failed
