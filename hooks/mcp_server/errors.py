"""Owns what an agent is told when a request of its can't be done: what was wrong, and what to do next."""

from __future__ import annotations

from ...ipc import errors as codes
from ...ipc.errors import RpcError


class ToolError(Exception):
    """The request can't be done as it is. `message` says why, `hint` what to do instead."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(f"{message}. {hint[:1].upper()}{hint[1:]}.")


def from_rpc(error: RpcError) -> ToolError:
    """Return what to tell an agent of an error of the daemon's."""
    return ToolError(error.message.rstrip("."), _HINTS.get(error.code, _OTHERWISE))


def from_unavailable(error: Exception) -> ToolError:
    """Return what to tell an agent while no daemon answers."""
    return ToolError(
        f"foveal's daemon doesn't answer: {error}".rstrip("."),
        "call the tool again, which starts the daemon; if that fails too, go on without foveal's tools",
    )


_OTHERWISE = "go on without this tool, and tell the user to run: foveal doctor"

_HINTS = {
    codes.INVALID_PARAMS: "correct the argument and call the tool again",
    codes.NOT_FOUND: "check the name with search_code or find_symbol and call the tool again",
    codes.PERMISSION_DENIED: "this project's policy keeps it from this agent: go on without it",
    codes.PROJECT_UNAVAILABLE: (
        "no project can be served there: the user can name one, with `foveal mcp --project DIR`"
    ),
    codes.TOO_LARGE: "give less at once, and call the tool again",
    codes.TIMEOUT: "call the tool again, with a narrower question if it fails twice",
    codes.BUSY: "call the tool again in a moment",
    codes.UNKNOWN_METHOD: "another version of the daemon runs: the user can mend that with: foveal restart",
}
