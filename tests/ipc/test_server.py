"""The server's life over real sockets, on both loops: requests, bad bytes, strangers, load, shutdown."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import struct
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from foveal.ipc.aclient import AsyncClient
from foveal.ipc.errors import RpcError
from foveal.ipc.listener import bind, remove_socket
from foveal.ipc.protocol import Decoder, Message, Response, encode_request
from foveal.ipc.server import Server

from tests.both_loops import eventually, on_both_loops
from tests.ipc_cases import Methods, serving, to_error


async def read_to_end(reader: asyncio.StreamReader) -> list[Message]:
    """Read until the server closes, however it does, and return the messages."""
    decoder = Decoder()
    with contextlib.suppress(ConnectionResetError):
        while data := await reader.read(65536):
            decoder.feed(data)
    messages = []
    while (message := decoder.next_message()) is not None:
        messages.append(message)
    return messages


@asynccontextmanager
async def raw(path: str) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_unix_connection(path)
    try:
        yield reader, writer
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


@on_both_loops
async def test_replies_of_every_kind(path: str) -> None:
    async with serving(path) as (server, methods), await AsyncClient.connect(path) as client:
        methods.gate.set()
        assert await client.call("Echo", {"a": [1, "é", None]}) == {"a": [1, "é", None]}
        assert await client.call("Wait", {"b": 2}) == {"b": 2}
        assert await client.call("Echo") == {}
        assert server.statistics().requests == 3
        assert server.statistics().errors == 0
        assert server.statistics().connections == 1


async def check_error(client: AsyncClient, method: str, error: str, code: str, text: str) -> None:
    with pytest.raises(RpcError, match=text) as caught:
        await client.call(method, {"error": error})
    assert caught.value.code == code


@pytest.mark.parametrize("method", ["Fail", "FailLater"])
@on_both_loops
async def test_exceptions_become_errors_and_only_unforeseen_ones_are_logged(path: str, method: str) -> None:
    async with serving(path) as (server, methods), await AsyncClient.connect(path) as client:
        await check_error(client, method, "known", "not_found", "the known one")
        await check_error(client, method, "rpc", "busy", "later")
        assert methods.logged == []
        await check_error(
            client, method, "unforeseen", "internal", f"^{method} failed.*ZeroDivisionError.*foveal logs"
        )
        assert methods.logged == [("ZeroDivisionError", method)]
        await check_error(client, "Nonsense", "known", "unknown_method", "Nonsense")
        assert server.statistics().errors == 4
        assert await client.call("Echo") == {}


@on_both_loops
async def test_a_cancellation_inside_a_handler_is_answered(path: str) -> None:
    async with serving(path) as (_, methods), await AsyncClient.connect(path) as client:
        await check_error(client, "FailLater", "cancelled", "internal", "FailLater failed")
        assert methods.logged == [("RuntimeError", "FailLater")]


@on_both_loops
async def test_results_that_cannot_be_sent(path: str) -> None:
    async with serving(path) as (_, methods), await AsyncClient.connect(path) as client:
        with pytest.raises(RpcError, match="no form on the wire") as caught:
            await client.call("Unpackable")
        assert caught.value.code == "internal"
        with pytest.raises(RpcError, match="ask for or send less") as caught:
            await client.call("Large", {"size": 17 * 2**20})
        assert caught.value.code == "too_large"
        assert methods.logged == [("RpcError", "Unpackable")]
        assert len(await client.call("Large", {"size": 15 * 2**20})) == 15 * 2**20


async def check_refused(path: str, sent: bytes, expected: list[tuple[int, str]]) -> None:
    """Send bytes that end a connection; another one is open all the time and goes on."""
    async with serving(path) as (server, _), await AsyncClient.connect(path) as other:
        async with raw(path) as (reader, writer):
            writer.write(sent)
            messages = await read_to_end(reader)
        found = [
            (message.msgid, message.error["code"] if message.error else "ok")
            for message in messages
            if isinstance(message, Response)
        ]
        assert found == expected
        assert await other.call("Echo", {"still": "here"}) == {"still": "here"}
        assert server.statistics().protocol_errors == 1
        assert server.statistics().connections == 1


HEAD = b"\x94\x00\x05\xa4Echo\x91"
GIGABYTE = struct.pack(">I", 2**30)
REFUSED: list[tuple[bytes, list[tuple[int, str]]]] = [
    (b"GET / HTTP/1.1\r\n\r\n", []),
    (b"\xc1", []),
    (b'{"jsonrpc": "2.0"}\n', []),
    (b"\x93\x00\x05\xa4Echo", []),
    (HEAD + b"\xdb" + GIGABYTE, [(5, "too_large")]),
    (HEAD + b"\xdd" + GIGABYTE, [(5, "too_large")]),
    (HEAD + b"\xdf" + GIGABYTE + b"x" * 100_000, [(5, "too_large")]),
    (HEAD + b"\xc1", [(5, "invalid_params")]),
    (
        encode_request(1, "Echo") + HEAD + b"\xc1" + encode_request(2, "Echo"),
        [(1, "ok"), (5, "invalid_params")],
    ),
]


@pytest.mark.parametrize("case", range(len(REFUSED)))
@on_both_loops
async def test_bytes_that_cannot_be_read_end_their_connection_only(path: str, case: int) -> None:
    await check_refused(path, *REFUSED[case])


@on_both_loops
async def test_unusable_params_concern_only_their_request(path: str) -> None:
    async with serving(path) as (server, _), raw(path) as (reader, writer):
        writer.write(HEAD + b"\x05" + encode_request(6, "Echo"))
        decoder = Decoder()
        messages: list[Message] = []
        while len(messages) < 2:
            decoder.feed(await reader.read(65536))
            while (message := decoder.next_message()) is not None:
                messages.append(message)
        first, second = messages
        assert isinstance(first, Response)
        assert first.error is not None
        assert (first.msgid, first.error["code"], first.error["data"]) == (
            5,
            "invalid_params",
            {"field": "params"},
        )
        assert second == Response(6, None, {})
        assert server.statistics().protocol_errors == 0


@on_both_loops
async def test_a_lost_connection_cancels_its_requests_only(path: str) -> None:
    async with serving(path) as (server, methods), await AsyncClient.connect(path) as other:
        kept = asyncio.create_task(other.call("Wait", {"kept": 1}))
        async with raw(path) as (_, writer):
            writer.write(b"".join(encode_request(n, "Wait") for n in range(10)))
            await methods.until(lambda: methods.started == 11)
        await methods.until(lambda: methods.cancelled == 10)
        await eventually(lambda: server.statistics().in_flight == 1)
        methods.gate.set()
        assert await kept == {"kept": 1}


@on_both_loops
async def test_another_user_is_closed_unread(path: str) -> None:
    uids = iter([os.geteuid() + 1, os.geteuid()])
    async with serving(path, peer_uid=lambda peer: next(uids)) as (server, _):
        async with raw(path) as (reader, writer):
            with contextlib.suppress(ConnectionError):
                writer.write(encode_request(1, "Echo"))
                assert await read_to_end(reader) == []
        async with await AsyncClient.connect(path) as client:
            assert await client.call("Echo") == {}
        statistics = server.statistics()
        assert (statistics.refused, statistics.accepted, statistics.requests) == (1, 1, 1)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@on_both_loops
async def test_a_real_other_user_is_closed_unread(path: str) -> None:
    async with serving(path) as (server, _):
        os.chmod(os.path.dirname(path), 0o711)
        os.chmod(path, 0o666)
        script = (
            "import os, socket, sys; os.setuid(65534)\n"
            "s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])\n"
            "try: print(s.recv(1))\n"
            "except ConnectionError: print(b'')"
        )
        child = await asyncio.create_subprocess_exec(
            "/usr/bin/env", sys.executable, "-S", "-c", script, path, stdout=subprocess.PIPE
        )
        output, _ = await child.communicate()
        assert output == b"b''\n"
        assert server.statistics().refused == 1


@on_both_loops
async def test_shutdown_waits_for_running_requests_then_closes(path: str) -> None:
    async with serving(path) as (server, methods), await AsyncClient.connect(path) as client:
        running = asyncio.create_task(client.call("Wait", {"n": 1}))
        await methods.until(lambda: methods.started == 1)
        stopping = asyncio.create_task(server.shutdown(30))
        await eventually(lambda: not can_connect(path))
        assert not stopping.done()
        methods.gate.set()
        assert await running == {"n": 1}
        await stopping
        assert server.statistics().connections == 0
        with pytest.raises(ConnectionError):
            await client.call("Echo")
        await server.shutdown(30)


def can_connect(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(path)
        except OSError:
            return False
        return True


@on_both_loops
async def test_shutdown_cancels_what_runs_past_the_deadline_and_says_so(path: str) -> None:
    async with serving(path) as (server, methods), await AsyncClient.connect(path) as client:
        running = [asyncio.create_task(client.call("Wait")) for _ in range(20)]
        await methods.until(lambda: methods.started == 20)
        await server.shutdown(0)
        for error in await asyncio.gather(*running, return_exceptions=True):
            assert isinstance(error, RpcError)
            assert error.code == "busy"
        assert methods.cancelled == 20


@on_both_loops
async def test_a_bound_socket_of_a_service_manager_is_served_and_its_path_kept(path: str) -> None:
    listener = bind(path)
    listener.listen()
    methods = Methods()
    async with Server(methods, to_error, methods.log) as server:
        server.start(listener)
        async with await AsyncClient.connect(path) as client:
            assert await client.call("Echo") == {}
        await server.shutdown(1)
    with pytest.raises(FileExistsError):
        os.mkdir(path)
    remove_socket(path)
    os.mkdir(path)
