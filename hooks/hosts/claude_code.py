"""Claude Code: hooks and MCP servers by its documentation and the types of its SDK."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .claude_format import hook_output, read_event
from .events import Event
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
    in_background,
    with_timeout,
)
from .mcp_format import SHELL_VARIABLES, McpPlace, VariableSyntax, read_server

HOST = "claude-code"
TITLE = "Claude Code"

LIMIT = OutputLimit(9_500)
"""Maximum text for the model: the host takes 10,000 characters; of a longer text the model gets the first
2,000 and a path."""

EVENTS = (
    HookEvent("SessionStart", START_S, "startup|resume|clear|compact|fork"),
    HookEvent("UserPromptSubmit"),
    HookEvent("PreToolUse", matcher="Agent|Task|SubagentHandback"),
    HookEvent("PostToolUse", None, "Write|Edit|NotebookEdit", in_background=True),
    HookEvent("SubagentStart"),
    # Not in the background: hosts kill those hooks when they end, so that the ends of work would be lost.
    HookEvent("SubagentStop"),
    HookEvent("PreCompact"),
    HookEvent("Stop"),
    HookEvent(
        "SessionEnd", END_S
    ),  # without a timeout all hooks share 1.5 s; then its user reads of a failure
)

MANAGED = (
    "/etc/claude-code/managed-settings.json",
    "/Library/Application Support/ClaudeCode/managed-settings.json",
)
"""The settings of an administrator."""


def _read(fields: Fields, name: str, cwd: str) -> Event | None:
    return read_event(HOST, fields, name, cwd)


def _handler(event: HookEvent, command: Sequence[str]) -> dict[str, Any]:
    handler = {"type": "command", "command": command[0], "args": list(command[1:])}
    return with_timeout(in_background(handler, event), "timeout", event.timeout_s)


def _version(variables: Mapping[str, str]) -> str:
    """Return the version in AI_AGENT, such as claude-code_2-1-330_harness."""
    found = re.match(r"claude-code_(\d+(?:-\d+)+)_", variables.get("AI_AGENT", ""))
    return found[1].replace("-", ".") if found else ""


def _folder(level: Level, place: SettingsPlace) -> str:
    if level == "project":
        return os.path.join(place.root, ".claude")
    return place.folder("CLAUDE_CONFIG_DIR", ".claude")


def _settings(level: Level, place: SettingsPlace) -> SettingsPath:
    return SettingsPath(os.path.join(_folder(level, place), "settings.json"))


def _servers(level: Level, place: SettingsPlace) -> SettingsPath:
    if level == "project":
        return SettingsPath(os.path.join(place.root, ".mcp.json"), 0)
    beside = _folder(level, place) if place.environ.get("CLAUDE_CONFIG_DIR") else place.home
    return SettingsPath(os.path.join(beside, ".claude.json"), 0)


def _plugin_folder(level: Level, place: SettingsPlace) -> str:
    # A folder with a plugin.json among the skills is loaded as a plugin in place.
    return os.path.join(_folder(level, place), "skills", NAME)


def _switches(level: Level, place: SettingsPlace) -> Iterator[Switch]:
    yield all_off(TITLE, os.path.join(_folder("user", place), "settings.json"))
    if level == "project":
        for name in ("settings.json", "settings.local.json"):
            yield all_off(TITLE, os.path.join(_folder(level, place), name))
    for path in MANAGED:
        yield all_off(TITLE, path, managed=True)
    for path in MANAGED:
        text = f"only hooks of your organisation run: allowManagedHooksOnly in {path}"
        yield Switch(path, ("allowManagedHooksOnly",), True, text, "ask who manages it", managed=True)


CLAUDE_CODE = Host(
    HOST,
    TITLE,
    Hooks(
        _read,
        hook_output,
        dict.fromkeys(("SessionStart", "UserPromptSubmit", "SubagentStart"), LIMIT),
        EVENTS,
        SettingsHooks(_settings, _handler),
        project_variable="CLAUDE_PROJECT_DIR",
    ),
    McpConfig(
        (
            McpPlace("local", ".claude.json", ("projects", "", "mcpServers")),
            McpPlace("project", ".mcp.json", ("mcpServers",)),
            McpPlace("user", ".claude.json", ("mcpServers",)),
        ),
        read_server,
        VariableSyntax(SHELL_VARIABLES),
        strict_json=True,
        path=_servers,
        project_variable="CLAUDE_PROJECT_DIR",
    ),
    NativeRules(
        # Files in subfolders are read when a file there is touched, so they are native rules too.
        re.compile(
            r"(?:^|/)(?:CLAUDE\.md|CLAUDE\.local\.md|\.claude/CLAUDE\.md)$|(?:^|/)\.claude/(?:rules|skills)/"
        ),
        ("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"),
        otherwise=re.compile(r"(?:^|/)(?:\.claude/)?AGENTS\.md$"),
        otherwise_since=(2, 1, 277),
        summary="CLAUDE.md and .claude/rules; AGENTS.md where there is no CLAUDE.md, from 2.1.277 on",
    ),
    aliases=("claude",),
    program="claude",
    version=_version,
    plugin_folder=_plugin_folder,
    switches=_switches,
    next_step="sessions that start from now on use it; a project's own files wait for its trust dialog",
)
