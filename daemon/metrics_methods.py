"""Owns the method that tells what the daemon measured of itself; knows no wire."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any

from .engine import Engine
from .method_parts import Method
from .metrics import HistogramStatistics, MetricsStatistics
from .parameters import Parameters
from .process_memory import resident_bytes

QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


class MetricsMethods:
    """The methods by name over one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._started = time.monotonic()
        self.methods: Mapping[str, Method] = {"GetMetrics": self._get}

    def _get(self, parameters: Parameters) -> dict[str, Any]:
        engine = self._engine
        return {
            "uptime_s": round(time.monotonic() - self._started, 3),
            **metrics_map(engine.metrics.statistics()),
            "scopes": {"count": len(engine.scopes), "bytes": engine.scopes.memory_bytes},
            "subscribers": len(engine.events),
            "index": {
                "files_pending": sum(project.tree.pending for project in engine.projects),
                "chunks_pending": sum(
                    progress.pending
                    for project in engine.projects
                    if (progress := engine.semantics.progress(project.root)) is not None
                ),
            },
            "memory_bytes": {
                "daemon": resident_bytes(os.getpid()),
                "indexer": _of(engine.indexing.link.pid),
                "embedder": _of(engine.semantics.child.pid),
            },
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


def _of(pid: int | None) -> int | None:
    return None if pid is None else resident_bytes(pid)
