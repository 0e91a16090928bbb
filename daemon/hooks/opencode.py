"""Owns how our OpenCode plugin tells events and takes answers: in Claude Code's words.

There a subagent is a session of its own, whose parent's id comes with it.
"""

from __future__ import annotations

from msgspec.structs import replace

from .answer import HookAnswer, OutputLimit
from .claude_code import read_as
from .dialect import Dialect
from .events import Event, SessionEnding, TurnEnded
from .fields import Fields
from .hook_output import hook_output

HOST = "opencode"
SUBAGENT = "subagent"
CHARACTERS = 8_000


def read(fields: Fields, name: str, cwd: str) -> Event | None:
    """Return the event that a payload tells, None for one that means nothing here."""
    found = read_as(HOST, _with_type(fields, name), name, cwd)
    parent = fields.text("parent_session_id")
    if not parent or found is None:
        return found
    if isinstance(found, SessionEnding | TurnEnded):
        return None  # its parent goes on
    origin = replace(found.origin, session_id=parent, agent_id=found.origin.session_id, agent_type=SUBAGENT)
    return replace(found, origin=origin)


def write(name: str, answer: HookAnswer) -> str:
    """Return what to print; the plugin takes the text for the model from it."""
    return hook_output(name, HookAnswer(answer.context))


def _with_type(fields: Fields, name: str) -> Fields:
    """Return fields of a subagent with the type that it has none of there."""
    if name not in {"SubagentStart", "SubagentStop"} or fields.text("agent_type"):
        return fields
    return fields.with_text("agent_type", SUBAGENT)


OPENCODE = Dialect(
    HOST,
    read,
    write,
    dict.fromkeys(("SessionStart", "UserPromptSubmit", "SubagentStart"), OutputLimit(CHARACTERS)),
)
