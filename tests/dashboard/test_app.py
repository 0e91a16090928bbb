"""The web process: it serves lent sockets, loses no connection, and ends with the daemon, by signal or idle."""

from __future__ import annotations

import asyncio
import contextlib
import re
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import ClientSession, ServerDisconnectedError, web
from foveal.dashboard.app import IDLE_S, WebProcess
from foveal.hooks.http import HttpFace
from foveal.ipc.connection import Connection
from foveal.ipc.listener import bind
from foveal.ipc.paths import http_socket
from foveal.ipc.server import Server

from tests.dashboard_cases import eventually
from tests.site_cases import over_socket


@pytest.fixture
def path() -> Iterator[str]:
    """Give the path of a daemon's socket in a private folder; the HTTP socket lies beside it."""
    folder = tempfile.mkdtemp(prefix="fv-", dir="/tmp")
    yield f"{folder}/foveal.sock"
    shutil.rmtree(folder)


@pytest.fixture
def listener(path: str) -> Iterator[socket.socket]:
    """Give the HTTP socket as the daemon makes it."""
    with bind(http_socket(path)) as found:
        found.listen(128)
        yield found


@asynccontextmanager
async def daemon(path: str) -> AsyncIterator[Server]:
    """Run a daemon that echoes, or waits for ever."""

    def handle(connection: Connection, method: str, params: dict[str, Any]) -> Any:
        return asyncio.get_running_loop().create_future() if method == "Wait" else params

    async with Server(handle, lambda error: None, lambda error, method: None) as server:
        server.start(bind(path))
        yield server


@asynccontextmanager
async def running(faces: WebProcess) -> AsyncIterator[asyncio.Task[None]]:
    """Run in this process; at the end nothing of it may be left."""
    before = asyncio.all_tasks()
    task = asyncio.create_task(faces.run())
    try:
        yield task
    finally:
        faces.stop()
        async with asyncio.timeout(20):
            await task
    assert asyncio.all_tasks() <= before


async def facing(
    application: web.Application, listener: socket.socket, *, idle_s: float = IDLE_S
) -> WebProcess:
    """Return faces with one application on one socket."""
    faces = WebProcess(idle_s=idle_s)
    await faces.add(application, listener)
    return faces


async def hello(request: web.Request) -> web.Response:
    return web.Response(text="hello")


def application(handler: Callable[[web.Request], Awaitable[web.StreamResponse]] = hello) -> web.Application:
    found = web.Application()
    found.router.add_get("/", handler)
    return found


async def test_no_connection_is_lost_between_many_rounds(path: str, listener: socket.socket) -> None:
    rounds = 0
    enough = False

    async def serve() -> None:
        nonlocal rounds
        while not enough:
            await (await facing(application(), listener, idle_s=0.000_1)).run()
            rounds += 1

    async def ask(http: ClientSession) -> None:
        async with http.get("/") as reply:
            assert (reply.status, await reply.text()) == (200, "hello")

    async with asyncio.timeout(60), over_socket(path) as http:
        serving = asyncio.create_task(serve())
        asked = 0
        while rounds < 30:
            await asyncio.gather(*[ask(http) for _ in range(3)])
            asked += 1
            for _ in range(asked % 40):  # the next ones arrive at another moment of the idle time
                await asyncio.sleep(0)
        enough = True
        await serving


async def test_an_open_connection_keeps_it_alive(path: str, listener: socket.socket) -> None:
    faces = await facing(application(), listener, idle_s=0.001)
    reader, writer = await asyncio.open_unix_connection(http_socket(path))
    async with running(faces) as task:
        for _ in range(3):
            await asyncio.sleep(0.005)  # several times the idle time
            writer.write(b"GET / HTTP/1.1\r\nHost: d\r\n\r\n")
            assert (await reader.readuntil(b"hello")).startswith(b"HTTP/1.1 200 OK")
        assert not task.done()
        writer.close()
        await writer.wait_closed()
        async with asyncio.timeout(20):
            await asyncio.shield(task)


async def test_a_stream_frees_its_connection_when_its_reader_hangs_up(
    path: str, listener: socket.socket
) -> None:
    async with daemon(path) as server, running(await facing(HttpFace(path).application(), listener)):
        async with over_socket(path) as http, http.get("/events?topics=a") as stream:
            assert stream.status == 200
            assert server.statistics().connections == 1
        await eventually(lambda: server.statistics().connections == 0)


