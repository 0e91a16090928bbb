"""OpenCode's conversations as our plugin writes them: a message `{info, parts, parent?}` a line.

They are the messages of the host's own interface. A subagent is a session of its own; the plugin adds its
parent's id.
"""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec.structs import replace

from .codex import call_of
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
    "multiedit": "edit",
    "apply_patch": "edit",
    "patch": "edit",
    "write": "write",
    "read": "read",
    "bash": "run",
    "grep": "search",
    "glob": "search",
    "list": "search",
    "websearch": "search",
    "task": "agent",
}


def is_opencode(record: Record) -> bool:
    """Whether a record is a message of OpenCode."""
    return "sessionID" in map_at(record, "info") and isinstance(record.get("parts"), list)


class OpenCodeReader:
    """Reads one session. Each line is a finished message."""

    def __init__(self) -> None:
        self.unknown = 0
        self.owner = ""
        """The subagent whose session this is, or ""."""
        self.cwd = ""

    def read(self, line: int, data: bytes) -> list[Entry] | None:
        """Return the entries of a line; None for a line that isn't a record."""
        record = record_of(data)
        if record is None:
            return None
        info = map_at(record, "info")
        role, parent, session = text_at(info, "role"), text_at(record, "parent"), text_at(info, "sessionID")
        if role not in {"user", "assistant"}:
            self.unknown += 1
            return []
        self.cwd = self.cwd or text_at(map_at(info, "path"), "cwd")
        self.owner = session if parent else ""
        blank = Entry("agent", line, at=_time(info), agent_id=self.owner, session_id=parent or session)
        kind: EntryKind = "user" if role == "user" else "boundary" if info.get("summary") is True else "agent"
        entries: list[Entry] = []
        for part in maps_at(record, "parts"):
            match text_at(part, "type"):
                case "text" if not (part.get("synthetic") or part.get("ignored")):
                    entries += _said(kind, said(text_at(part, "text")), blank)
                case "reasoning":
                    entries += _said("thinking", text_at(part, "text"), blank)
                case "tool":
                    entries += _call(part, blank)
        return entries

    def finish(self) -> list[Entry]:
        """Return nothing: each line is a whole message."""
        return []


def _said(kind: EntryKind, text: str, blank: Entry) -> list[Entry]:
    return [replace(blank, kind=kind, text=cut(text, TEXT_CHARACTERS))] if text.strip() else []


def _call(part: Record, blank: Entry) -> list[Entry]:
    """Return a call and its result, which share a part."""
    name, state = text_at(part, "tool"), map_at(part, "state")
    given, status = map_at(state, "input"), state.get("status")
    if is_own_tool(name) or status not in {"completed", "error"}:
        return []
    tool = _TOOLS.get(name, "other")
    path = text_at(given, "filePath") if tool in {"edit", "write", "read"} else ""
    command = text_at(given, "command") if tool == "run" else ""
    call = replace(
        blank,
        kind="call",
        text=cut(said(text_at(given, "prompt")), TEXT_CHARACTERS) if tool == "agent" else "",
        tool=tool,
        name=name,
        call_id=text_at(part, "callID"),
        paths=(path,) if path else call_of("apply_patch", text_at(given, "patchText")).paths,
        command=cut(command, TEXT_CHARACTERS),
    )
    output = (
        "" if is_own_command(command) else cut(printed(text_at(state, "output", "error")), RESULT_CHARACTERS)
    )
    failed = status == "error" or map_at(state, "metadata").get("exit", 0) not in {0, None}
    return [call, replace(blank, kind="result", text=output, call_id=call.call_id, failed=failed)]


def _time(info: Record) -> str:
    """Return the time of a message, which the host gives in milliseconds since the epoch."""
    milliseconds = map_at(info, "time").get("created", "")
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds")
    except (TypeError, ValueError, OverflowError, OSError):
        return ""
