"""Owns what LSP is on the HTTP face: where it is asked for, and when pygls is imported."""

from __future__ import annotations

from collections.abc import Mapping

from ...ipc.errors import INVALID_PARAMS, RpcError
from ..upgrade import Serve, UpgradeFace


def lsp_face(daemon_socket: str) -> UpgradeFace[str]:
    """Return the face that serves LSP to `foveal lsp`, knowing the folder that the editor started that in."""
    return UpgradeFace("lsp", daemon_socket, _cwd, _load)


def _cwd(query: Mapping[str, str]) -> str:
    cwd = query.get("cwd", "")
    if not cwd.startswith("/"):
        raise RpcError(INVALID_PARAMS, "cwd must be an absolute path", {"field": "cwd"})
    return cwd


def _load() -> Serve[str]:
    """Import pygls, which nobody pays who doesn't speak LSP."""
    from .lsp_server import serve_connection

    return serve_connection
