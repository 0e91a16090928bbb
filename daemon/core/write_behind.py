"""Values that wait in memory to be written together a moment later, in a thread."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Generic, TypeVar

from .errors import StateError
from .work import Work

log = logging.getLogger(__name__)
T = TypeVar("T")

WRITE_S = 0.5
"""Seconds until a value is written; a killed daemon loses that much."""

RETRY_S = 2.0
"""Seconds after a failed write until the next attempt."""

WAITING_BYTES = 64 << 20
"""Maximum bytes of values that wait; above it the oldest are lost, and counted."""


class WriteBehind(Generic[T]):
    """A queue of values that are written in their order, each once. On the event loop only.

    `put` takes a microsecond and never raises. `write` gets the values in a thread and returns how many of
    them could not be kept; if it raises `StateError` they wait on, and `problem` says why, else they are
    lost. `prepare` runs before it on the event loop.
    """

    def __init__(
        self,
        work: Work,
        name: str,
        write: Callable[[Sequence[T]], int],
        prepare: Callable[[Sequence[T]], Awaitable[None]],
    ) -> None:
        self._work = work
        self._name = name
        self._write = write
        self._prepare = prepare
        self._waiting: deque[tuple[T, int]] = deque()
        self._bytes = 0
        self._writing = asyncio.Lock()
        self._timer: asyncio.TimerHandle | None = None
        self.problem = ""
        """Why values wait longer than usual, in words."""
        self.lost = 0
        """The number of values that were never written."""

    @property
    def latest(self) -> T | None:
        """The value that was put last, None if it isn't waiting any more."""
        return self._waiting[-1][0] if self._waiting else None

    def put(self, value: T, size: int) -> None:
        """Let a value of this many bytes be written soon."""
        self._waiting.append((value, size))
        self._bytes += size
        while self._bytes > WAITING_BYTES and len(self._waiting) > 1:
            self._bytes -= self._waiting.popleft()[1]
            self.lost += 1
        if self._timer is None:
            self._begin_in(WRITE_S)

    async def flush(self) -> None:
        """Write what waits now; what the disk refuses waits on."""
        async with self._writing:
            if not self._waiting:
                return
            self._stop_timer()
            values, self._waiting, self._bytes = self._waiting, deque(), 0
            try:
                await self._prepare([value for value, _ in values])
            except BaseException:
                self._put_back(values)
                raise
            # In another thread than the writer's, so that durable changes there don't wait for it.
            work = partial(self._write, [value for value, _ in values])
            writing = asyncio.get_running_loop().run_in_executor(None, work)
            try:
                self.lost += await asyncio.shield(writing)
                self.problem = ""
            except asyncio.CancelledError:  # the thread goes on: what it writes mustn't be written again
                await asyncio.wait((writing,))
                if isinstance(writing.exception(), StateError):
                    self._put_back(values)
                raise
            except StateError as error:
                self._put_back(values)
                self.problem = f"{self._name} are not on the disk: {error}"
                log.info("%s", self.problem)
                self._stop_timer()
                self._begin_in(RETRY_S)
            except Exception:
                self.lost += len(values)
                raise

    async def close(self) -> None:
        """Write what waits a last time."""
        await self.flush()
        self._stop_timer()
        if self._waiting:
            log.warning("the last %s are not kept: %s", self._name, self.problem)

    def _begin_in(self, seconds: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, self._begin)

    def _begin(self) -> None:
        self._timer = None
        self._work.start_background(self.flush(), f"write {self._name}")

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _put_back(self, values: deque[tuple[T, int]]) -> None:
        """Let values wait again, before those that came meanwhile."""
        values.extend(self._waiting)
        self._waiting = values
        self._bytes = sum(size for _, size in values)
