"""Claude Code: hooks and MCP servers by its documentation and the types of its SDK."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

from . import host
from .hook_answer import OutputLimit
from .hook_format import CLAUDE_KINDS
from .mcp_format import SHELL_VARIABLES, McpPlace, VariableSyntax, read_server

TITLE = "Claude Code"
FOLDER = host.SettingsFolder(".claude", "CLAUDE_CONFIG_DIR")

LIMIT = OutputLimit(9_500)
"""Maximum text for the model: the host takes 10,000 characters; of a longer text the model gets the first
2,000 and a path."""

EVENTS = (
    host.HookEvent("SessionStart", host.START_S, "startup|resume|clear|compact|fork"),
    host.HookEvent("UserPromptSubmit"),
    host.HookEvent("PreToolUse", matcher="Agent|Task|SubagentHandback"),
    host.HookEvent("PostToolUse", matcher="Write|Edit|NotebookEdit|Grep|Glob|Read|Bash"),
    host.HookEvent("SubagentStart"),
    # Not in the background: hosts kill those hooks when they end, so that the ends of work would be lost.
    host.HookEvent("SubagentStop"),
    host.HookEvent("PreCompact"),
    host.HookEvent("Stop"),
    host.HookEvent(
        "SessionEnd", host.END_S
    ),  # without a timeout all hooks share 1.5 s; then its user reads of a failure
)

MANAGED = (
    "/etc/claude-code/managed-settings.json",
    "/Library/Application Support/ClaudeCode/managed-settings.json",
)
"""The settings of an administrator."""


def _version(variables: Mapping[str, str]) -> str:
    """Return the version in AI_AGENT, such as claude-code_2-1-330_harness."""
    found = re.match(r"claude-code_(\d+(?:-\d+)+)_", variables.get("AI_AGENT", ""))
    return found[1].replace("-", ".") if found else ""


def _servers(level: host.Level, place: host.SettingsPlace) -> host.SettingsPath:
    if level == "project":
        return host.SettingsPath(os.path.join(place.root, ".mcp.json"), 0)
    beside = FOLDER.at(level, place) if place.environ.get("CLAUDE_CONFIG_DIR") else place.home
    return host.SettingsPath(os.path.join(beside, ".claude.json"), 0)


def _switches(level: host.Level, place: host.SettingsPlace) -> Iterator[host.Switch]:
    yield host.switch_all_off(TITLE, os.path.join(FOLDER.at("user", place), "settings.json"))
    if level == "project":
        for name in ("settings.json", "settings.local.json"):
            yield host.switch_all_off(TITLE, os.path.join(FOLDER.at(level, place), name))
    for path in MANAGED:
        yield host.switch_all_off(TITLE, path, managed=True)
    for path in MANAGED:
        text = f"only hooks of your organisation run: allowManagedHooksOnly in {path}"
        yield host.Switch(path, ("allowManagedHooksOnly",), True, text, "ask who manages it", managed=True)


CLAUDE_CODE = host.Host(
    "claude-code",
    TITLE,
    host.Hooks(
        host="claude-code",
        kinds=CLAUDE_KINDS,
        limits=dict.fromkeys(("SessionStart", "UserPromptSubmit", "SubagentStart", "PostToolUse"), LIMIT),
        default_agent="general-purpose",
        events=EVENTS,
        settings=host.SettingsHooks(
            FOLDER.file("settings.json"),
            as_words=True,
            # Not the start, when servers aren't connected yet, and not the ends, which are spooled first.
            in_server=frozenset(("UserPromptSubmit", "PreToolUse", "PostToolUse", "SubagentStart")),
            in_server_since=(2, 1, 118),
        ),
        project_variable="CLAUDE_PROJECT_DIR",
    ),
    host.McpConfig(
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
    native_rules=host.NativeRules(
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
    status_line="statusLine",
    version=_version,
    # A folder with a plugin.json among the skills is loaded as a plugin in place.
    plugin_folder=lambda level, place: os.path.join(FOLDER.at(level, place), "skills", host.NAME),
    switches=_switches,
    next_step="sessions that start from now on use it; a project's own files wait for its trust dialog",
)
