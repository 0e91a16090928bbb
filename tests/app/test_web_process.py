"""The daemon starts the web process on the first connection, again after it ended, and ends it too."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import psutil
import pytest
from aiohttp import ClientSession, TCPConnector
from foveal.daemon.app.web_process import WebProcessStarter
from foveal.ipc.connection import Connection
from foveal.ipc.errors import RpcError
from foveal.ipc.listener import bind
from foveal.ipc.paths import http_socket
from foveal.ipc.server import Server

from tests.both_loops import on_both_loops
from tests.conftest import need_tool
from tests.site_cases import over_socket

FACES = (sys.executable, "-m", "foveal.dashboard.app")


class Log(logging.Handler):
    """What was logged, and a way to wait for it; used from the loop only. `starter` is who logs."""

    starter: WebProcessStarter

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._arrived = asyncio.Event()

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())
        self._arrived.set()

    def count(self, text: str) -> int:
        return sum(text in line for line in self.lines)

    async def until(self, text: str, count: int = 1) -> None:
        async with asyncio.timeout(60):
            while self.count(text) < count:
                self._arrived.clear()
                await self._arrived.wait()


@pytest.fixture
def path() -> Iterator[str]:
    """Give the path of a daemon's socket in a private folder; the HTTP socket lies beside it."""
    folder = tempfile.mkdtemp(prefix="fv-", dir="/tmp")
    yield f"{folder}/foveal.sock"
    shutil.rmtree(folder)


@pytest.fixture
def curl() -> str:
    """Give curl's path."""
    return need_tool("curl")


@asynccontextmanager
async def daemon(path: str) -> AsyncIterator[Server]:
    """Run a daemon that answers Ping."""

    def handle(connection: Connection, method: str, params: dict[str, Any]) -> Any:
        if method == "Ping":
            return {"pid": os.getpid(), "params": params}
        raise RpcError("unknown_method", f"there is no method {method!r}")

    async with Server(handle, lambda error: None, lambda error, method: None) as server:
        server.start(bind(path))
        yield server


@asynccontextmanager
async def starting(path: str, argv: tuple[str, ...] = FACES, **options: Any) -> AsyncIterator[Log]:
    """Run the starter on a new HTTP socket; at the end no process may be left."""
    log = Log()
    others = psutil.Process().children()  # of tests before, such as what tracks shared memory
    logger = logging.getLogger("foveal.daemon.app.web_process")
    logger.addHandler(log)
    logger.setLevel(logging.INFO)
    with bind(http_socket(path)) as listener:
        listener.listen(128)
        log.starter = WebProcessStarter(listener, path, argv, **options)
        task = asyncio.create_task(log.starter.run())
        try:
            yield log
        finally:
            task.cancel()
            async with asyncio.timeout(60):
                await asyncio.wait([task])
            logger.removeHandler(log)
            logger.setLevel(logging.NOTSET)
    assert task.cancelled()
    assert [child for child in psutil.Process().children() if child not in others] == []


async def ask(path: str) -> Any:
    async with asyncio.timeout(60), over_socket(path) as http, http.get("/rpc/Ping?a=b") as reply:
        assert reply.status == 200
        return await reply.json()


def knock(path: str) -> None:
    """Connect and go away: somebody who didn't wait."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(http_socket(path))


@on_both_loops
async def test_the_first_connection_starts_it_once(path: str) -> None:
    async with daemon(path), starting(path) as log:
        assert log.lines == []
        replies = await asyncio.gather(*[ask(path) for _ in range(10)])
        assert replies == [{"pid": os.getpid(), "params": {"a": "b"}}] * 10
        assert log.count("starts (pid") == 1
        assert len(log.lines) == 1


async def refusal(listener: socket.socket) -> str:
    """Ask on a TCP socket of the child process as nobody; return what the dashboard says to that."""
    host, port = listener.getsockname()
    async with (
        asyncio.timeout(60),
        ClientSession(connector=TCPConnector(force_close=True)) as http,
        http.get(f"http://{host}:{port}/") as reply,
    ):
        assert reply.status == 401
        return str((await reply.json())["message"])


@on_both_loops
async def test_a_tcp_socket_is_lent_to_the_process_that_runs_and_to_the_next(path: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as tcp:
        async with daemon(path), starting(path, (*FACES, "--idle-s", "0.05")) as log:
            knock(path)
            await log.until("starts (pid")
            log.starter.lend(tcp)
            for rounds in (1, 2):
                assert "foveal dashboard" in await refusal(tcp)
                assert (await ask(path))["pid"] == os.getpid()
                await log.until("has ended", rounds)


@on_both_loops
async def test_a_process_that_fails_is_logged_and_started_again(path: str) -> None:
    marker = f"{os.path.dirname(path)}/failed"
    script = f"""
        if [ -e {marker} ]; then exec "$@"; fi
        touch {marker}; exit 3
    """
    argv = ("/bin/sh", "-c", script, "sh", *FACES)
    async with daemon(path), starting(path, argv, restart_pause_s=0) as log:
        assert (await ask(path))["pid"] == os.getpid()
        assert log.count("ended with code 3") == 1
        assert log.count("starts (pid") == 2


@on_both_loops
async def test_a_process_that_cannot_be_started_harms_nothing(path: str) -> None:
    async with daemon(path), starting(path, (f"{path}/missing",), restart_pause_s=0) as log:
        knock(path)
        await log.until("can't be started", 3)
        assert log.count("starts (pid") == 0


@on_both_loops
async def test_a_process_that_does_not_end_is_killed(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foveal.daemon.app.web_process.STOP_S", 0.2)
    argv = ("/bin/sh", "-c", "trap '' TERM; while :; do :; done", "sh")
    async with daemon(path), starting(path, argv) as log:
        knock(path)
        await log.until("starts (pid")
