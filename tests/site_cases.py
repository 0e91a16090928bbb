"""The dashboard's application over a real daemon, asked by aiohttp's own client. Import `pages`, a fixture."""

from __future__ import annotations

from typing import Any

import pytest
from aiohttp import ClientSession, UnixConnector, web
from aiohttp.test_utils import TestClient, unused_port
from foveal.dashboard.site import make_site
from foveal.ipc.paths import http_socket

from tests.conftest import DaemonProcess

Pages = TestClient[web.Request, web.Application]


@pytest.fixture
async def pages(shared_daemon: DaemonProcess, aiohttp_server: Any, aiohttp_client: Any) -> Pages:
    """Give a client that is signed in by the bearer token; the daemon is the file's own."""
    token = shared_daemon.call("OpenDashboard", login=False)["token"]
    site = make_site(shared_daemon.socket, port := unused_port())
    server = await aiohttp_server(site, port=port, max_line_size=1 << 18)  # `app.py` reads a browser's lines
    client: Pages = await aiohttp_client(server, headers={"Authorization": f"Bearer {token}"})
    return client


def over_socket(socket: str) -> ClientSession:
    """Return a client of the HTTP socket beside a daemon's, which is another process: pytest-aiohttp's client
    reaches only a server of the test's own, over TCP."""
    return ClientSession("http://d", connector=UnixConnector(http_socket(socket), force_close=True, limit=0))


async def read(client: Pages, address: str) -> str:
    """Return the text of a page that must be there."""
    async with client.get(address) as reply:
        text = await reply.text()
        assert reply.status == 200, text
        return text
