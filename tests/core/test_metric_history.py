"""What is measured adds up, and its history is sampled by a clock, in bounded memory, whatever is late."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest
from foveal.daemon.api.daemon import history_map
from foveal.daemon.core.metric_history import (
    AGENTS_MAX,
    HOUR_STEP_S,
    LATENCY_BOUNDS_MS,
    OTHERS,
    ContextCost,
    Gauges,
    Histogram,
    MetricHistory,
    Metrics,
    MetricSamples,
    Period,
    Sample,
    SampleFile,
    sample_between,
)
from foveal.daemon.core.system import System

from tests.daemon.test_methods import PROTOCOL, documented_fields


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

    def __init__(self, file: SampleFile | None = None) -> None:
        self.clock = Clock()
        self.metrics = Metrics()
        self.looks = 0
        self.history = MetricHistory(self.metrics, self.gauges, self.clock, self.clock.sleep_for, file)

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


def restarted(path: Path, seconds: float) -> Sampled:
    """Return a history with the file of an earlier one, at so many seconds."""
    sampled = Sampled(SampleFile(str(path), System()))
    sampled.clock.seconds = seconds
    return sampled


async def test_history_lasts_across_restarts(tmp_path: Path) -> None:
    path = tmp_path / "metrics.sqlite"
    first = Sampled(SampleFile(str(path), System()))
    for number in range(60):
        first.metrics.answered("Ping", 0.1 * number)
        first.pass_on(HOUR_STEP_S)
    await first.history.close()
    second = restarted(path, 1800.0)
    assert await second.history.load() == ""
    periods: tuple[Period, ...] = ("hour", "day")
    for period in periods:
        assert second.history.history(period).samples == first.history.history(period).samples
    await second.history.close()
    late = restarted(path, 3600.0 + 300)
    await late.history.load()
    assert (len(late.counts("hour")), len(late.counts("day"))) == (30, 2), "those of the last hour"


async def test_killed_daemon_loses_a_minute(tmp_path: Path) -> None:
    path = tmp_path / "metrics.sqlite"
    sampled = Sampled(SampleFile(str(path), System()))
    sampled.clock.most = 33
    with pytest.raises(asyncio.CancelledError):
        await sampled.history.run()
    later = restarted(path, 330.0)
    await later.history.load()
    assert len(sampled.counts("hour")) - len(later.counts("hour")) < 6
    assert len(later.counts("day")) == 1


async def test_agent_with_half_a_surrogate_harms_no_other_sample(tmp_path: Path) -> None:
    path = tmp_path / "metrics.sqlite"
    sampled = Sampled(SampleFile(str(path), System()))
    for name in ("sam", "a\udcff", "kim"):
        sampled.metrics.context_given(ContextCost(name, 10, 10))
        sampled.pass_on(HOUR_STEP_S)
    await sampled.history.close()
    later = restarted(path, 40.0)
    await later.history.load()
    told = [dict(sample.tokens_by_agent) for sample in later.history.history("hour").samples]
    assert told == [{"sam": 10}, {"kim": 10}]


GAUGES = Gauges(files_pending=3, memory_bytes={"daemon": 5, "embedder": None})


def sample(before: Metrics, metrics: Metrics) -> Sample:
    return sample_between(before, metrics.copy(), "2026-01-31T12:00:00.000Z", 10.0004, GAUGES)


def test_sample_counts_only_new_requests() -> None:
    metrics = Metrics()
    metrics.answered("Query", 400.0)
    metrics.failed("Query", "timeout")
    metrics.context_given(ContextCost("sam", 900, 1000, cached=True))
    before = metrics.copy()
    metrics.answered("GetContext", 0.2)
    metrics.answered("GetContext", 0.2)
    metrics.answered("Ping", 0.05)
    metrics.failed("GetNode", "not_found")
    metrics.context_given(ContextCost("sam", 100, 300))
    metrics.context_given(ContextCost("kim", 50, 50, cached=True))
    found = sample(before, metrics)
    assert (found.requests, found.errors, found.contexts, found.cached) == (4, 1, 2, 1)
    assert (found.tokens, found.tokens_before) == (150, 350)
    assert found.tokens_by_agent == {"sam": 100, "kim": 50}
    assert list(found.methods) == ["GetContext", "Ping"]
    assert found.methods["GetContext"][0] == 2
    assert found.context == found.methods["GetContext"][1]
    assert found.context.p99 is not None
    assert found.context.p99 <= 0.25, "the query of before isn't in it"
    assert found.all.p50 is not None
    assert (found.seconds, found.gauges) == (10.0, GAUGES)


def test_prompts_are_counted_by_what_they_got() -> None:
    metrics = Metrics()
    metrics.prompt_answered("late", 3_000.0)
    before = metrics.copy()
    for outcome, elapsed_ms in (("whole", 20.0), ("part", 20.0), ("whole", 20.0)):
        metrics.prompt_answered(outcome, elapsed_ms)  # type: ignore[arg-type]  # words of the outcomes
    found = sample(before, metrics)
    assert found.prompts == {"whole": 2, "part": 1}
    assert found.prompt.p99 is not None
    assert found.prompt.p99 <= 25.0, "the late one of before isn't in it"
    former = msgspec.json.decode(msgspec.json.encode(found))
    del former["prompt"], former["prompts"]
    assert msgspec.convert(former, Sample).prompts == {}, "a sample of a former version"


def test_a_sample_has_the_fields_of_the_protocol() -> None:
    metrics = Metrics()
    before = metrics.copy()
    metrics.answered("GetContext", 0.2)
    metrics.context_given(ContextCost("sam", 10, 20))
    gauges = Gauges(1, 2, 3, 4, {"daemon": 5, "indexer": 6, "embedder": None})
    sample = sample_between(before, metrics.copy(), "2026-01-31T12:00:00.000Z", 10.0, gauges)
    found = history_map(MetricSamples("hour", 10.0, (sample, sample)))
    assert set(found) == documented_fields(PROTOCOL.partition("`history` of GetMetrics is ")[2])
    [first, _] = found["samples"]
    assert set(first) == documented_fields(PROTOCOL.partition("since the sample before it: ")[2])
    assert first["methods"] == {"GetContext": {"count": 1, "p50_ms": 0.175, "p95_ms": 0.2425}}
    assert first["context_ms"] == first["all_ms"] == {"p50": 0.175, "p95": 0.2425, "p99": 0.2485}
    assert (first["files_pending"], first["chunks_pending"], first["scopes"], first["subscribers"]) == (
        1,
        2,
        3,
        4,
    )
    assert first["tokens_by_agent"] == {"sam": 10}


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [
        ([], 0.5, None),
        ([5.0], 0.5, 5.5),
        ([0.5] * 99 + [50.0], 0.5, 0.505),
        ([0.5] * 90 + [9.0] * 10, 0.95, 5.5),
        ([1000.0], 0.99, 10.0),
    ],
)
def test_a_quantile_is_linear_within_its_bucket(
    values: list[float], share: float, expected: float | None
) -> None:
    histogram = Histogram.of((1.0, 10.0))
    for value in values:
        histogram.observe(value)
    found = histogram.quantile(share)
    assert found is expected if expected is None else found == pytest.approx(expected, rel=0.01)


def test_latencies_and_errors_are_by_method() -> None:
    metrics = Metrics()
    metrics.answered("Query", 3.0)
    metrics.answered("Query", 30_000.0)
    metrics.answered("Ping", 0.05)
    metrics.failed("Query", "timeout")
    metrics.failed("Query", "timeout")
    found = metrics
    assert sorted(found.latency_ms) == ["Ping", "Query"]
    assert found.latency_ms["Query"].count == 2
    assert found.latency_ms["Query"].counts[len(LATENCY_BOUNDS_MS)] == 1
    assert found.errors == {("Query", "timeout"): 2}


def test_contexts_add_up() -> None:
    metrics = Metrics()
    assert metrics.cache_hit_rate is None
    assert metrics.compression_ratio is None
    metrics.context_given(ContextCost("sam", 100, 400, {"rule": 60, "focus": 40}, masked=2))
    metrics.context_given(ContextCost("kim", 300, 400, {"rule": 300}, cached=True, partial=True))
    found = metrics
    assert (found.contexts, found.contexts_cached, found.contexts_partial) == (2, 1, 1)
    assert found.cache_hit_rate == 0.5
    assert found.compression_ratio == 0.5
    assert found.tokens_by_type == {"focus": 40, "rule": 360}
    assert found.tokens_by_agent == {"sam": 100, "kim": 300}
    assert found.secrets_masked == 2
    assert found.context_tokens.count == 2


def test_tokens_of_any_number_of_agents_take_bounded_memory() -> None:
    metrics = Metrics()
    for number in range(3 * AGENTS_MAX):
        metrics.context_given(ContextCost(f"agent {number}", 2, 2))
    found = metrics.tokens_by_agent
    assert len(found) == AGENTS_MAX + 1
    assert found[OTHERS] == 4 * AGENTS_MAX
    assert sum(found.values()) == 6 * AGENTS_MAX


def test_contexts_that_came_too_late_count_in_all_and_for_an_hour() -> None:
    metrics = Metrics()
    for now in (100.0, 1_000.0, 3_000.0):
        metrics.context_was_late(now)
    assert [metrics.late_in_hour(now) for now in (3_000.0, 4_000.0, 9_000.0)] == [3, 2, 0]
    assert metrics.contexts_late == 3
