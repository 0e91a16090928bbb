"""The history of the metrics is told as plain maps, as the protocol says."""

from __future__ import annotations

import msgspec
from foveal.daemon.api.daemon import history_reply
from foveal.daemon.app.metric_history import MetricSamples
from foveal.daemon.app.metric_sample import Gauges, sample_between
from foveal.daemon.core.metrics import ContextFigures, Metrics

from tests.daemon.test_methods import PROTOCOL, documented_fields


def test_a_sample_has_the_fields_of_the_protocol() -> None:
    metrics = Metrics()
    before = metrics.statistics()
    metrics.answered("GetContext", 0.2)
    metrics.context_given(ContextFigures("sam", 10, 20))
    gauges = Gauges(1, 2, 3, 4, {"daemon": 5, "indexer": 6, "embedder": None})
    sample = sample_between(before, metrics.statistics(), "2026-01-31T12:00:00.000Z", 10.0, gauges)
    found = msgspec.to_builtins(history_reply(MetricSamples("hour", 10.0, (sample, sample))))
    assert set(found) == documented_fields(PROTOCOL.partition("`history` of GetMetrics is ")[2])
    [first, _] = found["samples"]
    assert set(first) == documented_fields(PROTOCOL.partition("since the one before: ")[2])
    assert first["methods"] == {"GetContext": {"count": 1, "p50_ms": 0.175, "p95_ms": 0.2425}}
    assert first["context_ms"] == first["all_ms"] == {"p50": 0.175, "p95": 0.2425, "p99": 0.2485}
    assert (first["files_pending"], first["chunks_pending"], first["scopes"], first["subscribers"]) == (
        1,
        2,
        3,
        4,
    )
    assert first["tokens_by_agent"] == {"sam": 10}
