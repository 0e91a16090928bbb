"""A pump's connection to its server in the web process: the upgrade of HTTP, and the daemon's start."""

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
"""Maximum seconds for the daemon, its web process and the server to start, usually 2 s."""

READ_BYTES: Final = 64 * 1024

REASON_S: Final = 1.0
"""Maximum seconds to wait for the text of a refusal after its head."""


class Upstream:
    """The way to the server of `protocol` (`mcp`, `lsp`); `about` describes the client to it.

    `explicit` is a socket that the user named. Without it the user's daemon is started.
    """

    def __init__(
        self, protocol: str, explicit: str | None, environ: Mapping[str, str], about: Mapping[str, str]
    ) -> None:
        self._protocol = protocol
        self._explicit = explicit
        self._environ = environ
        self._about = "&".join(
            f"{name}={quote(os.fsencode(value), safe='')}" for name, value in about.items()
        )

    def connect(self) -> socket.socket:
        """Return a connection that carries the protocol from now on.

        Raises `DaemonUnavailable`, `PathError`, or `OSError`.
        """
        deadline = time.monotonic() + CONNECT_S
        while True:
            connection = self._open(deadline)
            try:
                connection.settimeout(max(deadline - time.monotonic(), 0.001))
                self._upgrade(connection)
                connection.settimeout(None)
            except ConnectionError as error:  # the daemon is ending; another may start soon
                connection.close()
                if time.monotonic() > deadline:
                    raise DaemonUnavailable(f"the daemon ends again and again ({error})") from error
                time.sleep(0.05)
            except TimeoutError as error:
                connection.close()
                raise DaemonUnavailable(
                    f"its {self._protocol.upper()} server didn't start in time; see: foveal logs"
                ) from error
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
        """Ask the HTTP face to hand the connection to the server."""
        name = self._protocol
        head = (
            f"GET /{name}?{self._about} HTTP/1.1",
            "Host: d",
            "Connection: Upgrade",
            f"Upgrade: foveal-{name}",
        )
        connection.sendall("\r\n".join((*head, "", "")).encode("ascii"))
        reply = b""
        while b"\r\n\r\n" not in reply:
            data = connection.recv(1)  # the bytes after the head are the server's first
            if not data:
                raise ConnectionResetError("it closed the connection")
            reply += data
        status = reply.split(b" ", 2)[1:2]
        if status != [b"101"]:
            connection.settimeout(REASON_S)
            text = connection.recv(READ_BYTES).decode("utf-8", "replace").strip()
            hint = "; is it another version? try: foveal restart" if status == [b"404"] else ""
            raise DaemonUnavailable(
                f"it refuses to serve {name.upper()} ({text or 'without a reason'}){hint}"
            )
