"""Owns how Claude Code tells events and takes answers.

The form is that of its documentation and its SDK's types; a source of prompts that isn't named there counts
as nobody's.
"""

from __future__ import annotations

from .answer import HookAnswer, OutputLimit
from .dialect import Dialect
from .events import (
    Event,
    FileEdited,
    PromptSubmitted,
    SessionEnding,
    SubagentAnnounced,
    SubagentStarting,
    SubagentStopped,
    TurnEnded,
    WindowCompacting,
)
from .fields import Fields
from .hook_output import hook_output, origin_of, start_of

HOST = "claude-code"
CHARACTERS = 9_500
"""Of 10,000; of a longer text the model gets the first 2,000 characters and a path."""

PERSONS = frozenset(("", "user", "sdk"))
"""The sources of prompts that somebody wrote; the others are wake-ups and messages of other agents."""

AGENT_TOOLS = frozenset(("Agent", "Task"))
EDITING_TOOLS = frozenset(("Write", "Edit", "MultiEdit", "NotebookEdit"))
DEFAULT_AGENT = "general-purpose"
IDLE = "idle_prompt"


def read(fields: Fields, name: str, cwd: str) -> Event | None:
    """Return the event that a payload tells, None for one that means nothing here."""
    return read_as(HOST, fields, name, cwd)


def read_as(host: str, fields: Fields, name: str, cwd: str) -> Event | None:
    """Do the same for another host that tells events in these words."""
    moment = {"UserPromptSubmit": "prompt_id", "PreToolUse": "tool_use_id", "PostToolUse": "tool_use_id"}
    origin = origin_of(host, fields, cwd, moment=fields.text(moment.get(name, "")))
    match name:
        case "SessionStart":
            return start_of(origin, fields.text("source"))
        case "UserPromptSubmit":
            return PromptSubmitted(origin, fields.text("prompt"), fields.text("source") in PERSONS)
        case "PreToolUse" if fields.text("tool_name") in AGENT_TOOLS:
            given = fields.part("tool_input")
            return SubagentAnnounced(
                origin, given.text("subagent_type") or DEFAULT_AGENT, given.text("prompt")
            )
        case "PostToolUse" if fields.text("tool_name") in EDITING_TOOLS:
            path = fields.part("tool_input").text("file_path", "notebook_path")
            return FileEdited(origin, (path,)) if path else None
        # Without a type they are the host's own, such as side questions and suggestions of prompts.
        case "SubagentStart" if origin.agent_type:
            return SubagentStarting(origin)
        case "SubagentStop" if origin.agent_type:
            # Without the path of its own transcript: `transcript_path` is the parent's.
            path, report = fields.text("agent_transcript_path"), fields.text("last_assistant_message")
            return SubagentStopped(origin, path, report)
        case "Stop" | "StopFailure":
            return TurnEnded(origin, fields.text("transcript_path"))
        case "Notification" if fields.text("notification_type") == IDLE:
            return TurnEnded(origin, fields.text("transcript_path"))
        case "PreCompact":
            return WindowCompacting(origin)
        case "SessionEnd":
            return SessionEnding(origin, fields.text("transcript_path"))
    return None


def write(name: str, answer: HookAnswer) -> str:
    """Return what to print."""
    return hook_output(name, answer)


CLAUDE_CODE = Dialect(
    HOST,
    read,
    write,
    dict.fromkeys(("SessionStart", "UserPromptSubmit", "SubagentStart"), OutputLimit(CHARACTERS)),
)
