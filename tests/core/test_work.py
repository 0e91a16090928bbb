"""Work for one client process waits for its turn, and holds up no other process."""

from __future__ import annotations

import asyncio
import gc
import inspect

import pytest
from foveal.daemon.core.work import CLIENT, FairGate, SharedWork, Work
from hypothesis import given
from hypothesis import strategies as st


async def test_a_fair_gate_takes_turns_between_clients() -> None:
    gate = FairGate(1)
    passed: list[int] = []

    async def ask(client: int) -> None:
        CLIENT.set(client)
        async with gate:
            passed.append(client)
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as tasks:
        for client in [1] * 50 + [2] * 2:
            tasks.create_task(ask(client))
    assert passed[:5] == [1, 1, 2, 1, 2]


@given(st.lists(st.booleans(), max_size=20), st.integers(1, 3))
def test_a_fair_gate_is_free_again_after_cancellations(cancelled: list[bool], most: int) -> None:
    async def run() -> None:
        gate, inside = FairGate(most), [0, 0]

        async def ask() -> None:
            async with gate:
                inside[0] += 1
                inside[1] = max(inside)
                try:
                    await asyncio.sleep(0)
                finally:
                    inside[0] -= 1

        asked = [asyncio.create_task(ask()) for _ in cancelled]
        for number, (task, cancel) in enumerate(zip(asked, cancelled, strict=True)):
            if cancel:
                for _ in range(number % 4):
                    await asyncio.sleep(0)
                task.cancel()
        await asyncio.gather(*asked, return_exceptions=True)
        async with asyncio.timeout(5):
            for _ in range(most):
                await gate.__aenter__()
        assert inside[1] <= most

    asyncio.run(run())


async def test_an_error_of_shared_work_holds_nothing_once_it_was_raised() -> None:
    async def fail() -> None:
        await asyncio.to_thread(int, "x")

    async def ask() -> None:
        with pytest.raises(ValueError, match="x"):
            await shared.run("key", fail, "fail")

    async with asyncio.TaskGroup() as tasks:
        work = Work()
        work.begin(tasks)
        shared = SharedWork[str, None](work)
        await ask()
        gc.collect()
        gc.disable()
        try:
            await ask()
            assert gc.collect() == 0
        finally:
            gc.enable()
            work.cancel()


async def test_work_that_is_cancelled_before_it_began_is_closed_and_ends_who_waits() -> None:
    async def nothing() -> None: ...

    work, heard, unheard = Work(), nothing(), nothing()
    waiting: list[asyncio.Future[None]] = []

    async def fail_at_once() -> None:
        async with asyncio.TaskGroup() as tasks:
            work.begin(tasks)
            waiting.append(work.start(heard, "heard"))
            work.start_background(unheard, "unheard")
            raise ValueError

    with pytest.raises(ExceptionGroup):
        await fail_at_once()
    assert waiting[0].cancelled()
    assert [inspect.getcoroutinestate(each) for each in (heard, unheard)] == [inspect.CORO_CLOSED] * 2
    work.close()
