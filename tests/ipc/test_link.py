"""The shared connection: many calls on one, a new one after a loss, and nothing left running."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from foveal.ipc.aclient import DaemonLink
from foveal.ipc.errors import DaemonUnavailable, RpcError

from tests.ipc_cases import serving


@asynccontextmanager
async def linked(path: str) -> AsyncIterator[DaemonLink]:
    """Give a link; after its close no task of it may be left."""
    before = asyncio.all_tasks()
    link = DaemonLink(path)
    try:
        yield link
    finally:
        await link.close()
    assert asyncio.all_tasks() <= before


async def test_calls_share_one_connection_and_overtake_each_other(path: str) -> None:
    async with serving(path) as (server, daemon), linked(path) as link:
        assert server.statistics().accepted == 0, "made when it is needed"
        slow = [asyncio.ensure_future(link.call("Wait", {"n": n})) for n in range(50)]
        assert await link.call("Echo", {"n": 1}) == {"n": 1}
        daemon.gate.set()
        assert await asyncio.gather(*slow) == [{"n": n} for n in range(50)]
        assert server.statistics().accepted == 1


async def test_without_a_daemon_it_says_so_and_it_comes_back_with_one(path: str) -> None:
    async with linked(path) as link:
        for _ in range(2):
            with pytest.raises(DaemonUnavailable, match=r"can't be reached on .*see: foveal status"):
                await link.subscribe(["a"])
            with pytest.raises(DaemonUnavailable):  # the link may be the one to find out, by this call
                await link.call("Echo", {})
            async with serving(path):
                assert await link.call("Echo", {"n": 2}) == {"n": 2}


async def test_a_loss_ends_what_was_in_flight_and_nothing_is_repeated(path: str) -> None:
    async with serving(path) as (server, daemon), linked(path) as link:
        waiting = asyncio.ensure_future(link.call("Wait", {}))
        await daemon.until(lambda: daemon.started == 1)
        with pytest.raises(DaemonUnavailable, match="went away during Drop"):
            await link.call("Drop", {})
        with pytest.raises(DaemonUnavailable, match="went away during Wait"):
            await waiting
        assert await asyncio.gather(*[link.call("Echo", {"n": n}) for n in range(20)]) == [
            {"n": n} for n in range(20)
        ]
        assert (server.statistics().accepted, daemon.started) == (2, 1)


async def test_closing_while_it_connects_ends_that_too(path: str) -> None:
    async with serving(path), linked(path) as link:
        call = asyncio.ensure_future(link.call("Echo", {}))
        await asyncio.sleep(0)
        await link.close()
        with pytest.raises(asyncio.CancelledError):
            await call


async def test_a_subscription_that_fails_leaves_no_connection(path: str) -> None:
    async with serving(path) as (server, _), linked(path) as link:
        with pytest.raises(RpcError, match="no method Subscribe"):
            await link.subscribe(["wrong"])
        with pytest.raises(DaemonUnavailable, match="went away during Subscribe"):
            await link.subscribe(["drop"])
        assert await link.call("Echo", {}) == {}  # the server has seen both ends by now
        assert server.statistics().accepted == 3
