"""Back-pressure and events over real sockets, on both loops: a slow peer waits or loses events, alone."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self

import pytest
from foveal.ipc.aclient import AsyncClient
from foveal.ipc.connection import HEAVY_BYTES, Limits
from foveal.ipc.protocol import Decoder, Message, Notification, Response, encode_notification, encode_request
from foveal.ipc.server import ACCEPTED_AT_ONCE

from tests.both_loops import eventually, on_both_loops
from tests.ipc_cases import serving


class Raw:
    """A client that reads only when it is told to; its buffers are the kernel's smallest."""

    def __init__(self, path: str) -> None:
        self.loop = asyncio.get_running_loop()
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.connect(path)
        self.socket.setblocking(False)
        self.decoder = Decoder()

    async def send(self, *frames: bytes) -> None:
        await self.loop.sock_sendall(self.socket, b"".join(frames))

    async def receive(self) -> Message:
        async with asyncio.timeout(20):
            while (message := self.decoder.next_message()) is None:
                data = await self.loop.sock_recv(self.socket, 65536)
                assert data, "the server closed"
                self.decoder.feed(data)
        return message

    async def results(self, count: int) -> list[Any]:
        messages = [await self.receive() for _ in range(count)]
        assert all(isinstance(message, Response) and message.error is None for message in messages)
        return [message.result for message in messages if isinstance(message, Response)]

    async def topics(self, until: str) -> list[Any]:
        """Read events up to the one with this topic; a `lost` one is given as its count."""
        found: list[Any] = []
        while True:
            message = await self.receive()
            assert isinstance(message, Notification)
            assert message.method == "event"
            topic = message.params["topic"]
            if topic == until:
                return found
            found.append(message.params["data"]["count"] if topic == "lost" else topic)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.socket.close()


async def settled(number: Callable[[], int]) -> int:
    """Let the loop run until a number has stayed the same for many turns of it."""
    last, same = number(), 0
    while same < 200:
        await asyncio.sleep(0)
        now = number()
        last, same = now, same + 1 if now == last else 0
    return last


@on_both_loops
async def test_requests_in_flight_are_bounded_by_waiting_not_by_errors(path: str) -> None:
    async with serving(path, Limits(requests_in_flight=8)) as (server, methods):
        with Raw(path) as raw:
            await raw.send(*(encode_request(n, "Wait", {"n": n}) for n in range(100)))
            await eventually(lambda: methods.running == 8)
            assert await settled(lambda: methods.calls) == 8
            assert server.statistics().in_flight == 8
            async with await AsyncClient.connect(path) as other:
                assert await other.call("Echo") == {}
            methods.gate.set()
            assert sorted(result["n"] for result in await raw.results(100)) == list(range(100))
            assert methods.most_running == 8


@on_both_loops
async def test_a_peer_that_does_not_read_is_not_read(path: str) -> None:
    async with serving(path, Limits(write_buffer_bytes=65536)) as (server, methods):
        with Raw(path) as raw:
            requests = [encode_request(n, "Large", {"size": 100_000}) for n in range(500)]
            sending = asyncio.create_task(raw.send(*requests))
            await eventually(lambda: methods.calls > 0)
            served = await settled(lambda: methods.calls)
            assert served < 20  # of 100 KB each, and the kernel takes some 200 KB
            async with await AsyncClient.connect(path) as other:
                assert await other.call("Echo") == {}
            assert [len(result) for result in await raw.results(500)] == [100_000] * 500
            await sending
            assert server.statistics().errors == 0


@on_both_loops
async def test_one_peer_does_not_keep_the_loop_for_itself(path: str) -> None:
    async with serving(path) as (_, methods), await AsyncClient.connect(path) as other:
        with Raw(path) as raw:
            flood = b"".join(encode_notification("Note") for _ in range(20_000))
            sending = asyncio.create_task(raw.send(flood))
            await eventually(lambda: methods.calls > 0)
            await other.call("Echo")
            assert methods.calls < 20_000
            await sending
            await eventually(lambda: methods.calls == 20_001)


async def subscribe(raw: Raw) -> None:
    await raw.send(encode_request(1, "Subscribe"))
    await raw.results(1)


@on_both_loops
async def test_a_slow_subscriber_loses_its_oldest_events_and_is_told_how_many(path: str) -> None:
    limits = Limits(events_queued=10, write_buffer_bytes=50_000)
    async with serving(path, limits) as (server, methods):
        with Raw(path) as raw, Raw(path) as quick:
            await subscribe(raw)
            await subscribe(quick)
            slow, fast = methods.connections
            filling = "x" * 20_000
            for n in range(200):
                slow.publish({"topic": str(n), "data": filling})
                fast.publish({"topic": str(n), "data": {}})
            fast.publish({"topic": "end", "data": {}})
            lost = server.statistics().events_lost
            assert lost > 100
            assert await quick.topics("end") == [str(n) for n in range(200)]
            reading = asyncio.create_task(raw.topics("199"))
            found = await reading
            sent = 200 - lost - 10
            assert found == [*(str(n) for n in range(sent)), lost, *(str(n) for n in range(190, 199))]
            slow.publish({"topic": "end", "data": {}})
            assert await raw.topics("end") == []
            assert server.statistics().events_lost == lost
            assert server.statistics().events_sent == 402 - lost


def half_of(size: int) -> bytes:
    """Return a request of about this size without its last byte."""
    return encode_request(1, "Echo", {"text": "x" * size})[:-1]


