"""Gemini CLI. Its subagents have no events, and there is none after a compression.

A resumed session has lost the texts of hooks. Angle brackets in them arrive as entities, so they are
replaced. PreCompress comes before each request, whether anything is compressed or not: only a person's is
taken.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

from .claude_format import bare_hook_output, origin_of, start_of
from .events import Event, FileEdited, PromptSubmitted, SessionEnding, TurnEnded, WindowCompacting
from .fields import Fields, typed
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
    command_line,
    with_timeout,
)
from .mcp_format import BARE_VARIABLES, McpPlace, VariableSyntax, read_gemini_server

HOST = "gemini"
LIMIT = OutputLimit(7_900)
EDITING_TOOLS = frozenset(("write_file", "replace", "edit"))

EVENTS = (
    HookEvent("SessionStart", START_S),
    HookEvent("BeforeAgent"),
    HookEvent("AfterTool", matcher="write_file|replace"),
    HookEvent("AfterAgent"),
    HookEvent("PreCompress"),
    HookEvent("SessionEnd", END_S),
)


def _read(fields: Fields, name: str, cwd: str) -> Event | None:
    origin = origin_of(HOST, fields, cwd)
    match name:
        case "SessionStart":
            return start_of(origin, fields.text("source", "trigger"), replays=False)
        case "BeforeAgent":
            return PromptSubmitted(origin, typed(fields.text("prompt")))
        case "AfterTool" if fields.text("tool_name") in EDITING_TOOLS:
            if fields.part("tool_response").has("error"):
                return None
            path = fields.part("tool_input").text("file_path", "absolute_path")
            return FileEdited(origin, (path,)) if path else None
        case "AfterAgent":
            return TurnEnded(origin, fields.text("transcript_path"))
        case "PreCompress" if fields.text("trigger") != "auto":
            return WindowCompacting(origin)
        case "SessionEnd":
            return SessionEnding(origin, fields.text("transcript_path"))
    return None


def _handler(event: HookEvent, command: Sequence[str]) -> dict[str, Any]:
    handler = {"type": "command", "command": command_line(command), "name": NAME}
    return with_timeout(handler, "timeout", event.timeout_s, unit=1000)


def _settings(level: Level, place: SettingsPlace) -> SettingsPath:
    return SettingsPath(os.path.join(place.base(level), ".gemini", "settings.json"))


def _switches(level: Level, place: SettingsPlace) -> Iterator[Switch]:
    levels: tuple[Level, ...] = ("user", "project") if level == "project" else ("user",)
    for each in levels:
        path = _settings(each, place).path
        text = f"Gemini's hooks are off: hooksConfig.enabled in {path}"
        yield Switch(path, ("hooksConfig", "enabled"), False, text, f"set it to true in {path}")
        text = f"{NAME} is in hooksConfig.disabled in {path}"
        fix = f"take it out there, or enter /hooks enable {NAME}"
        yield Switch(path, ("hooksConfig", "disabled"), NAME, text, fix)


GEMINI = Host(
    HOST,
    "Gemini CLI",
    Hooks(
        _read,
        bare_hook_output,
        dict.fromkeys(("SessionStart", "BeforeAgent"), LIMIT),
        EVENTS,
        SettingsHooks(_settings, _handler),
    ),
    McpConfig(
        (
            McpPlace("project", ".gemini/settings.json", ("mcpServers",)),
            McpPlace("user", ".gemini/settings.json", ("mcpServers",)),
        ),
        read_gemini_server,
        VariableSyntax(BARE_VARIABLES, unset="kept"),
        path=_settings,
    ),
    NativeRules(re.compile(r"(?:^|/)GEMINI\.md$"), ("GEMINI.md",), summary="GEMINI.md"),
    program="gemini",
    switches=_switches,
    next_step="sessions that start from now on use it; Gemini asks about a project's own hooks first",
)
