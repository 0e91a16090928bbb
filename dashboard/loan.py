"""Owns how the faces process gets the sockets that the daemon lends it, and hears of the daemon's end."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator

LISTENERS_MAX = 4
"""Descriptors that one message may hold; the daemon sends one at a time."""


async def lent_listeners(control: socket.socket) -> AsyncGenerator[socket.socket, None]:
    """Yield each listening socket that comes through `control`, a Unix socket, until its other end is closed.

    Each comes as a descriptor (SCM_RIGHTS) with a byte that means nothing; what it is for, its family says.
    They are the caller's to close.
    """
    control.setblocking(False)
    loop = asyncio.get_running_loop()
    arrived = asyncio.Event()
    loop.add_reader(control.fileno(), arrived.set)
    try:
        while True:
            try:
                data, descriptors, _, _ = socket.recv_fds(control, 1, LISTENERS_MAX)
            except BlockingIOError:
                arrived.clear()
                await arrived.wait()
                continue
            except ConnectionResetError:  # the daemon was killed with something of ours unread
                return
            for descriptor in descriptors:
                listener = socket.socket(fileno=descriptor)
                listener.set_inheritable(False)
                yield listener
            if not data:
                return
    finally:
        loop.remove_reader(control.fileno())