@on_both_loops
async def test_oldest_partial_frame_is_cut_off(path: str) -> None:
    limits = Limits(partial_bytes=1_000_000)
    async with serving(path, limits) as (server, _):
        with Raw(path) as first, Raw(path) as second, Raw(path) as third:
            for raw in (first, second, third):
                await raw.send(half_of(300_000))
            await eventually(lambda: server.statistics().partial_bytes > 900_000)
            await first.send(b"")
            with Raw(path) as fourth:
                await fourth.send(half_of(300_000))
                await eventually(lambda: server.statistics().cut_off == 1)
                assert server.statistics().partial_bytes <= limits.partial_bytes
                with pytest.raises((ConnectionError, AssertionError)):
                    await first.receive()
                await fourth.send(b"x")
                assert (await fourth.results(1))[0]["text"].endswith("x")
                await eventually(lambda: server.statistics().partial_bytes < 700_000)
        await eventually(lambda: server.statistics().partial_bytes == 0)


@on_both_loops
async def test_replies_that_nobody_reads_are_bounded(path: str) -> None:
    limits = Limits(unread_bytes=1_000_000)
    async with serving(path, limits) as (server, _):
        with Raw(path) as slow, Raw(path) as greedy:
            await slow.send(encode_request(1, "Large", {"size": 600_000}))
            await eventually(lambda: server.statistics().unread_bytes > 300_000)
            await greedy.send(encode_request(1, "Large", {"size": 900_000}))
            await eventually(lambda: server.statistics().cut_off == 1)
            assert await greedy.results(1) == ["x" * 900_000]
            await eventually(lambda: server.statistics().unread_bytes == 0)


@on_both_loops
async def test_large_requests_wait_for_each_other_and_small_ones_for_none(path: str) -> None:
    async with serving(path, Limits(working_bytes=400_000)) as (server, methods):
        with Raw(path) as one, Raw(path) as other, Raw(path) as small:
            await one.send(*(encode_request(n, "Wait", {"text": "x" * 300_000}) for n in range(2)))
            await eventually(lambda: methods.running == 2)
            await other.send(encode_request(1, "Wait", {"text": "y" * 300_000}))
            await small.send(encode_request(1, "Wait", {"text": "z"}))
            await eventually(lambda: methods.running == 3)
            await settled(lambda: methods.running)
            assert (methods.running, server.statistics().working_bytes > 600_000) == (3, True)
            methods.gate.set()
            assert await other.results(1) == [{"text": "y" * 300_000}]
            assert await small.results(1) == [{"text": "z"}]
            await eventually(lambda: server.statistics().working_bytes == 0)


HEAVY = "x" * (HEAVY_BYTES + 1)


@on_both_loops
async def test_after_a_heavy_request_large_ones_wait_and_small_ones_do_not(path: str) -> None:
    async with serving(path, Limits(heavy_bytes_a_second=1)) as (_, methods):
        with Raw(path) as heavy, Raw(path) as large, Raw(path) as small:
            await heavy.send(encode_request(1, "Echo", {"text": HEAVY}))
            assert await heavy.results(1) == [{"text": HEAVY}]
            await large.send(encode_request(1, "Echo", {"text": "y" * 300_000}))
            for number in range(20):
                await small.send(encode_request(number, "Echo", {"n": number}))
                assert await small.results(1) == [{"n": number}]
            assert methods.calls == 21


@on_both_loops
async def test_oldest_connection_of_the_largest_client_is_cut_off(path: str) -> None:
    async with serving(path, Limits(connections=3)) as (server, _):
        raws = [Raw(path) for _ in range(5)]
        try:
            await eventually(lambda: server.statistics().cut_off == 2)
            await raws[-1].send(encode_request(1, "Echo", {"n": 1}))
            assert await raws[-1].results(1) == [{"n": 1}]
            with pytest.raises((ConnectionError, AssertionError)):
                await raws[0].receive()
            await eventually(lambda: server.statistics().connections == 3)
        finally:
            for raw in raws:
                raw.socket.close()


FLOOD = """
import socket, sys
frames = bytes.fromhex(sys.argv[2])
kept = [socket.socket(socket.AF_UNIX) for _ in range(100)]
for one in kept:
    one.connect(sys.argv[1])
    one.sendall(frames)
print("sent", flush=True)
sys.stdin.read()
"""


@contextmanager
def flooding(path: str) -> Iterator[None]:
    """Let another process make a hundred connections with forty messages each; all is sent when this begins."""
    frames = b"".join(encode_notification("Note") for _ in range(40))
    command = [sys.executable, "-I", "-c", FLOOD, path, frames.hex()]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"sent\n"
        yield
        process.communicate()


@on_both_loops
async def test_a_process_with_many_connections_gets_the_turn_of_one(path: str) -> None:
    async with serving(path) as (_, methods):
        with flooding(path):
            async with await AsyncClient.connect(path) as other:
                await other.call("Echo")
                assert methods.calls < 100, "a turn has four messages, not four for each connection"
                await eventually(lambda: methods.calls == 100 * 40 + 1)


@on_both_loops
async def test_connections_that_come_at_once_are_accepted_in_turns(path: str) -> None:
    async with serving(path) as (server, methods):
        with flooding(path):
            await eventually(lambda: server.statistics().accepted > 0)
            assert server.statistics().accepted <= ACCEPTED_AT_ONCE
            await eventually(lambda: methods.calls == 100 * 40)


@on_both_loops
async def test_a_process_has_a_limit_of_requests_in_flight_on_all_its_connections(path: str) -> None:
    async with serving(path, Limits(process_requests_in_flight=8)) as (_, methods):
        with Raw(path) as one, Raw(path) as two:
            for raw in (one, two):
                await raw.send(*(encode_request(n, "Wait", {"n": n}) for n in range(50)))
            await eventually(lambda: methods.running == 8)
            assert await settled(lambda: methods.calls) == 8
            methods.gate.set()
            for raw in (one, two):
                assert sorted(result["n"] for result in await raw.results(50)) == list(range(50))
            assert methods.most_running == 8
