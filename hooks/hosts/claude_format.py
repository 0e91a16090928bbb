"""The hook format that Claude Code made common: the fields of its payloads and the form of its answers.

Codex, Gemini, VS Code, OpenCode and Qwen Code use it too, each with fewer or other events.
"""

from __future__ import annotations

from .events import (
    Event,
    FileEdited,
    Origin,
    PromptSubmitted,
    SessionCompacted,
    SessionEnding,
    SessionResumed,
    SessionStarted,
    SubagentAnnounced,
    SubagentStarting,
    SubagentStopped,
    TurnEnded,
    WindowCompacting,
)
from .fields import Fields, typed
from .hook_answer import HookAnswer, json_line, without_angles

PERSONS = frozenset(("", "user", "sdk"))
"""Sources of prompts that a person wrote; the others are wake-ups and messages of other agents."""

HAND_BACK = "<task-notification>"
"""The beginning of a prompt with which a background subagent reports."""

AGENT_TOOLS = frozenset(("Agent", "Task"))
EDITING_TOOLS = frozenset(("Write", "Edit", "MultiEdit", "NotebookEdit"))
DEFAULT_AGENT = "general-purpose"

_MOMENTS = {"UserPromptSubmit": "prompt_id", "PreToolUse": "tool_use_id", "PostToolUse": "tool_use_id"}
"""The field that distinguishes an event from others of its kind."""


def read_event(host: str, fields: Fields, name: str, cwd: str) -> Event | None:
    """Return the event of a payload in this format, None for an event that foveal doesn't use."""
    origin = origin_of(host, fields, cwd, moment=fields.text(_MOMENTS.get(name, "")))
    match name:
        case "SessionStart":
            return start_of(origin, fields.text("source"))
        case "UserPromptSubmit":
            prompt = typed(fields.text("prompt"))
            by_person = fields.text("source") in PERSONS and not prompt.startswith(HAND_BACK)
            return PromptSubmitted(origin, prompt, by_person)
        case "PreToolUse" if fields.text("tool_name") in AGENT_TOOLS:
            given = fields.part("tool_input")
            return SubagentAnnounced(
                origin, given.text("subagent_type") or DEFAULT_AGENT, given.text("prompt")
            )
        case "PostToolUse" if fields.text("tool_name") in EDITING_TOOLS:
            path = fields.part("tool_input").text("file_path", "notebook_path")
            return FileEdited(origin, (path,)) if path else None
        # Subagents without a type are the host's own, such as side questions and prompt suggestions.
        case "SubagentStart" if origin.agent_type:
            return SubagentStarting(origin)
        case "SubagentStop" if origin.agent_type:
            # `transcript_path` is the parent's, so only the subagent's own path counts.
            path, report = fields.text("agent_transcript_path"), fields.text("last_assistant_message")
            return SubagentStopped(origin, path, report)
        case "Stop" | "StopFailure":
            return TurnEnded(origin, fields.text("transcript_path"))
        case "Notification" if fields.text("notification_type") == "idle_prompt":
            return TurnEnded(origin, fields.text("transcript_path"))
        case "PreCompact":
            return WindowCompacting(origin)
        case "SessionEnd":
            return SessionEnding(origin, fields.text("transcript_path"))
    return None


def origin_of(host: str, fields: Fields, cwd: str, *, moment: str = "") -> Origin:
    """Return the origin of an event. `cwd` is used if the payload names no folder."""
    return Origin(
        host=host,
        session_id=fields.text("session_id", "sessionId"),
        cwd=fields.text("cwd") or cwd,
        agent_id=fields.text("agent_id"),
        agent_type=fields.text("agent_type"),
        moment=moment or fields.digest(),
        at_ms=0 if moment else fields.milliseconds("timestamp"),  # an id tells events apart better
    )


def start_of(origin: Origin, source: str, prompt: str = "", *, replays: bool = True) -> Event:
    """Return the event for the start of a session by its `source` field.

    `replays` says that a resumed session of this host still has the injected texts.
    """
    if source in {"resume", "fork"} and replays:
        return SessionResumed(origin, source == "fork")
    if source in {"resume", "fork", "compact"}:
        return SessionCompacted(origin, prompt)
    return SessionStarted(origin, prompt)


def hook_output(event_name: str, answer: HookAnswer) -> str:
    """Return an answer as `hookSpecificOutput`, with the line for the user as `systemMessage`."""
    fields: dict[str, object] = {}
    if answer.message:
        fields["systemMessage"] = answer.message
    if answer.context:
        fields["hookSpecificOutput"] = {"hookEventName": event_name, "additionalContext": answer.context}
    return json_line(fields)


def bare_hook_output(event_name: str, answer: HookAnswer) -> str:
    """Return an answer for a host that escapes angle brackets in it: there are none."""
    return hook_output(event_name, HookAnswer(without_angles(answer.context), answer.message))
