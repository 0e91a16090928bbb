"""The web process, which alone runs an HTTP server; it reaches the daemon through its socket only.

`python -m foveal.dashboard.app [--idle-s N] CONTROL SOCKET`: the descriptor of a Unix socket through which
the daemon lends listening sockets and which ends with it, and the path of the daemon's own socket. The HTTP
socket is lent at once; the dashboard's TCP socket with it, or later when somebody opens the dashboard.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import os
import signal
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence

from aiohttp import web

from ..hooks.http import HttpFace
from ..hooks.upgrade import lsp_face, mcp_face
from ..ipc.listener import raise_file_limit, read_peer_uid

log = logging.getLogger(__name__)

IDLE_S = 15 * 60.0
"""Seconds without a request until the process ends, which frees 40 MB; a start takes 0.3 s."""

LINE_BYTES = 192 * 1024
"""Maximum bytes of an address and of a header. The longest search is shorter: a question, a place, a
project's root and a language, where a letter may take nine bytes."""

KEEPALIVE_S = 75.0
"""Maximum seconds between two requests of a connection: an open connection keeps the process alive."""

SHUTDOWN_S = 1.0
"""Seconds for running requests to end, and as many again to be cancelled."""

DRAIN_S = 0.05
"""Seconds for a connection that was accepted in the last moment to send its request."""


class WebProcess:
    """Serves applications on listening sockets of the daemon: `run` until `stop`, or until it is idle."""

    def __init__(self, *, idle_s: float = IDLE_S, is_busy: Callable[[], bool] = lambda: False) -> None:
        self._idle_s = idle_s
        self._is_busy = is_busy
        self._last = 0.0
        self._preparing = 0
        self._runners: list[web.AppRunner] = []
        self._stopping = asyncio.Event()

    async def add(self, application: web.Application, listener: socket.socket) -> None:
        """Serve an application too; the listening socket stays the caller's, and with it what waits there."""
        application.middlewares.insert(0, self._note_request)
        if listener.family == socket.AF_UNIX:
            application.middlewares.insert(0, _only_own)
        runner = web.AppRunner(
            application,
            access_log=None,
            shutdown_timeout=SHUTDOWN_S,
            handler_cancellation=True,  # a client that disconnects ends its request or stream at once
            keepalive_timeout=KEEPALIVE_S,
            max_line_size=LINE_BYTES,
            max_field_size=LINE_BYTES,
        )
        self._runners.append(runner)
        await runner.setup()
        if not self._stopping.is_set():
            self._note_activity()
            await web.SockSite(runner, listener.dup()).start()

    @contextlib.contextmanager
    def preparing(self) -> Iterator[None]:
        """Count as busy while an application is made, which may take longer than the idle time."""
        self._preparing += 1
        try:
            yield
        finally:
            self._preparing -= 1

    async def run(self) -> None:
        """Serve until `stop`, then let running requests end."""
        self._note_activity()
        idle = asyncio.create_task(self._stop_when_idle())
        try:
            await self._stopping.wait()
        finally:
            self.stop()
            idle.cancel()
            for site in [site for runner in self._runners for site in runner.sites]:
                await site.stop()
            await asyncio.sleep(DRAIN_S)
            await asyncio.gather(*[runner.cleanup() for runner in self._runners])

    def stop(self) -> None:
        """Accept nothing more and make `run` end; a second time changes nothing."""
        self._stopping.set()

    @web.middleware
    async def _note_request(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        self._note_activity()
        try:
            return await handler(request)
        finally:
            self._note_activity()

    def _note_activity(self) -> None:
        self._last = asyncio.get_running_loop().time()

    async def _stop_when_idle(self) -> None:
        """Stop after the idle time, but never while a connection is open: its request may be on its way."""
        while (left := self._idle_left_s()) > 0:  # noqa: ASYNC110 - it is the time that is waited for
            await asyncio.sleep(left)
        self.stop()

    def _idle_left_s(self) -> float:
        if (
            self._preparing
            or self._is_busy()
            or any(runner.server and runner.server.connections for runner in self._runners)
        ):
            return self._idle_s
        return self._last + self._idle_s - asyncio.get_running_loop().time()


@web.middleware
async def _only_own(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Hang up on another user, whatever the mode of the socket: root may connect to each."""
    transport = request.transport
    try:
        own = transport is not None and read_peer_uid(transport.get_extra_info("socket")) == os.geteuid()
    except OSError:
        own = False  # the peer is already gone
    if not own:
        if transport is not None:
            transport.abort()
        raise web.HTTPForbidden
    return await handler(request)


async def serve(control: socket.socket, daemon_socket: str, idle_s: float = IDLE_S) -> None:
    """Serve HTTP, MCP and LSP until the daemon ends, SIGTERM or SIGINT comes, or no request comes for
    `idle_s`."""
    application = HttpFace(daemon_socket).application()
    mcp, lsp = mcp_face(daemon_socket), lsp_face(daemon_socket)
    mcp.add_to(application)
    lsp.add_to(application)
    web_process = WebProcess(idle_s=idle_s, is_busy=lambda: mcp.connections + lsp.connections > 0)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, web_process.stop)
    async with asyncio.TaskGroup() as tasks:
        taking = tasks.create_task(_take(control, web_process, application, daemon_socket))
        await web_process.run()
        taking.cancel()


async def _take(
    control: socket.socket, web_process: WebProcess, application: web.Application, daemon_socket: str
) -> None:
    """Serve each listening socket that the daemon sends, and stop with the daemon."""
    async with contextlib.aclosing(lent_listeners(control)) as listeners:
        async for listener in listeners:
            with listener, web_process.preparing():
                is_own = listener.family == socket.AF_UNIX
                served = application if is_own else await _site(daemon_socket, listener.getsockname()[1])
                if served is not None:
                    await web_process.add(served, listener)
    web_process.stop()


async def _site(daemon_socket: str, port: int) -> web.Application | None:
    """Return the dashboard, or None with a log message if it can't be made: the others go on without it."""

    def make() -> web.Application:
        from .site import make_site  # in a thread and only now: its import takes longer than most answers

        return make_site(daemon_socket, port)

    try:
        return await asyncio.to_thread(make)
    except Exception:
        log.exception("the dashboard can't be served")
        return None


LISTENERS_MAX = 4
"""Maximum descriptors in a message; the daemon sends one at a time."""


async def lent_listeners(control: socket.socket) -> AsyncGenerator[socket.socket, None]:
    """Yield the listening sockets that come through the Unix socket `control`, until its other end is
    closed. Each comes as a descriptor (SCM_RIGHTS) with a meaningless byte; its family says what it is
    for. The caller closes them."""
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


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the process; its log goes to standard error, which the daemon logs."""
    options = _parse(arguments)
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s  %(message)s")
    os.set_inheritable(options.control, False)
    raise_file_limit()
    with socket.socket(fileno=options.control) as control:
        asyncio.run(serve(control, options.socket, options.idle_s))


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="foveal.dashboard.app", description="The daemon's HTTP face.")
    parser.add_argument("control", type=int, help="descriptor of a Unix socket that sockets are lent through")
    parser.add_argument("socket", help="path of the daemon's socket")
    parser.add_argument(
        "--idle-s", type=float, default=IDLE_S, help="seconds without a request until it ends"
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
