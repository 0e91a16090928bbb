"""OpenCode: a plugin of ours sends its events in Claude Code's format.

A subagent is a session of its own there, sent with its parent's id.
"""

from __future__ import annotations

import os
import re

from msgspec.structs import replace

from . import host
from .hook_answer import OutputLimit
from .hook_format import CLAUDE_KINDS
from .mcp_format import (
    VARIABLE_NAME,
    McpPlace,
    Scope,
    ServerDefinition,
    ServerSettings,
    VariableSyntax,
    program_server,
    remote_server,
)

FOLDERS: tuple[tuple[Scope, str], ...] = (("project", ""), ("user", ".config/opencode/"))
LIMIT = OutputLimit(8_000)
SETTINGS = ("opencode.json", "opencode.jsonc")

QUOTES = {'"': '"', "'": "'", "“": "”", "„": "“", "‘": "’", "«": "»"}  # noqa: RUF001 - quotes as people write them
"""Marks that begin a quoted text, with those that end it."""

VARIABLES = re.compile(rf"\{{(?:env:(?P<name>{VARIABLE_NAME})|(?P<refused>file:[^{{}}$]*))\}}")


def unquoted(prompt: str) -> str:
    r"""Return a prompt without the quotes around all of it: `opencode run "yes, continue"` sends them.

    The host writes a quote within it as `\"`. A prompt with other quotes of that kind stays as it is.
    """
    text = prompt.strip()
    end = QUOTES.get(text[:1])
    if end is None or len(text) < 2 or text[-1] != end or text[-2] == "\\":
        return prompt
    inside = text[1:-1]
    bare = inside.replace(f"\\{end}", "")
    if text[0] in bare or end in bare:
        return prompt
    return inside.replace(f"\\{end}", end)


def _user_folder(place: host.SettingsPlace) -> str:
    return os.path.join(place.folder("XDG_CONFIG_HOME", ".config"), "opencode")


def _plugin(level: host.Level, place: host.SettingsPlace) -> host.SettingsPath:
    if level == "project":
        return host.SettingsPath(os.path.join(place.root, ".opencode", "plugins", f"{host.NAME}.js"), 2)
    # One folder more: the user's settings folder, if ours were the first settings in it.
    return host.SettingsPath(os.path.join(_user_folder(place), "plugins", f"{host.NAME}.js"), 3, 1)


def _servers(level: host.Level, place: host.SettingsPlace) -> host.SettingsPath:
    folder = place.root if level == "project" else _user_folder(place)
    found = [name for name in SETTINGS if os.path.lexists(os.path.join(folder, name))]
    parents = (0, 0) if level == "project" else (2, 1)
    return host.SettingsPath(os.path.join(folder, (found or SETTINGS)[0]), *parents)


def _read_server(fields: ServerDefinition) -> ServerSettings:
    disabled = fields.value("enabled") is False
    if fields.text("type") == "remote":
        return remote_server(fields, "http", fields.text("url"), disabled=disabled)
    command = fields.texts("command")
    return program_server(
        fields, "".join(command[:1]), command[1:], environment="environment", disabled=disabled
    )


OPENCODE = host.Host(
    "opencode",
    "OpenCode",
    host.Hooks(
        host="opencode",
        kinds=CLAUDE_KINDS,
        limits=dict.fromkeys(("SessionStart", "UserPromptSubmit", "SubagentStart", "PostToolUse"), LIMIT),
        default_agent="general-purpose",
        shows_messages=False,  # the plugin reads the text for the model from the answer
        refine=lambda event, fields: (
            replace(event, prompt=unquoted(event.prompt)) if event.kind == "prompt" else event
        ),
        settings=host.PluginFile(_plugin, "opencode_plugin/foveal.js", "// The foveal plugin for OpenCode"),
    ),
    host.McpConfig(
        tuple(McpPlace(scope, f"{folder}{name}", ("mcp",)) for scope, folder in FOLDERS for name in SETTINGS),
        _read_server,
        VariableSyntax(VARIABLES, unset="empty"),
        path=_servers,
        entry=lambda command: {"type": "local", "command": list(command), "enabled": True},
    ),
    host.NativeRules(re.compile(r"(?:^|/)AGENTS\.md$"), ("AGENTS.md",), summary="AGENTS.md"),
    program="opencode",
    next_step="restart OpenCode to load the plugin",
)
