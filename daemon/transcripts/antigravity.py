"""Antigravity's transcripts: a step a line, of which only the words of its user and its agent are read.

Known from public descriptions, not from files of its own: the calls of tools are left out.
"""

from __future__ import annotations

from ...hooks.hosts.antigravity import request_in
from .entry import EntryKind, Record, TranscriptEntry, TranscriptReader, text_at
from .injections import said

_KINDS: dict[str, EntryKind] = {"USER_INPUT": "user", "PLANNER_RESPONSE": "agent"}


class AntigravityReader(TranscriptReader):
    """Reads one conversation."""

    source = "antigravity"

    @staticmethod
    def recognises(record: Record) -> bool:
        """Whether a record is a step."""
        return "step_index" in record and "source" in record and text_at(record, "type").isupper()

    def entries_of(self, line: int, record: Record) -> list[TranscriptEntry]:
        """Return what a step says."""
        kind = _KINDS.get(text_at(record, "type"))
        if kind is None:
            return []
        text = said(request_in(text_at(record, "content")))
        return TranscriptEntry(kind, line, at=text_at(record, "created_at")).message(kind, text)
