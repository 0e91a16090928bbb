"""A sample is the difference of two states of the metrics, and adds up to them."""

from __future__ import annotations

from foveal.daemon.app.metric_sample import AGENTS_TOLD, Gauges, Quantiles, Sample, sample_between
from foveal.daemon.core.metrics import AGENTS_MAX, OTHERS, ContextFigures, Metrics, MetricsStatistics

GAUGES = Gauges(files_pending=3, memory_bytes={"daemon": 5, "embedder": None})


def sample(before: MetricsStatistics, metrics: Metrics) -> Sample:
    return sample_between(before, metrics.statistics(), "2026-01-31T12:00:00.000Z", 10.0004, GAUGES)


def test_only_what_came_since_counts() -> None:
    metrics = Metrics()
    metrics.answered("Query", 400.0)
    metrics.failed("Query", "timeout")
    metrics.context_given(ContextFigures("sam", 900, 1000, cached=True))
    before = metrics.statistics()
    metrics.answered("GetContext", 0.2)
    metrics.answered("GetContext", 0.2)
    metrics.answered("Ping", 0.05)
    metrics.failed("GetNode", "not_found")
    metrics.context_given(ContextFigures("sam", 100, 300))
    metrics.context_given(ContextFigures("kim", 50, 50, cached=True))
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


def test_nothing_happened() -> None:
    metrics = Metrics()
    metrics.answered("GetContext", 1.0)
    found = sample(metrics.statistics(), metrics)
    assert (found.requests, found.tokens, found.methods, found.tokens_by_agent) == (0, 0, {}, {})
    assert found.context == found.all == Quantiles(None, None, None)


def test_tokens_of_many_agents_add_up() -> None:
    metrics = Metrics()
    before = metrics.statistics()
    for number in range(AGENTS_MAX + 20):
        metrics.context_given(ContextFigures(f"agent {number:03}", 1 + number, 0))
    found = sample(before, metrics)
    assert len(found.tokens_by_agent) == AGENTS_TOLD + 1
    assert next(iter(found.tokens_by_agent)) == f"agent {AGENTS_MAX + 19:03}"
    assert sum(found.tokens_by_agent.values()) == found.tokens
    assert list(found.tokens_by_agent)[-1] == OTHERS


def test_an_agent_that_was_forgotten_and_comes_back_loses_nothing() -> None:
    metrics = Metrics()
    metrics.context_given(ContextFigures("first", 1000, 0))
    before = metrics.statistics()
    for number in range(AGENTS_MAX):
        metrics.context_given(ContextFigures(f"agent {number}", 1, 0))
    metrics.context_given(ContextFigures("first", 70, 0))
    found = sample(before, metrics)
    assert found.tokens_by_agent["first"] == 70
    assert sum(found.tokens_by_agent.values()) == found.tokens == AGENTS_MAX + 70
