"""Cursor: it takes text for the model only at the start of a session, and after tools.

It also runs Claude Code's hooks, under those names. Not verified: how much text it takes and where that text
is placed, and whether the text from the start stays when a window is compacted.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from .events import (
    Event,
    FileEdited,
    Origin,
    PromptSubmitted,
    SessionEnding,
    SessionStarted,
    SubagentAnnounced,
    SubagentStarting,
    SubagentStopped,
    TurnEnded,
    WindowCompacting,
)
from .fields import Fields
from .hook_answer import HookAnswer, OutputLimit, json_line
from .host import (
    END_S,
    START_S,
    HookEvent,
    Hooks,
    Host,
    Level,
    McpConfig,
    NativeRules,
    SettingsHooks,
    SettingsPath,
    SettingsPlace,
    command_line,
    with_timeout,
)
from .mcp_format import EDITOR_VARIABLES, McpPlace, VariableSyntax, read_server

HOST = "cursor"
LIMIT = OutputLimit(8_000)

NAMES = {
    "SessionStart": "sessionStart",
    "SessionEnd": "sessionEnd",
    "UserPromptSubmit": "beforeSubmitPrompt",
    "PreToolUse": "preToolUse",
    "PostToolUse": "postToolUse",
    "SubagentStart": "subagentStart",
    "SubagentStop": "subagentStop",
    "PreCompact": "preCompact",
    "Stop": "stop",
}
"""Cursor's own names for Claude Code's events."""

EVENTS = (
    HookEvent("sessionStart", START_S),
    HookEvent("beforeSubmitPrompt"),
    HookEvent("preToolUse", matcher="Task"),
    HookEvent("subagentStart"),
    HookEvent("subagentStop"),
    HookEvent("afterFileEdit"),
    # Unlike beforeSubmitPrompt it takes text for the model. Writes are covered by afterFileEdit.
    HookEvent("postToolUse", matcher="Read|Grep|Shell"),
    HookEvent("preCompact"),
    HookEvent("stop"),
    HookEvent("sessionEnd", END_S),
)


def _read(fields: Fields, name: str, cwd: str) -> Event | None:
    match NAMES.get(name, name):
        case "sessionStart":
            return SessionStarted(_origin(fields, cwd))
        case "beforeSubmitPrompt":
            return PromptSubmitted(_origin(fields, cwd, "generation_id"), fields.text("prompt"))
        case "preToolUse" if fields.text("tool_name") == "Task":
            given = fields.part("tool_input")
            kind, task = given.text("subagent_type"), given.text("prompt", "task", "description")
            return SubagentAnnounced(_origin(fields, cwd, "tool_use_id"), kind, task)
        case "postToolUse":
            path = fields.part("tool_input").text("file_path", "path", "target_file")
            is_read = bool(path) and fields.text("tool_name") == "Read"
            return FileEdited(_origin(fields, cwd, "tool_use_id"), read=(path,) if is_read else ())
        case "subagentStart":
            return SubagentStarting(_origin(fields, cwd), fields.text("task"))
        case "subagentStop":
            report = fields.text("summary", "description")
            return SubagentStopped(_origin(fields, cwd), fields.text("agent_transcript_path"), report)
        case "afterFileEdit" if fields.text("file_path"):
            return FileEdited(_origin(fields, cwd), (fields.text("file_path"),))
        case "stop":
            return TurnEnded(_origin(fields, cwd), fields.text("transcript_path"))
        case "preCompact":
            return WindowCompacting(_origin(fields, cwd))
        case "sessionEnd":
            return SessionEnding(_origin(fields, cwd), fields.text("transcript_path"))
    return None


def _write(name: str, answer: HookAnswer) -> str:
    # The user doesn't see an answer that blocks nothing.
    return json_line({"additional_context": answer.context} if answer.context else {})


def _origin(fields: Fields, cwd: str, moment: str = "") -> Origin:
    roots = fields.texts("workspace_roots")
    return Origin(
        HOST,
        fields.text("parent_conversation_id", "conversation_id", "session_id"),
        roots[0] if roots else fields.text("cwd") or cwd,
        fields.text("subagent_id"),
        fields.text("subagent_type"),
        fields.text(moment) or fields.digest(),
    )


def _sent(fields: Fields, variables: Mapping[str, str]) -> bool:
    """Whether a payload of Claude Code's hooks is Cursor's: it names a conversation."""
    return fields.has("conversation_id", "cursor_version") or bool(variables.get("CURSOR_VERSION"))


def _handler(event: HookEvent, command: Sequence[str]) -> dict[str, Any]:
    matcher = {"matcher": event.matcher} if event.matcher else {}
    handler = {"type": "command", "command": command_line(command), **matcher}
    return with_timeout(handler, "timeout", event.timeout_s)


def _in_folder(name: str, level: Level, place: SettingsPlace) -> SettingsPath:
    return SettingsPath(os.path.join(place.base(level), ".cursor", name))


CURSOR = Host(
    HOST,
    "Cursor",
    Hooks(
        _read,
        _write,
        dict.fromkeys(("sessionStart", "SessionStart", "postToolUse", "PostToolUse"), LIMIT),
        EVENTS,
        SettingsHooks(
            lambda level, place: _in_folder("hooks.json", level, place),
            _handler,
            grouped=False,
            skeleton={"version": 1},
        ),
        project_variable="CURSOR_PROJECT_DIR",
    ),
    McpConfig(
        (
            McpPlace("project", ".cursor/mcp.json", ("mcpServers",)),
            McpPlace("user", ".cursor/mcp.json", ("mcpServers",)),
        ),
        read_server,
        VariableSyntax(EDITOR_VARIABLES, unset="empty"),
        path=lambda level, place: _in_folder("mcp.json", level, place),
    ),
    NativeRules(
        re.compile(r"(?:^|/)\.cursor/rules/|^\.cursorrules$|^(?:[^./~][^/]*/)*AGENTS\.md$"),
        ("AGENTS.md", ".cursorrules"),
        summary=".cursor/rules, .cursorrules and AGENTS.md",
    ),
    program="cursor-agent",
    runs_hooks_of="claude-code",
    sent=_sent,
    next_step="Cursor takes it up by itself; a project's own files wait until you trust the workspace",
)
