"""Codex's rollouts: lines of `{timestamp, type, payload}` as entries; unknown types are skipped.

Of texts only the items that the model saw count, not the events that the screen showed. A subagent has a file
of its own, whose first record names its parent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from .entry import (
    TOOLS,
    Call,
    EntryKind,
    Record,
    TranscriptEntry,
    TranscriptReader,
    map_at,
    parts_at,
    record_of,
    text_at,
    texts_at,
)
from .injections import said

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


class Output(Struct, frozen=True):
    """A result's text, and whether it failed."""

    text: str
    failed: bool


def call_of(name: str, given: str | Mapping[str, Any]) -> Call:
    """Return the meaning of a call by the tool's name and its arguments: a map, its JSON text, or a patch."""
    fields: Record = (
        dict(given) if isinstance(given, Mapping) else record_of(given.encode("utf-8", "replace")) or {}
    )
    tool = TOOLS.get(name, "other")
    if tool == "run":
        command = command_of(fields)
        if _BEGIN_PATCH in command and "apply_patch" in command:
            return _patch(command)
        return Call("run", (), command)
    if tool == "edit":
        return _patch(given if isinstance(given, str) and not fields else text_at(fields, "input", "patch"))
    if tool == "read":
        path = text_at(fields, "file_path", "path")
        return Call("read", (path,) if path else ())
    return Call(tool)


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


def _patch(patch: str) -> Call:
    found = list(_PATCHED.finditer(patch))
    paths = dict.fromkeys(match[2] or match[3] for match in found)
    only_added = bool(found) and all(match[1] == "Add" for match in found)
    return Call("write" if only_added else "edit", tuple(paths))


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


_LINES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state"})
_COMPLETED = {"CommandExecution": "exec_command_end", "FileChange": "patch_apply_end"}
"""Completed items that scripts ran, by the older events with the same fields. The script's own call doesn't
name them."""
_PATCH_APPLIED = re.compile(r"\s*(?:Success|Done)\b")
"""The beginning of a patch's output; any other output says why it was refused."""
_FINAL = "FINAL_ANSWER"


class CodexReader(TranscriptReader):
    """Reads one rollout."""

    source = "codex"

    def __init__(self) -> None:
        super().__init__()
        self._begun = False

    @staticmethod
    def recognises(record: Record) -> bool:
        """Whether a record belongs to a rollout."""
        return isinstance(record.get("payload"), dict) and text_at(record, "type") in _LINES

    def entries_of(self, line: int, record: Record) -> list[TranscriptEntry]:
        """Return the entries of a line."""
        kind, payload, at = text_at(record, "type"), map_at(record, "payload"), text_at(record, "timestamp")
        blank = TranscriptEntry("agent", line, at=at, agent_id=self.owner, session_id=self.session_id)
        if kind == "session_meta":
            self._meta(payload)
            return []
        if kind == "response_item":
            return self._item(blank, payload)
        if kind == "event_msg":
            return self._event(blank, payload)
        if kind == "compacted":
            return blank.message("boundary", said(text_at(payload, "message")))
        return []

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
            self.session_id, self.owner = parent, own
        else:
            self.session_id = own
            self.owner = own if "subagent" in source else ""

    def _item(self, blank: TranscriptEntry, item: Record) -> list[TranscriptEntry]:
        kind = text_at(item, "type")
        if kind == "message":
            return self._message(blank, item)
        if kind in {"function_call", "custom_tool_call"}:
            name, given = text_at(item, "name"), text_at(item, "arguments", "input")
            call, call_id = call_of(name, given), text_at(item, "call_id")
            return self._call(blank, call_id, name, call, text_at(item, "namespace"))
        if kind == "local_shell_call":
            call = Call("run", command=command_of(map_at(item, "action")))
            return self._call(blank, text_at(item, "call_id"), "local_shell", call)
        if kind in {"function_call_output", "custom_tool_call_output"}:
            return self._output(blank, text_at(item, "call_id"), item.get("output"))
        if kind == "agent_message":
            return self._report(blank, item)
        return []

    def _message(self, blank: TranscriptEntry, item: Record) -> list[TranscriptEntry]:
        role = text_at(item, "role")
        if role not in {"user", "assistant"}:
            return []  # instructions of the host to the model
        parts = [text for part in parts_at(item, "content") if (text := said(part))]
        kind: EntryKind = "user" if role == "user" else "agent"
        if self.owner and item.get("phase") == "final_answer":
            kind = "handback"
        return blank.message(kind, "\n".join(parts))

    def _event(self, blank: TranscriptEntry, event: Record) -> list[TranscriptEntry]:
        kind = text_at(event, "type")
        if kind == "item_completed":
            item = map_at(event, "item")
            kind, event = _COMPLETED.get(text_at(item, "type"), ""), {**item, "call_id": item.get("id")}
        was_refused = text_at(event, "status") in {"failed", "declined"}
        if kind == "exec_command_end":
            call = Call("run", command=command_of(event))
            failed = event.get("exit_code") not in (0, None) or was_refused
            text = text_at(event, "aggregated_output", "formatted_output", "stdout")
            return self._ended(blank, event, ("exec_command", call), text, failed=failed)
        if kind == "patch_apply_end":
            call = Call("edit", paths=paths_in(map_at(event, "changes")))
            failed = event.get("success") is False or was_refused
            text = text_at(event, "stderr" if failed else "stdout")
            return self._ended(blank, event, ("apply_patch", call), text, failed=failed)
        return []  # there are some seventy kinds, most of them for the screen

    def _report(self, blank: TranscriptEntry, item: Record) -> list[TranscriptEntry]:
        """Add a subagent's message to this agent as its report, if it is the report."""
        head, found, report = "\n".join(parts_at(item, "content")).partition("Payload:")
        if not found or _FINAL not in head:
            return []
        author = replace(blank, agent_id=text_at(item, "author"), sidechain=True)
        return author.message("handback", said(report))

    def _call(
        self, blank: TranscriptEntry, call_id: str, name: str, call: Call, namespace: str = ""
    ) -> list[TranscriptEntry]:
        kind = "patch" if name == "apply_patch" else "told"
        return self.called(blank, name, call_id, call, namespace=namespace, kind=kind)

    def _output(self, blank: TranscriptEntry, call_id: str, given: object) -> list[TranscriptEntry]:
        output = output_of(given)
        refused = self._calls.get(call_id) == "patch" and not _PATCH_APPLIED.match(output.text)
        return self.ended(blank, call_id, output.text, failed=output.failed or refused)

    def _ended(
        self, blank: TranscriptEntry, event: Record, named: tuple[str, Call], text: str, *, failed: bool
    ) -> list[TranscriptEntry]:
        """Add the result of a call without another record, such as a script's."""
        call_id = text_at(event, "call_id")
        if call_id in self._calls:
            return []
        entries = self._call(blank, call_id, *named)
        return [*entries, *self.ended(blank, call_id, text, failed=failed)]
