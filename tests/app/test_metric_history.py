"""The history is sampled by a clock, in bounded memory, on its grid whatever is late."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from foveal.daemon.app.metric_history import (
    DAY_SAMPLES,
    DAY_STEP_S,
    HOUR_SAMPLES,
    HOUR_STEP_S,
    MetricHistory,
    Period,
)
from foveal.daemon.app.metric_sample import Gauges
from foveal.daemon.core.metrics import Metrics
from foveal.daemon.core.system import System


class Clock(System):
    """A clock that only goes on when it is told to, or slept on."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.slept: list[float] = []
        self.most = 0

    def now(self) -> datetime:
        return datetime(2026, 1, 31, tzinfo=UTC) + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds

    async def sleep_for(self, seconds: float) -> None:
        """Sleep at once; the last of so many sleeps is cancelled, as the daemon's end does."""
        self.slept.append(seconds)
        self.seconds += seconds
        if len(self.slept) >= self.most:
            raise asyncio.CancelledError


class Sampled:
    """A history over metrics of its own."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.metrics = Metrics()
        self.looks = 0
        self.history = MetricHistory(self.metrics, self.gauges, self.clock, self.clock.sleep_for)

    def gauges(self) -> Gauges:
        self.looks += 1
        return Gauges(scopes=self.looks)

    def pass_on(self, seconds: float) -> None:
        self.clock.seconds += seconds
        self.history.take()

    def counts(self, period: Period) -> list[int]:
        return [one.requests for one in self.history.history(period).samples]


@pytest.fixture
def sampled() -> Sampled:
    return Sampled()


def test_each_period_has_its_own_differences(sampled: Sampled) -> None:
    for number in range(60):
        for _ in range(number % 3):
            sampled.metrics.answered("Ping", 0.1)
        sampled.pass_on(HOUR_STEP_S)
    assert sampled.counts("hour") == [number % 3 for number in range(60)]
    assert sampled.counts("day") == [30, 30]
    day = sampled.history.history("day")
    assert (day.step_s, [one.seconds for one in day.samples]) == (DAY_STEP_S, [DAY_STEP_S] * 2)
    assert [one.at for one in day.samples] == ["2026-01-31T00:05:00.000Z", "2026-01-31T00:10:00.000Z"]


def test_it_forgets_what_is_older(sampled: Sampled) -> None:
    for _ in range(2 * HOUR_SAMPLES):
        sampled.pass_on(HOUR_STEP_S)
    hour = sampled.history.history("hour").samples
    assert len(hour) == HOUR_SAMPLES
    assert (hour[0].at, hour[-1].at) == ("2026-01-31T01:00:10.000Z", "2026-01-31T02:00:00.000Z")
    for _ in range(2 * DAY_SAMPLES):
        sampled.pass_on(DAY_STEP_S)
    assert len(sampled.history.history("day").samples) == DAY_SAMPLES


def test_nothing_is_taken_before_its_time(sampled: Sampled) -> None:
    sampled.pass_on(HOUR_STEP_S - 1)
    assert (sampled.counts("hour"), sampled.looks) == ([], 0)
    sampled.pass_on(0.9)  # a timer may fire early
    sampled.pass_on(0.1)
    assert len(sampled.counts("hour")) == 1


def test_a_delay_makes_one_longer_sample_and_moves_no_other(sampled: Sampled) -> None:
    for seconds in (10, 13, 7, 35, 10):
        sampled.metrics.answered("Ping", 0.1)
        sampled.pass_on(seconds)
    hour = sampled.history.history("hour").samples
    assert [one.seconds for one in hour] == [10, 13, 7, 35, 10]
    assert sampled.counts("hour") == [1, 1, 1, 1, 1]


async def test_it_runs_until_it_is_cancelled(sampled: Sampled) -> None:
    sampled.clock.most = 32
    with pytest.raises(asyncio.CancelledError):
        await sampled.history.run()
    assert sampled.clock.slept == [HOUR_STEP_S] * 32, "both periods have one timer"
    assert (len(sampled.counts("hour")), len(sampled.counts("day"))) == (31, 1)
