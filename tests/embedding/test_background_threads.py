"""Threads in the background are as nice to others as leaves them a share of a core."""

from __future__ import annotations

import os
import sys
import threading

import pytest
from foveal.daemon.core.system import System
from foveal.daemon.embedding.upkeep import LEAST_SHARE, NICEST, BackgroundThreads, nicest
from foveal.daemon.embedding.worker import _give_way


class Shared(System):
    """A processor of which each thread gets what its niceness leaves it, beside others of niceness 0."""

    def __init__(self, others: int) -> None:
        self.others = others
        self.given: list[int] = []
        self._used = self._passed = 0.0

    def give_way(self, nice: int) -> None:
        self.given.append(nice)

    @property
    def share(self) -> float:
        weight = 1.25 ** -self.given[-1]
        return weight / (weight + self.others)

    def work(self, item: int) -> int:
        self._used += 1.0
        self._passed += 1.0 / self.share
        return item + 1

    def thread_time(self) -> float:
        return self._used

    def monotonic(self) -> float:
        return self._passed


@pytest.mark.parametrize(
    ("nice", "share", "least", "expected"),
    [
        (10, 1.0, 0.25, 10),  # nobody else
        (10, 0.26, 0.25, 10),
        (10, 0.097, 0.25, 5),  # one other: 1 / (1 + 1.25 ** 5) is 0.247
        (10, 0.051, 0.25, 1),
        (0, 0.25, 0.25, 0),
        (0, 0.5, 0.25, 4),
        (0, 0.95, 0.25, 10),
        (10, 0.001, 0.25, 0),  # more than can be had
        (10, 0.051, 0.125, 5),  # two threads
    ],
)
def test_the_nicest_that_gets_enough(nice: int, share: float, least: float, expected: int) -> None:
    assert abs(nicest(nice, share, least) - expected) <= (1 if 0 < expected < 10 else 0)


@pytest.mark.parametrize("others", [0, 1, 2, 4, 8])
def test_they_get_their_share_whatever_runs_beside_them(others: int) -> None:
    system = Shared(others)
    threads = BackgroundThreads(1, system, system.give_way)
    for _ in range(3):
        assert threads.map(system.work, [1, 2], lambda: None) == [2, 3]
    alike = 1 / (1 + others)  # more than this nobody gets who is no nicer than others
    assert system.share >= min(LEAST_SHARE, alike) - 1e-9
    assert len(system.given) <= 2, "it is known after the first time"
    system.others = 0
    threads.map(system.work, [1], lambda: None)
    threads.map(system.work, [1], lambda: None)
    assert system.given[-1] == NICEST, "alone it costs nobody anything to be nice"
    threads.close()


def test_the_time_of_those_they_stand_back_for_is_not_theirs() -> None:
    system = Shared(0)
    threads = BackgroundThreads(1, system, system.give_way)

    def stand_back() -> None:
        system._passed += 1_000

    threads.map(system.work, [1, 2], stand_back)
    assert system.given == [NICEST]
    threads.close()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere threads have no niceness of their own")
def test_threads_become_less_nice_without_any_right_to_it() -> None:
    system = Shared(2)
    system.given.append(NICEST)
    seen: list[tuple[int, int]] = []

    def look(item: int) -> int:
        thread = threading.get_native_id()
        seen.append((os.getpriority(os.PRIO_PROCESS, thread), os.sched_getscheduler(thread)))
        return system.work(item)

    threads = BackgroundThreads(1, system, _give_way)
    own = os.getpriority(os.PRIO_PROCESS, 0)
    threads.map(look, [1], lambda: None)
    assert threads.nice < NICEST
    system.given.append(threads.nice)
    threads.map(look, [1], lambda: None)
    threads.close()
    assert [nice for nice, _ in seen] == [min(own + NICEST, 19), min(own + threads.nice, 19)]
    assert {policy for _, policy in seen} == {os.SCHED_BATCH}
    assert os.getpriority(os.PRIO_PROCESS, 0) == own
