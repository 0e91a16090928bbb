"""Connections of nobody known to the dashboard's port stop no one: real sockets, the real process, low limits."""

from __future__ import annotations

import asyncio
import resource
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack

import psutil
import pytest
from aiohttp import ClientSession, UnixConnector
from foveal.dashboard.strangers import STRANGERS_MAX, Strangers
from foveal.ipc.listener import raise_file_limit

from tests.conftest import DEADLINE_S, DaemonProcess

FILES = 1_024
"""Maximum descriptors of the serving process here, which silent connections must not use up."""

SILENT = 3_000
"""Silent connections, of which the test's own limit must admit as many."""

AT_ONCE = 100


def serving(daemon: DaemonProcess) -> psutil.Process:
    """Return the process that serves HTTP."""
    children = psutil.Process(daemon.pid).children(recursive=True)
    [found] = [child for child in children if "foveal.dashboard.app" in child.cmdline()]
    return found


@pytest.fixture
def descriptors() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    raise_file_limit()
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < SILENT + 500:
        pytest.skip(f"this machine admits no {SILENT:,} connections of one process")
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of another process is set on Linux only")
async def test_silent_connections_stop_no_request(shared_daemon: DaemonProcess, descriptors: None) -> None:
    opened = shared_daemon.call("OpenDashboard", login=False)
    address, sign = opened["address"], {"Authorization": f"Bearer {opened['token']}"}
    port = int(address.rstrip("/").rpartition(":")[2])
    unix = UnixConnector(shared_daemon.socket.replace("foveal.sock", "foveal-http.sock"), force_close=True)

    async def ask(client: ClientSession, url: str) -> None:
        async with client.get(url) as reply:
            assert reply.status == 200

    async with (
        ClientSession(headers=sign) as before,
        ClientSession(headers=sign) as after,
        ClientSession(connector=unix) as programs,
        asyncio.timeout(DEADLINE_S),
    ):
        await ask(before, address)
        process = serving(shared_daemon)
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (FILES, FILES))
        with ExitStack() as held:
            for number in range(SILENT):
                stranger = held.enter_context(socket.socket())
                stranger.setblocking(False)
                await asyncio.get_running_loop().sock_connect(stranger, ("127.0.0.1", port))
                if number % 2:
                    stranger.send(b"GET / HTT")  # and never the rest
                if number % AT_ONCE == 0:  # while more come
                    await ask(before, address)
            await ask(before, f"{address}static/foveal.css")
            await ask(after, address)
            await ask(programs, "http://d/")
            assert process.num_fds() < STRANGERS_MAX + 100
    assert "no connection can be accepted" not in shared_daemon.log()


async def test_who_never_signs_in_is_closed_in_time() -> None:
    """The oldest goes first, for a new one or by time; who was forgotten stays."""
    closed: list[str] = []
    strangers = Strangers(2, 0.01)
    for name in ("first", "user", "third"):
        strangers.bound(name, lambda name=name: closed.append(name))  # type: ignore[misc]  # a default binds it
        if name == "user":
            strangers.forget("user")
    strangers.bound("fourth", lambda: closed.append("fourth"))
    assert closed == ["first"]
    async with asyncio.timeout(DEADLINE_S):
        while strangers:  # noqa: ASYNC110 - the loop's own timer closes them
            await asyncio.sleep(0)
    assert closed == ["first", "third", "fourth"]
