"""What is measured adds up, in bounded memory, and quantiles are those of the buckets."""

from __future__ import annotations

import pytest
from foveal.daemon.core.metric_history import (
    AGENTS_MAX,
    LATENCY_BOUNDS_MS,
    OTHERS,
    ContextCost,
    Histogram,
    Metrics,
)


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
