"""Owns how the LSP pump reaches the server: as the MCP pump does, by another path of the HTTP face."""

from __future__ import annotations

import os
from urllib.parse import quote

from ...ipc.errors import DaemonUnavailable
from ..mcp_upstream import CONNECT_S, READ_BYTES, Upstream

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Mapping


class LspUpstream(Upstream):
    """How the language server is reached. `cwd` is the folder where the editor names none."""

    def __init__(self, explicit: str | None, environ: Mapping[str, str], cwd: str) -> None:
        super().__init__(explicit, environ, f"cwd={quote(os.fsencode(cwd), safe='')}")

    def _upgrade(self, connection: socket.socket) -> None:
        """Ask the HTTP face to hand the connection to the language server."""
        head = (f"GET /lsp?{self._about} HTTP/1.1", "Host: d", "Connection: Upgrade", "Upgrade: foveal-lsp")
        connection.sendall("\r\n".join((*head, "", "")).encode("ascii"))
        reply = b""
        while b"\r\n\r\n" not in reply:
            data = connection.recv(1)  # what follows the head is the server's first message already
            if not data:
                raise ConnectionResetError("it closed the connection")
            reply += data
        status = reply.split(b" ", 2)[1:2]
        if status != [b"101"]:
            connection.settimeout(min(CONNECT_S, 1.0))
            text = connection.recv(READ_BYTES).decode("utf-8", "replace").strip()
            hint = "; is it another version? try: foveal restart" if status == [b"404"] else ""
            raise DaemonUnavailable(f"the daemon refuses to serve LSP ({text or 'without a reason'}){hint}")
