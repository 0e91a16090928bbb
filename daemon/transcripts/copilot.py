"""Copilot CLI's `events.jsonl`: lines of `{type, data, id, timestamp, parentId, agentId?}` as entries.

The file holds a session's subagents too; their records name them by `agentId`. The host publishes a schema of
its events; unknown types are skipped.
"""

from __future__ import annotations

import re

from .entry import (
    TOOLS,
    Call,
    Record,
    TranscriptEntry,
    TranscriptReader,
    call_of,
    map_at,
    maps_at,
    text_at,
)
from .injections import said

_KINDS = re.compile(r"(?:session|user|assistant|tool|subagent|system|hook|permission)\.\w+|abort")
_EXIT_CODE = re.compile(r"exit code (-?\d+)>\s*\Z")
_INTERRUPTED = "[Request interrupted by user]"


class CopilotReader(TranscriptReader):
    """Reads one session's events."""

    source = "copilot"

    @staticmethod
    def recognises(record: Record) -> bool:
        """Whether a record is one of Copilot's events."""
        is_event = _KINDS.fullmatch(text_at(record, "type")) is not None and "parentId" in record
        return is_event and isinstance(record.get("data"), dict)

    def entries_of(self, line: int, record: Record) -> list[TranscriptEntry]:
        """Return the entries of an event."""
        kind, fields, agent_id = text_at(record, "type"), map_at(record, "data"), text_at(record, "agentId")
        at = text_at(record, "timestamp")
        blank = TranscriptEntry(
            "agent", line, at=at, agent_id=agent_id, session_id=self.session_id, sidechain=bool(agent_id)
        )
        match kind:
            case "session.start":
                self.session_id = self.session_id or text_at(fields, "sessionId")
                self.cwd = self.cwd or text_at(map_at(fields, "context"), "cwd")
            case "user.message":
                return blank.message("user", said(text_at(fields, "content")))
            case "assistant.message":
                return blank.message("agent", said(text_at(fields, "content")))
            case "session.compaction_complete":
                return blank.message("boundary", said(text_at(fields, "summaryContent")))
            case "abort":
                return blank.message("user", _INTERRUPTED)
            case "tool.execution_start":
                return self._call(blank, fields)
            case "tool.execution_complete":
                return self._result(blank, fields)
            case _:
                pass
        return []

    def _call(self, blank: TranscriptEntry, fields: Record) -> list[TranscriptEntry]:
        name, given = text_at(fields, "toolName"), map_at(fields, "arguments")
        call_id, tool = text_at(fields, "toolCallId"), TOOLS.get(name, "other")
        if tool == "edit" and not text_at(given, "path"):
            tool = "other"  # the files of a patch stand in its result
        server = text_at(fields, "mcpServerName")
        return self.called(blank, name, call_id, call_of(tool, given, "path"), namespace=server, kind=tool)

    def _result(self, blank: TranscriptEntry, fields: Record) -> list[TranscriptEntry]:
        """Return a call's result, and before it the files that it edited if its arguments don't name them."""
        call_id = text_at(fields, "toolCallId")
        what = self._calls.get(call_id, "")
        text = text_at(map_at(fields, "result"), "content") or text_at(map_at(fields, "error"), "message")
        code = map_at(fields, "shellExecution").get("exitCode", 0)
        ended = _EXIT_CODE.search(text[-100:])
        failed = fields.get("success") is not True or code != 0 or (ended is not None and ended[1] != "0")
        result = self.ended(blank, call_id, text, failed=failed)
        edited = tuple(path for edit in maps_at(fields, "fileEdits") if (path := text_at(edit, "path")))
        if not edited or what in {"edit", "write", "own"}:
            return result
        return [blank.called("", Call("edit", edited)), *result]
