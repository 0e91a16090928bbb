"""The HTTP face gives a connection to MCP to whom asks as the pump does, and lives as long as that."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from foveal.ipc.paths import http_socket

from tests.app.test_faces import FACES, starting
from tests.app.test_faces import daemon as serving
from tests.conftest import DEADLINE_S, DaemonProcess
from tests.mcp_cases import request

UPGRADE = "Connection: Upgrade\r\nUpgrade: foveal-mcp\r\n"


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
    ],
)
def test_refusals(shared_daemon: DaemonProcess, path: str, headers: str, status: int) -> None:
    with asked(shared_daemon, path, headers) as connection:
        assert connection.recv(65536).startswith(f"HTTP/1.1 {status} ".encode())


def test_it_speaks_from_the_first_byte_behind_the_head(shared_daemon: DaemonProcess, shop: Path) -> None:
    with (
        asked(shared_daemon, f"/mcp?cwd={shop}&session=s", UPGRADE) as connection,
        connection.makefile("rb") as lines,
    ):
        assert lines.readline() == b"HTTP/1.1 101 Switching Protocols\r\n"
        while lines.readline() != b"\r\n":
            pass
        connection.sendall(json.dumps(request(1, "tools/list")).encode() + b"\n")
        assert len(json.loads(lines.readline())["result"]["tools"]) == 9
        connection.sendall(b'{"half a line')
        connection.shutdown(socket.SHUT_WR)
        assert lines.read() == b""


def test_others_are_served_after_one_that_hangs_up(shared_daemon: DaemonProcess, shop: Path) -> None:
    for _ in range(3):
        with asked(shared_daemon, f"/mcp?cwd={shop}&session=s", UPGRADE):
            pass
    with asked(shared_daemon, "/", "") as connection:
        assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")


async def test_the_process_is_not_idle_while_a_pump_is_connected(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    idle_s, path = 0.05, str(tmp_path_factory.mktemp("d") / "foveal.sock")
    async with serving(path), starting(path, (*FACES, "--idle-s", str(idle_s))) as log:
        reader, writer = await asyncio.open_unix_connection(http_socket(path), limit=1 << 20)
        writer.write(f"GET /mcp?cwd=/&session=s HTTP/1.1\r\nHost: d\r\n{UPGRADE}\r\n".encode())
        await reader.readuntil(b"\r\n\r\n")
        started, number = time.monotonic(), 0
        while time.monotonic() - started < 6 * idle_s or number < 3:
            number += 1
            writer.write(json.dumps(request(number, "prompts/list")).encode() + b"\n")
            assert json.loads(await reader.readline())["id"] == number
        assert log.count("has ended") == 0
        writer.close()
        await log.until("has ended")
