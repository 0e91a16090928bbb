"""Owns the method that tells what the daemon measured of itself; knows no wire."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any, cast, get_args

from ..app.engine import Engine
from ..app.metric_history import MetricSamples, Period
from ..app.metric_sample import Quantiles, Sample
from ..core.metrics import HistogramStatistics, MetricsStatistics
from ..core.parameters import Parameters
from .method_parts import Answer, Method

QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


class MetricsMethods:
    """The methods by name over one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._started = time.monotonic()
        self.methods: Mapping[str, Method] = {"GetMetrics": self._get}

    def _get(self, parameters: Parameters) -> Answer:
        if not parameters.has("history"):
            return self._now()
        return self._since(cast("Period", parameters.choice("history", "", get_args(Period))))

    async def _since(self, period: Period) -> dict[str, Any]:
        # In a thread: the maps of 360 samples take 10 ms.
        history = await asyncio.to_thread(history_map, self._engine.history.history(period))
        return {**self._now(), "history": history}

    def _now(self) -> dict[str, Any]:
        engine, gauges = self._engine, self._engine.gauges()
        return {
            "uptime_s": round(time.monotonic() - self._started, 3),
            **metrics_map(engine.metrics.statistics()),
            "scopes": {"count": gauges.scopes, "bytes": engine.scopes_bytes},
            "subscribers": gauges.subscribers,
            "index": {"files_pending": gauges.files_pending, "chunks_pending": gauges.chunks_pending},
            "memory_bytes": dict(gauges.memory_bytes),
        }


def metrics_map(statistics: MetricsStatistics) -> dict[str, Any]:
    """Return what was counted as a plain map: latencies by method, contexts with their tokens."""
    errors: dict[str, dict[str, int]] = {}
    for (method, code), count in sorted(statistics.errors.items()):
        errors.setdefault(method, {})[code] = count
    return {
        "methods": {
            method: {**_histogram_map(histogram, "_ms"), "errors": errors.pop(method, {})}
            for method, histogram in statistics.latency_ms.items()
        },
        "contexts": {
            "count": statistics.contexts,
            "cached": statistics.contexts_cached,
            "partial": statistics.contexts_partial,
            "cache_hit_rate": _rounded(statistics.cache_hit_rate),
            "compression_ratio": _rounded(statistics.compression_ratio),
            "tokens": _histogram_map(statistics.context_tokens, ""),
            "tokens_before": statistics.tokens_before,
            "tokens_after": statistics.tokens_after,
            "tokens_by_type": dict(statistics.tokens_by_type),
            "tokens_by_agent": dict(statistics.tokens_by_agent),
            "secrets_masked": statistics.secrets_masked,
        },
    }


def history_map(history: MetricSamples) -> dict[str, Any]:
    """Return the samples of a period as a plain map, the oldest first."""
    samples = [_sample_map(one) for one in history.samples]
    return {"period": history.period, "step_s": history.step_s, "samples": samples}


def _sample_map(sample: Sample) -> dict[str, Any]:
    gauges = sample.gauges
    return {
        "at": sample.at,
        "seconds": sample.seconds,
        "requests": sample.requests,
        "errors": sample.errors,
        "contexts": sample.contexts,
        "cached": sample.cached,
        "tokens": sample.tokens,
        "tokens_before": sample.tokens_before,
        "tokens_by_agent": dict(sample.tokens_by_agent),
        "context_ms": _quantiles_map(sample.context),
        "all_ms": _quantiles_map(sample.all),
        "methods": {
            name: {"count": count, "p50_ms": _rounded(each.p50), "p95_ms": _rounded(each.p95)}
            for name, (count, each) in sample.methods.items()
        },
        "files_pending": gauges.files_pending,
        "chunks_pending": gauges.chunks_pending,
        "memory_bytes": dict(gauges.memory_bytes),
        "scopes": gauges.scopes,
        "subscribers": gauges.subscribers,
    }


def _quantiles_map(found: Quantiles) -> dict[str, float | None]:
    return {"p50": _rounded(found.p50), "p95": _rounded(found.p95), "p99": _rounded(found.p99)}


def _histogram_map(histogram: HistogramStatistics, unit: str) -> dict[str, Any]:
    quantiles = {f"{name}{unit}": _rounded(histogram.quantile(share)) for name, share in QUANTILES.items()}
    return {
        "count": histogram.count,
        f"sum{unit}": round(histogram.sum, 3),
        **quantiles,
        "bounds": list(histogram.bounds),
        "counts": list(histogram.counts),
    }


def _rounded(number: float | None) -> float | None:
    return None if number is None else round(number, 4)
