"""A client's connection: dispatch, back-pressure and events."""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from .errors import BUSY, INTERNAL, RpcError
from .holdings import ClientProcess, Holdings, Working
from .protocol import (
    Decoder,
    Message,
    Notification,
    ProtocolError,
    Request,
    UnusableRequest,
    encode_error,
    encode_notification,
    encode_response,
)

Handler = Callable[["Connection", str, dict[str, Any]], Any]
"""Answers a method: returns its result, or an awaitable of it. An immediate result is written at once; an
awaitable becomes a task, which is cancelled if the connection is lost: shield work that others also wait
for."""

ToError = Callable[[Exception], RpcError | None]
"""Turns an exception raised on purpose into its error; returns None for any other."""

LogError = Callable[[BaseException, str], None]
"""Logs an unexpected exception and the method that raised it. Called once for each exception."""

JOIN_BYTES = 64 * 1024
"""Maximum bytes of a write that joins replies to pipelined requests."""


LARGE_BYTES = 64 * 1024
"""Bytes above which a frame counts towards the limits on all connections together."""

HEAVY_BYTES = 4 * 1024 * 1024
"""Bytes above which decoding a frame takes a millisecond or more of the loop."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on a client and on all clients together.

    Beyond the limits of a client the daemon stops reading from it, but refuses nothing. Beyond the limits on
    all clients, the connections without progress for the longest are cut off.
    """

    requests_in_flight: int = 256
    """Maximum requests in flight on a connection."""
    process_requests_in_flight: int = 1_024
    """Maximum requests in flight of a client process, on all of its connections."""
    events_queued: int = 1000
    write_buffer_bytes: int = 256 * 1024
    partial_bytes: int = 64 * 1024 * 1024
    """Maximum bytes of incomplete frames of all connections: four of the largest."""
    working_bytes: int = 64 * 1024 * 1024
    """Maximum bytes of large requests at work on all connections; further large ones wait."""
    heavy_bytes_a_second: int = 16 * 1024 * 1024
    """Maximum bytes of heavy frames decoded in a second for all connections; after each one large frames
    wait. 12 MB of text take 1 to 8 ms, so that others are delayed in one of a hundred cases at most."""
    unread_bytes: int = 256 * 1024 * 1024
    """Maximum bytes of unread replies of all connections: sixteen of the largest."""
    connections: int = 10_000
    """Maximum number of connections; beyond it the process with the most loses its oldest."""
    linger_s: float = 5.0
    """Seconds for a closing connection to read what was written to it."""


@dataclass(slots=True)
class Counts:
    """The server's running counts, shared by its connections."""

    accepted: int = 0
    refused: int = 0
    """Connections refused because they came from other users."""
    requests: int = 0
    notifications: int = 0
    errors: int = 0
    """Error replies, and notifications that failed."""
    protocol_errors: int = 0
    events_sent: int = 0
    events_lost: int = 0
    cut_off: int = 0
    """Connections closed for holding too much memory, or for being too many."""
    received_bytes: int = 0
    sent_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Serving:
    """The parts of the server that a connection uses."""

    handler: Handler
    rpc_error: Callable[[Exception, str], RpcError]
    log_error: LogError
    limits: Limits
    tasks: asyncio.TaskGroup
    counts: Counts
    partial: Holdings[Connection]
    unread: Holdings[Connection]
    working: Working
    enter: Callable[[Connection, socket.socket], ClientProcess | None]
    leave: Callable[[Connection], None]


