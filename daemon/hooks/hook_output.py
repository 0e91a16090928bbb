"""Owns the words that Claude Code's hooks made common: the fields of payloads and the form of answers.

Codex, Gemini, VS Code and OpenCode speak them too, each with fewer or other events.
"""

from __future__ import annotations

from .answer import HookAnswer
from .dialect import written
from .events import Event, Origin, SessionCompacted, SessionResumed, SessionStarted
from .fields import Fields


def origin_of(host: str, fields: Fields, cwd: str, *, moment: str = "") -> Origin:
    """Return who an event is of. `cwd` counts where the payload names no folder."""
    return Origin(
        host=host,
        session_id=fields.text("session_id", "sessionId"),
        cwd=fields.text("cwd") or cwd,
        agent_id=fields.text("agent_id"),
        agent_type=fields.text("agent_type"),
        moment=moment or fields.digest(),
    )


def start_of(origin: Origin, source: str) -> Event:
    """Return the event for a session's start by its source."""
    if source == "compact":
        return SessionCompacted(origin)
    return SessionResumed(origin) if source in {"resume", "fork"} else SessionStarted(origin)


def hook_output(event_name: str, answer: HookAnswer) -> str:
    """Return an answer as `hookSpecificOutput`, with the one line for the user as `systemMessage`."""
    fields: dict[str, object] = {}
    if answer.message:
        fields["systemMessage"] = answer.message
    if answer.context:
        fields["hookSpecificOutput"] = {"hookEventName": event_name, "additionalContext": answer.context}
    return written(fields)
