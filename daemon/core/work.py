"""The daemon's tasks and threads: where work runs, how failures are reported, and how it ends."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import Callable, Coroutine, Hashable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from typing import Any, Generic, TypeVar

from msgspec import Struct

from .errors import Busy, FovealError

log = logging.getLogger(__name__)
K = TypeVar("K")
T = TypeVar("T")

CLIENT: ContextVar[Hashable] = ContextVar("client", default=None)
"""The client process whose request is running, None for the daemon's own work. Threads and the embedder
serve client processes in turns."""

BUILD_THREADS = 2
"""Threads for builds. They read files and SQLite, which release the interpreter; more threads would only
share two cores."""


class Work:
    """Runs tasks in the engine's task group, and blocking work in two pools of threads.

    Every method must be called on the event loop. Work is accepted between `begin` and `cancel`; `close` ends
    the threads.
    """

    def __init__(self) -> None:
        self._builders = ThreadPoolExecutor(BUILD_THREADS, thread_name_prefix="build")
        self._turns = FairGate(BUILD_THREADS)
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="write")
        self._tasks: asyncio.TaskGroup | None = None
        self._running: dict[asyncio.Future[Any], None] = {}
        self._closing = False

    def begin(self, tasks: asyncio.TaskGroup) -> None:
        """Run tasks in this group from now on."""
        self._tasks = tasks

    def cancel(self) -> None:
        """Cancel running tasks in the order in which they began, and accept no more."""
        self._closing = True
        for running in list(self._running):
            running.cancel()

    def close(self) -> None:
        """End the threads once running writes are finished. Blocks."""
        self._builders.shutdown(wait=True, cancel_futures=True)
        self._writer.shutdown(wait=True)

    def start(self, work: Coroutine[Any, Any, T], name: str) -> asyncio.Future[T]:
        """Run work that requests wait for. A failure is raised to them and doesn't end the group. Raises
        `Busy` when the daemon shuts down."""
        if self._tasks is None or self._closing:
            work.close()
            raise Busy("the daemon is shutting down; try again when it has been started anew")
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        task = self._tasks.create_task(_settle(work, future), name=name)
        task.add_done_callback(lambda _: _end_unbegun(work, future))
        future.add_done_callback(lambda done: task.cancel() if done.cancelled() else None)
        self._keep(future)
        return future

    def start_background(self, work: Coroutine[Any, Any, object], name: str) -> None:
        """Run work in the background: a failure is logged. No work is accepted once the daemon shuts down."""
        if self._tasks is None or self._closing:
            work.close()
            return
        task = self._tasks.create_task(_log_failure(work, name), name=name)
        task.add_done_callback(lambda _: work.close())  # needed if the task was cancelled before it began
        self._keep(task)

    async def in_builder(self, work: Callable[[], T]) -> T:
        """Run blocking work that reads, in one of the builder threads; client processes take turns."""
        async with self._turns:
            return await asyncio.get_running_loop().run_in_executor(self._builders, work)

    async def in_writer(self, work: Callable[[], T]) -> T:
        """Run blocking work that writes. There is one such thread, so writes keep their order."""
        return await asyncio.get_running_loop().run_in_executor(self._writer, work)

    def _keep(self, running: asyncio.Future[Any]) -> None:
        self._running[running] = None
        running.add_done_callback(self._running.pop)


class FairGate:
    """A semaphore that admits client processes in turns, each in its order: `async with gate`.

    On the event loop only. So a client with a thousand requests doesn't delay one with a single request.
    """

    def __init__(self, most: int) -> None:
        self._free = most
        self._waiting: OrderedDict[Hashable, deque[asyncio.Future[None]]] = OrderedDict()
        """Those who wait, by client process in the order of the turns."""

    async def __aenter__(self) -> None:
        if self._free:
            self._free -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(CLIENT.get(), deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # its turn had come at the same moment
                self._leave()
            raise

    async def __aexit__(self, *error: object) -> None:
        self._leave()

    def _leave(self) -> None:
        while self._waiting:
            client, turns = self._waiting.popitem(last=False)
            turn = turns.popleft()
            if turns:
                self._waiting[client] = turns
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1


class SharedWork(Generic[K, T]):
    """Work that concurrent requests for the same key share.

    A waiter that gives up doesn't affect the others, and all go on in the order in which they came.
    """

    def __init__(self, work: Work) -> None:
        self._work = work
        self._running: dict[K, asyncio.Future[T]] = {}

    def __contains__(self, key: K) -> bool:
        """Whether work under this key is running."""
        return key in self._running

    def running(self, key: K) -> asyncio.Future[T] | None:
        """Return the work under this key, None if none is running. It must not be cancelled."""
        return self._running.get(key)

    async def run(self, key: K, begin: Callable[[], Coroutine[Any, Any, T]], name: str) -> T:
        """Return the result of the work under this key, which is started unless it is running."""
        future = self._running.get(key)
        if future is None:
            future = self._work.start(begin(), name)
            self._running[key] = future
            future.add_done_callback(lambda _: self._running.pop(key, None))
        try:
            return await asyncio.shield(future)
        finally:
            del future  # else an error would keep this frame and itself alive until cycles are collected


async def _settle(work: Coroutine[Any, Any, T], future: asyncio.Future[T]) -> None:
    """Pass the result of the work to those who wait for it."""
    try:
        result = await work
    except asyncio.CancelledError:
        future.cancel()
        raise
    except Exception as error:  # noqa: BLE001 - it isn't handled here but raised where the future is awaited
        if not future.done():
            future.set_exception(error)
        del future  # it holds the error, which holds this frame
    else:
        if not future.done():
            future.set_result(result)


def _end_unbegun(work: Coroutine[Any, Any, object], future: asyncio.Future[Any]) -> None:
    """End work whose task was cancelled before it began: `_settle` never ran."""
    work.close()
    future.cancel()


async def _log_failure(work: Coroutine[Any, Any, object], name: str) -> None:
    try:
        await work
    except FovealError as error:
        # An expected error, for which nobody waits; the next request for the same work gets it too.
        log.info("%s: %s", name, error)
    except Exception:
        log.exception("%s failed", name)


class Deadline(Struct, frozen=True):
    """The time by which an answer is due, in seconds on the event loop's clock."""

    at: float

    def left(self, most: float) -> float:
        """Return the seconds left, at most `most` and at least 0."""
        return max(min(self.at - asyncio.get_running_loop().time(), most), 0)
