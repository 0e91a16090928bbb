"""Listening sockets come through a Unix socket, one by one, until its other end is closed."""

from __future__ import annotations

import asyncio
import os
import socket

from foveal.dashboard.app import lent_listeners


def lend(control: socket.socket, listener: socket.socket) -> None:
    socket.send_fds(control, [b"l"], [listener.fileno()])


async def test_each_is_the_same_socket_and_the_end_is_noticed() -> None:
    ours, theirs = socket.socketpair()
    with theirs, socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as two:
        found = []

        async def take() -> None:
            async for listener in lent_listeners(theirs):
                found.append(listener.getsockname())
                assert not os.get_inheritable(listener.fileno())
                listener.close()

        lend(ours, one)
        lend(ours, two)
        taking = asyncio.create_task(take())
        async with asyncio.timeout(20):
            while len(found) < 2:  # noqa: ASYNC110 - what is waited for is in the loop
                await asyncio.sleep(0)
            lend(ours, one)
            ours.close()
            await taking
        assert found == [one.getsockname(), two.getsockname(), one.getsockname()]


async def test_an_end_that_was_cut_off_is_one_too() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        theirs.send(b"unread")
        ours.close()
        assert [listener async for listener in lent_listeners(theirs)] == []
