"""Codex's rollouts: lines of `{timestamp, type, payload}` as entries; unknown types are skipped.

Each text is recorded twice, as an item that the model saw and as an event that the screen showed; it counts
once. A subagent has a file of its own, whose first record names its parent.
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from msgspec import Struct
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
    texts_at,
)
from .injections import is_own_command, is_own_tool, printed, said

_SHELLS = frozenset(
    {"shell", "shell_command", "exec_command", "container.exec", "local_shell", "unified_exec"}
)
_TOOLS: dict[str, Tool] = {
    "apply_patch": "edit",
    "read_file": "read",
    "view_image": "read",
    "grep_files": "search",
    "list_dir": "search",
    "web_search": "search",
    "tool_search": "search",
    "spawn_agent": "agent",
}
_PATCHED = re.compile(
    r"(?m)^\*\*\* (Add|Update|Delete) File: (.+?)[ \t]*\r?$|^\*\*\* Move to: (.+?)[ \t]*\r?$"
)
_BEGIN_PATCH = "*** Begin Patch"
_EXIT_CODE = re.compile(r"(?m)^(?:Exit code: (-?\d+)|Process exited with code (-?\d+))\s*$")
_HEADER_CHARACTERS = 600
"""Maximum characters of the lines before the output, which hold the exit code."""
_HEADER_END = re.compile(r"(?m)^Output:[ \t]*(?:\r?\n|\Z)")
_HEADER_BEGIN = re.compile(r"\A(?:Exit code: |Chunk ID: |Wall time: |Process )")
_LOGIN_SHELL = re.compile(r"(?:\S*/)?(?:ba|z|da|k)?sh")


class CodexCall(Struct, frozen=True):
    """The meaning of a call, in an entry's terms."""

    tool: Tool
    text: str = ""
    paths: tuple[str, ...] = ()
    command: str = ""


class Output(Struct, frozen=True):
    """A result's text, and whether it failed."""

    text: str
    failed: bool


def call_of(name: str, given: str | Mapping[str, Any]) -> CodexCall:
    """Return the meaning of a call by the tool's name and its arguments: a map, its JSON text, or a patch."""
    fields: Record = (
        dict(given) if isinstance(given, Mapping) else record_of(given.encode("utf-8", "replace")) or {}
    )
    tool: Tool = "run" if name in _SHELLS else _TOOLS.get(name, "other")
    if tool == "run":
        command = command_of(fields)
        if _BEGIN_PATCH in command and "apply_patch" in command:
            return _patch(command)
        return CodexCall("run", text_at(fields, "justification"), (), command)
    if tool == "edit":
        return _patch(given if isinstance(given, str) and not fields else text_at(fields, "input", "patch"))
    if tool == "read":
        path = text_at(fields, "file_path", "path")
        return CodexCall("read", "", (path,) if path else ())
    if tool == "agent":
        return CodexCall("agent", text_at(fields, "message", "prompt", "task"))
    return CodexCall(tool)


def command_of(fields: Mapping[str, Any]) -> str:
    """Return a command as a person would type it, without a shell and its `-c`."""
    for key in ("command", "cmd"):
        words = texts_at(fields, key)
        if len(words) == 3 and _LOGIN_SHELL.fullmatch(words[0]) and re.fullmatch(r"-l?i?c", words[1]):
            return words[2]
        if words:
            return " ".join(words)
    return ""


def output_of(given: object) -> Output:
    """Read a call's output: a text with or without a header, JSON with an exit code, or content parts."""
    if isinstance(given, list):
        return _output_of_text("\n".join(parts_at({"content": given}, "content")))
    if isinstance(given, dict):
        text = "\n".join(parts_at(given, "content")) or text_at(given, "output")
        read = _output_of_text(text)
        return Output(read.text, read.failed or given.get("success") is False)
    return _output_of_text(given) if isinstance(given, str) else Output("", failed=False)


