"""Owns how Copilot CLI and VS Code tell events and take answers.

An event that is registered in camel case comes with such fields and without its name, so that its fields tell
which it is. Registered in Pascal case it comes in Claude Code's words; VS Code knows those only. Text for a
prompt is taken by neither: it is given behind the next tool instead. Not verified: whether Copilot CLI takes
text where a session starts (its documentation says both), and whose transcript comes when a subagent stops.
"""

from __future__ import annotations

from .answer import HookAnswer, OutputLimit
from .dialect import Dialect, written
from .events import (
    Event,
    FileEdited,
    Origin,
    PromptSubmitted,
    SessionEnding,
    SubagentStarting,
    SubagentStopped,
    TurnEnded,
    WindowCompacting,
)
from .fields import Fields
from .hook_output import hook_output, start_of

HOST = "copilot"
ROOM = OutputLimit(characters=8_000)
"""The host takes 10 KB behind a tool."""

NAMES = {
    "SessionStart": "sessionStart",
    "SessionEnd": "sessionEnd",
    "UserPromptSubmit": "userPromptSubmitted",
    "PreToolUse": "preToolUse",
    "PostToolUse": "postToolUse",
    "SubagentStart": "subagentStart",
    "SubagentStop": "subagentStop",
    "PreCompact": "preCompact",
    "Stop": "agentStop",
}
"""The same events in camel case."""

EDITING_TOOLS = frozenset(
    (
        "edit",
        "create",
        "str_replace_editor",
        "editFiles",
        "createFile",
        "replace_string_in_file",
        "create_file",
    )
)


def read(fields: Fields, name: str, cwd: str) -> Event | None:
    """Return the event that a payload tells, None for one that means nothing here."""
    origin = _origin(fields, cwd)
    match NAMES.get(name, name) or _name_of(fields):
        case "sessionStart":
            return start_of(origin, fields.text("source"))
        case "userPromptSubmitted":
            return PromptSubmitted(origin, fields.text("prompt"))
        case "postToolUse":
            return FileEdited(origin, _edited(fields))
        case "subagentStart":
            return SubagentStarting(origin)
        case "subagentStop":
            path = fields.text(
                "agent_transcript_path", "agentTranscriptPath", "transcriptPath", "transcript_path"
            )
            return SubagentStopped(origin, path, fields.text("response", "last_assistant_message"))
        case "agentStop":
            return TurnEnded(origin, fields.text("transcriptPath", "transcript_path"))
        case "preCompact":
            return WindowCompacting(origin)
        case "sessionEnd":
            return SessionEnding(origin, fields.text("transcriptPath", "transcript_path"))
    return None


def write(name: str, answer: HookAnswer) -> str:
    """Return what to print: exactly one JSON object, or nothing. It shows its user no messages."""
    if not answer.context:
        return ""
    if name in NAMES:
        return hook_output(name, HookAnswer(answer.context))
    return written({"additionalContext": answer.context})


def _origin(fields: Fields, cwd: str) -> Origin:
    kind = fields.text("agentName", "agent_name", "agent_type")
    return Origin(
        HOST,
        fields.text("sessionId", "session_id"),
        fields.text("cwd") or cwd,
        fields.text("agentId", "agent_id") or kind,  # a subagent without an id is known by its name
        kind,
        fields.text("toolCallId", "tool_use_id") or fields.digest(),
    )


def _name_of(fields: Fields) -> str:
    """Return the event that camel case fields belong to. Not verified beyond the documentation."""
    if fields.has("toolName"):
        return "postToolUse" if fields.has("toolResult") else "preToolUse"
    if fields.has("agentName"):
        return "subagentStop" if fields.has("stopReason", "response") else "subagentStart"
    telling = (
        ("stopReason", "agentStop"),
        ("trigger", "preCompact"),
        ("source", "sessionStart"),
        ("prompt", "userPromptSubmitted"),
        ("reason", "sessionEnd"),
    )
    return next((name for field, name in telling if fields.has(field)), "")


def _edited(fields: Fields) -> tuple[str, ...]:
    """Return the file that a tool wrote; none for a tool that wrote nothing."""
    if fields.text("toolName", "tool_name") not in EDITING_TOOLS:
        return ()
    path = fields.part("toolArgs", "tool_input").text("path", "file_path", "filePath")
    return (path,) if path else ()


_TAKING = ("sessionStart", "subagentStart", "postToolUse", "SessionStart", "SubagentStart", "PostToolUse")

COPILOT = Dialect(HOST, read, write, dict.fromkeys(_TAKING, ROOM))
