"""Amp: its list of MCP servers. It has no hooks, only plugins in TypeScript, whose interface still changes.

Sources: its manual (ampcode.com/manual). Not verified: it doesn't run without its own servers.
"""

from __future__ import annotations

import os

from . import host
from .mcp_format import SHELL_VARIABLES, VariableSyntax, places, read_server

FILE = "amp/settings.json"


def _servers(level: host.Level, place: host.SettingsPlace) -> host.SettingsPath:
    if level == "project":
        return host.SettingsPath(os.path.join(place.root, f".{FILE}"))
    return host.SettingsPath(os.path.join(place.folder("XDG_CONFIG_HOME", ".config"), FILE), 2, 1)


AMP = host.Host(
    "amp",
    "Amp",
    mcp=host.McpConfig(
        places(f".{FILE}", "amp.mcpServers", user=f".config/{FILE}"),
        read_server,
        VariableSyntax(SHELL_VARIABLES),
        path=_servers,
    ),
    program="amp",
    next_step="sessions that start from now on use it",
)
