"""Cursor: it takes text for the model at the start of a session, after tools, and from 3.20 on with prompts.

It also runs Claude Code's hooks, under those names. The text of the start is kept with the conversation and
sent with each request, so it survives a compaction. The text of a prompt is a reminder beside it, whole up to
10,000 characters. Source: what others read in version 3.20.17; its documentation doesn't name the field of
beforeSubmitPrompt. Not verified: how much text it takes elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec.structs import replace

from . import host
from .fields import Fields
from .hook_answer import OutputLimit
from .hook_format import CAMEL_CASE_KINDS, CLAUDE_KINDS
from .mcp_format import EDITOR_VARIABLES, VariableSyntax, places, read_server

FOLDER = host.SettingsFolder(".cursor")
LIMIT = OutputLimit(8_000)
PROMPT = "beforeSubmitPrompt"

EVENTS = (
    host.HookEvent("sessionStart", host.START_S),
    host.HookEvent(PROMPT),
    host.HookEvent("preToolUse", matcher="Task"),
    host.HookEvent("subagentStart"),
    host.HookEvent("subagentStop"),
    host.HookEvent("afterFileEdit"),
    # It takes text for the model in older versions too. Writes are covered by afterFileEdit.
    host.HookEvent("postToolUse", matcher="Read|Grep|Shell"),
    host.HookEvent("preCompact"),
    host.HookEvent("stop"),
    host.HookEvent("sessionEnd", host.END_S),
)


def _sent(fields: Fields, variables: Mapping[str, str]) -> bool:
    """Whether a payload of Claude Code's hooks is Cursor's: it names a conversation."""
    return fields.has("conversation_id", "cursor_version") or bool(variables.get("CURSOR_VERSION"))


CURSOR = host.Host(
    "cursor",
    "Cursor",
    host.Hooks(
        host="cursor",
        kinds={**CLAUDE_KINDS, **CAMEL_CASE_KINDS, PROMPT: "prompt", "afterFileEdit": "edit"},
        limits={
            **dict.fromkeys(("sessionStart", "SessionStart", "postToolUse", "PostToolUse"), LIMIT),
            PROMPT: OutputLimit(9_500),
        },
        since={PROMPT: (3, 20)},
        answer_also={PROMPT: {"continue": True}},
        refine=lambda event, fields: replace(event, keeps_start=event.kind == "compacting"),
        replays=False,
        shows_messages=False,  # unless the answer blocks something
        answer_key="additional_context",
        events=EVENTS,
        settings=host.SettingsHooks(FOLDER.file("hooks.json"), grouped=False, skeleton={"version": 1}),
        project_variable="CURSOR_PROJECT_DIR",
    ),
    host.McpConfig(
        places(".cursor/mcp.json", "mcpServers"),
        read_server,
        VariableSyntax(EDITOR_VARIABLES, unset="empty"),
        path=FOLDER.file("mcp.json"),
    ),
    host.NativeRules(
        re.compile(r"(?:^|/)\.cursor/rules/|^\.cursorrules$|^(?:[^./~][^/]*/)*AGENTS\.md$"),
        ("AGENTS.md", ".cursorrules"),
        summary=".cursor/rules, .cursorrules and AGENTS.md",
    ),
    program="cursor-agent",
    version=lambda variables: variables.get("CURSOR_VERSION", ""),
    runs_hooks_of="claude-code",
    sent=_sent,
    next_step="Cursor takes it up by itself; a project's own files wait until you trust the workspace",
)