def paths_in(changes: Record) -> tuple[str, ...]:
    """Return the files that an event about a patch names, and where it moved them."""
    moved = (text_at(map_at(changes, path), "move_path") for path in changes)
    return tuple(dict.fromkeys(path for path in (*changes, *moved) if path))


def _patch(patch: str) -> CodexCall:
    found = list(_PATCHED.finditer(patch))
    paths = dict.fromkeys(match[2] or match[3] for match in found)
    only_added = bool(found) and all(match[1] == "Add" for match in found)
    return CodexCall("write" if only_added else "edit", "", tuple(paths))


def _output_of_text(text: str) -> Output:
    if text.startswith("{") and '"exit_code"' in text:
        try:
            fields = json.loads(text)
        except (ValueError, RecursionError):
            return Output(text, failed=False)
        metadata = fields.get("metadata") if isinstance(fields, dict) else None
        if isinstance(metadata, dict):
            return Output(text_at(fields, "output"), metadata.get("exit_code") not in (0, None))
    if not _HEADER_BEGIN.match(text):
        return Output(text, failed=False)
    head = text[:_HEADER_CHARACTERS]
    end = _HEADER_END.search(head)
    code = _EXIT_CODE.search(head, 0, end.start() if end else len(head))
    failed = code is not None and (code[1] or code[2]) != "0"
    return Output(text[end.end() :] if end else text, failed)


def summary_of(reasoning: Record) -> list[str]:
    """Return the readable part of a record of reasoning; most of it is encrypted."""
    return [text_at(part, "text") for key in ("summary", "content") for part in maps_at(reasoning, key)]


_LINES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state"})
_QUIET_LINES = frozenset(
    {"turn_context", "world_state", "token_usage_record", "inter_agent_communication_metadata"}
)
_QUIET_ITEMS = frozenset({"additional_tools"})
_COMPLETED = {"CommandExecution": "exec_command_end", "FileChange": "patch_apply_end"}
"""Completed items that scripts ran, by the older events with the same fields. The script's own call doesn't
name them."""
_PATCH_APPLIED = re.compile(r"\s*(?:Success|Done)\b")
"""The beginning of a patch's output; any other output says why it was refused."""
_ITEMS = frozenset(
    {
        "message", "reasoning", "function_call", "function_call_output", "custom_tool_call",
        "custom_tool_call_output", "local_shell_call", "agent_message",
    }
)  # fmt: skip
_BARE_ITEMS = _ITEMS - {"agent_message"}
"""Early versions wrote items without an envelope."""
_FINAL = "FINAL_ANSWER"
_REMEMBERED = 4_096


def is_codex(record: Record) -> bool:
    """Whether a record belongs to a rollout."""
    kind = text_at(record, "type")
    if isinstance(record.get("payload"), dict):
        return kind in _LINES
    return kind in _BARE_ITEMS and ("role" in record or "call_id" in record or "summary" in record)


