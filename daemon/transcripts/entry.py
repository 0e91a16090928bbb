"""Entries (the events of a conversation in a common form for all hosts), and tolerant reading of records.

Each host's format is a file of its own, whose reader is a `TranscriptReader`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Literal, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ..core.vocabulary import words
from .injections import is_own_command, is_own_tool, printed
from .transcript_file import Line

EntryKind = Literal["user", "agent", "call", "result", "handback", "boundary"]
Tool = Literal["edit", "write", "read", "run", "agent", "other", ""]


class TranscriptEntry(Struct, frozen=True):
    """An event of a conversation, in the order of the transcript.

    Texts are untrusted and their secrets aren't masked: whoever stores them checks them first.
    """

    kind: EntryKind
    """`user`: a message of a person or the parent agent; `agent`: a message of the agent; `handback`: a final
    report to a parent; `boundary`: a compaction, whose text is the summary."""

    line: int
    """The line of its record, counted from 1."""

    text: str = ""
    """The message; for a result its output, cut to 20,000 characters, head and tail."""

    at: str = ""
    """ISO 8601 as the host gave it, or empty."""

    agent_id: str = ""
    session_id: str = ""

    tool: Tool = ""
    """The kind of tool of a call."""

    call_id: str = ""
    """Links a call and its result."""

    paths: tuple[str, ...] = ()
    """Files that a call touches, as the host wrote them."""

    command: str = ""
    """The command of a call that runs a program."""

    failed: bool = False
    """Whether a result is an error, or has an exit code other than 0."""

    sidechain: bool = False
    """Whether the entry belongs to a subagent inside the transcript of another agent."""

    def message(self, kind: EntryKind, text: str) -> list[TranscriptEntry]:
        """Return a text of this record as an entry, nothing for an empty text."""
        return [replace(self, kind=kind, text=cut(text, TEXT_CHARACTERS))] if text.strip() else []

    def called(self, call_id: str, call: Call) -> TranscriptEntry:
        """Return a call of this record as an entry."""
        command = cut(call.command, TEXT_CHARACTERS)
        found = replace(self, kind="call", text="", tool=call.tool, call_id=call_id)
        return replace(found, paths=call.paths, command=command)

    def result(self, call_id: str, output: str, *, failed: bool) -> TranscriptEntry:
        """Return the result of a call in this record as an entry."""
        text = cut(printed(output), RESULT_CHARACTERS)
        return replace(self, kind="result", text=text, call_id=call_id, failed=failed)


class Call(Struct, frozen=True):
    """The meaning of a tool's call, in an entry's terms."""

    tool: Tool = "other"
    paths: tuple[str, ...] = ()
    command: str = ""


Record = dict[str, Any]

RESULT_CHARACTERS = 20_000
"""Maximum characters of a result's output: its head and its tail, which hold errors and totals."""
TEXT_CHARACTERS = 200_000
"""Maximum characters of any other text; the longest reports have some ten thousand."""
MARK = "\n[…]\n"
"""Replaces the omitted middle of a text."""


def record_of(data: bytes) -> Record | None:
    """Return a line as a JSON object; None for anything else, such as a half-written line."""
    try:
        record = json.loads(data)
    except (ValueError, RecursionError):  # no UTF-8, no JSON, a giant number, nested too deeply
        return None
    return record if isinstance(record, dict) else None


def text_at(record: Mapping[str, Any], *keys: str) -> str:
    """Return the first field that is a text and not empty, else ""."""
    for key in keys:
        value = record.get(key)
        if isinstance(value, str) and value:
            return value
    return ""


def map_at(record: Mapping[str, Any], key: str) -> Record:
    """Return a field that is a map, else an empty map."""
    value = record.get(key)
    return value if isinstance(value, dict) else {}


