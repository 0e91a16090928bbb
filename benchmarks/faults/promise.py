"""The parts of a promise: tests, each a stream of trials, and their outcome."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

QUICK = 20
"""So many faults each test tries with --quick."""


class NotHere(Exception):
    """A test can't run on this machine; the message says what is missing and how to get it."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What a test is given: an empty folder of its own (a short path, fit for sockets), how many faults to
    try, and a seed. The same seed tries the same faults, as far as processes allow."""

    folder: Path
    count: int
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Trial:
    """One fault that was tried.

    `name` says enough to try it again. `lost` says what was lost, wrong or not said, and is empty where the
    promise held. `faults` counts what a trial stands for: a storm of 1,000 edits may be one trial.
    """

    name: str
    lost: str = ""
    faults: int = 1


@dataclass(frozen=True, slots=True)
class Test:
    """A way to break a promise: `run` yields its trials one by one, so that progress shows.

    It yields `ground.count` of them, or more where a round makes several. An exception out of it is a
    failure of the promise, but for `NotHere`. `full` and `quick` are the counts of `make faults` and of
    `--quick`.
    """

    __test__: ClassVar[bool] = False  # pytest is not to take it for one of its own

    name: str
    run: Callable[[Ground], Iterator[Trial]]
    full: int
    quick: int = QUICK


@dataclass(frozen=True, slots=True)
class Promise:
    """A line of docs/reliability.md, by its number there, and the tests that try to break it."""

    number: int
    text: str
    tests: tuple[Test, ...]


@dataclass(slots=True)
class Outcome:
    """How many faults were tried, what was lost by which trial, how long it took in seconds.

    `skipped` says why nothing was tried, and is empty where something was.
    """

    tried: int = 0
    lost: list[str] = field(default_factory=list)
    seconds: float = 0.0
    skipped: str = ""


def attempt(test: Test, ground: Ground, on_trial: Callable[[Trial], None] = lambda _: None) -> Outcome:
    """Run one test to its end and return what came of it; `on_trial` hears of each trial. Raises what the
    test raises, but for `NotHere`."""
    outcome = Outcome()
    begun = time.perf_counter()
    try:
        for trial in test.run(ground):
            outcome.tried += trial.faults
            if trial.lost:
                outcome.lost.append(f"{trial.name}: {trial.lost}")
            on_trial(trial)
    except NotHere as missing:
        outcome.skipped = str(missing)
    outcome.seconds = time.perf_counter() - begun
    return outcome
