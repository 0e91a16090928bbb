"""Qwen Code: Claude Code's hook format in a settings file like Gemini CLI's, of which it is a fork.

Sources: its documentation (QwenLM/qwen-code, docs/users/features/hooks.md and mcp.md), and versions 0.15.10
and 0.24.4, run against a model that records its requests. There, text from SessionStart and SubagentStart
didn't reach the model, so the first prompt brings it; a resumed session still has it. UserPromptSubmit also
comes after each tool, with an empty prompt. A subagent's transcript is its parent's, so its last message
counts. Text for the model is escaped, so angle brackets in it are replaced.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from .claude_format import bare_hook_output, origin_of, read_event
from .events import Event, FileEdited, SubagentStopped
from .fields import Fields
from .hook_answer import OutputLimit
from .host import (
    END_S,
    NAME,
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
    Switch,
    all_off,
    command_line,
    in_background,
    with_timeout,
)
from .mcp_format import BARE_VARIABLES, McpPlace, VariableSyntax, read_gemini_server

HOST = "qwen-code"
TITLE = "Qwen Code"
LIMIT = OutputLimit(7_900)
"""Maximum text for the model. Not verified: how much text the host takes."""

EDITING_TOOLS = frozenset(("write_file", "edit"))

EVENTS = (
    HookEvent("SessionStart", START_S),
    HookEvent("UserPromptSubmit"),
    HookEvent("PostToolUse", matcher="write_file|edit", in_background=True),
    # Not in the background: hosts kill those hooks when they end, so that the ends of work would be lost.
    HookEvent("SubagentStop"),
    HookEvent("PreCompact"),
    HookEvent("Stop"),
    HookEvent("SessionEnd", END_S),
)


def _read(fields: Fields, name: str, cwd: str) -> Event | None:
    if name == "PostToolUse":
        if fields.text("tool_name") not in EDITING_TOOLS:
            return None
        path = fields.part("tool_input").text("file_path")
        origin = origin_of(HOST, fields, cwd, moment=fields.text("tool_use_id"))
        return FileEdited(origin, (path,)) if path else None
    event = read_event(HOST, fields, name, cwd)
    return replace(event, transcript_path="") if isinstance(event, SubagentStopped) else event


def _handler(event: HookEvent, command: Sequence[str]) -> dict[str, Any]:
    handler = {"type": "command", "command": command_line(command), "name": NAME}
    return with_timeout(in_background(handler, event), "timeout", event.timeout_s, unit=1000)


def _settings(level: Level, place: SettingsPlace) -> SettingsPath:
    folder = os.path.join(place.root, ".qwen") if level == "project" else place.folder("QWEN_HOME", ".qwen")
    return SettingsPath(os.path.join(folder, "settings.json"))


def _switches(level: Level, place: SettingsPlace) -> Iterator[Switch]:
    yield all_off(TITLE, _settings("user", place).path)
    if level == "project":
        yield all_off(TITLE, _settings("project", place).path)


QWEN_CODE = Host(
    HOST,
    TITLE,
    Hooks(
        _read,
        bare_hook_output,
        {"UserPromptSubmit": LIMIT},
        EVENTS,
        SettingsHooks(_settings, _handler),
    ),
    McpConfig(
        (
            McpPlace("project", ".qwen/settings.json", ("mcpServers",)),
            McpPlace("user", ".qwen/settings.json", ("mcpServers",)),
        ),
        read_gemini_server,
        VariableSyntax(BARE_VARIABLES, unset="kept"),
        path=_settings,
    ),
    NativeRules(
        re.compile(r"^(?:~/\.qwen/)?(?:QWEN|AGENTS)\.md$"),
        ("QWEN.md", "AGENTS.md"),
        above=frozenset(("QWEN.md", "AGENTS.md")),
        summary="QWEN.md and AGENTS.md from the root down to its folder",
    ),
    program="qwen",
    aliases=("qwen",),
    switches=_switches,
    next_step="sessions that start from now on use it; a project's own hooks wait until you trust the folder",
)
