"""Owns how Cursor tells events and takes answers.

It takes text for the model only where a session starts, and behind tools. It also runs Claude Code's hooks,
under those names. Not verified: how much text it takes and where that stands, and whether what it was given
at the start stays when a window is compacted.
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
    SessionStarted,
    SubagentAnnounced,
    SubagentStarting,
    SubagentStopped,
    TurnEnded,
    WindowCompacting,
)
from .fields import Fields

HOST = "cursor"
CHARACTERS = 8_000

NAMES = {
    "SessionStart": "sessionStart",
    "SessionEnd": "sessionEnd",
    "UserPromptSubmit": "beforeSubmitPrompt",
    "PreToolUse": "preToolUse",
    "PostToolUse": "postToolUse",
    "SubagentStart": "subagentStart",
    "SubagentStop": "subagentStop",
    "PreCompact": "preCompact",
    "Stop": "stop",
}
"""Its own names for Claude Code's events."""


def read(fields: Fields, name: str, cwd: str) -> Event | None:
    """Return the event that a payload tells, None for one that means nothing here."""
    match NAMES.get(name, name):
        case "sessionStart":
            return SessionStarted(_origin(fields, cwd))
        case "beforeSubmitPrompt":
            return PromptSubmitted(_origin(fields, cwd, "generation_id"), fields.text("prompt"))
        case "preToolUse" if fields.text("tool_name") == "Task":
            given = fields.part("tool_input")
            kind, task = given.text("subagent_type"), given.text("prompt", "task", "description")
            return SubagentAnnounced(_origin(fields, cwd, "tool_use_id"), kind, task)
        case "postToolUse":
            return FileEdited(_origin(fields, cwd, "tool_use_id"))
        case "subagentStart":
            return SubagentStarting(_origin(fields, cwd), fields.text("task"))
        case "subagentStop":
            report = fields.text("summary", "description")
            return SubagentStopped(_origin(fields, cwd), fields.text("agent_transcript_path"), report)
        case "afterFileEdit" if fields.text("file_path"):
            return FileEdited(_origin(fields, cwd), (fields.text("file_path"),))
        case "stop":
            return TurnEnded(_origin(fields, cwd), fields.text("transcript_path"))
        case "preCompact":
            return WindowCompacting(_origin(fields, cwd))
        case "sessionEnd":
            return SessionEnding(_origin(fields, cwd), fields.text("transcript_path"))
    return None


def write(name: str, answer: HookAnswer) -> str:
    """Return what to print; it shows its user nothing of an answer that blocks nothing."""
    return written({"additional_context": answer.context} if answer.context else {})


def _origin(fields: Fields, cwd: str, moment: str = "") -> Origin:
    roots = fields.texts("workspace_roots")
    return Origin(
        HOST,
        fields.text("parent_conversation_id", "conversation_id", "session_id"),
        roots[0] if roots else fields.text("cwd") or cwd,
        fields.text("subagent_id"),
        fields.text("subagent_type"),
        fields.text(moment) or fields.digest(),
    )


CURSOR = Dialect(
    HOST,
    read,
    write,
    dict.fromkeys(("sessionStart", "SessionStart", "postToolUse", "PostToolUse"), OutputLimit(CHARACTERS)),
)
