"""Runs an async test on asyncio's own loop and on uvloop."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
import uvloop

LOOPS = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


async def eventually(condition: Callable[[], bool]) -> None:
    """Let the loop run until something becomes true."""
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 - the condition is a property of kernel and loop, without an event
            await asyncio.sleep(0)


def on_both_loops(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run an async test once on each loop."""

    def run(loop: str, **fixtures: Any) -> None:
        with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
            runner.run(test(**fixtures))

    signature = inspect.signature(test)
    parameter = inspect.Parameter("loop", inspect.Parameter.KEYWORD_ONLY)
    run.__name__, run.__doc__ = test.__name__, test.__doc__
    run.__dict__.update(test.__dict__)  # the marks
    run.__signature__ = signature.replace(parameters=[*signature.parameters.values(), parameter])  # type: ignore[attr-defined] # pytest reads it
    parametrized: Callable[..., None] = pytest.mark.parametrize("loop", LOOPS)(run)
    return parametrized
