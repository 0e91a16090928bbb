"""Owns how Gemini CLI tells events and takes answers. It has no subagents, and no event after a compression.

What is added to a prompt is there for its turn only. Not verified: how much text it takes.
"""

from __future__ import annotations

from .answer import HookAnswer, OutputLimit
from .dialect import Dialect
from .events import Event, FileEdited, PromptSubmitted, SessionEnding, TurnEnded, WindowCompacting
from .fields import Fields
from .hook_output import hook_output, origin_of, start_of

HOST = "gemini"
CHARACTERS = 8_000
EDITING_TOOLS = frozenset(("write_file", "replace", "edit"))


def read(fields: Fields, name: str, cwd: str) -> Event | None:
    """Return the event that a payload tells, None for one that means nothing here."""
    origin = origin_of(HOST, fields, cwd)
    match name:
        case "SessionStart":
            return start_of(origin, fields.text("source", "trigger"))
        case "BeforeAgent":
            return PromptSubmitted(origin, fields.text("prompt"))
        case "AfterTool" if fields.text("tool_name") in EDITING_TOOLS:
            path = fields.part("tool_input").text("file_path", "absolute_path")
            return FileEdited(origin, (path,)) if path else None
        case "AfterAgent":
            return TurnEnded(origin, fields.text("transcript_path"))
        case "PreCompress":
            return WindowCompacting(origin)
        case "SessionEnd":
            return SessionEnding(origin, fields.text("transcript_path"))
    return None


def write(name: str, answer: HookAnswer) -> str:
    """Return what to print: one JSON object, or nothing."""
    return hook_output(name, answer)


GEMINI = Dialect(HOST, read, write, dict.fromkeys(("SessionStart", "BeforeAgent"), OutputLimit(CHARACTERS)))
