"""Owns the table of hosts, and which of them speaks: several run each other's hooks."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from ..core.errors import InvalidRequest
from .claude_code import CLAUDE_CODE
from .codex import CODEX
from .copilot import COPILOT
from .cursor import CURSOR
from .dialect import Dialect
from .fields import Fields
from .gemini import GEMINI
from .git import GIT
from .opencode import OPENCODE

DIALECTS: Mapping[str, Dialect] = {
    dialect.host: dialect for dialect in (CLAUDE_CODE, CODEX, CURSOR, GEMINI, COPILOT, OPENCODE, GIT)
}
ALIASES: Mapping[str, str] = {"claude": "claude-code"}


class Speaker(Struct, frozen=True):
    """The dialect that an event is told in, and the one in which the hook that was run has to answer."""

    reads: Dialect
    writes: Dialect


def speaker_of(host: str, fields: Fields, name: str, variables: Mapping[str, str]) -> Speaker:
    """Return who speaks. Raises `InvalidRequest` for a host that isn't known.

    Cursor, Copilot and VS Code run the hooks that were registered with Claude Code. Cursor's payloads name a
    conversation, those of the others have a timestamp. Such a host reads the answer as Claude Code would,
    unless the event has the host's own name.
    """
    found = DIALECTS.get(ALIASES.get(host, host))
    if found is None:
        raise InvalidRequest(f"there is no host {host!r:.60}; there are {', '.join(DIALECTS)}", "host")
    if found is not CLAUDE_CODE:
        return Speaker(found, found)
    if fields.has("conversation_id", "cursor_version") or variables.get("CURSOR_VERSION"):
        own = name[:1].islower()
        return Speaker(CURSOR, CURSOR if own else CLAUDE_CODE)
    if fields.has("timestamp") or fields.has("sessionId"):
        return Speaker(COPILOT, COPILOT if name[:1].islower() else CLAUDE_CODE)
    return Speaker(CLAUDE_CODE, CLAUDE_CODE)
