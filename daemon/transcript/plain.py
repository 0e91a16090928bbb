"""Owns the plain format for everybody who has no other, a JSON object a line: see docs/transcripts.md."""

from __future__ import annotations

from .entry import Entry, EntryKind, Tool
from .injections import is_own_command, is_own_tool, printed, said
from .records import (
    RESULT_CHARACTERS,
    TEXT_CHARACTERS,
    Record,
    cut,
    map_at,
    parts_at,
    record_of,
    text_at,
    texts_at,
)

ROLES: dict[str, EntryKind] = {
    "user": "user",
    "human": "user",
    "assistant": "agent",
    "agent": "agent",
    "report": "handback",
    "summary": "boundary",
    "tool": "result",
}
"""What the speakers are called, here and in a plain text. Others, such as `system`, are passed over."""
_PASSED_OVER = frozenset({"system", "developer"})
_TOOLS: dict[str, Tool] = {
    "edit": "edit",
    "apply_patch": "edit",
    "write": "write",
    "read": "read",
    "run": "run",
    "bash": "run",
    "shell": "run",
    "search": "search",
    "grep": "search",
    "glob": "search",
    "agent": "agent",
    "task": "agent",
}


def is_plain(record: Record) -> bool:
    """Whether a record is one of the plain format."""
    role = text_at(record, "role")
    return (
        isinstance(role, str)
        and (role in ROLES or role in _PASSED_OVER)
        and (isinstance(record.get("content"), str | list) or isinstance(record.get("tool"), dict))
    )


class PlainReader:
    """Reads one transcript. Each record stands for itself."""

    def __init__(self) -> None:
        self.unknown = 0
        self.owner = ""
        self.cwd = ""

    def read(self, line: int, data: bytes) -> list[Entry] | None:
        """Return what a line adds; None for one that is no record."""
        record = record_of(data.removeprefix(b"\xef\xbb\xbf"))
        if record is None:
            return None
        role = text_at(record, "role")
        kind = ROLES.get(role)
        if kind is None:
            self.unknown += role not in _PASSED_OVER
            return []
        content = "\n".join(parts_at(record, "content"))
        if kind == "result":
            return self._tool(line, record, content)
        text = said(content)
        return [_entry(kind, line, record, text)] if text else []

    def finish(self) -> list[Entry]:
        """Return nothing: no record waits for another."""
        return []

    def _tool(self, line: int, record: Record, content: str) -> list[Entry]:
        """Tell a tool's use as a call and its result, which stand in one record."""
        fields = map_at(record, "tool")
        name, command = text_at(fields, "name"), text_at(fields, "command")
        if is_own_tool(name):
            return []
        tool: Tool = _TOOLS.get(name.lower(), "run" if command else "other")
        output = "" if is_own_command(command) else cut(printed(content), RESULT_CHARACTERS)
        call_id = f"{line}"
        return [
            _entry("call", line, record, "", tool, name, call_id, texts_at(fields, "paths"), command),
            _entry("result", line, record, output, call_id=call_id, failed=fields.get("failed") is True),
        ]


def _entry(
    kind: EntryKind,
    line: int,
    record: Record,
    text: str,
    tool: Tool = "",
    name: str = "",
    call_id: str = "",
    paths: tuple[str, ...] = (),
    command: str = "",
    failed: bool = False,
) -> Entry:
    return Entry(
        kind,
        line,
        cut(text, TEXT_CHARACTERS),
        text_at(record, "at", "timestamp"),
        text_at(record, "agent_id"),
        text_at(record, "session_id"),
        tool,
        name,
        call_id,
        paths,
        cut(command, TEXT_CHARACTERS),
        failed,
    )
