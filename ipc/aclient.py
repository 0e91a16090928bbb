"""The asyncio clients: one connection with many requests in flight, and a shared one that reconnects."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, Mapping
from types import TracebackType
from typing import Any, Self, cast

from .client import MAX_MSGID, EventBuffer
from .errors import TIMEOUT, DaemonUnavailable, RpcError
from .paths import PathError, check_socket
from .protocol import (
    Decoder,
    Message,
    ProtocolError,
    Response,
    encode_request,
)

CLOSE_S = 1.0
"""Maximum seconds that `close` waits for the daemon to read the bytes already sent."""


class AsyncClient(asyncio.Protocol):
    """One connection to the daemon, made by `connect`. Times are in seconds; None waits for ever.

    Use it as `async with await AsyncClient.connect(path) as client:`. When the daemon goes away, every call
    in flight and every later one raises `ConnectionError`, and `events` ends.
    """

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self._loop = loop
        self._transport: asyncio.Transport | None = None
        self._decoder = Decoder()
        self._msgid = 0
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._events = EventBuffer()
        self._event_arrived = asyncio.Event()
        self._writable = asyncio.Event()
        self._lost: asyncio.Future[None] = loop.create_future()
        self._broken: Exception | None = None

    @classmethod
    async def connect(cls, path: str, timeout: float | None = 5.0) -> Self:  # noqa: ASYNC109 - as in call
        """Connect to a socket after checking that it and its folder belong to the user alone.

        Raises `FileNotFoundError` or `ConnectionRefusedError` if no daemon listens, `TimeoutError` if it
        doesn't accept in time, `PathError` if another user could be listening.
        """
        check_socket(path)
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.setblocking(False)
            async with asyncio.timeout(timeout):
                await _connect(connection, path)
                _, client = await asyncio.get_running_loop().create_unix_connection(cls, sock=connection)
        except BaseException:
            connection.close()
            raise
        return client

    async def call(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - here it ends in an RpcError
    ) -> Any:
        """Send a request and return its result; calls may overlap and end in any order.

        Raises `RpcError` for an error reply, and with the code `timeout` if no reply came in time;
        `ConnectionError` if the daemon is gone; `ProtocolError` if the peer isn't a daemon.
        """
        self._msgid = msgid = self._msgid % MAX_MSGID + 1
        frame = encode_request(msgid, method, params)
        try:
            async with asyncio.timeout(timeout):
                await self._send(frame)
                self._waiting[msgid] = reply = self._loop.create_future()
                return await reply
        except TimeoutError as error:
            raise RpcError(TIMEOUT, f"the daemon didn't answer {method} within {timeout} s") from error
        finally:
            self._waiting.pop(msgid, None)

    async def events(self) -> AsyncGenerator[dict[str, Any], None]:
        """Yield the events after a Subscribe, until the connection ends."""
        while True:
            while (event := self._events.take()) is not None:
                yield event
            if self._lost.done():
                return
            self._event_arrived.clear()
            await self._event_arrived.wait()

    async def close(self) -> None:
        """Close the connection after the bytes already sent have left; closing twice does nothing."""
        if self._transport is None:
            return
        self._transport.close()
        await asyncio.wait([self._lost], timeout=CLOSE_S)
        if not self._lost.done():
            self._transport.abort()
            await self._lost

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport; called by the loop."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's transport isn't a subclass
        self._writable.set()

    def data_received(self, data: bytes) -> None:
        """Pass each message to its waiting caller; called by the loop."""
        self._decoder.feed(data)
        try:
            while (message := self._decoder.next_message()) is not None:
                self._take(message)
        except ProtocolError as error:
            self._broken = error
            assert self._transport is not None
            self._transport.abort()

    def pause_writing(self) -> None:
        """Make senders wait; called by the loop when the daemon doesn't read."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Let senders continue; called by the loop."""
        self._writable.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail every call in flight and end the events; called by the loop."""
        if self._broken is None:
            self._broken = ConnectionResetError("the connection to the daemon is closed")
        for reply in self._waiting.values():
            if not reply.done():
                reply.set_exception(self._broken)
        self._waiting.clear()
        self._lost.set_result(None)
        self._event_arrived.set()
        self._writable.set()

    async def _send(self, frame: bytes) -> None:
        while not self._writable.is_set():  # again: another sender may have filled the buffer
            await self._writable.wait()
        if self._broken is not None:
            raise self._broken
        assert self._transport is not None
        if self._transport.is_closing():
            raise ConnectionResetError("the connection to the daemon is closed")
        self._transport.write(frame)

    def _take(self, message: Message) -> None:
        if isinstance(message, Response):
            reply = self._waiting.pop(message.msgid, None)
            if reply is None or reply.done():
                return  # its caller gave up
            if message.error is None:
                reply.set_result(message.result)
            else:
                reply.set_exception(RpcError.from_map(message.error))
        elif self._events.put(message):
            self._event_arrived.set()


async def _connect(connection: socket.socket, path: str) -> None:
    """Connect, waiting while the daemon's queue of new connections is full: Linux then returns EAGAIN at
    once.

    The loop's own sock_connect takes that for "in progress" and continues with an unconnected socket.
    """
    pause = 0.001
    while True:
        try:
            return connection.connect(path)
        except BlockingIOError:
            await asyncio.sleep(pause)
        pause = min(pause * 2, 0.05)


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
        connection = await _connect_to(self._socket)
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
            self._connecting = asyncio.create_task(_connect_to(self._socket))
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


async def _connect_to(socket: str) -> _Connection:
    try:
        return await _Connection.connect(socket)
    except (OSError, PathError) as error:
        reason = str(error) or type(error).__name__
        raise DaemonUnavailable(
            f"the daemon can't be reached on {socket} ({reason}); see: foveal status"
        ) from error
