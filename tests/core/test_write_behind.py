"""Values are written in their order, each once, whatever the disk and the callers do meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from foveal.daemon.core import write_behind
from foveal.daemon.core.errors import StateError
from foveal.daemon.core.work import Work
from foveal.daemon.core.write_behind import WriteBehind

from tests.both_loops import eventually


@dataclass
class Disk:
    """A disk that keeps numbers, and refuses them as long as it is full."""

    kept: list[int] = field(default_factory=list)
    full: bool = False
    problem: Exception | None = None

    def write(self, values: Sequence[int]) -> int:
        if self.full:
            raise StateError("no room")
        if self.problem is not None:
            raise self.problem
        self.kept += [value for value in values if value >= 0]
        return sum(value < 0 for value in values)

    async def prepare(self, values: Sequence[int]) -> None:
        await asyncio.sleep(0)


@asynccontextmanager
async def waiting(disk: Disk) -> AsyncIterator[WriteBehind[int]]:
    work = Work()
    async with asyncio.TaskGroup() as tasks:
        work.begin(tasks)
        yield WriteBehind[int](work, "numbers", disk.write, disk.prepare)
        work.cancel()
        work.close()


async def test_values_are_written_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_behind, "WRITE_S", 0.0)
    disk = Disk()
    async with waiting(disk) as queue:
        for number in (1, -1, 2):
            queue.put(number, 1)
        assert queue.latest == 2
        await eventually(lambda: bool(disk.kept))
        assert disk.kept == [1, 2]
        assert not queue.latest
        await eventually(lambda: queue.lost == 1)


async def test_refused_values_wait_in_their_order_and_are_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(write_behind, "RETRY_S", 0.0)
    disk = Disk(full=True)
    async with waiting(disk) as queue:
        queue.put(1, 1)
        await queue.flush()
        assert queue.problem == "numbers are not on the disk: no room"
        queue.put(2, 1)
        disk.full = False
        await eventually(lambda: not queue.problem)
        assert (disk.kept, queue.lost) == ([1, 2], 0)


async def test_values_of_an_unexpected_failure_hold_up_no_others() -> None:
    disk = Disk(problem=ValueError("a bug"))
    async with waiting(disk) as queue:
        queue.put(1, 1)
        with pytest.raises(ValueError, match="a bug"):
            await queue.flush()
        disk.problem = None
        queue.put(2, 1)
        await queue.close()
        assert (disk.kept, queue.lost) == ([2], 1)


@pytest.mark.parametrize("full", [False, True])
async def test_a_cancelled_write_loses_and_repeats_nothing(full: bool) -> None:
    disk = Disk(full=full)
    async with waiting(disk) as queue:
        for steps in range(4):
            queue.put(steps, 1)
            writing = asyncio.create_task(queue.flush())
            for _ in range(steps):
                await asyncio.sleep(0)
            writing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await writing
        disk.full = False
        await queue.flush()
        assert disk.kept == [0, 1, 2, 3]


async def test_the_oldest_are_lost_if_too_much_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_behind, "WAITING_BYTES", 10)
    disk = Disk()
    async with waiting(disk) as queue:
        for number in range(5):
            queue.put(number, 4)
        await queue.flush()
        queue.put(9, 400)
        await queue.flush()
        assert (disk.kept, queue.lost) == ([3, 4, 9], 3)
