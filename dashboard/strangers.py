"""Connections to the dashboard's port before a signed-in request came: bounded in number and time.

Every user of the machine can connect to a port of loopback. Thousands of connections would take the
descriptors that HTTP, MCP and LSP need, which are served by the same process.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Hashable
from functools import partial

STRANGERS_MAX = 256
"""Maximum connections without a signed-in request. A browser opens six to a host, and signs in at once. It is
more than are accepted in a turn of the event loop, so that one that sends its request is always heard."""

STRANGER_S = 10.0
"""Maximum seconds until a signed-in request came; browsers connect in advance, and try again."""


class Strangers:
    """The connections of nobody known, the oldest first. On the event loop only.

    A silent one costs a descriptor and no more. If there are too many, the oldest is closed for a new one.
    """

    def __init__(self, most: int = STRANGERS_MAX, seconds: float = STRANGER_S) -> None:
        self._most = most
        self._seconds = seconds
        self._known: dict[Hashable, tuple[float, Callable[[], None]]] = {}
        """When each must have signed in, and what closes it."""
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._known)

    def wait(self, connection: socket.socket, serve: Callable[[socket.socket], None]) -> None:
        """Take an accepted connection, and serve it when it sends something or ends."""
        connection.setblocking(False)
        loop = asyncio.get_running_loop()
        loop.add_reader(connection.fileno(), self._heard, connection, serve)
        self.bound(connection, partial(_hang_up, loop, connection))

    def bound(self, key: Hashable, close: Callable[[], None]) -> None:
        """Bound a connection that is served, until `forget`."""
        self._known[key] = asyncio.get_running_loop().time() + self._seconds, close
        if len(self._known) > self._most:
            self._close(next(iter(self._known)))
        self._watch()

    def forget(self, key: Hashable) -> None:
        """Leave a connection alone: it is the user's, or closed."""
        self._known.pop(key, None)

    def close(self) -> None:
        """Close all."""
        if self._timer is not None:
            self._timer.cancel()
        for key in list(self._known):
            self._close(key)

    def _heard(self, connection: socket.socket, serve: Callable[[socket.socket], None]) -> None:
        asyncio.get_running_loop().remove_reader(connection.fileno())
        self.forget(connection)
        serve(connection)

    def _close(self, key: Hashable) -> None:
        _, close = self._known.pop(key)
        close()

    def _watch(self) -> None:
        if self._timer is None and self._known:
            due, _ = next(iter(self._known.values()))
            self._timer = asyncio.get_running_loop().call_at(due, self._expire)

    def _expire(self) -> None:
        self._timer = None
        now = asyncio.get_running_loop().time()
        for key in [key for key, (due, _) in self._known.items() if due <= now]:
            self._close(key)
        self._watch()


def _hang_up(loop: asyncio.AbstractEventLoop, connection: socket.socket) -> None:
    loop.remove_reader(connection.fileno())
    connection.close()
