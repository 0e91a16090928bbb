"""Owns the threads that embed in the background: how nice they are, and which share they are to get at least.

A nice thread gives way to everything else, so that on a busy machine it gets next to nothing: at 10, beside
two busy processes for each core, 5 % of it. So the threads are as nice as leaves them a share of a core.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from ..core.system import System

T = TypeVar("T")
R = TypeVar("R")

NICEST = 10
"""How nice the threads are above their process while they get enough."""

LEAST_SHARE = 0.25
"""What all of them together are to get of one core: 40 chunks a second of the 160 that one core embeds. Where
they would get less even as nice as their process, they get as much as any other."""

STEPS = 2
"""How much nicer they could be before they are: else each measurement would change something."""

_WEIGHT = 1.25
"""By how much more of a processor the kernel gives to each step of niceness (`sched_prio_to_weight`)."""


class BackgroundThreads:
    """So many threads for work that can wait. For one thread, which the threads' niceness counts from.

    `give_way` is called on each of them with how much nicer it is to be than the process.
    """

    def __init__(self, count: int, system: System, give_way: Callable[[int], None]) -> None:
        self.nice = NICEST
        self._count = count
        self._system = system
        self._give_way = give_way
        self._threads = self._start()

    def map(self, work: Callable[[T], R], items: Iterable[T], stand_back: Callable[[], None]) -> list[R]:
        """Do the same with all items; returns the results in order. `stand_back` is called before each, and
        may wait."""
        spent: list[tuple[float, float]] = []

        def measured(item: T) -> R:
            stand_back()
            begun, used = self._system.monotonic(), self._system.thread_time()
            result = work(item)
            spent.append((self._system.thread_time() - used, self._system.monotonic() - begun))
            return result

        results = list(self._threads.map(measured, items))
        used, passed = (sum(column) for column in zip(*spent, strict=True)) if spent else (0.0, 0.0)
        if used > 0 and passed > 0:
            self._adapt(min(used / passed, 1.0))
        return results

    def run(self, work: Callable[[], R]) -> R:
        """Do one thing and wait for it."""
        return self._threads.submit(work).result()

    def close(self) -> None:
        """End the threads."""
        self._threads.shutdown()

    def _adapt(self, share: float) -> None:
        """Take other threads where those that got this share of a core each are too nice, or could be nicer.

        A thread may become nicer by itself, but not the reverse unless the user may do that.
        """
        wanted = nicest(self.nice, share, LEAST_SHARE / self._count)
        if wanted < self.nice or wanted >= min(self.nice + STEPS, NICEST) > self.nice:
            self.nice = wanted
            self._threads.shutdown()
            self._threads = self._start()

    def _start(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self._count, "embed", self._give_way, (self.nice,))


def nicest(nice: int, share: float, least: float) -> int:
    """Return how nice a thread may be so that it gets the least share of a core, where it gets this share at
    this niceness; 0 where it can't be had."""
    # What all others weigh that want the same core, against a thread of niceness 0.
    others = _WEIGHT**-nice * (1 - share) / share
    for wanted in range(NICEST, 0, -1):
        weight = _WEIGHT**-wanted
        if weight >= least * (weight + others):
            return wanted
    return 0