class Child:
    """The real process with the socket that it is lent others through, started as the daemon starts it."""

    def __init__(self, process: asyncio.subprocess.Process, control: socket.socket) -> None:
        self.process = process
        self.control = control

    def lend(self, listener: socket.socket) -> None:
        socket.send_fds(self.control, [b"l"], [listener.fileno()])

    async def end(self) -> tuple[int, str]:
        async with asyncio.timeout(60):
            _, output = await self.process.communicate()
        assert self.process.returncode is not None
        # The mode for developers also tells of slow callbacks, which a busy machine has.
        lines = [line for line in output.decode().splitlines() if not SLOW.fullmatch(line)]
        return self.process.returncode, "\n".join(lines)


SLOW = re.compile(r"WARNING asyncio  Executing .* took \d+\.\d+ seconds")


@asynccontextmanager
async def child(path: str, listener: socket.socket, *options: str) -> AsyncIterator[Child]:
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-X", "dev", "-W", "error", "-m", "foveal.dashboard.app"),
                *(*options, str(theirs.fileno()), path),
                pass_fds=(theirs.fileno(),),
                stderr=asyncio.subprocess.PIPE,
            )
        found = Child(process, ours)
        found.lend(listener)
        try:
            yield found
        finally:
            if process.returncode is None:
                process.kill()
                await process.communicate()


async def check_end(
    path: str, listener: socket.socket, end: Callable[[Child, Server], Awaitable[None]]
) -> int:
    """End the process while a stream, a request and an idle connection are open; return the request's status.

    It ends in good order, the stream too. A request that has no status was cut off: then it is 0.
    """
    async with daemon(path) as server, child(path, listener) as faces, over_socket(path) as http:
        idle, writer = await asyncio.open_unix_connection(http_socket(path))
        async with http.get("/events?topics=a") as stream:
            async with http.post("/rpc/Echo", json={"a": 1}) as reply:
                assert await reply.json() == {"a": 1}
            waiting = asyncio.ensure_future(http.post("/rpc/Wait"))
            await eventually(lambda: server.statistics().in_flight == 1)
            await end(faces, server)
            assert (await stream.content.read()).strip(b":\n") == b""
        assert await faces.end() == (0, "")
        assert await idle.read() == b""
        writer.close()
        try:
            return (await waiting).status
        except ServerDisconnectedError:
            return 0


async def test_it_ends_with_the_daemon(path: str, listener: socket.socket) -> None:
    async def end(faces: Child, server: Server) -> None:
        faces.control.close()
        await server.shutdown(0)

    assert await check_end(path, listener, end) == 503  # the daemon's last answer still arrives


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_it_ends_on_a_signal(path: str, listener: socket.socket, number: signal.Signals) -> None:
    async def end(faces: Child, server: Server) -> None:
        faces.process.send_signal(number)

    assert await check_end(path, listener, end) == 0


async def test_it_ends_when_nobody_asks(path: str, listener: socket.socket) -> None:
    async with daemon(path), child(path, listener, "--idle-s", "0.05") as faces, over_socket(path) as http:
        async with http.get("/rpc/Ping") as reply:
            assert reply.status == 200
        assert await faces.end() == (0, "")


async def test_the_dashboards_port_is_free_when_the_daemon_has_ended(
    path: str, listener: socket.socket
) -> None:
    tcp = socket.create_server(("127.0.0.1", 0))
    address = tcp.getsockname()
    async with daemon(path) as server, child(path, listener) as faces, over_socket(path) as http:
        faces.lend(tcp)
        tcp.close()
        held = await asyncio.open_connection(*address)
        held[1].write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert (await held[0].readline()).startswith(b"HTTP/1.1 403")
        waiting = asyncio.ensure_future(http.post("/rpc/Wait"))  # the process gives it time to end in
        await eventually(lambda: server.statistics().in_flight == 1)
        faces.control.close()
        assert await held[0].read()
        with socket.create_server(address):
            assert faces.process.returncode is None
        held[1].close()
        assert (await faces.end())[0] == 0  # what asyncio's debug mode says of a slow machine is no matter
        with contextlib.suppress(ServerDisconnectedError):
            await waiting
