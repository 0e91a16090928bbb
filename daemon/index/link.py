"""Owns the daemon's end of the indexer process: it starts it, talks to it, and starts it again.

The only place that knows that the indexer is another process.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import os
import pickle
import socket
import sys
from collections.abc import Awaitable, Callable

from ..errors import FovealError, IndexerDied
from .messages import LENGTH, Command, Envelope, Event, Refreshed, Reply, Stop

log = logging.getLogger(__name__)

BACKOFF_S = (0.1, 0.5, 2.0, 10.0)
"""Pauses before the first, second, … restart in a row; the last one repeats. A process that lived a minute
starts the row anew."""

SETTLED_S = 60.0

StartedCallback = Callable[[], Awaitable[None]]


class IndexerLink:
    """A connection to the indexer process. Used from the event loop only.

    `on_event` is called for each event in order; `on_started` after each start (the first included), to
    open the projects again; `on_died` when the process ended without being asked to.
    """

    def __init__(
        self,
        on_event: Callable[[Event], None],
        on_started: StartedCallback,
        on_died: Callable[[], None],
        argv: tuple[str, ...] = (sys.executable, "-m", "foveal.daemon.index.worker"),
    ) -> None:
        self._on_event = on_event
        self._on_started = on_started
        self._on_died = on_died
        self._argv = argv
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Refreshed | None]] = {}
        self._writer: asyncio.StreamWriter | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._stopping = asyncio.Event()

    @property
    def pid(self) -> int | None:
        """The process id, or None while none runs."""
        return None if self._process is None else self._process.pid

    async def run(self) -> None:
        """Keep an indexer running until `stop`, or until the task is cancelled (then it is killed)."""
        failures = 0
        while not self._stopping.is_set():
            started = asyncio.get_running_loop().time()
            reason = "ended by itself"
            try:
                await self._run_once()
            except OSError as error:  # no memory, no processes or no descriptors are left
                reason = f"could not be started ({error})"
            finally:
                self._fail_waiting()
            if self._stopping.is_set():
                return
            self._on_died()
            if asyncio.get_running_loop().time() - started > SETTLED_S:
                failures = 0
            pause = BACKOFF_S[min(failures, len(BACKOFF_S) - 1)]
            failures += 1
            log.error("the indexer process %s; it is started again in %.1f s", reason, pause)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), pause)

    async def request(self, command: Command) -> Refreshed | None:
        """Send a command and wait for its reply. Raises `IndexerDied`, or `FovealError` with its message."""
        if self._writer is None:
            raise IndexerDied("the indexer process isn't running; it is being started")
        number = next(self._numbers)
        future: asyncio.Future[Refreshed | None] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        try:
            data = pickle.dumps(Envelope(number, command), protocol=pickle.HIGHEST_PROTOCOL)
            self._writer.write(LENGTH.pack(len(data)) + data)
            return await future
        finally:
            del self._waiting[number]

    async def stop(self, deadline_s: float) -> None:
        """Ask the process to end, and kill it after the deadline in seconds. `run` returns then."""
        self._stopping.set()
        process = self._process
        if process is None:
            return
        try:
            async with asyncio.timeout(deadline_s):
                with contextlib.suppress(FovealError):
                    await self.request(Stop())
                await process.wait()
        except TimeoutError:
            log.warning("the indexer didn't stop within %.1f s and was killed", deadline_s)
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def _run_once(self) -> None:
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                self._process = await asyncio.create_subprocess_exec(
                    *self._argv,
                    str(theirs.fileno()),
                    pass_fds=(theirs.fileno(),),
                    stdin=asyncio.subprocess.DEVNULL,
                    cwd="/",
                    env={**os.environ, "PYTHONSAFEPATH": "1"},
                )
            reader, self._writer = await asyncio.open_connection(sock=ours, limit=1 << 20)
        except BaseException:
            ours.close()
            raise
        process, writer = self._process, self._writer
        if self._stopping.is_set():  # `stop` saw no process yet
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        try:
            async with asyncio.TaskGroup() as tasks:
                starting = tasks.create_task(self._start())
                await self._receive(reader)
                starting.cancel()
        finally:
            self._writer = None
            writer.close()
            if process.returncode is None and not self._stopping.is_set():
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
            await process.wait()
            self._process = None
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _start(self) -> None:
        with contextlib.suppress(IndexerDied):  # `run` sees the same end and starts over
            await self._on_started()

    async def _receive(self, reader: asyncio.StreamReader) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionResetError):
            while True:
                (length,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
                message = pickle.loads(await reader.readexactly(length))  # noqa: S301 - from our own child
                if isinstance(message, Reply):
                    self._settle(message)
                else:
                    self._on_event(message)

    def _settle(self, reply: Reply) -> None:
        future = self._waiting.get(reply.number)
        if future is None or future.done():
            return  # whoever asked has given up
        if reply.error:
            future.set_exception(FovealError(reply.error))
        else:
            future.set_result(reply.value)

    def _fail_waiting(self) -> None:
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(IndexerDied("the indexer process ended before it answered"))
