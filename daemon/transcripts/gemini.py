"""Gemini CLI's chats: a head, then a message a line, which is written again whenever it grows.

A line with `$set` changes the head or repeats messages after a resume, one with `$rewindTo` goes back to
before a message. The host has no hook for subagents: their reports to the agent count as its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from .entry import (
    TOOLS,
    EntryKind,
    Recent,
    Record,
    TranscriptEntry,
    TranscriptReader,
    call_of,
    map_at,
    maps_at,
    parts_at,
    record_of,
    text_at,
)
from .injections import said
from .transcript_file import Line

_ENDED = frozenset({"success", "error", "cancelled"})
_SPEAKERS: dict[str, EntryKind] = {"user": "user", "gemini": "agent"}
EXIT_CODE = re.compile(r"(?m)^Exit Code: -?[1-9]\d*$")
_REPORT = re.compile(r"(?s)\A.{0,300}?^Result:\n", re.MULTILINE)
"""The lines before a subagent's report."""
_SETUP = "<session_context>"


class GeminiReader(TranscriptReader):
    """Reads one chat. Each message and each of its calls counts once."""

    source = "gemini"

    def __init__(self) -> None:
        super().__init__()
        self._seen: Recent[str, None] = Recent()

    @staticmethod
    def recognises(record: Record) -> bool:
        """Whether a record belongs to a chat."""
        return ("sessionId" in record and "projectHash" in record) or isinstance(record.get("$set"), dict)

    @staticmethod
    def rewinds(lines: Iterable[Line]) -> Iterator[range]:
        """Yield the lines that rewinds abandoned: from the first of a message to the rewind to it."""
        first: dict[str, int] = {}
        start = 0
        for line in lines:
            start = start or line.number
            if line.data is None or not (record := record_of(line.data)):
                continue
            if to := text_at(record, "$rewindTo"):
                yield range(first.get(to, start), line.number)
            elif message := text_at(record, "id"):
                first.setdefault(message, line.number)

    def entries_of(self, line: int, record: Record) -> list[TranscriptEntry]:
        """Return what a message adds to what was read of it before."""
        if "projectHash" in record:
            self.session_id = self.session_id or text_at(record, "sessionId")
            self.owner = self.session_id if record.get("kind") == "subagent" else ""
        elif kind := _SPEAKERS.get(text_at(record, "type")):
            return self._message(kind, line, record)
        return []

    def _message(self, kind: EntryKind, line: int, record: Record) -> list[TranscriptEntry]:
        message_id, at = text_at(record, "id"), text_at(record, "timestamp")
        blank = TranscriptEntry(kind, line, at=at, agent_id=self.owner, session_id=self.session_id)
        entries: list[TranscriptEntry] = []
        text = "\n".join(part for part in parts_at(record, "content") if not part.startswith(_SETUP))
        if (text := said(text)) and self._is_new(message_id):
            entries += blank.message(kind, text)
        for call in maps_at(record, "toolCalls"):
            if text_at(call, "status") in _ENDED and self._is_new(text_at(call, "id")):
                entries += self._call(blank, call)
        return entries

    def _is_new(self, key: str) -> bool:
        known = key in self._seen
        self._seen.note(key, None)
        return not known

    def _call(self, blank: TranscriptEntry, call: Record) -> list[TranscriptEntry]:
        """Return a call and its result, which share a record."""
        name, tool = text_at(call, "name"), TOOLS.get(text_at(call, "name"), "other")
        meant = call_of(tool, map_at(call, "args"), "file_path", "absolute_path")
        text = "\n".join(
            text_at(map_at(map_at(part, "functionResponse"), "response"), "output", "error")
            for part in maps_at(call, "result")
        )
        failed = call.get("status") != "success" or (tool == "run" and bool(EXIT_CODE.search(text)))
        entries = self.ended_call(blank, name, text_at(call, "id"), meant, text, failed=failed)
        if tool == "agent" and not failed:
            return [*entries[:1], *blank.message("handback", said(_REPORT.sub("", text)))]
        return entries
