"""Copilot CLI's `events.jsonl`: lines of `{type, data, id, timestamp, parentId, agentId?}` as entries.

The file holds a session's subagents too; their records name them by `agentId`. The host publishes a schema of
its events; unknown types are skipped.
"""

from __future__ import annotations

import re
from collections import OrderedDict

from msgspec.structs import replace

from .entry import (
    RESULT_CHARACTERS,
    TEXT_CHARACTERS,
    Entry,
    EntryKind,
    Record,
    Tool,
    cut,
    map_at,
    maps_at,
    record_of,
    text_at,
)
from .injections import is_own_command, is_own_tool, printed, said

_TOOLS: dict[str, Tool] = {
    "edit": "edit",
    "str_replace_editor": "edit",
    "apply_patch": "edit",
    "create": "write",
    "view": "read",
    "bash": "run",
    "powershell": "run",
    "local_shell": "run",
    "grep": "search",
    "rg": "search",
    "glob": "search",
    "task": "agent",
}
_KINDS = re.compile(r"(?:session|user|assistant|tool|subagent|system|hook|permission)\.\w+|abort")
_EXIT_CODE = re.compile(r"exit code (-?\d+)>\s*\Z")
_INTERRUPTED = "[Request interrupted by user]"
_REMEMBERED = 4_096


def is_copilot(record: Record) -> bool:
    """Whether a record is one of Copilot's events."""
    kind = text_at(record, "type")
    return (
        _KINDS.fullmatch(kind) is not None and isinstance(record.get("data"), dict) and "parentId" in record
    )


class CopilotReader:
    """Reads one session's events."""

    def __init__(self) -> None:
        self.unknown = 0
        self.owner = ""
        self.cwd = ""
        self._session_id = ""
        self._calls: OrderedDict[str, str] = OrderedDict()
        """Running calls by id: `own`, `command` for a call of our program, or the kind of tool."""

    def read(self, line: int, data: bytes) -> list[Entry] | None:
        """Return the entries of a line; None for a line that isn't a record."""
        record = record_of(data)
        if record is None:
            return None
        kind, fields = text_at(record, "type"), map_at(record, "data")
        match kind:
            case "session.start":
                self._session_id = self._session_id or text_at(fields, "sessionId")
                self.cwd = self.cwd or text_at(map_at(fields, "context"), "cwd")
            case "user.message":
                return self._said("user", line, record, said(text_at(fields, "content")))
            case "assistant.message":
                thought = self._said("thinking", line, record, text_at(fields, "reasoningText"))
                return [*thought, *self._said("agent", line, record, said(text_at(fields, "content")))]
            case "session.compaction_complete":
                return self._said("boundary", line, record, said(text_at(fields, "summaryContent")))
            case "abort":
                return self._said("user", line, record, _INTERRUPTED)
            case "tool.execution_start":
                return self._call(line, record, fields)
            case "tool.execution_complete":
                return self._result(line, record, fields)
            case _:
                self.unknown += _KINDS.fullmatch(kind) is None
        return []

    def finish(self) -> list[Entry]:
        """Return nothing: no record completes another one's text."""
        return []

    def _call(self, line: int, record: Record, fields: Record) -> list[Entry]:
        name, given = text_at(fields, "toolName"), map_at(fields, "arguments")
        call_id, path = text_at(fields, "toolCallId"), text_at(given, "path")
        tool = _TOOLS.get(name, "other")
        if tool == "edit" and not path:
            tool = "other"  # the files of a patch stand in its result
        command = text_at(given, "command") if tool == "run" else ""
        own = is_own_tool(name, text_at(fields, "mcpServerName"))
        self._calls[call_id] = "own" if own else "command" if is_own_command(command) else tool
        if len(self._calls) > _REMEMBERED:
            self._calls.popitem(last=False)
        if own:
            return []
        entry = replace(
            self._entry("call", line, record, said(text_at(given, "prompt")) if tool == "agent" else ""),
            tool=tool,
            name=name,
            call_id=call_id,
            paths=(path,) if path else (),
            command=cut(command, TEXT_CHARACTERS),
        )
        return [entry]

    def _result(self, line: int, record: Record, fields: Record) -> list[Entry]:
        """Return a call's result, and before it the files that it edited if its arguments don't name them."""
        call_id = text_at(fields, "toolCallId")
        what = self._calls.pop(call_id, "")
        if what == "own":
            return []
        text = text_at(map_at(fields, "result"), "content") or text_at(map_at(fields, "error"), "message")
        code = map_at(fields, "shellExecution").get("exitCode", 0)
        ended = _EXIT_CODE.search(text[-100:])
        failed = fields.get("success") is not True or code != 0 or (ended is not None and ended[1] != "0")
        output = "" if what == "command" else cut(printed(text), RESULT_CHARACTERS)
        result = replace(self._entry("result", line, record, output), call_id=call_id, failed=failed)
        edited = tuple(path for edit in maps_at(fields, "fileEdits") if (path := text_at(edit, "path")))
        if not edited or what in {"edit", "write"}:
            return [result]
        edit = replace(self._entry("call", line, record, ""), tool="edit", name="edit", paths=edited)
        return [edit, result]

    def _said(self, kind: EntryKind, line: int, record: Record, text: str) -> list[Entry]:
        return [self._entry(kind, line, record, text)] if text.strip() else []

    def _entry(self, kind: EntryKind, line: int, record: Record, text: str) -> Entry:
        agent_id = text_at(record, "agentId")
        return Entry(
            kind,
            line,
            cut(text, TEXT_CHARACTERS),
            text_at(record, "timestamp"),
            agent_id,
            self._session_id,
            sidechain=bool(agent_id),
        )
