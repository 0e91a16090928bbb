"""Copilot CLI and VS Code's agent.

An event registered in camel case has camel case fields and no name, so its hook's command names it.
Registered in Pascal case it comes in Claude Code's format; VS Code knows that only. Neither takes text for a
prompt: it is sent after the next tool instead, but for a session's first prompt, which comes with its start.
A resumed session has lost the text of its start. preToolUse isn't registered: a crash there denies the tool.
A subagent's events have an id of their own as the session and its parent's beside it; its task is in the
parent's transcript.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from msgspec.structs import replace

from . import host
from .events import Event
from .fields import Fields, parsed
from .hook_answer import OutputLimit
from .hook_format import CAMEL_CASE_KINDS, CLAUDE_KINDS
from .mcp_format import (
    BARE_VARIABLES,
    McpPlace,
    ServerDefinition,
    ServerSettings,
    VariableSyntax,
    read_server,
)

FOLDER = host.SettingsFolder(".copilot", "COPILOT_HOME", ".github")

LIMIT = OutputLimit(characters=8_000)
"""Maximum text for the model: the host takes 10 KB after a tool."""

EVENTS = (
    host.HookEvent("sessionStart", host.START_S),
    host.HookEvent("userPromptSubmitted"),
    host.HookEvent("postToolUse"),
    host.HookEvent("subagentStart"),
    host.HookEvent("subagentStop"),
    host.HookEvent("preCompact"),
    host.HookEvent("agentStop"),
    host.HookEvent("sessionEnd", host.END_S),
)

LIMITED = ("sessionStart", "subagentStart", "postToolUse", "SessionStart", "SubagentStart", "PostToolUse")
"""The events whose answer may bring text to the model."""


def _refine(event: Event, fields: Fields) -> Event | None:
    origin = event.origin
    if event.kind == "turn_end" and origin.agent_type:  # a subagent's, which comes before its own end
        return None
    if event.kind == "subagent_end" and not event.transcript_path:
        event = replace(event, transcript_path=fields.text("transcript_path"))
    # A subagent without an id is identified by its name.
    return event if origin.agent_id else replace(event, origin=replace(origin, agent_id=origin.agent_type))


def _task_in(transcript: str, agent_type: str) -> str:
    """Return the task of the last call in a transcript's tail that started a subagent of a type, or ""."""
    for line in reversed(transcript.splitlines()):
        if '"tool.execution_start"' not in line or '"task"' not in line:
            continue
        found = parsed(line)
        data = Fields(found).part("data") if isinstance(found, dict) else Fields({})
        given = data.part("arguments")
        if data.text("toolName") == "task" and given.text("agent_type") in {agent_type, ""}:
            return given.text("prompt")
    return ""


def _sent(fields: Fields, variables: Mapping[str, str]) -> bool:
    """Whether a payload of Claude Code's hooks is Copilot's or VS Code's: it has a timestamp."""
    return fields.has("timestamp") or fields.has("sessionId")


def _servers(level: host.Level, place: host.SettingsPlace) -> host.SettingsPath | None:
    if level == "project":
        return None  # it reads a project's .mcp.json too, which is registered with Claude Code
    return host.SettingsPath(os.path.join(FOLDER.at(level, place), "mcp-config.json"))


def _read_server(fields: ServerDefinition) -> ServerSettings:
    server = read_server(fields)
    if server.transport != "stdio" or "tools" not in fields:
        return server
    allowed = fields.texts("tools")
    return replace(server, allowed=None if "*" in allowed else allowed)


COPILOT = host.Host(
    "copilot",
    "Copilot CLI",
    host.Hooks(
        host="copilot",
        kinds={
            **CLAUDE_KINDS,
            **CAMEL_CASE_KINDS,
            "userPromptSubmitted": "prompt",
            "agentStop": "turn_end",
        },
        limits=dict.fromkeys(LIMITED, LIMIT),
        replays=False,
        shows_messages=False,
        answer_key="additionalContext",
        refine=_refine,
        events=EVENTS,
        # Its payloads don't name their event, so the command does.
        settings=host.SettingsHooks(
            FOLDER.file(f"hooks/{host.NAME}.json", 2),
            grouped=False,
            skeleton={"version": 1},
            command_key="bash",
            names_event=True,
            timeout_key="timeoutSec",
        ),
        task_in=_task_in,
    ),
    host.McpConfig(
        (McpPlace("user", ".copilot/mcp-config.json", ("mcpServers",)),),
        _read_server,
        VariableSyntax(BARE_VARIABLES),
        strict_json=True,
        path=_servers,
        entry=lambda command: {"type": "local", **host.program_entry(command), "tools": ["*"]},
    ),
    host.NativeRules(
        re.compile(
            r"^(?:[^./~][^/]*/)*(?:AGENTS|CLAUDE|GEMINI)\.md$"
            r"|(?:^|/)\.github/(?:copilot-instructions\.md$|instructions/)|^~/\.copilot/instructions/"
        ),
        ("AGENTS.md", "CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md"),
        summary=".github/copilot-instructions.md, .github/instructions, AGENTS.md, CLAUDE.md and GEMINI.md",
    ),
    program="copilot",
    runs_hooks_of="claude-code",
    sent=_sent,
    switches=lambda level, place: FOLDER.all_off("Copilot")("user", place),
    next_step="sessions that start from now on use it",
)
