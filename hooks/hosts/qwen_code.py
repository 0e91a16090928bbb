"""Qwen Code: Claude Code's hook format in a settings file like Gemini CLI's, of which it is a fork.

Sources: its documentation (QwenLM/qwen-code, docs/users/features/hooks.md and mcp.md), and versions 0.15.10
and 0.24.4, run against a model that records its requests. There, text from SessionStart and SubagentStart
didn't reach the model, so the first prompt brings it; a resumed session still has it. UserPromptSubmit also
comes after each tool, with an empty prompt. Version 0.15.10 names the parent's transcript for a subagent, so
its last message counts there. Text for the model is escaped, so angle brackets in it are replaced.
"""

from __future__ import annotations

import re

from msgspec.structs import replace

from . import host
from .events import Event
from .fields import Fields
from .hook_answer import OutputLimit
from .hook_format import CLAUDE_KINDS
from .mcp_format import BARE_VARIABLES, VariableSyntax, places, read_gemini_server

TITLE = "Qwen Code"
FOLDER = host.SettingsFolder(".qwen", "QWEN_HOME")
SETTINGS = FOLDER.file("settings.json")
LIMIT = OutputLimit(7_900)
"""Maximum text for the model. Not verified: how much text the host takes."""

EVENTS = (
    host.HookEvent("SessionStart", host.START_S),
    host.HookEvent("UserPromptSubmit"),
    host.HookEvent("PostToolUse", matcher="write_file|edit|grep_search|glob|read_file|run_shell_command"),
    # Not in the background: hosts kill those hooks when they end, so that the ends of work would be lost.
    host.HookEvent("SubagentStop"),
    host.HookEvent("PreCompact"),
    host.HookEvent("Stop"),
    host.HookEvent("SessionEnd", host.END_S),
)


def _refine(event: Event, fields: Fields) -> Event | None:
    if event.kind == "prompt" and not event.prompt.strip():  # it comes at each round of tools
        return None
    if event.kind == "subagent_end" and event.transcript_path == fields.text("transcript_path"):
        return replace(event, transcript_path="")
    return event


QWEN_CODE = host.Host(
    "qwen-code",
    TITLE,
    host.Hooks(
        host="qwen-code",
        kinds=CLAUDE_KINDS,
        limits=dict.fromkeys(("UserPromptSubmit", "PostToolUse"), LIMIT),
        default_agent="general-purpose",
        escapes=True,
        refine=_refine,
        events=EVENTS,
        settings=host.SettingsHooks(SETTINGS, named=True, unit=1000),
    ),
    host.McpConfig(
        places(".qwen/settings.json", "mcpServers"),
        read_gemini_server,
        VariableSyntax(BARE_VARIABLES, unset="kept"),
        path=SETTINGS,
    ),
    host.NativeRules(
        re.compile(r"^(?:~/\.qwen/)?(?:QWEN|AGENTS)\.md$"),
        ("QWEN.md", "AGENTS.md"),
        above=frozenset(("QWEN.md", "AGENTS.md")),
        summary="QWEN.md and AGENTS.md from the root down to its folder",
    ),
    program="qwen",
    aliases=("qwen",),
    switches=FOLDER.all_off(TITLE),
    next_step="sessions that start from now on use it; a project's own hooks wait until you trust the folder",
)
