"""Owns how Codex tells events and takes answers: Claude Code's words under strict schemas.

Not verified: under which names a subagent's task stands in the call that starts it.
"""

from __future__ import annotations

import re

from .answer import HookAnswer, OutputLimit
from .claude_code import read_as
from .dialect import Dialect
from .events import Event, FileEdited, SubagentAnnounced
from .fields import Fields
from .hook_output import hook_output, origin_of

HOST = "codex"
ROOM = OutputLimit(characters=8_000, tokens=2_200)
"""The host takes about 2,500 tokens; of a longer text the model gets head and tail."""

PATCHING_TOOLS = frozenset(("apply_patch", "Edit", "Write"))
STARTING_TOOLS = frozenset(("spawn_agent", "Agent"))
PATHS_MAX = 100

_PATCHED = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+?)\s*$", re.MULTILINE)


def read(fields: Fields, name: str, cwd: str) -> Event | None:
    """Return the event that a payload tells, None for one that means nothing here."""
    tool, given = fields.text("tool_name"), fields.part("tool_input")
    origin = origin_of(HOST, fields, cwd, moment=fields.text("tool_use_id"))
    if name == "PostToolUse" and tool in PATCHING_TOOLS:
        paths = patched_paths(given)
        return FileEdited(origin, paths) if paths else None
    if name == "PreToolUse" and tool in STARTING_TOOLS:
        task = given.text("message", "prompt", "task")
        return SubagentAnnounced(origin, given.text("agent_type", "subagent_type"), task)
    return None if name in {"PreToolUse", "PostToolUse"} else read_as(HOST, fields, name, cwd)


def write(name: str, answer: HookAnswer) -> str:
    """Return what to print: no key beside those of the event's schema."""
    return hook_output(name, answer)


def patched_paths(given: Fields) -> tuple[str, ...]:
    """Return the files that a patch names, each once; the patch is one of the call's texts."""
    found = [path for text in given.strings() for path in _PATCHED.findall(text)]
    named = given.text("file_path")
    return tuple(dict.fromkeys([*found, *([named] if named else [])]))[:PATHS_MAX]


CODEX = Dialect(HOST, read, write, dict.fromkeys(("SessionStart", "UserPromptSubmit", "SubagentStart"), ROOM))
