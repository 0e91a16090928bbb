"""The HTTP face gives a connection to MCP or LSP to whom asks as the pump does, and lives as long as that."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from foveal.ipc.paths import http_socket

from tests.app.test_web_process import FACES, starting
from tests.app.test_web_process import daemon as serving
from tests.conftest import DEADLINE_S, DaemonProcess
from tests.mcp_cases import request

UPGRADE = "Connection: Upgrade\r\nUpgrade: foveal-mcp\r\n"
LSP = "Connection: Upgrade\r\nUpgrade: foveal-lsp\r\n"

INITIALIZE: dict[str, object] = {"processId": None, "rootUri": None, "capabilities": {}}


def frame(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def framed(number: int, method: str) -> bytes:
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": INITIALIZE}
    return frame(json.dumps(message).encode())


async def line_of(reader: asyncio.StreamReader) -> bytes:
    return await reader.readline()


async def body_of(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    return await reader.readexactly(int(head.split()[1]))


@contextmanager
def asked(daemon: DaemonProcess, path: str, headers: str) -> Iterator[socket.socket]:
    """Connect and ask for a path."""
    daemon.call("Ping")
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(DEADLINE_S)
        connection.connect(http_socket(daemon.socket))
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: d\r\n{headers}\r\n".encode())
        yield connection


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/mcp?cwd=/&session=s", "", 501),
        ("/mcp?cwd=/&session=s", "Connection: Upgrade\r\nUpgrade: websocket\r\n", 501),
        ("/mcp?cwd=/&session=s", f"{UPGRADE}Origin: http://localhost\r\n", 403),
        ("/mcp?cwd=here&session=s", UPGRADE, 400),
        ("/mcp?session=s", UPGRADE, 400),
        ("/mcp?cwd=/&session=", UPGRADE, 400),
        ("/lsp?cwd=/", "", 501),
        ("/lsp?cwd=/", UPGRADE, 501),
        ("/lsp?cwd=/", f"{LSP}Origin: http://localhost\r\n", 403),
        ("/lsp?cwd=here", LSP, 400),
        ("/lsp", LSP, 400),
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
def test_no_lsp_connection_ends_the_process_or_others(
    shared_daemon: DaemonProcess, shop: Path, data: bytes
) -> None:
    path = f"/lsp?cwd={shop}"
    with (
        asked(shared_daemon, path, LSP) as good,
        asked(shared_daemon, path, LSP) as bad,
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
        good.sendall(framed(1, "initialize"))
        size = int(stream.readline().split()[1])
        while stream.readline() != b"\r\n":
            pass
        assert json.loads(stream.read(size))["result"]["serverInfo"]["name"] == "foveal"


@pytest.mark.parametrize("protocol", ["mcp", "lsp"])
async def test_the_process_is_not_idle_while_a_pump_is_connected(
    tmp_path_factory: pytest.TempPathFactory, protocol: str
) -> None:
    idle_s, path = 0.05, str(tmp_path_factory.mktemp("d") / "foveal.sock")
    upgrade, read = {"mcp": (UPGRADE, line_of), "lsp": (LSP, body_of)}[protocol]
    async with serving(path), starting(path, (*FACES, "--idle-s", str(idle_s))) as log:
        reader, writer = await asyncio.open_unix_connection(http_socket(path), limit=1 << 20)
        writer.write(f"GET /{protocol}?cwd=/&session=s HTTP/1.1\r\nHost: d\r\n{upgrade}\r\n".encode())
        await reader.readuntil(b"\r\n\r\n")
        started, number = time.monotonic(), 0
        while time.monotonic() - started < 6 * idle_s or number < 3:
            number += 1
            line = json.dumps(request(number, "prompts/list")).encode() + b"\n"
            method = "initialize" if number == 1 else "nope/nope"
            writer.write(line if protocol == "mcp" else framed(number, method))
            assert json.loads(await read(reader))["id"] == number
        assert log.count("has ended") == 0
        writer.close()
        await log.until("has ended")


@pytest.mark.parametrize("pump", ["mcp_pump", "editors.lsp_pump"])
def test_a_pump_imports_little(pump: str) -> None:
    heavy = "asyncio mcp pydantic pygls lsprotocol aiohttp msgpack click subprocess foveal.daemon"
    code = f"import sys, foveal.hooks.{pump}; print(set({heavy.split()}) & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
