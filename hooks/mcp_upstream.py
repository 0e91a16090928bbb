"""Owns how the MCP pump reaches the server: the connection to the HTTP face, and the daemon's start."""

from __future__ import annotations

import os
import socket
import time
from urllib.parse import quote

from ..ipc.errors import DaemonUnavailable
from ..ipc.paths import check_socket, find_socket, http_socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final

CONNECT_S: Final = 20.0
"""For a daemon to start, a faces process in it, and the SDK to be imported: together about 2 s on a machine
at rest."""

READ_BYTES: Final = 64 * 1024


def describe(project: str | None, session: str, environ: Mapping[str, str]) -> str:
    """Return what the server is told of the host, as a query: folder and session.

    A folder that the host names for its servers (Claude Code) goes before the one that it started in.
    """
    told = environ.get("CLAUDE_PROJECT_DIR", "")
    folder = project or (told if os.path.isabs(told) and os.path.isdir(told) else os.getcwd())
    told_as = {"cwd": os.path.abspath(folder), "session": session}
    query = "&".join(f"{name}={quote(os.fsencode(value), safe='')}" for name, value in told_as.items())
    return f"{query}&chosen=1" if project else query


class Upstream:
    """How the MCP server is reached: where, and with what said about the host. Starts the daemon."""

    def __init__(self, explicit: str | None, environ: Mapping[str, str], about: str) -> None:
        self._explicit = explicit
        self._environ = environ
        self._about = about

    def connect(self) -> socket.socket:
        """Return a connection that carries MCP from now on. Raises `DaemonUnavailable` or `PathError`."""
        deadline = time.monotonic() + CONNECT_S
        while True:
            connection = self._open(deadline)
            try:
                connection.settimeout(max(deadline - time.monotonic(), 0.001))
                self._upgrade(connection)
                connection.settimeout(None)
            except ConnectionError as error:  # a daemon that is just ending: there may be another one soon
                connection.close()
                if time.monotonic() > deadline:
                    raise DaemonUnavailable(f"the daemon ends again and again ({error})") from error
                time.sleep(0.05)
            except TimeoutError as error:
                connection.close()
                raise DaemonUnavailable("its MCP server didn't start in time; see: foveal logs") from error
            except BaseException:
                connection.close()
                raise
            else:
                return connection

    def _open(self, deadline: float) -> socket.socket:
        try:
            return self._connect_once(deadline)
        except (FileNotFoundError, ConnectionRefusedError):
            from ..ipc.client import ensure_daemon  # with msgpack: only where no daemon runs

            ensure_daemon(self._explicit, self._environ, max(deadline - time.monotonic(), 0.001)).close()
        try:
            return self._connect_once(deadline)
        except (FileNotFoundError, ConnectionRefusedError) as error:
            raise DaemonUnavailable(
                f"the daemon has no {error.filename or 'HTTP socket'}; try: foveal restart"
            ) from error

    def _connect_once(self, deadline: float) -> socket.socket:
        path = http_socket(find_socket(self._explicit, self._environ).path)
        check_socket(path)
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            while True:
                connection.settimeout(max(deadline - time.monotonic(), 0.001))
                try:
                    connection.connect(path)
                    return connection
                except BlockingIOError:  # the queue of new connections is full, which Linux says at once
                    time.sleep(0.01)
        except TimeoutError as error:
            connection.close()
            raise DaemonUnavailable("the daemon accepts no connections; try: foveal restart") from error
        except BaseException:
            connection.close()
            raise

    def _upgrade(self, connection: socket.socket) -> None:
        """Ask the HTTP face to hand the connection to the MCP server."""
        head = (f"GET /mcp?{self._about} HTTP/1.1", "Host: d", "Connection: Upgrade", "Upgrade: foveal-mcp")
        connection.sendall("\r\n".join((*head, "", "")).encode("ascii"))
        reply = b""
        while b"\r\n\r\n" not in reply:
            data = connection.recv(1)  # what follows the head is the server's first line already
            if not data:
                raise ConnectionResetError("it closed the connection")
            reply += data
        status = reply.split(b" ", 2)[1:2]
        if status != [b"101"]:
            connection.settimeout(1.0)
            text = connection.recv(READ_BYTES).decode("utf-8", "replace").strip()
            hint = "; is it another version? try: foveal restart" if status == [b"404"] else ""
            raise DaemonUnavailable(f"the daemon refuses to serve MCP ({text or 'without a reason'}){hint}")