def maps_at(record: Mapping[str, Any], key: str) -> list[Record]:
    """Return the maps in a field that is a list."""
    value = record.get(key)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def texts_at(record: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """Return the texts in a field that is a list, or the field itself if it is a text."""
    value = record.get(key)
    if isinstance(value, str):
        return (value,) if value else ()
    return tuple(item for item in value if isinstance(item, str) and item) if isinstance(value, list) else ()


def parts_at(record: Mapping[str, Any], key: str) -> list[str]:
    """Return the texts of a content, which is a text, or a list of texts and of maps with a `text`."""
    value = record.get(key)
    if isinstance(value, str):
        return [value] if value else []
    if not isinstance(value, list):
        return []
    parts = [text_at(item, "text") if isinstance(item, dict) else item for item in value]
    return [part for part in parts if isinstance(part, str) and part]


def time_of(milliseconds: object) -> str:
    """Return a time in milliseconds since 1970 as ISO 8601, "" for anything else."""
    try:
        seconds = milliseconds / 1000 if isinstance(milliseconds, int | float) else None
        return (
            "" if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
        )
    except (ValueError, OverflowError, OSError):
        return ""


def cut(text: str, characters: int) -> str:
    """Return a text of at most `characters`: its head, a mark and its tail."""
    if len(text) <= characters:
        return text
    half = (characters - len(MARK)) // 2
    return text[:half] + MARK + text[-half:]


_TOOL_NAMES: Mapping[Tool, str] = {
    "edit": (
        "Edit MultiEdit NotebookEdit apply_patch ApplyPatch edit str_replace_editor replace multiedit patch "
        "editor"
    ),
    "write": "Write Create create write_file write",
    "read": "Read NotebookRead read_file view_image view read read_files",
    "run": (
        "Bash PowerShell bash powershell local_shell run_shell_command run shell shell_command "
        "exec_command container.exec unified_exec run_commands Execute"
    ),
    "agent": "Agent Task spawn_agent task invoke_agent agent",
}
TOOLS: Mapping[str, Tool] = {name: tool for tool, names in _TOOL_NAMES.items() for name in words(names)}
"""The tools of all hosts by name."""

_FILE_TOOLS = ("edit", "write", "read")


def call_of(tool: Tool, given: Record, *path_fields: str) -> Call:
    """Return the meaning of a call by its tool and input; `path_fields` are those that may name its file."""
    path = text_at(given, *path_fields) if tool in _FILE_TOOLS else ""
    return Call(tool, (path,) if path else (), text_at(given, "command") if tool == "run" else "")


K = TypeVar("K")
V = TypeVar("V")


class Recent(dict[K, V]):
    """A map of the keys noted last, such as calls without results and records that a host may repeat."""

    def note(self, key: K, value: V) -> None:
        """Add a key that isn't empty, and drop the oldest beyond `RECENT_MAX`."""
        if key:
            self[key] = value
        if len(self) > RECENT_MAX:
            del self[next(iter(self))]


RECENT_MAX = 65_536
"""Maximum number of keys."""


class TranscriptReader:
    """Turns the lines of one transcript into entries, in order; by default lines of JSON."""

    source = ""
    """The format's name in the provenance of experiences."""

    def __init__(self) -> None:
        self.owner = ""
        """The agent of the conversation, if the host gave it an id, as for subagents."""
        self.cwd = ""
        """The folder in which the conversation began, or ""."""
        self.session_id = ""
        self._calls: Recent[str, str] = Recent()
        """Running calls by id: `own`, `command` for one of our program, or what the host's reader noted."""

    @staticmethod
    def recognises(record: Record) -> bool:
        """Whether a record is of this format."""
        raise NotImplementedError

    @staticmethod
    def rewinds(lines: Iterable[Line]) -> Iterator[range]:
        """Yield the numbers of the lines abandoned when a person went back to an earlier prompt."""
        return iter(())

    def read(self, line: int, data: bytes) -> list[TranscriptEntry] | None:
        """Return the entries that a line adds or completes; None for a line that isn't a record."""
        record = record_of(data.removeprefix(b"\xef\xbb\xbf"))
        return None if record is None else self.entries_of(line, record)

    def entries_of(self, line: int, record: Record) -> list[TranscriptEntry]:
        """Return the entries that a record adds or completes."""
        raise NotImplementedError

    def ends(self, data: bytes) -> bool:
        """Whether a last line without a line break is the whole end of a file."""
        return False

    def finish(self) -> list[TranscriptEntry]:
        """Return the entries that were begun and not completed."""
        return []

    def called(
        self,
        blank: TranscriptEntry,
        name: str,
        call_id: str,
        call: Call,
        *,
        namespace: str = "",
        kind: str = "",
    ) -> list[TranscriptEntry]:
        """Return a call, nothing for one of our tools; `kind` is noted for its result."""
        own = is_own_tool(name, namespace)
        self._calls.note(call_id, "own" if own else "command" if is_own_command(call.command) else kind)
        return [] if own else [blank.called(call_id, call)]

    def ended(
        self, blank: TranscriptEntry, call_id: str, output: str, *, failed: bool
    ) -> list[TranscriptEntry]:
        """Return the result of a call, nothing for one of our tools; our program's output isn't kept."""
        kind = self._calls.pop(call_id, "")
        output = "" if kind == "command" else output
        return [] if kind == "own" else [blank.result(call_id, output, failed=failed)]

    def ended_call(
        self, blank: TranscriptEntry, name: str, call_id: str, call: Call, output: str, *, failed: bool
    ) -> list[TranscriptEntry]:
        """Return a call and its result, of a record that holds both."""
        call_id = call_id or f"{blank.line}"
        called = self.called(blank, name, call_id, call)
        return [*called, *self.ended(blank, call_id, output, failed=failed)]
