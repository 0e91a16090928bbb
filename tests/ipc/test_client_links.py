"""The asyncio client and the connection that is shared: many calls in flight, a clean end, a new one after a loss."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from foveal.ipc.aclient import AsyncClient, DaemonLink
from foveal.ipc.client import KEPT_EVENTS
from foveal.ipc.errors import DaemonUnavailable, RpcError
from foveal.ipc.protocol import (
    Decoder,
    ProtocolError,
    Request,
    encode_notification,
    encode_response,
)

from tests.ipc_cases import serving


class Peer:
    """The other side of a connection, played by the test."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.decoder = Decoder()

    async def receive(self) -> Any:
        while (message := self.decoder.next_message()) is None:
            self.decoder.feed(await self.reader.read(65536))
        return message

    async def request(self) -> Request:
        message = await self.receive()
        assert isinstance(message, Request)
        return message

    async def send(self, *frames: bytes) -> None:
        self.writer.write(b"".join(frames))
        await self.writer.drain()


class Peers:
    """A listening socket in a private folder whose connections wait to be played."""

    def __init__(self, folder: str) -> None:
        self.path = f"{folder}/s.sock"
        self.queue: asyncio.Queue[Peer] = asyncio.Queue()

    async def accept(self) -> Peer:
        return await self.queue.get()


@pytest.fixture
async def peers(folder: str) -> AsyncIterator[Peers]:
    """Play a daemon."""
    made = Peers(folder)
    accepted: list[Peer] = []

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted.append(Peer(reader, writer))
        made.queue.put_nowait(accepted[-1])

    server = await asyncio.start_unix_server(connected, made.path)
    os.chmod(made.path, 0o600)
    yield made
    server.close()
    for peer in accepted:
        peer.writer.close()
        with contextlib.suppress(ConnectionError):
            await peer.writer.wait_closed()
    await server.wait_closed()


async def test_a_timeout_and_a_cancelled_call_leave_the_connection_usable(peers: Peers) -> None:
    async with await AsyncClient.connect(peers.path) as client:
        peer = await peers.accept()
        with pytest.raises(RpcError, match=r"Slow within 0\.01 s") as caught:
            await client.call("Slow", timeout=0.01)
        assert caught.value.code == "timeout"
        slow = await peer.request()
        cancelled = asyncio.create_task(client.call("Cancelled"))
        forgotten = await peer.request()
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        call = asyncio.create_task(client.call("Next"))
        last = await peer.request()
        late = [encode_response(request.msgid, "late") for request in (slow, forgotten)]
        await peer.send(*late, encode_response(last.msgid, "ok"))
        assert await call == "ok"


async def test_a_daemon_that_hangs_up_fails_every_call_and_ends_the_events(peers: Peers) -> None:
    async with await AsyncClient.connect(peers.path) as client:
        peer = await peers.accept()
        calls = [asyncio.create_task(client.call("Wait")) for _ in range(5)]
        for _ in calls:
            await peer.request()
        await peer.send(encode_notification("event", {"topic": "last"}), b"\x94\x01")
        peer.writer.close()
        for error in await asyncio.gather(*calls, return_exceptions=True):
            assert isinstance(error, ConnectionResetError)
        assert [event async for event in client.events()] == [{"topic": "last"}]
        with pytest.raises(ConnectionError):
            await client.call("Ping")


async def test_a_peer_that_is_no_daemon(peers: Peers) -> None:
    async with await AsyncClient.connect(peers.path) as client:
        peer = await peers.accept()
        call = asyncio.create_task(client.call("Ping"))
        await peer.request()
        await peer.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        with pytest.raises(ProtocolError):
            await call


async def test_events_come_in_order_and_a_slow_reader_learns_what_it_lost(peers: Peers) -> None:
    async with await AsyncClient.connect(peers.path) as client:
        peer = await peers.accept()
        events = client.events()
        first = asyncio.ensure_future(anext(events))
        await peer.send(encode_notification("event", {"topic": "first", "data": {"a": 1}}))
        assert await first == {"topic": "first", "data": {"a": 1}}
        count = KEPT_EVENTS + 25
        await peer.send(*(encode_notification("event", {"topic": str(n)}) for n in range(count)))
        call = asyncio.create_task(client.call("Ping"))
        await peer.send(encode_response((await peer.request()).msgid, None))
        await call
        assert await anext(events) == {"topic": "lost", "data": {"count": 25}}
        assert [(await anext(events))["topic"] for _ in range(KEPT_EVENTS)] == [
            str(n) for n in range(25, count)
        ]
        await events.aclose()


