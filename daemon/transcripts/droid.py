"""Factory Droid's transcripts: lines of `{type, message}` with messages in Anthropic's form.

Messages with a `visibility` are the host's own: results of hooks, and what it tells the model.
"""

from __future__ import annotations

from .claude_code import ClaudeCodeReader
from .entry import Record, TranscriptEntry, map_at, maps_at, parts_at, text_at
from .injections import said


class DroidReader(ClaudeCodeReader):
    """Reads one session."""

    source = "droid"

    @staticmethod
    def recognises(record: Record) -> bool:
        """Whether a record is the head of a session, or a message of one."""
        kind = text_at(record, "type")
        if kind == "session_start":
            return "cwd" in record and "version" in record
        return kind == "message" and "id" in record and "role" in map_at(record, "message")

    def entries_of(self, line: int, record: Record) -> list[TranscriptEntry]:
        """Return the entries of a record."""
        kind, message = text_at(record, "type"), map_at(record, "message")
        if kind == "session_start":
            self.session_id, self.cwd = text_at(record, "id"), text_at(record, "cwd")
        if kind != "message" or "visibility" in message:
            return []
        at = text_at(record, "timestamp")
        blank = TranscriptEntry("agent", line, at=at, session_id=self.session_id)
        if text_at(message, "role") == "assistant":
            return self._assistant(blank, record)
        entries = blank.message("user", said("\n".join(parts_at(message, "content"))))
        for block in maps_at(message, "content"):
            if text_at(block, "type") == "tool_result":
                entries += self._result(blank, record, block)
        return entries
