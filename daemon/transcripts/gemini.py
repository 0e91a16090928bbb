"""Gemini CLI's chats: a head, then a message a line, which is written again whenever it grows.

A line with `$set` changes the head or repeats messages after a resume, one with `$rewindTo` goes back to
before a message. The host has no hook for subagents: their reports to the agent count as its own.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator

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
    parts_at,
    record_of,
    text_at,
)
from .injections import is_own_command, is_own_tool, printed, said
from .transcript_file import Line

_TOOLS: dict[str, Tool] = {
    "replace": "edit",
    "edit": "edit",
    "write_file": "write",
    "read_file": "read",
    "run_shell_command": "run",
    "grep_search": "search",
    "search_file_content": "search",
    "glob": "search",
    "list_directory": "search",
    "google_web_search": "search",
    "invoke_agent": "agent",
}
_ENDED = frozenset({"success", "error", "cancelled"})
_SPEAKERS: dict[str, EntryKind] = {"user": "user", "gemini": "agent"}
_QUIET = frozenset({"info", "warning", "error"})
_EXIT_CODE = re.compile(r"(?m)^Exit Code: -?[1-9]\d*$")
_REPORT = re.compile(r"(?s)\A.{0,300}?^Result:\n", re.MULTILINE)
"""The lines before a subagent's report."""
_SETUP = "<session_context>"
_REMEMBERED = 65_536


def is_gemini(record: Record) -> bool:
    """Whether a record belongs to a chat."""
    return ("sessionId" in record and "projectHash" in record) or isinstance(record.get("$set"), dict)


class GeminiReader:
    """Reads one chat. Each message and each of its calls counts once."""

    def __init__(self) -> None:
        self.unknown = 0
        self.owner = ""
        """The subagent whose file this is, or ""."""
        self.cwd = ""
        self._session_id = ""
        self._seen: OrderedDict[str, None] = OrderedDict()

    def read(self, line: int, data: bytes) -> list[Entry] | None:
        """Return the entries of a line; None for a line that isn't a record."""
        record = record_of(data)
        if record is None:
            return None
        if "projectHash" in record:
            self._session_id = self._session_id or text_at(record, "sessionId")
            self.owner = self._session_id if record.get("kind") == "subagent" else ""
        elif kind := _SPEAKERS.get(text_at(record, "type")):
            return self._message(kind, line, record)
        else:
            self.unknown += not (
                "$set" in record or "$rewindTo" in record or text_at(record, "type") in _QUIET
            )
        return []

    def finish(self) -> list[Entry]:
        """Return nothing: a message that grows is written again."""
        return []

    def _message(self, kind: EntryKind, line: int, record: Record) -> list[Entry]:
        message_id = text_at(record, "id")
        entries = []
        for thought in maps_at(record, "thoughts"):
            text = text_at(thought, "description")
            if text and self._is_new(f"{message_id}\0{text}"):
                entries.append(self._entry("thinking", line, record, text))
        text = "\n".join(part for part in parts_at(record, "content") if not part.startswith(_SETUP))
        if (text := said(text)) and self._is_new(message_id):
            entries.append(self._entry(kind, line, record, text))
        for call in maps_at(record, "toolCalls"):
            if text_at(call, "status") in _ENDED and self._is_new(text_at(call, "id")):
                entries += self._call(line, record, call)
        return entries

    def _call(self, line: int, record: Record, call: Record) -> list[Entry]:
        """Return a call and its result, which share a record."""
        name, call_id, given = text_at(call, "name"), text_at(call, "id"), map_at(call, "args")
        if is_own_tool(name):
            return []
        tool = _TOOLS.get(name, "other")
        path = text_at(given, "file_path", "absolute_path") if tool in {"edit", "write", "read"} else ""
        command = text_at(given, "command") if tool == "run" else ""
        entry = replace(
            self._entry("call", line, record, said(text_at(given, "prompt")) if tool == "agent" else ""),
            tool=tool,
            name=name,
            call_id=call_id,
            paths=(path,) if path else (),
            command=cut(command, TEXT_CHARACTERS),
        )
        text = "\n".join(
            text_at(map_at(map_at(part, "functionResponse"), "response"), "output", "error")
            for part in maps_at(call, "result")
        )
        failed = call.get("status") != "success" or (tool == "run" and bool(_EXIT_CODE.search(text)))
        if tool == "agent" and not failed and (report := said(_REPORT.sub("", text))):
            return [entry, self._entry("handback", line, record, report)]
        output = "" if is_own_command(command) else cut(printed(text), RESULT_CHARACTERS)
        result = replace(self._entry("result", line, record, output), call_id=call_id, failed=failed)
        return [entry, result]

    def _is_new(self, key: str) -> bool:
        if not key or key in self._seen:
            return not key
        self._seen[key] = None
        if len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)
        return True

    def _entry(self, kind: EntryKind, line: int, record: Record, text: str) -> Entry:
        at = text_at(record, "timestamp")
        return Entry(kind, line, cut(text, TEXT_CHARACTERS), at, self.owner, self._session_id)


def gemini_rewinds(lines: Iterable[Line]) -> Iterator[tuple[int, int]]:
    """Yield the lines that rewinds abandoned: from the first of a message to the rewind to it."""
    first: dict[str, int] = {}
    start = 0
    for line in lines:
        start = start or line.number
        if line.data is None or not (record := record_of(line.data)):
            continue
        if to := text_at(record, "$rewindTo"):
            yield first.get(to, start), line.number
        elif message := text_at(record, "id"):
            first.setdefault(message, line.number)
