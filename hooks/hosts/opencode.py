"""OpenCode: a plugin of ours sends its events in Claude Code's format.

A subagent is a session of its own there, sent with its parent's id.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from .claude_format import hook_output, read_event
from .events import Event, PromptSubmitted, SessionEnding, SubagentStarting, TurnEnded
from .fields import Fields
from .hook_answer import HookAnswer, OutputLimit
from .host import (
    NAME,
    Hooks,
    Host,
    Level,
    McpConfig,
    NativeRules,
    PluginFile,
    SettingsPath,
    SettingsPlace,
)
from .mcp_format import (
    VARIABLE_NAME,
    McpPlace,
    ServerDefinition,
    ServerSettings,
    VariableSyntax,
    program_server,
    remote_server,
)

HOST = "opencode"
SUBAGENT = "subagent"
LIMIT = OutputLimit(8_000)
SETTINGS = ("opencode.json", "opencode.jsonc")

QUOTES = {'"': '"', "'": "'", "“": "”", "„": "“", "‘": "’", "«": "»"}  # noqa: RUF001 - quotes as people write them
"""Marks that begin a quoted text, with those that end it."""

VARIABLES = re.compile(rf"\{{(?:env:(?P<name>{VARIABLE_NAME})|(?P<refused>file:[^{{}}$]*))\}}")


def _read(fields: Fields, name: str, cwd: str) -> Event | None:
    found = read_event(HOST, _with_type(fields, name), name, cwd)
    if isinstance(found, PromptSubmitted):
        found = replace(found, prompt=unquoted(found.prompt))
    parent = fields.text("parent_session_id")
    if not parent or found is None:
        return found
    if isinstance(found, SessionEnding | TurnEnded):
        return None  # its parent continues
    origin = replace(found.origin, session_id=parent, agent_id=found.origin.session_id, agent_type=SUBAGENT)
    if isinstance(found, SubagentStarting):
        return SubagentStarting(origin, fields.text("prompt"))
    return replace(found, origin=origin)


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


def _write(name: str, answer: HookAnswer) -> str:
    # The plugin reads the text for the model from the answer.
    return hook_output(name, HookAnswer(answer.context))


def _with_type(fields: Fields, name: str) -> Fields:
    """Return the fields of a subagent with the type that OpenCode omits."""
    if name not in {"SubagentStart", "SubagentStop"} or fields.text("agent_type"):
        return fields
    return fields.with_text("agent_type", SUBAGENT)


def _user_folder(place: SettingsPlace) -> str:
    return os.path.join(place.folder("XDG_CONFIG_HOME", ".config"), "opencode")


def _plugin(level: Level, place: SettingsPlace) -> SettingsPath:
    if level == "project":
        return SettingsPath(os.path.join(place.root, ".opencode", "plugins", f"{NAME}.js"), 2)
    # One folder more: the user's settings folder, if ours were the first settings in it.
    return SettingsPath(os.path.join(_user_folder(place), "plugins", f"{NAME}.js"), 3)


def _servers(level: Level, place: SettingsPlace) -> SettingsPath:
    folder = place.root if level == "project" else _user_folder(place)
    found = [name for name in SETTINGS if os.path.lexists(os.path.join(folder, name))]
    return SettingsPath(os.path.join(folder, (found or SETTINGS)[0]), 0 if level == "project" else 2)


def _entry(command: Sequence[str]) -> dict[str, Any]:
    return {"type": "local", "command": list(command), "enabled": True}


def _read_server(fields: ServerDefinition) -> ServerSettings:
    disabled = fields.value("enabled") is False
    if fields.text("type") == "remote":
        return remote_server(fields, "http", fields.text("url"), disabled=disabled)
    command = fields.texts("command")
    environment, folder = fields.pairs("environment"), fields.text("cwd")
    return program_server("".join(command[:1]), command[1:], environment, folder, disabled=disabled)


OPENCODE = Host(
    HOST,
    "OpenCode",
    Hooks(
        _read,
        _write,
        dict.fromkeys(("SessionStart", "UserPromptSubmit", "SubagentStart"), LIMIT),
        settings=PluginFile(_plugin, "opencode_plugin/foveal.js", "// The foveal plugin for OpenCode"),
    ),
    McpConfig(
        tuple(McpPlace("project", name, ("mcp",)) for name in SETTINGS)
        + tuple(McpPlace("user", f".config/opencode/{name}", ("mcp",)) for name in SETTINGS),
        _read_server,
        VariableSyntax(VARIABLES, unset="empty"),
        path=_servers,
        entry=_entry,
    ),
    NativeRules(re.compile(r"(?:^|/)AGENTS\.md$"), ("AGENTS.md",), summary="AGENTS.md"),
    program="opencode",
    next_step="restart OpenCode to load the plugin",
)
