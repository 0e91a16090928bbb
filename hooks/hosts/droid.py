"""Factory Droid: Claude Code's hook format, servers in a file of their own.

Sources: its documentation (docs.factory.ai, harness/hooks), and version 0.215.0, run against a model that
records its requests. `droid exec` sends no UserPromptSubmit, so that the prompt is read from the transcript
at the first tool. Not verified: how much text it takes, its subagents, and UserPromptSubmit in its terminal.
"""

from __future__ import annotations

import re

from . import host
from .fields import Fields, parsed
from .hook_answer import OutputLimit
from .hook_format import CLAUDE_KINDS
from .mcp_format import SHELL_VARIABLES, VariableSyntax, places, read_server

TITLE = "Factory Droid"
FOLDER = host.SettingsFolder(".factory")
LIMIT = OutputLimit(8_000)

EVENTS = (
    host.HookEvent("SessionStart", host.START_S),
    host.HookEvent("UserPromptSubmit"),
    host.HookEvent("PostToolUse", matcher="Create|Edit|MultiEdit|ApplyPatch|Read|Grep|Glob|LS|Execute"),
    host.HookEvent("SubagentStop"),
    host.HookEvent("PreCompact"),
    host.HookEvent("Stop"),
    host.HookEvent("SessionEnd", host.END_S),
)


def _prompt_in(transcript: str, agent_type: str) -> str:
    """Return the last prompt in a transcript's tail, or ""."""
    for line in reversed(transcript.splitlines()):
        if '"user"' not in line or '"tool_result"' in line:
            continue
        record = parsed(line)
        message = Fields(record).part("message") if isinstance(record, dict) else Fields({})
        parts = message.value("content")
        if message.text("role") == "user" and not message.has("visibility") and isinstance(parts, list):
            texts = [Fields(part).text("text") for part in parts if isinstance(part, dict)]
            return "\n".join(filter(None, texts))
    return ""


DROID = host.Host(
    "droid",
    TITLE,
    host.Hooks(
        host="droid",
        kinds=CLAUDE_KINDS,
        limits=dict.fromkeys(("SessionStart", "UserPromptSubmit", "PostToolUse"), LIMIT),
        default_agent="worker",
        seeks_prompts=True,
        events=EVENTS,
        settings=host.SettingsHooks(FOLDER.file("settings.json")),
        project_variable="FACTORY_PROJECT_DIR",
        task_in=_prompt_in,
    ),
    host.McpConfig(
        places(".factory/mcp.json", "mcpServers"),
        read_server,
        VariableSyntax(SHELL_VARIABLES),
        path=FOLDER.file("mcp.json"),
        entry=lambda command: {"type": "stdio", **host.program_entry(command)},
    ),
    host.NativeRules(
        re.compile(r"^(?:[^./~][^/]*/)*(?:AGENTS|CLAUDE)\.md$|^(?:~/)?\.(?:factory|agents)/AGENTS\.md$"),
        ("AGENTS.md", "CLAUDE.md", ".factory/AGENTS.md", ".agents/AGENTS.md"),
        summary="AGENTS.md and CLAUDE.md, AGENTS.md in .factory and .agents",
    ),
    program="droid",
    aliases=("factory",),
    switches=FOLDER.all_off(TITLE),
    next_step="sessions that start from now on use it, unless there is a hooks.json beside settings.json",
)
