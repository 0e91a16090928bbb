"""Gemini CLI. Its subagents have no events, and there is none after a compression.

A resumed session has lost the texts of hooks. Angle brackets in them arrive as entities, so they are
replaced. PreCompress comes before each request, whether anything is compressed or not: only a person's is
taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from . import host
from .events import EventKind
from .hook_answer import OutputLimit
from .mcp_format import BARE_VARIABLES, VariableSyntax, places, read_gemini_server

FOLDER = host.SettingsFolder(".gemini")
SETTINGS = FOLDER.file("settings.json")
LIMIT = OutputLimit(7_900)

KINDS: Mapping[str, EventKind] = {
    "SessionStart": "start",
    "BeforeAgent": "prompt",
    "AfterTool": "edit",
    "AfterAgent": "turn_end",
    "PreCompress": "compacting",
    "SessionEnd": "end",
}

EVENTS = (
    host.HookEvent("SessionStart", host.START_S),
    host.HookEvent("BeforeAgent"),
    host.HookEvent(
        "AfterTool",
        matcher="write_file|replace|grep_search|search_file_content|glob|read_file|run_shell_command",
    ),
    host.HookEvent("AfterAgent"),
    host.HookEvent("PreCompress"),
    host.HookEvent("SessionEnd", host.END_S),
)


def _switches(level: host.Level, place: host.SettingsPlace) -> Iterator[host.Switch]:
    for each in host.LEVELS[: 1 + (level == "project")]:
        path = SETTINGS(each, place).path
        text = f"Gemini's hooks are off: hooksConfig.enabled in {path}"
        yield host.Switch(path, ("hooksConfig", "enabled"), False, text, f"set it to true in {path}")
        text = f"{host.NAME} is in hooksConfig.disabled in {path}"
        fix = f"take it out there, or enter /hooks enable {host.NAME}"
        yield host.Switch(path, ("hooksConfig", "disabled"), host.NAME, text, fix)


GEMINI = host.Host(
    "gemini",
    "Gemini CLI",
    host.Hooks(
        host="gemini",
        kinds=KINDS,
        limits=dict.fromkeys(("SessionStart", "BeforeAgent", "AfterTool"), LIMIT),
        replays=False,
        escapes=True,
        # Only a compression that a person asked for: the others come before each request.
        refine=lambda event, fields: (
            None if event.kind == "compacting" and fields.text("trigger") == "auto" else event
        ),
        events=EVENTS,
        settings=host.SettingsHooks(SETTINGS, named=True, unit=1000),
    ),
    host.McpConfig(
        places(".gemini/settings.json", "mcpServers"),
        read_gemini_server,
        VariableSyntax(BARE_VARIABLES, unset="kept"),
        path=SETTINGS,
    ),
    host.NativeRules(re.compile(r"(?:^|/)GEMINI\.md$"), ("GEMINI.md",), summary="GEMINI.md"),
    program="gemini",
    switches=_switches,
    next_step="sessions that start from now on use it; Gemini asks about a project's own hooks first",
)
