"""Promise 3: no answer is stale without saying so, whatever storm the files went through."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from ..promise import Ground, Promise, Test, Trial
from ..storming import Storm

STORM = "random changes, the watcher dropped: the index equals a first indexing"

STORM_STEPS, STORM_STEPS_LEAST = 40, 12
STORMS = 5
"""Of one run; hypothesis begins each run with the simplest ones."""


def storm(ground: Ground) -> Iterator[Trial]:
    """Run storms until there were so many steps; each is compared as often as hypothesis chose."""
    number, tried = ground.seed * 10_000, 0
    while tried < ground.count:
        before = Storm.steps
        steps = min(STORM_STEPS, max(STORM_STEPS_LEAST, (ground.count - tried) // STORMS))
        lost = _run_storms(number, steps)
        made = Storm.steps - before
        yield Trial(f"storms of seed {number}, of {steps} steps", lost, made)
        tried += made
        number += 1


def _run_storms(number: int, steps: int) -> str:
    options = settings(
        max_examples=STORMS,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )
    try:
        run_state_machine_as_test(seed(number)(type("Storm", (Storm,), {})), settings=options)
    except Exception as error:  # noqa: BLE001 - whatever it is, the promise is broken, and is told with its steps
        return "\n".join(_told(error))
    return ""


def _told(error: BaseException) -> Iterator[str]:
    """Say what failed and by which steps; what depends on a clock may fail in several ways."""
    yield f"{type(error).__name__}: {error}"
    yield from getattr(error, "__notes__", ())
    for exception in error.exceptions if isinstance(error, BaseExceptionGroup) else ():
        yield from _told(exception)


PROMISE = Promise(
    3,
    "The answer is never stale without saying so",
    (Test(STORM, storm, 5_000, 60),),
)
