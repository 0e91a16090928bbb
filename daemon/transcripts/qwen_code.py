"""Qwen Code's transcripts: Claude Code's envelope around messages in Gemini's form, a record a line.

A subagent has a file of its own, all of it `isSidechain`. A person who goes back leaves the abandoned turn in
the file, and a `rewind` record with the same parent behind it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .claude_code import ClaudeCodeReader
from .entry import TOOLS, Recent, Record, TranscriptEntry, call_of, map_at, maps_at, record_of, text_at
from .gemini import EXIT_CODE
from .injections import said
from .transcript_file import Line

_HOOKS = "<qwen:user-prompt-submit-context>"
"""The beginning of a part that hooks added to a prompt."""
_SYSTEM = "system"
"""The provenance of a message of the host itself, such as a background agent's end."""
_ROOT = "root"
"""The parent of the first record, which has none."""


class QwenCodeReader(ClaudeCodeReader):
    """Reads the transcript of a conversation or of a subagent."""

    source = "qwen-code"

    @staticmethod
    def recognises(record: Record) -> bool:
        """Whether a record is one of Qwen Code's: its messages have parts, its own records a payload."""
        is_known = "sessionId" in record and "uuid" in record
        return is_known and ("parts" in map_at(record, "message") or "systemPayload" in record)

    @staticmethod
    def rewinds(lines: Iterable[Line]) -> Iterator[range]:
        """Yield the lines that rewinds abandoned, from the first record with the parent of the rewind."""
        first: Recent[str, int] = Recent()
        start = 0
        for line in lines:
            start = start or line.number
            if line.data is None or not any(word in line.data for word in (b'"user"', b'"rewind"')):
                continue
            record = record_of(line.data) or {}
            parent = text_at(record, "parentUuid") or _ROOT
            if text_at(record, "subtype") == "rewind":
                yield range(first.get(parent, start), line.number)
            elif text_at(record, "type") == "user" and parent not in first:
                first.note(parent, line.number)

    def entries_of(self, line: int, record: Record) -> list[TranscriptEntry]:
        """Return the entries of a record."""
        kind, blank = text_at(record, "type"), self._blank(line, record)
        message = map_at(record, "message")
        if kind == "system" and text_at(record, "subtype") == "chat_compression":
            summary = maps_at(map_at(record, "systemPayload"), "compressedHistory")[:1]
            return blank.message("boundary", said("\n".join(map(_text, summary))))
        if kind == "user" and text_at(record, "provenance") != _SYSTEM:
            return blank.message("user", said(_text(message)))
        if kind not in {"assistant", "tool_result"}:
            return []
        entries = blank.message("agent", said(_text(message))) if kind == "assistant" else []
        for part in maps_at(message, "parts"):
            if call := map_at(part, "functionCall"):
                name, given = text_at(call, "name"), map_at(call, "args")
                meant = call_of(TOOLS.get(name, "other"), given, "file_path", "absolute_path")
                entries += self.called(blank, name, text_at(call, "id"), meant, kind=meant.tool)
            elif result := map_at(part, "functionResponse"):
                entries += self._ended(blank, result)
        return entries

    def _ended(self, blank: TranscriptEntry, result: Record) -> list[TranscriptEntry]:
        """Return the result of a call."""
        call_id, response = text_at(result, "id"), map_at(result, "response")
        text = text_at(response, "output", "error")
        is_command = self._calls.get(call_id) == "run"
        failed = "error" in response or (is_command and EXIT_CODE.search(text) is not None)
        return self.ended(blank, call_id, text, failed=failed)


def _text(message: Record) -> str:
    """Return what a message says, without thoughts and without what hooks added."""
    texts = (text_at(part, "text") for part in maps_at(message, "parts") if part.get("thought") is not True)
    return "\n".join(text for text in texts if text and not text.startswith(_HOOKS))
