"""OpenCode's conversations as our plugin writes them: a message `{info, parts, parent?}` a line.

They are the messages of the host's own interface. A subagent is a session of its own; the plugin adds its
parent's id.
"""

from __future__ import annotations

from msgspec.structs import replace

from .codex import call_of as codex_call
from .entry import (
    TOOLS,
    EntryKind,
    Record,
    TranscriptEntry,
    TranscriptReader,
    call_of,
    map_at,
    maps_at,
    text_at,
    time_of,
)
from .injections import said


class OpenCodeReader(TranscriptReader):
    """Reads one session. Each line is a finished message."""

    source = "opencode"

    @staticmethod
    def recognises(record: Record) -> bool:
        """Whether a record is a message of OpenCode."""
        return "sessionID" in map_at(record, "info") and isinstance(record.get("parts"), list)

    def entries_of(self, line: int, record: Record) -> list[TranscriptEntry]:
        """Return the entries of a message."""
        info = map_at(record, "info")
        role, parent, session = text_at(info, "role"), text_at(record, "parent"), text_at(info, "sessionID")
        if role not in {"user", "assistant"}:
            return []
        self.cwd = self.cwd or text_at(map_at(info, "path"), "cwd")
        self.owner = session if parent else ""
        blank = TranscriptEntry(
            "agent",
            line,
            at=time_of(map_at(info, "time").get("created")),
            agent_id=self.owner,
            session_id=parent or session,
        )
        kind: EntryKind = "user" if role == "user" else "boundary" if info.get("summary") is True else "agent"
        entries: list[TranscriptEntry] = []
        for part in maps_at(record, "parts"):
            match text_at(part, "type"):
                case "text" if not (part.get("synthetic") or part.get("ignored")):
                    entries += blank.message(kind, said(text_at(part, "text")))
                case "tool":
                    entries += self._call(blank, part)
        return entries

    def _call(self, blank: TranscriptEntry, part: Record) -> list[TranscriptEntry]:
        """Return a call and its result, which share a part."""
        name, call_id, state = text_at(part, "tool"), text_at(part, "callID"), map_at(part, "state")
        given, status = map_at(state, "input"), text_at(state, "status")
        if status not in {"completed", "error"}:
            return []
        call = call_of(TOOLS.get(name, "other"), given, "filePath")
        if patch := text_at(given, "patchText"):
            call = replace(call, paths=codex_call("apply_patch", patch).paths)
        failed = status == "error" or map_at(state, "metadata").get("exit") not in (0, None)
        return self.ended_call(blank, name, call_id, call, text_at(state, "output", "error"), failed=failed)
