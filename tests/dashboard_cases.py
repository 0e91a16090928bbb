"""Fixtures for the dashboard's access control: a guarded site over the real guard, and raw requests."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from foveal.daemon.access.service import Dashboard
from foveal.daemon.api.daemon import DashboardMethods
from foveal.daemon.api.method import declarations, wire_map
from foveal.daemon.api.service import to_error
from foveal.daemon.config.settings import DashboardConfig
from foveal.daemon.core.parameters import read_request
from foveal.daemon.core.system import System
from foveal.ipc.connection import Connection
from foveal.ipc.listener import bind
from foveal.ipc.server import Server


class Clock(System):
    """A system whose clocks are set by hand; its files are real."""

    def __init__(self) -> None:
        self.passed = 0.0

    def now(self) -> datetime:
        return datetime(2030, 1, 1, tzinfo=UTC) + timedelta(seconds=self.passed)

    def monotonic(self) -> float:
        return self.passed


@dataclass
class Answer:
    """An answer of HTTP; `headers` has the last of each name, in lower case."""

    status: int
    headers: dict[str, str]
    body: str


@dataclass
class Site:
    """A port on loopback that requests are sent to, and what the daemon knows of it."""

    port: int
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def ask(
        self, method: str, target: str, headers: Mapping[str, str | None] | None = None, body: str = ""
    ) -> Answer:
        """Send a request as it is written here; a header of None is left out."""
        given = {"Host": self.host, **self.headers, **(headers or {})}
        lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {one}" for name, one in given.items() if one)]
        lines += ["Connection: close", f"Content-Length: {len(body)}", "", body]
        return await self.send("\r\n".join(lines))

    async def send(self, text: str) -> Answer:
        """Send bytes and read the answer to its end."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            async with asyncio.timeout(30):
                writer.write(text.encode())
                await writer.drain()
                head, _, rest = (await reader.read()).decode().partition("\r\n\r\n")
        finally:
            writer.close()
            await writer.wait_closed()
        status, *lines = head.split("\r\n")
        pairs = (line.split(": ", 1) for line in lines)
        return Answer(int(status.split()[1]), {name.lower(): value for name, value in pairs}, rest)

    def signed_in(self, cookie: str, **headers: str) -> Site:
        """Return the site as a browser with this cookie asks it."""
        return Site(self.port, {"Cookie": f"foveal_{self.port}={cookie}", **headers})


@asynccontextmanager
async def dashboard_daemon(
    path: str, state: Path, system: System, lend: Callable[[socket.socket], None] = lambda listener: None
) -> AsyncIterator[Dashboard]:
    """Run a daemon on `path` that has the dashboard's methods only, and subscribes to nothing."""
    dashboard = Dashboard(str(state), DashboardConfig(), lend, system)
    await dashboard.access.load()
    methods = DashboardMethods(dashboard)
    declared = {one.name: one for one in declarations(DashboardMethods)}

    async def handle(connection: Connection, method: str, params: dict[str, Any]) -> Any:
        called = declared[method]
        return wire_map(await called.function(methods, read_request(called.request, params)))

    async with Server(handle, to_error, lambda error, method: None) as server:
        server.start(bind(path))
        try:
            yield dashboard
        finally:
            dashboard.close()


async def eventually(condition: Callable[[], bool]) -> None:
    """Let the loop run until something becomes true."""
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 - the condition is a property of another task
            await asyncio.sleep(0)