class CodexReader:
    """Reads one rollout."""

    def __init__(self) -> None:
        self.unknown = 0
        self.owner = ""
        self.cwd = ""
        self._session_id = ""
        self._begun = False
        self._open: Entry | None = None
        """The agent's last words, which may be a subagent's report."""
        self._items: OrderedDict[tuple[str, str], int] = OrderedDict()
        self._events: OrderedDict[tuple[str, str], int] = OrderedDict()
        """Texts of items still without their event, and vice versa, with their counts."""
        self._calls: OrderedDict[str, str] = OrderedDict()
        """Calls by id: `own`, `command` for a call of our program, `patch`, or `told`."""
        self._failed: OrderedDict[str, str] = OrderedDict()
        """Calls whose failure an event reported before their result."""

    def read(self, line: int, data: bytes) -> list[Entry] | None:
        """Return the entries of a line; None for a line that isn't a record."""
        record = record_of(data)
        if record is None:
            return None
        kind, payload, at = text_at(record, "type"), record.get("payload"), text_at(record, "timestamp")
        if not isinstance(payload, dict):
            if kind in _BARE_ITEMS:
                return self._item(line, at, record)
            self.unknown += bool(kind)  # the first line of early versions has no type
            return []
        if kind == "session_meta":
            self._meta(payload)
            return []
        if kind == "response_item":
            return self._item(line, at, payload)
        if kind == "event_msg":
            return self._event(line, at, payload)
        if kind == "compacted":
            summary = said(text_at(payload, "message"))
            return [*self.finish(), self._entry("boundary", line, at, summary)]
        self.unknown += kind not in _QUIET_LINES
        return []

    def finish(self) -> list[Entry]:
        """Return the agent's last words."""
        entries = [self._open] if self._open else []
        self._open = None
        return entries

    def _meta(self, payload: Record) -> None:
        """Set the agent of the file; a fork repeats its parent's records, and the first counts."""
        if self._begun:
            return
        self._begun = True
        self.cwd = text_at(payload, "cwd")
        own = text_at(payload, "id")
        source = map_at(payload, "source")
        spawn = map_at(map_at(source, "subagent"), "thread_spawn")
        if parent := text_at(spawn, "parent_thread_id"):
            self._session_id, self.owner = parent, own
        else:
            self._session_id = own
            self.owner = own if "subagent" in source else ""

    def _item(self, line: int, at: str, item: Record) -> list[Entry]:
        kind = text_at(item, "type")
        if kind == "message":
            return self._message(line, at, item)
        if kind == "reasoning":
            thoughts = [text for text in summary_of(item) if text]
            return [
                entry for text in thoughts for entry in self._said("thinking", line, at, text, self._items)
            ]
        if kind in {"function_call", "custom_tool_call"}:
            name = text_at(item, "name")
            if is_own_tool(name, text_at(item, "namespace")):
                _remember(self._calls, text_at(item, "call_id"), "own")
                return self.finish()
            given = text_at(item, "arguments", "input")
            return self._call(line, at, text_at(item, "call_id"), name, call_of(name, given))
        if kind == "local_shell_call":
            call = CodexCall("run", command=command_of(map_at(item, "action")))
            return self._call(line, at, text_at(item, "call_id"), "local_shell", call)
        if kind in {"function_call_output", "custom_tool_call_output"}:
            return self._output(line, at, text_at(item, "call_id"), item.get("output"))
        if kind == "agent_message":
            return self._report(line, at, item)
        self.unknown += kind not in _QUIET_ITEMS
        return []

    def _message(self, line: int, at: str, item: Record) -> list[Entry]:
        role = text_at(item, "role")
        if role not in {"user", "assistant"}:
            return []  # instructions of the host to the model
        parts = [text for part in parts_at(item, "content") if (text := said(part))]
        kind: EntryKind = "user" if role == "user" else "agent"
        if self.owner and item.get("phase") == "final_answer":
            kind = "handback"
        return self._said(kind, line, at, "\n".join(parts), self._items)

    def _event(self, line: int, at: str, event: Record) -> list[Entry]:
        kind = text_at(event, "type")
        if kind == "item_completed":
            item = map_at(event, "item")
            kind, event = _COMPLETED.get(text_at(item, "type"), ""), {**item, "call_id": item.get("id")}
        if kind == "user_message":
            return self._said("user", line, at, said(text_at(event, "message")), self._events)
        if kind == "agent_message":
            return self._said("agent", line, at, said(text_at(event, "message")), self._events)
        if kind == "agent_reasoning":
            return self._said("thinking", line, at, text_at(event, "text"), self._events)
        if kind in {"task_complete", "turn_complete"}:
            return self._complete(text_at(event, "last_agent_message"))
        was_refused = text_at(event, "status") in {"failed", "declined"}
        if kind == "exec_command_end":
            call = CodexCall("run", command=command_of(event))
            failed = event.get("exit_code") not in (0, None) or was_refused
            text = text_at(event, "aggregated_output", "formatted_output", "stdout")
            return self._ended(line, at, event, ("exec_command", call), text, failed)
        if kind == "patch_apply_end":
            call = CodexCall("edit", paths=paths_in(map_at(event, "changes")))
            failed = event.get("success") is False or was_refused
            text = text_at(event, "stderr" if failed else "stdout")
            return self._ended(line, at, event, ("apply_patch", call), text, failed)
        return []  # there are some seventy kinds, most of them for the screen

    def _said(
        self, kind: EntryKind, line: int, at: str, text: str, by: OrderedDict[tuple[str, str], int]
    ) -> list[Entry]:
        """Return a text, unless its duplicate among the items or the events was returned."""
        if not text.strip():
            return []
        key = ("agent" if kind == "handback" else kind, text[:1_000])
        others = self._events if by is self._items else self._items
        if others.get(key, 0):
            others[key] -= 1
            return []
        by[key] = by.pop(key, 0) + 1
        if len(by) > _REMEMBERED:
            by.popitem(last=False)
        before, entry = self.finish(), self._entry(kind, line, at, text)
        if kind != "agent":
            return [*before, entry]
        self._open = entry
        return before

    def _complete(self, last: str) -> list[Entry]:
        """End a turn: a subagent's last words are its report."""
        if self.owner and self._open and self._open.text == said(last):
            self._open = replace(self._open, kind="handback")
        return self.finish()

    def _report(self, line: int, at: str, item: Record) -> list[Entry]:
        """Add a subagent's message to this agent as its report, if it is the report."""
        head, found, report = "\n".join(parts_at(item, "content")).partition("Payload:")
        if not found or _FINAL not in head or not (report := said(report)):
            return self.finish()
        entry = self._entry("handback", line, at, report)
        return [*self.finish(), replace(entry, agent_id=text_at(item, "author"), sidechain=True)]

    def _call(self, line: int, at: str, call_id: str, name: str, call: CodexCall) -> list[Entry]:
        kind = "command" if is_own_command(call.command) else "patch" if name == "apply_patch" else "told"
        _remember(self._calls, call_id, kind)
        entry = replace(
            self._entry("call", line, at, said(call.text)),
            tool=call.tool,
            name=name,
            call_id=call_id,
            paths=call.paths,
            command=cut(call.command, TEXT_CHARACTERS),
        )
        return [*self.finish(), entry]

    def _output(self, line: int, at: str, call_id: str, given: object) -> list[Entry]:
        what = self._calls.pop(call_id, "")
        broken = bool(self._failed.pop(call_id, ""))
        if what == "own":
            return self.finish()
        output = output_of(given)
        broken = broken or (what == "patch" and not _PATCH_APPLIED.match(output.text))
        return self._result(
            line, at, call_id, "" if what == "command" else output.text, output.failed or broken
        )

    def _ended(
        self, line: int, at: str, event: Record, named: tuple[str, CodexCall], text: str, failed: bool
    ) -> list[Entry]:
        """Add the result of a call without another record, such as a script's."""
        call_id = text_at(event, "call_id")
        if call_id in self._calls:
            if failed:
                _remember(self._failed, call_id, "failed")
            return []
        entries = self._call(line, at, call_id, *named)
        own = self._calls.pop(call_id, "") == "command"
        return [*entries, *self._result(line, at, call_id, "" if own else text, failed)]

    def _result(self, line: int, at: str, call_id: str, text: str, failed: bool) -> list[Entry]:
        entry = self._entry("result", line, at, cut(printed(text), RESULT_CHARACTERS))
        return [*self.finish(), replace(entry, call_id=call_id, failed=failed)]

    def _entry(self, kind: EntryKind, line: int, at: str, text: str) -> Entry:
        return Entry(kind, line, cut(text, TEXT_CHARACTERS), at, self.owner, self._session_id)


def _remember(calls: OrderedDict[str, str], call_id: str, what: str) -> None:
    if call_id:
        calls[call_id] = what
    if len(calls) > _REMEMBERED:
        calls.popitem(last=False)
