"""Owns what MCP is on the HTTP face: who asks there, and when the SDK is imported."""

from __future__ import annotations

from collections.abc import Mapping

from ...ipc.errors import INVALID_PARAMS, RpcError
from ..upgrade import Serve, UpgradeFace
from .caller import ClientIdentity


def mcp_face(daemon_socket: str) -> UpgradeFace[ClientIdentity]:
    """Return the face that serves MCP to `foveal mcp`."""
    return UpgradeFace("mcp", daemon_socket, _caller, _load)


def _caller(query: Mapping[str, str]) -> ClientIdentity:
    cwd, session = query.get("cwd", ""), query.get("session", "")
    if not cwd.startswith("/") or not session:
        raise RpcError(INVALID_PARAMS, "cwd must be an absolute path, and session an id")
    return ClientIdentity(cwd=cwd, chosen=query.get("chosen") == "1", session_id=session)


def _load() -> Serve[ClientIdentity]:
    """Import the SDK, which nobody pays who doesn't speak MCP."""
    from .connection import serve_connection

    return serve_connection
