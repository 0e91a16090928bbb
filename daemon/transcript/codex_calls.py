"""Owns the tools of Codex: what a call does, which files a patch touches, and how a command ended."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from ..core.lazy_dataclass import dataclass
from .entry import Tool
from .records import Record, maps_at, parts_at, record_of, text_at, texts_at

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
"""The lines before the output, in which the exit code stands, have no more."""
_HEADER_END = re.compile(r"(?m)^Output:[ \t]*(?:\r?\n|\Z)")
_HEADER_BEGIN = re.compile(r"\A(?:Exit code: |Chunk ID: |Wall time: |Process )")
_LOGIN_SHELL = re.compile(r"(?:\S*/)?(?:ba|z|da|k)?sh")


@dataclass(frozen=True, slots=True)
class Call:
    """What a call does, as an entry tells it."""

    tool: Tool
    text: str = ""
    paths: tuple[str, ...] = ()
    command: str = ""


@dataclass(frozen=True, slots=True)
class Output:
    """A result's text, and whether it says that something failed."""

    text: str
    failed: bool


def call_of(name: str, given: str | Mapping[str, Any]) -> Call:
    """Tell what a call does by the tool's name and its arguments: a map, one as JSON, or a patch."""
    fields: Record = (
        dict(given) if isinstance(given, Mapping) else record_of(given.encode("utf-8", "replace")) or {}
    )
    tool: Tool = "run" if name in _SHELLS else _TOOLS.get(name, "other")
    if tool == "run":
        command = command_of(fields)
        if _BEGIN_PATCH in command and "apply_patch" in command:
            return _patch(command)
        return Call("run", text_at(fields, "justification"), (), command)
    if tool == "edit":
        return _patch(given if isinstance(given, str) and not fields else text_at(fields, "input", "patch"))
    if tool == "read":
        path = text_at(fields, "file_path", "path")
        return Call("read", "", (path,) if path else ())
    if tool == "agent":
        return Call("agent", text_at(fields, "message", "prompt", "task"))
    return Call(tool)


def command_of(fields: Mapping[str, Any]) -> str:
    """Return a command as a person would type it: a shell's `-c` is taken away."""
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


def paths_in(changes: object) -> tuple[str, ...]:
    """Return the files that an event about a patch names."""
    return tuple(path for path in changes if isinstance(path, str)) if isinstance(changes, dict) else ()


def _patch(patch: str) -> Call:
    found = list(_PATCHED.finditer(patch))
    paths = dict.fromkeys(match[2] or match[3] for match in found)
    only_added = bool(found) and all(match[1] == "Add" for match in found)
    return Call("write" if only_added else "edit", "", tuple(paths))


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
    """Return what a record of reasoning shows of it; most of it is encrypted."""
    return [text_at(one, "text") for key in ("summary", "content") for one in maps_at(reasoning, key)]
