"""Starts the web process on the first connection to a socket that it serves."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import sys

log = logging.getLogger(__name__)

RESTART_PAUSE_S = 1.0
"""Seconds to wait after a failure, doubled with each further one: a start costs 0.3 s of a core."""

RESTART_PAUSE_MAX_S = 10.0

STOP_S = 5.0
"""Seconds for the process to end; it gives running requests 2 s at most."""


class WebProcessStarter:
    """Waits for a connection to a listening socket, then lends the socket to a process that serves it.

    The daemon never imports the HTTP server: its import alone takes longer than most answers. The process
    accepts on the very same sockets, so that the first client is answered too; while there is no process,
    connections wait in a socket's queue. It ends with the daemon, and by itself after some time without
    requests.

    The process gets two more arguments after `argv`: the descriptor of a Unix socket, and the path of the
    daemon's socket. It receives the listening sockets through the Unix socket (SCM_RIGHTS), each with a byte
    without meaning. Its standard error is the daemon's.
    """

    def __init__(
        self,
        listener: socket.socket,
        daemon_socket: str,
        argv: tuple[str, ...] = (sys.executable, "-m", "foveal.dashboard.app"),
        *,
        restart_pause_s: float = RESTART_PAUSE_S,
    ) -> None:
        self._listeners = [listener]
        self._daemon_socket = daemon_socket
        self._argv = argv
        self._restart_pause_s = restart_pause_s
        self._arrived: asyncio.Event | None = None
        self._control: socket.socket | None = None

    def lend(self, listener: socket.socket) -> None:
        """Lend one more listening socket: to the running process, or when a client connects."""
        self._listeners.append(listener)
        if self._arrived is not None:
            asyncio.get_running_loop().add_reader(listener.fileno(), self._arrived.set)
        if self._control is not None:
            _send(self._control, listener)

    def replace(self, former: socket.socket, listener: socket.socket) -> None:
        """Replace a socket whose path was removed, and close it."""
        self._listeners.remove(former)
        if self._arrived is not None:
            asyncio.get_running_loop().remove_reader(former.fileno())
        former.close()
        self.lend(listener)

    async def run(self) -> None:
        """Start the process whenever it is needed, until cancelled: then end it."""
        loop = asyncio.get_running_loop()
        pause = self._restart_pause_s
        while True:
            await self._wait_connection()
            started = loop.time()
            failed = await self._serve_once()
            if not failed or loop.time() - started > RESTART_PAUSE_MAX_S:
                pause = self._restart_pause_s
            if not failed:
                log.info("the web process has ended; the next connection starts it again")
            else:
                log.error("the web process %s; a connection starts it again after %g s", failed, pause)
                await asyncio.sleep(pause)
                pause = min(pause * 2, RESTART_PAUSE_MAX_S)

    async def _wait_connection(self) -> None:
        loop = asyncio.get_running_loop()
        self._arrived = asyncio.Event()
        for listener in self._listeners:
            loop.add_reader(listener.fileno(), self._arrived.set)
        try:
            await self._arrived.wait()
        finally:
            self._arrived = None
            for listener in self._listeners:
                loop.remove_reader(listener.fileno())

    async def _serve_once(self) -> str:
        """Lend the sockets to a process until its end; return how it failed, or nothing."""
        ours, theirs = socket.socketpair()
        with ours:
            ours.setblocking(False)
            for listener in self._listeners:
                _send(ours, listener)
            self._control = ours
            try:
                return await self._run_process(theirs)
            finally:
                self._control = None

    async def _run_process(self, control: socket.socket) -> str:
        try:
            with control:
                process = await self._start(control.fileno())
        except OSError as error:
            return f"can't be started ({error})"
        log.info("the web process starts (pid %d)", process.pid)
        code = await _wait_end(process)
        return f"ended with code {code}" if code else ""

    async def _start(self, control: int) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *self._argv,
            str(control),
            self._daemon_socket,
            pass_fds=(control,),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            cwd="/",
            env={**os.environ, "PYTHONSAFEPATH": "1"},
        )


def _send(control: socket.socket, listener: socket.socket) -> None:
    """Lend a listening socket to the process at the other end."""
    # If the process is ending, the send fails; the next process gets all sockets.
    with contextlib.suppress(ConnectionError):
        socket.send_fds(control, [b"l"], [listener.fileno()])


async def _wait_end(process: asyncio.subprocess.Process) -> int:
    """Return the exit code of the process; when cancelled, end it."""
    try:
        return await process.wait()
    except BaseException:
        await _end(process)
        raise


async def _end(process: asyncio.subprocess.Process) -> None:
    """Ask the process to end, and kill it if it doesn't."""
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    try:
        async with asyncio.timeout(STOP_S):
            await process.wait()
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