class Connection(asyncio.Protocol):
    """A client's connection. Handlers may call `publish` and `when_lost`; the rest is for the server."""

    def __init__(self, serving: Serving) -> None:
        self._serving = serving
        self._counts = serving.counts
        self._decoder = Decoder()
        self._transport: asyncio.Transport | None = None
        self.running: dict[asyncio.Task[None], int] = {}
        """The requests in flight, oldest first, with the size of their frame if it is large, else 0."""
        self.process: ClientProcess | None = None
        """The process at the other end, None before it is admitted."""
        self._when_lost: list[Callable[[Connection], None]] = []
        self._events: deque[bytes] = deque()
        self._lost_events = 0
        self._out: list[bytes] = []
        self._out_bytes = 0
        self._reading = True
        self._answering = False
        self._holds_partial = False
        """Whether it is counted among the holders of a large incomplete frame."""
        self._peer_is_slow = False
        self._stopped = False
        self._cancelled = False
        self._linger: asyncio.TimerHandle | None = None

    def publish(self, event: Mapping[str, Any]) -> None:
        """Send the notification `[2, "event", [event]]`. Never waits; raises `RpcError` for what can't be
        packed.

        While the peer doesn't read, at most `events_queued` events are queued; then the oldest are dropped,
        and their number is sent before the next event: `{"topic": "lost", "data": {"count": n}}`.
        """
        frame = encode_notification("event", event)
        if self._transport is None or self._stopped:
            return
        if self._peer_is_slow or self._events:
            if len(self._events) >= self._serving.limits.events_queued:
                self._events.popleft()
                self._lost_events += 1
                self._counts.events_lost += 1
            self._events.append(frame)
        else:
            self._counts.events_sent += 1
            self._send(frame)

    def when_lost(self, callback: Callable[[Connection], None]) -> None:
        """Call back once when the connection is lost, at once if it already is; used to end subscriptions."""
        if self._transport is None:
            callback(self)
        else:
            self._when_lost.append(callback)

    def stop(self) -> None:
        """Stop reading and starting requests; running requests continue."""
        self._stopped = True
        self._steer()

    def cancel(self) -> None:
        """Cancel running requests; on an open connection each is answered with `busy`."""
        self._cancelled = True
        for task in list(self.running):
            task.cancel()

    def close(self) -> None:
        """Close after the peer has read all replies, or after the linger time."""
        if self._transport is None:
            return
        self._stopped = True
        self._flush()
        self._transport.close()
        if self._linger is None:
            loop = asyncio.get_running_loop()
            self._linger = loop.call_later(self._serving.limits.linger_s, self._transport.abort)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Admit the peer, or close before any byte of it is read; called by the loop."""
        stream = cast("asyncio.Transport", transport)  # uvloop's transport isn't a subclass
        self.process = self._serving.enter(self, stream.get_extra_info("socket"))
        if self.process is None:
            self._stopped = True
            stream.abort()
            return
        self._transport = stream
        stream.set_write_buffer_limits(high=self._serving.limits.write_buffer_bytes)

    def data_received(self, data: bytes) -> None:
        """Take bytes and answer complete messages; called by the loop."""
        if self._stopped:
            return
        self._counts.received_bytes += len(data)
        self._decoder.feed(data)
        self._answer()
        partial = len(self._decoder.partial)
        if partial > LARGE_BYTES and not self._stopped:
            self._holds_partial = True
            self._serving.partial.progress(self, partial)

    def cut_off(self) -> None:
        """End the connection at once: it has held too much memory for too long."""
        self._counts.cut_off += 1
        self._stopped = True
        self._decoder = Decoder()
        self._serving.partial.release(self)
        if self._transport is not None:
            self._transport.abort()

    def pause_writing(self) -> None:
        """Stop reading from a peer that doesn't read its replies; called by the loop."""
        self._peer_is_slow = True
        self._steer()

    def resume_writing(self) -> None:
        """Send the queued events, then resume answering; called by the loop."""
        self._peer_is_slow = False
        self._serving.unread.release(self)
        self._send_events()
        self._answer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the requests that the peer still waited for; called by the loop.

        A peer that only closed its sending side counts as gone too: a hang-up looks the same from here.
        """
        if self._transport is None:
            return
        self._transport = None
        self._stopped = True
        if self._linger is not None:
            self._linger.cancel()
        self._events.clear()
        self._out.clear()
        self._decoder = Decoder()
        self._serving.partial.release(self)
        self._serving.unread.release(self)
        self._serving.working.forget(self._answer)
        if self.process is not None:
            self.process.forget(self._answer)
        self.cancel()
        self._serving.leave(self)
        callbacks, self._when_lost = self._when_lost, []
        for callback in callbacks:
            callback(self)

    def _may_answer(self) -> bool:
        """Whether the next message can be answered now; if not, the connection is called back when it can."""
        if self._peer_is_slow or self._stopped or self.process is None:
            return False
        if len(self.running) >= self._serving.limits.requests_in_flight:
            return False
        if not self.process.may_answer:
            if not self._decoder.empty:
                self.process.wait(self._answer)
            return False
        if len(self._decoder.partial) > LARGE_BYTES and self._serving.working.full:
            self._serving.working.wait(self._answer)
            return False
        return True

    def _answer(self) -> None:
        """Answer the received messages, as far as the limits and the turn allow."""
        if self._answering:
            return
        self._answering = True
        decoder = self._decoder
        try:
            while self._may_answer():
                message = decoder.next_message()
                if message is None:
                    break
                self._dispatch(message)
                if decoder.frame_bytes > HEAVY_BYTES:
                    self._rest_from(decoder.frame_bytes)
        except ProtocolError as error:
            self._refuse(error)
        finally:
            self._answering = False
        self._flush()
        self._steer()
        if self._holds_partial and len(self._decoder.partial) <= LARGE_BYTES:
            self._holds_partial = False
            self._serving.partial.release(self)

    def _rest_from(self, size: int) -> None:
        """Make large frames of all clients wait until the loop has served other requests."""
        working = self._serving.working
        working.rest()
        asyncio.get_running_loop().call_later(
            size / self._serving.limits.heavy_bytes_a_second, working.resume
        )

    def _steer(self) -> None:
        """Read from the peer unless its earlier messages already have to wait."""
        if self._transport is None or self._transport.is_closing() or self._answering:
            return
        reading = not (self._peer_is_slow or self._stopped)
        if reading and not self._decoder.empty:
            reading = self._may_answer()
        if reading != self._reading:
            self._reading = reading
            if reading:
                self._transport.resume_reading()
            else:
                self._transport.pause_reading()

    def _dispatch(self, message: Message) -> None:
        if self.process is not None:
            self.process.answer()
        if isinstance(message, Request):
            self._counts.requests += 1
            msgid: int | None = message.msgid
        elif isinstance(message, Notification):
            self._counts.notifications += 1
            msgid = None
        elif isinstance(message, UnusableRequest):
            self._counts.requests += 1
            self._reply_error(message.msgid, RpcError.from_map(message.error))
            return
        else:
            return  # The daemon sends no requests, so a response is ignored.
        method = message.method
        try:
            result = self._serving.handler(self, method, message.params)
        except Exception as error:  # noqa: BLE001 - the one place where a handler's exceptions become replies
            self._reply_error(msgid, self._serving.rpc_error(error, method))
            return
        if hasattr(result, "__await__"):
            task = self._serving.tasks.create_task(self._wait(msgid, method, result))
            size = self._decoder.frame_bytes
            self.running[task] = size = size if size > LARGE_BYTES else 0
            self._serving.working.begin(size)
            if self.process is not None:
                self.process.begin()
            task.add_done_callback(self._ended)
        else:
            self._reply(msgid, method, result)

    async def _wait(self, msgid: int | None, method: str, result: Awaitable[Any]) -> None:
        try:
            value = await result
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if self._cancelled:
                self._reply_error(msgid, RpcError(BUSY, f"the daemon stopped during {method}; ask it again"))
                raise
            if task is not None and task.cancelling():
                raise
            # Work that the handler awaited was cancelled by others, not this request.
            self._reply_error(msgid, self._serving.rpc_error(RuntimeError(f"cancelled: {error}"), method))
        except Exception as error:  # noqa: BLE001 - as in _dispatch
            self._reply_error(msgid, self._serving.rpc_error(error, method))
        else:
            self._reply(msgid, method, value)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._serving.working.end(self.running.pop(task))
        if self.process is not None:
            self.process.end()
        if not self._reading:
            self._answer()

    def _reply(self, msgid: int | None, method: str, result: Any) -> None:
        if msgid is None or self._transport is None:
            return
        try:
            frame = encode_response(msgid, result)
        except RpcError as error:
            if error.code == INTERNAL:
                self._serving.log_error(error, method)
            self._reply_error(msgid, error)
        else:
            self._send(frame)

    def _reply_error(self, msgid: int | None, error: RpcError) -> None:
        if self._transport is None:
            return
        self._counts.errors += 1
        if msgid is not None:
            self._send(encode_error(msgid, error))

    def _refuse(self, error: ProtocolError) -> None:
        """End a connection whose bytes can't be decoded any further, with a final error."""
        self._counts.protocol_errors += 1
        if error.msgid is not None:
            self._reply_error(error.msgid, RpcError(error.code, str(error)))
        self.close()

    def _send(self, frame: bytes) -> None:
        if self._transport is None:
            return
        self._counts.sent_bytes += len(frame)
        self._out.append(frame)
        self._out_bytes += len(frame)
        if not self._answering or self._out_bytes >= JOIN_BYTES:
            self._flush()

    def _flush(self) -> None:
        if not self._out or self._transport is None:
            return
        frames, self._out = self._out, []
        size, self._out_bytes = self._out_bytes, 0
        if self._transport.is_closing():
            return
        self._transport.writelines(frames)
        if self._peer_is_slow or size > LARGE_BYTES:
            unread = self._transport.get_write_buffer_size()
            if unread > self._serving.limits.write_buffer_bytes:
                self._serving.unread.hold(self, unread)

    def _send_events(self) -> None:
        while self._events and not self._peer_is_slow:
            if self._lost_events:
                count, self._lost_events = self._lost_events, 0
                self._send(encode_notification("event", {"topic": "lost", "data": {"count": count}}))
            self._counts.events_sent += 1
            self._send(self._events.popleft())
