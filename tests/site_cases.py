"""The dashboard's application over a real daemon, asked by aiohttp's own client. Import `pages`, a fixture."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from aiohttp import ClientSession, web
from aiohttp.test_utils import TestClient, TestServer
from aiohttp.test_utils import unused_port as free_port
from foveal.dashboard.site import make_site

from tests.conftest import DaemonProcess

Pages = TestClient[web.Request, web.Application]


@pytest.fixture
async def pages(shared_daemon: DaemonProcess) -> AsyncIterator[Pages]:
    """Give a client that is signed in by the bearer token; the daemon is the file's own."""
    token = shared_daemon.call("OpenDashboard", login=False)["token"]
    port = free_port()
    server = TestServer(make_site(shared_daemon.socket, port), port=port)
    await server.start_server(max_line_size=1 << 18)  # who reads lines of a browser is `app.py`
    async with TestClient(server, headers={"Authorization": f"Bearer {token}"}) as client:
        yield client


async def read(client: TestClient[web.Request, web.Application] | ClientSession, address: str) -> str:
    """Return the text of a page that must be there."""
    async with client.get(address) as reply:
        text = await reply.text()
        assert reply.status == 200, text
        return text
