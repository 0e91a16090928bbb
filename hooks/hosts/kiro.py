"""Kiro: Claude Code's events in a hooks file of its own, answered with plain text.

Sources: its documentation (kiro.dev/docs, hooks, mcp and steering), and public descriptions of CLI 3.0 and
IDE 1.0, which read standalone files of hooks; CLI 2 reads hooks only from agents' profiles, which foveal
leaves alone. Not verified, as it was never run: all of this, above all its events' fields and its limits.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

from . import host
from .hook_answer import OutputLimit
from .hook_format import CAMEL_CASE_KINDS, CLAUDE_KINDS
from .mcp_format import SHELL_VARIABLES, VariableSyntax, places, read_server

FOLDER = host.SettingsFolder(".kiro")
LIMIT = OutputLimit(8_000)

EVENTS = (
    host.HookEvent("SessionStart", host.START_S),
    host.HookEvent("UserPromptSubmit"),
    host.HookEvent("PostToolUse", matcher="write|fs_write|str_replace"),
    host.HookEvent("Stop"),
)


def _file(commands: Sequence[tuple[host.HookEvent, str]]) -> dict[str, Any]:
    """Return the content of the file that registers commands for events."""

    def entry(event: host.HookEvent, command: str) -> dict[str, Any]:
        made: dict[str, Any] = {"name": f"{host.NAME} {event.name}", "trigger": event.name}
        made |= {"matcher": event.matcher} if event.matcher else {}
        return {**made, "action": {"type": "command", "command": command}, "timeout": event.timeout_s}

    return {"version": "v1", "hooks": [entry(event, command) for event, command in commands]}


KIRO = host.Host(
    "kiro",
    "Kiro",
    host.Hooks(
        host="kiro",
        kinds={**CLAUDE_KINDS, **CAMEL_CASE_KINDS, "agentSpawn": "start"},
        limits=dict.fromkeys(("SessionStart", "UserPromptSubmit"), LIMIT),
        shows_messages=False,
        own_answer=lambda name, text: text,
        events=EVENTS,
        settings=host.HookFile(FOLDER.file(os.path.join("hooks", f"{host.NAME}.json"), 2), _file),
    ),
    host.McpConfig(
        places(".kiro/settings/mcp.json", "mcpServers"),
        read_server,
        VariableSyntax(SHELL_VARIABLES),
        path=FOLDER.file(os.path.join("settings", "mcp.json"), 2),
    ),
    host.NativeRules(
        re.compile(r"^(?:~/)?\.kiro/steering/|^AGENTS\.md$"),
        ("AGENTS.md",),
        summary=".kiro/steering and AGENTS.md",
    ),
    program="kiro-cli",
    next_step="sessions that start from now on use it",
)
