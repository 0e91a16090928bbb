"""The HTTP face gives a connection to LSP to whom asks as the pump does, and lives as long as that."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from pathlib import Path

import pytest
from foveal.ipc.paths import http_socket

from tests.app.test_faces import FACES, starting
from tests.app.test_faces import daemon as serving
from tests.conftest import DaemonProcess
from tests.hooks.test_upgrade_mcp import asked

UPGRADE = "Connection: Upgrade\r\nUpgrade: foveal-lsp\r\n"

INITIALIZE: dict[str, object] = {"processId": None, "rootUri": None, "capabilities": {}}


def frame(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def request(number: int, method: str, params: object) -> bytes:
    return frame(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode())


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/lsp?cwd=/", "", 501),
        ("/lsp?cwd=/", "Connection: Upgrade\r\nUpgrade: foveal-mcp\r\n", 501),
        ("/lsp?cwd=/", f"{UPGRADE}Origin: http://localhost\r\n", 403),
        ("/lsp?cwd=here", UPGRADE, 400),
        ("/lsp", UPGRADE, 400),
    ],
)
def test_refusals(shared_daemon: DaemonProcess, path: str, headers: str, status: int) -> None:
    with asked(shared_daemon, path, headers) as connection:
        assert connection.recv(65536).startswith(f"HTTP/1.1 {status} ".encode())


@pytest.mark.parametrize(
    "data",
    [
        b"no frame\r\n\r\n",
        b"x" * 200_000,
        b"Content-Length: 99999999999\r\n\r\n",
        b"Content-Length: 5\r\n\r\n{",
        frame(b'{"jsonrpc": "2.0", "method": "exit"}'),
        frame(b'{"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {}}'),
        b"",
    ],
)
def test_no_connection_ends_the_process_or_others(
    shared_daemon: DaemonProcess, shop: Path, data: bytes
) -> None:
    path = f"/lsp?cwd={shop}"
    with (
        asked(shared_daemon, path, UPGRADE) as good,
        asked(shared_daemon, path, UPGRADE) as bad,
        good.makefile("rb") as stream,
        bad.makefile("rb") as other,
    ):
        for one in (stream, other):
            assert one.readline() == b"HTTP/1.1 101 Switching Protocols\r\n"
            while one.readline() != b"\r\n":
                pass
        try:
            bad.sendall(data)
            bad.shutdown(socket.SHUT_WR)
            assert b"Traceback" not in other.read()
        except TimeoutError:
            raise
        except OSError:
            pass  # that is how a kernel ends a connection with bytes that nobody read
        good.sendall(request(1, "initialize", INITIALIZE))
        size = int(stream.readline().split()[1])
        while stream.readline() != b"\r\n":
            pass
        assert json.loads(stream.read(size))["result"]["serverInfo"]["name"] == "foveal"


async def test_the_process_is_not_idle_while_a_pump_is_connected(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    idle_s, path = 0.05, str(tmp_path_factory.mktemp("d") / "foveal.sock")
    async with serving(path), starting(path, (*FACES, "--idle-s", str(idle_s))) as log:
        reader, writer = await asyncio.open_unix_connection(http_socket(path))
        writer.write(f"GET /lsp?cwd=/ HTTP/1.1\r\nHost: d\r\n{UPGRADE}\r\n".encode())
        await reader.readuntil(b"\r\n\r\n")
        started, number = time.monotonic(), 0
        while time.monotonic() - started < 6 * idle_s or number < 3:
            number += 1
            writer.write(request(number, "initialize" if number == 1 else "nope/nope", INITIALIZE))
            head = await reader.readuntil(b"\r\n\r\n")
            body = await reader.readexactly(int(head.split()[1]))
            assert json.loads(body)["id"] == number
        assert log.count("has ended") == 0
        writer.close()
        await log.until("has ended")
