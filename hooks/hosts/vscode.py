"""VS Code: its list of MCP servers. Its agent's hooks are Copilot's."""

from __future__ import annotations

import sys

from .host import Host, McpConfig
from .mcp_format import EDITOR_VARIABLES, VariableSyntax, places, read_server

_CODE = "Library/Application Support/Code" if sys.platform == "darwin" else ".config/Code"

VSCODE = Host(
    "vscode",
    "VS Code",
    mcp=McpConfig(
        places(".vscode/mcp.json", "servers", user=f"{_CODE}/User/mcp.json"),
        read_server,
        VariableSyntax(EDITOR_VARIABLES, unset="empty"),
    ),
)
