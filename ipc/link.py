"""The shared connection to the daemon: made on first use, and again after a loss."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from .aclient import AsyncClient
from .errors import DaemonUnavailable
from .paths import PathError
from .protocol import ProtocolError


class DaemonLink:
    """The connection to the daemon that requests share: made on first use, and again after a loss.

    Many requests may be in flight. A request whose connection breaks is not repeated: it may have been
    executed.
    """

    def __init__(self, socket: str) -> None:
        self._socket = socket
        self._connection: _Connection | None = None
        self._connecting: asyncio.Task[_Connection] | None = None

    async def call(self, method: str, params: Mapping[str, Any]) -> Any:
        """Return the result of a method. Raises `RpcError`, and `DaemonUnavailable` without a daemon."""
        connection = await self._connected()
        try:
            return await connection.call(method, params)
        except (ConnectionError, ProtocolError) as error:
            raise DaemonUnavailable(f"the daemon went away during {method} ({error}); ask again") from error

    async def subscribe(self, topics: list[str]) -> AsyncClient:
        """Return a separate connection that receives the events of these topics; the caller closes it."""
        connection = await _connect(self._socket)
        try:
            await connection.call("Subscribe", {"topics": topics})
        except BaseException as error:
            await connection.close()
            if isinstance(error, (ConnectionError, ProtocolError)):
                raise DaemonUnavailable(f"the daemon went away during Subscribe ({error})") from error
            raise
        return connection

    async def close(self) -> None:
        """Close the connection; a later call makes a new one."""
        if self._connecting is not None:
            self._connecting.cancel()
            await asyncio.wait([self._connecting])
        if self._connection is not None:
            await self._connection.close()

    async def _connected(self) -> _Connection:
        if self._connection is not None and not self._connection.lost:
            return self._connection
        if self._connecting is None:
            self._connecting = asyncio.create_task(_connect(self._socket))
            self._connecting.add_done_callback(self._note_connected)
        return await asyncio.shield(self._connecting)  # a cancelled caller mustn't end it for the others

    def _note_connected(self, task: asyncio.Task[_Connection]) -> None:
        self._connecting = None
        if not task.cancelled() and task.exception() is None:
            self._connection = task.result()


class _Connection(AsyncClient):
    """A connection that knows whether it is lost."""

    lost = False

    def connection_lost(self, exc: Exception | None) -> None:
        """Note the loss; called by the loop."""
        self.lost = True
        super().connection_lost(exc)


async def _connect(socket: str) -> _Connection:
    try:
        return await _Connection.connect(socket)
    except (OSError, PathError) as error:
        reason = str(error) or type(error).__name__
        raise DaemonUnavailable(
            f"the daemon can't be reached on {socket} ({reason}); see: foveal status"
        ) from error
