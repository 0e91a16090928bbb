"""The daemon's end of a child process: starts it, talks to it and restarts it.

The only module that knows that the indexer and the embedder are other processes.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import os
import pickle
import signal
import socket
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar, cast

from .errors import ChildDied, FovealError
from .pipe import DEBUG, LENGTH, Envelope, Heartbeat, Reply, Stop, encode
from .system import is_runnable, process_state

log = logging.getLogger(__name__)

BACKOFF_S = (0.1, 0.5, 2.0, 10.0)
"""Seconds before the first, second, … restart in a row; the last pause repeats. After a process that ran for
`SETTLED_S` the first pause is used again."""

SETTLED_S = 60.0

BEAT_S = 1.5
"""Seconds between two heartbeats."""

SILENT_BEATS = 3
"""Missed heartbeats in a row before a process that uses no processor time is replaced: at most 7.5 s after
it stopped."""

HUNG_BEATS = 80
"""Maximum heartbeats that a busy process misses in a row before it is replaced: 120 s. The indexer ends
itself earlier, by an alarm, if one file takes 30 s."""

StartedCallback = Callable[[], Awaitable[None]]


E = TypeVar("E")


class ChildProcess(Generic[E]):
    """A connection to a child process that runs a module of ours. Used from the event loop only.

    `name` is its name in messages. `on_event` is called for each event in order; `on_started` after each
    start (the first included), to tell the process what it serves; `on_died` with the reason when it ended
    without being asked to. A process that stops answering is killed. A `lazy` process starts with the first
    request; `rest` ends it until the next request.

    `on_started` uses `request_at_start`, and raises nothing but `ChildDied`. Other requests to a lazy process
    wait until `on_started` has returned, so that the process knows what it serves.
    """

    def __init__(
        self,
        name: str,
        argv: tuple[str, ...],
        on_event: Callable[[E], None],
        on_started: StartedCallback,
        on_died: Callable[[str], None],
        *,
        lazy: bool = False,
    ) -> None:
        self._name = name
        self._argv = argv
        self._on_event = on_event
        self._on_started = on_started
        self._on_died = on_died
        self._lazy = lazy
        self._answered = False
        """Whether the last heartbeat was answered."""
        self._killed = ""
        """Why the process was killed, in words."""
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._at_reply: dict[int, Callable[[], None]] = {}
        self._writer: asyncio.StreamWriter | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._stopping = asyncio.Event()
        self._wanted = asyncio.Event()
        self._ready = asyncio.Event()
        """Set once a lazy process has started and was told what it serves."""
        self._resting = False
        if not lazy:
            self._wanted.set()

    @property
    def pid(self) -> int | None:
        """The process id, or None while none runs."""
        return None if self._process is None else self._process.pid

    @property
    def is_ready(self) -> bool:
        """Whether a lazy process runs and was told what it serves."""
        return self._ready.is_set() and not self._stopping.is_set()

    @property
    def is_asked(self) -> bool:
        """Whether a request waits for its answer."""
        return bool(self._waiting)

    async def run(self) -> None:
        """Keep the process running until `stop`, or until the task is cancelled (then it is killed)."""
        failures = 0
        while await self._is_wanted():
            started = asyncio.get_running_loop().time()
            reason, self._killed = "ended by itself", ""
            try:
                await self._run_once()
            except OSError as error:  # no memory, no processes or no descriptors are left
                reason = f"could not be started ({error})"
            finally:
                self._fail_waiting()
            if self._stopping.is_set():
                return
            if self._resting:
                self._resting = False
                continue
            reason = self._killed or reason
            self._on_died(reason)
            if asyncio.get_running_loop().time() - started > SETTLED_S:
                failures = 0
            pause = BACKOFF_S[min(failures, len(BACKOFF_S) - 1)]
            failures += 1
            log.error("the %s process %s; it is started again in %.1f s", self._name, reason, pause)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), pause)

    async def request(self, command: object, at_reply: Callable[[], None] | None = None) -> Any:
        """Send a command and return the value of its reply.

        `at_reply` is called as soon as the reply arrives, in its order among the events; the awaiting caller
        resumes later. Raises `ChildDied`, or `FovealError` with the error message of the process. A lazy
        process is started first.
        """
        if self._lazy and not self._stopping.is_set():
            self._wanted.set()
            await self._ready.wait()
        return await self._ask(command, at_reply)

    def wake(self) -> None:
        """Start a lazy process, if none runs."""
        self._wanted.set()

    async def request_at_start(self, command: object) -> Any:
        """Send a command to a process that was just started, ahead of all others: for `on_started` only."""
        return await self._ask(command)

    async def rest(self, deadline_s: float) -> None:
        """End a lazy process until the next request; it is killed after the deadline in seconds."""
        if self._process is None or self._stopping.is_set():
            return
        self._wanted.clear()
        self._ready.clear()
        self._resting = True
        await self._end(self._process, deadline_s)

    async def stop(self, deadline_s: float) -> None:
        """Ask the process to end, and kill it after the deadline in seconds. `run` returns then."""
        self._stopping.set()
        self._wanted.set()
        self._ready.set()  # so that waiting requests fail instead of waiting for ever
        if self._process is not None:
            await self._end(self._process, deadline_s)

    async def _is_wanted(self) -> bool:
        await self._wanted.wait()
        return not self._stopping.is_set()

    async def _ask(self, command: object, at_reply: Callable[[], None] | None = None) -> Any:
        # The connection may be broken before `run` notices it; uvloop raises an error on a write then.
        if self._writer is None or self._writer.is_closing():
            raise ChildDied(f"the {self._name} process isn't running; it is being started")
        number = next(self._numbers)
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        if at_reply is not None:
            self._at_reply[number] = at_reply
        try:
            self._writer.write(encode(Envelope(number, command)))
            return await future
        finally:
            del self._waiting[number]
            self._at_reply.pop(number, None)

    async def _end(self, process: asyncio.subprocess.Process, deadline_s: float) -> None:
        try:
            async with asyncio.timeout(deadline_s):
                with contextlib.suppress(FovealError):
                    await self._ask(Stop())
                await process.wait()
        except TimeoutError:
            log.warning("the %s process didn't stop within %.1f s and was killed", self._name, deadline_s)
            _kill(process)
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
                    # Linux shares the processor between sessions first (sched_autogroup). In the daemon's own
                    # session the embedder would take the time that the daemon needs to answer.
                    start_new_session=True,
                )
            reader, self._writer = await asyncio.open_connection(sock=ours, limit=1 << 20)
        except BaseException:
            ours.close()
            raise
        process, writer = self._process, self._writer
        if self._stopping.is_set():  # `stop` saw no process yet
            _kill(process)
        try:
            async with asyncio.TaskGroup() as tasks:
                starting = tasks.create_task(self._start())
                watching = tasks.create_task(self._watch(process, writer))
                await self._receive(reader)
                starting.cancel()
                watching.cancel()
        finally:
            self._writer = None
            if not self._stopping.is_set():
                self._ready.clear()
            writer.close()
            if not self._stopping.is_set():
                _kill(process)
            ended = -(await process.wait())
            self._process = None
            if ended > 0 and not self._killed:
                self._killed = f"ended by itself ({_signal_name(ended)})"
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _start(self) -> None:
        with contextlib.suppress(ChildDied):  # `run` sees the same end and starts over
            await self._on_started()
            if not self._resting:
                self._ready.set()

    async def _watch(self, process: asyncio.subprocess.Process, writer: asyncio.StreamWriter) -> None:
        """Send heartbeats to the process, and kill it if it stops answering, unless somebody debugs it."""
        loop = asyncio.get_running_loop()
        unanswered, idle, used = 0, 0, None
        while True:
            if not unanswered:
                self._answered = False
                writer.write(encode(Heartbeat()))
            began = loop.time()
            await asyncio.sleep(BEAT_S)
            if not self._answered and loop.time() - began > 2 * BEAT_S:
                continue  # the daemon itself was stopped or got no processor time
            state = process_state(process.pid)
            if self._answered:
                unanswered, idle = 0, 0
            else:
                unanswered += 1
                is_idle = state is not None and used == state.ticks and not is_runnable(process.pid)
                idle = idle + 1 if is_idle else 0
            used = None if state is None else state.ticks
            if (idle >= SILENT_BEATS or unanswered >= HUNG_BEATS) and not os.environ.get(DEBUG):
                stopped = state is not None and state.stopped
                self._killed = f"was {'stopped' if stopped else 'silent'} for {unanswered * BEAT_S:.0f} s"
                _kill(process)  # also after a request to end, which a silent process doesn't read
                return

    async def _receive(self, reader: asyncio.StreamReader) -> None:
        # The end of the process ends the reading; a write to an ended process shows here as an error.
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                (length,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
                data = await reader.readexactly(length)
                try:
                    self._handle(pickle.loads(data))  # noqa: S301 - from our own child
                except Exception:
                    # Another version, installed since the daemon started, may send a message that this one
                    # can't read. Then only this child ends, not the daemon with its other children.
                    log.exception("a message of the %s process could not be read", self._name)
                    return

    def _handle(self, message: object) -> None:
        if isinstance(message, Reply):
            self._settle(message)
        elif isinstance(message, Heartbeat):
            self._answered = True
        else:
            self._on_event(cast("E", message))

    def _settle(self, reply: Reply) -> None:
        future = self._waiting.get(reply.number)
        if future is None or future.done():
            return  # the caller was cancelled
        if reply.error:
            future.set_exception(FovealError(reply.error))
        else:
            if reply.number in self._at_reply:
                self._at_reply[reply.number]()
            future.set_result(reply.value)

    def _fail_waiting(self) -> None:
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(ChildDied(f"the {self._name} process ended before it answered"))


def _kill(process: asyncio.subprocess.Process) -> None:
    """Kill a process unless it is known to have ended.

    `process.kill` would reap a process that has just ended, before asyncio does, and lose its exit status.
    """
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)


def _signal_name(number: int) -> str:
    """Return the name of a signal; most real-time signals have only a number."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
