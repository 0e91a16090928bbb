"""The table of hosts. A new host is a file next to this one, and a line here."""

from __future__ import annotations

from .amp import AMP
from .antigravity import ANTIGRAVITY
from .claude_code import CLAUDE_CODE
from .cline import CLINE
from .codex import CODEX
from .copilot import COPILOT
from .cursor import CURSOR
from .droid import DROID
from .gemini import GEMINI
from .git import GIT
from .host import Host
from .kiro import KIRO
from .opencode import OPENCODE
from .qwen_code import QWEN_CODE
from .vscode import VSCODE

HOSTS: tuple[Host, ...] = (
    CLAUDE_CODE,
    CURSOR,
    VSCODE,
    CODEX,
    GEMINI,
    COPILOT,
    OPENCODE,
    QWEN_CODE,
    CLINE,
    DROID,
    ANTIGRAVITY,
    KIRO,
    AMP,
    GIT,
)
"""All hosts. If two define an MCP server of the same name for the same scope, the earlier host counts."""

_BY_NAME = {name: host for host in HOSTS for name in (host.name, *host.aliases)}


def host_named(name: str) -> Host | None:
    """Return the host with a name or an alias."""
    return _BY_NAME.get(name)