async def test_senders_wait_for_a_daemon_that_does_not_read(peers: Peers) -> None:
    async with await AsyncClient.connect(peers.path) as client:
        peer = await peers.accept()
        peer.writer.transport.pause_reading()  # type: ignore[attr-defined] # the stream's transport can read
        large = {"text": "x" * 1_000_000}
        calls = [asyncio.create_task(client.call("Large", large)) for _ in range(20)]
        await asyncio.sleep(0)  # they write before the late one
        with pytest.raises(RpcError, match="didn't answer"):
            await client.call("Late", timeout=0.05)
        peer.writer.transport.resume_reading()  # type: ignore[attr-defined] # as above
        for _ in calls:
            request = await peer.request()
            assert request.method == "Large"  # the late one was given up before it was sent
            await peer.send(encode_response(request.msgid, 1))
        assert await asyncio.gather(*calls) == [1] * 20


@asynccontextmanager
async def linked(path: str) -> AsyncIterator[DaemonLink]:
    """Give a link; after its close no task of it may be left."""
    before = asyncio.all_tasks()
    link = DaemonLink(path)
    try:
        yield link
    finally:
        await link.close()
    assert asyncio.all_tasks() <= before


async def test_calls_share_one_connection_and_overtake_each_other(path: str) -> None:
    async with serving(path) as (server, daemon), linked(path) as link:
        assert server.statistics().accepted == 0, "made when it is needed"
        slow = [asyncio.ensure_future(link.call("Wait", {"n": n})) for n in range(50)]
        assert await link.call("Echo", {"n": 1}) == {"n": 1}
        daemon.gate.set()
        assert await asyncio.gather(*slow) == [{"n": n} for n in range(50)]
        assert server.statistics().accepted == 1


async def test_without_a_daemon_it_says_so_and_it_comes_back_with_one(path: str) -> None:
    async with linked(path) as link:
        for _ in range(2):
            with pytest.raises(DaemonUnavailable, match=r"can't be reached on .*see: foveal status"):
                await link.subscribe(["a"])
            with pytest.raises(DaemonUnavailable):  # the link may be the one to find out, by this call
                await link.call("Echo", {})
            async with serving(path):
                assert await link.call("Echo", {"n": 2}) == {"n": 2}


async def test_a_loss_ends_what_was_in_flight_and_nothing_is_repeated(path: str) -> None:
    async with serving(path) as (server, daemon), linked(path) as link:
        waiting = asyncio.ensure_future(link.call("Wait", {}))
        await daemon.until(lambda: daemon.started == 1)
        with pytest.raises(DaemonUnavailable, match="went away during Drop"):
            await link.call("Drop", {})
        with pytest.raises(DaemonUnavailable, match="went away during Wait"):
            await waiting
        assert await asyncio.gather(*[link.call("Echo", {"n": n}) for n in range(20)]) == [
            {"n": n} for n in range(20)
        ]
        assert (server.statistics().accepted, daemon.started) == (2, 1)


async def test_closing_while_it_connects_ends_that_too(path: str) -> None:
    async with serving(path), linked(path) as link:
        call = asyncio.ensure_future(link.call("Echo", {}))
        await asyncio.sleep(0)
        await link.close()
        with pytest.raises(asyncio.CancelledError):
            await call


async def test_a_subscription_that_fails_leaves_no_connection(path: str) -> None:
    async with serving(path) as (server, _), linked(path) as link:
        with pytest.raises(RpcError, match="no method Subscribe"):
            await link.subscribe(["wrong"])
        with pytest.raises(DaemonUnavailable, match="went away during Subscribe"):
            await link.subscribe(["drop"])
        assert await link.call("Echo", {}) == {}  # the server has seen both ends by now
        assert server.statistics().accepted == 3
