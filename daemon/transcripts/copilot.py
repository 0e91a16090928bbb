"""Copilot CLI's `events.jsonl`: lines of `{type, data, id, timestamp, parentId, agentId?}` as entries.

The file holds a session's subagents too; their records name them by `agentId`. The host publishes a schema of
its events; unknown types are skipped.
"""

from __future__ import annotations

import re

from .entry import (
    TOOLS,
    Call,
    Entry,
    Recent,
    Record,
    TranscriptReader,
    call_of,
    map_at,
    maps_at,
    text_at,
)
from .injections import is_own_command, is_own_tool, said

_KINDS = re.compile(r"(?:session|user|assistant|tool|subagent|system|hook|permission)\.\w+|abort")
_EXIT_CODE = re.compile(r"exit code (-?\d+)>\s*\Z")
_INTERRUPTED = "[Request interrupted by user]"


def is_copilot(record: Record) -> bool:
    """Whether a record is one of Copilot's events."""
    kind = text_at(record, "type")
    return (
        _KINDS.fullmatch(kind) is not None and isinstance(record.get("data"), dict) and "parentId" in record
    )


class CopilotReader(TranscriptReader):
    """Reads one session's events."""

    def __init__(self) -> None:
        super().__init__()
        self._calls: Recent[str, str] = Recent()
        """Running calls by id: `own`, `command` for a call of our program, or the kind of tool."""

    def entries_of(self, line: int, record: Record) -> list[Entry]:
        """Return the entries of an event."""
        kind, fields, agent_id = text_at(record, "type"), map_at(record, "data"), text_at(record, "agentId")
        at = text_at(record, "timestamp")
        blank = Entry(
            "agent", line, at=at, agent_id=agent_id, session_id=self.session_id, sidechain=bool(agent_id)
        )
        match kind:
            case "session.start":
                self.session_id = self.session_id or text_at(fields, "sessionId")
                self.cwd = self.cwd or text_at(map_at(fields, "context"), "cwd")
            case "user.message":
                return blank.message("user", said(text_at(fields, "content")))
            case "assistant.message":
                thought = blank.message("thinking", text_at(fields, "reasoningText"))
                return [*thought, *blank.message("agent", said(text_at(fields, "content")))]
            case "session.compaction_complete":
                return blank.message("boundary", said(text_at(fields, "summaryContent")))
            case "abort":
                return blank.message("user", _INTERRUPTED)
            case "tool.execution_start":
                return self._call(blank, fields)
            case "tool.execution_complete":
                return self._result(blank, fields)
            case _:
                self.unknown += _KINDS.fullmatch(kind) is None
        return []

    def _call(self, blank: Entry, fields: Record) -> list[Entry]:
        name, given = text_at(fields, "toolName"), map_at(fields, "arguments")
        call_id, tool = text_at(fields, "toolCallId"), TOOLS.get(name, "other")
        if tool == "edit" and not text_at(given, "path"):
            tool = "other"  # the files of a patch stand in its result
        call, own = call_of(tool, given, "path"), is_own_tool(name, text_at(fields, "mcpServerName"))
        self._calls.note(call_id, "own" if own else "command" if is_own_command(call.command) else tool)
        return [] if own else [blank.called(name, call_id, call)]

    def _result(self, blank: Entry, fields: Record) -> list[Entry]:
        """Return a call's result, and before it the files that it edited if its arguments don't name them."""
        call_id = text_at(fields, "toolCallId")
        what = self._calls.pop(call_id, "")
        if what == "own":
            return []
        text = text_at(map_at(fields, "result"), "content") or text_at(map_at(fields, "error"), "message")
        code = map_at(fields, "shellExecution").get("exitCode", 0)
        ended = _EXIT_CODE.search(text[-100:])
        failed = fields.get("success") is not True or code != 0 or (ended is not None and ended[1] != "0")
        result = blank.result(call_id, "" if what == "command" else text, failed=failed)
        edited = tuple(path for edit in maps_at(fields, "fileEdits") if (path := text_at(edit, "path")))
        if not edited or what in {"edit", "write"}:
            return [result]
        return [blank.called("edit", "", Call("edit", paths=edited)), result]
