"""Owns the daemon's tasks and threads: who runs what, who hears of failures, how all of it ends."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Generic, TypeVar

from .errors import Busy, FovealError

log = logging.getLogger(__name__)
K = TypeVar("K")
T = TypeVar("T")

BUILD_THREADS = 2
"""Builds read files and SQLite, which give way to each other; more threads would only share two cores."""


class Work:
    """Tasks in the engine's group, and two pools of threads. Every method belongs on the event loop.

    Between `begin` and `cancel` work is taken on; `close` ends the threads.
    """

    def __init__(self) -> None:
        self._builders = ThreadPoolExecutor(BUILD_THREADS, thread_name_prefix="build")
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="write")
        self._tasks: asyncio.TaskGroup | None = None
        self._running: dict[asyncio.Future[Any], None] = {}
        self._closing = False

    def begin(self, tasks: asyncio.TaskGroup) -> None:
        """Run tasks in this group from now on."""
        self._tasks = tasks

    def cancel(self) -> None:
        """Cancel what runs, in the order in which it began, and begin nothing more."""
        self._closing = True
        for running in list(self._running):
            running.cancel()

    def close(self) -> None:
        """End the threads; what is being written is finished. Blocks."""
        self._builders.shutdown(wait=True, cancel_futures=True)
        self._writer.shutdown(wait=True)

    def start(self, work: Coroutine[Any, Any, T], name: str) -> asyncio.Future[T]:
        """Run work that requests wait for. If it fails, that is theirs to hear, and no end of the group.

        Raises `Busy` when the daemon shuts down.
        """
        if self._tasks is None or self._closing:
            work.close()
            raise Busy("the daemon is shutting down; try again when it has been started anew")
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        task = self._tasks.create_task(_settle(work, future), name=name)
        future.add_done_callback(lambda done: task.cancel() if done.cancelled() else None)
        self._keep(future)
        return future

    def start_unheard(self, work: Coroutine[Any, Any, object], name: str) -> None:
        """Run work that nobody waits for: a failure is logged. A daemon that shuts down begins none."""
        if self._tasks is None or self._closing:
            work.close()
            return
        self._keep(self._tasks.create_task(_log_failure(work, name), name=name))

    async def in_builder(self, work: Callable[[], T]) -> T:
        """Run blocking work that reads, in one of the builders' threads."""
        return await asyncio.get_running_loop().run_in_executor(self._builders, work)

    async def in_writer(self, work: Callable[[], T]) -> T:
        """Run blocking work that writes. One thread does, in the order in which it was asked to."""
        return await asyncio.get_running_loop().run_in_executor(self._writer, work)

    def _keep(self, running: asyncio.Future[Any]) -> None:
        self._running[running] = None
        running.add_done_callback(self._running.pop)


class SharedWork(Generic[K, T]):
    """Work that is done once for all who ask for the same at the same time.

    Who gives up takes nothing from the others, and all go on in the order in which they came.
    """

    def __init__(self, work: Work) -> None:
        self._work = work
        self._running: dict[K, asyncio.Future[T]] = {}

    def __contains__(self, key: K) -> bool:
        """Whether somebody has begun the work under this key, and it goes on."""
        return key in self._running

    async def run(self, key: K, begin: Callable[[], Coroutine[Any, Any, T]], name: str) -> T:
        """Return what becomes of the work under this key, which is begun if nobody has begun it."""
        future = self._running.get(key)
        if future is None:
            future = self._work.start(begin(), name)
            self._running[key] = future
            future.add_done_callback(lambda _: self._running.pop(key, None))
        return await asyncio.shield(future)


async def _settle(work: Coroutine[Any, Any, T], future: asyncio.Future[T]) -> None:
    """Hand what becomes of work to those who wait for it."""
    try:
        result = await work
    except asyncio.CancelledError:
        future.cancel()
        raise
    except Exception as error:  # noqa: BLE001 - it isn't handled here but raised where the future is awaited
        if not future.done():
            future.set_exception(error)
    else:
        if not future.done():
            future.set_result(result)


async def _log_failure(work: Coroutine[Any, Any, object], name: str) -> None:
    try:
        await work
    except FovealError as error:
        # Foreseen, and nobody waits for it: who asks for the same meets the same error.
        log.info("%s: %s", name, error)
    except Exception:
        log.exception("%s failed", name)
