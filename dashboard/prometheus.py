"""Metrics for Prometheus: the daemon's counters as metric families, read on each request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import getitem
from typing import Any, Final

from aiohttp import web
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector, CollectorRegistry

from .view import Page, get

PREFIX: Final = "foveal"

COUNTERS: Final[Mapping[str, tuple[str, str]]] = {
    "contexts": ("count", "Contexts that were given."),
    "contexts_cached": ("cached", "Contexts that were answered from the cache."),
    "contexts_partial": ("partial", "Contexts of which a part was missing."),
    "context_tokens_before": ("tokens_before", "Tokens of contexts before compression."),
    "context_tokens_after": ("tokens_after", "Tokens of contexts as they were given."),
    "secrets_masked": ("secrets_masked", "Values that looked like secrets and were masked."),
}
"""The counters of contexts: a field of GetMetrics, and the help."""

GAUGES: Final[Mapping[str, tuple[Sequence[str], str]]] = {
    "uptime_seconds": (["uptime_s"], "Time since the daemon started."),
    "scopes": (["scopes", "count"], "Scopes that are kept."),
    "scopes_bytes": (["scopes", "bytes"], "Memory of the scopes."),
    "subscribers": (["subscribers"], "Connections that follow events."),
    "files_pending": (["index", "files_pending"], "Files that wait to be read."),
    "chunks_pending": (["index", "chunks_pending"], "Parts of files that wait for their meaning."),
}
"""The gauges: where GetMetrics has each, and the help."""

OF_PROJECTS: Final[Mapping[str, str]] = {
    "files": "Files of a project.",
    "symbols": "Definitions of a project.",
    "chunks": "Parts of files that are searched.",
    "experiences": "Decisions that are kept.",
    "index_bytes": "Size of a project's index on disk.",
}
"""The gauges of each project."""


class PrometheusFigures(Page):
    """The address `/metrics`, in the Prometheus text format."""

    @get("/metrics")
    async def _serve(self, request: web.Request) -> web.Response:
        metrics = await self._view.call("GetMetrics")
        status = await self._view.call("Status")
        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Read(metrics, status))
        return web.Response(body=generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_LATEST})


class _Read(Collector):
    """One reading of the daemon's figures."""

    def __init__(self, metrics: Mapping[str, Any], status: Mapping[str, Any]) -> None:
        self._metrics = metrics
        self._status = status

    def collect(self) -> Iterable[Metric]:
        """Return the families, each with its help."""
        yield from self._methods()
        yield from self._contexts()
        yield from self._gauges()
        yield from self._projects()

    def _methods(self) -> Iterable[Metric]:
        latency = HistogramMetricFamily(
            f"{PREFIX}_request_duration_seconds", "Time until a method was answered.", labels=["method"]
        )
        errors = CounterMetricFamily(
            f"{PREFIX}_request_errors", "Errors that methods were answered with.", labels=["method", "code"]
        )
        for method, known in self._metrics["methods"].items():
            bounds = [bound / 1000 for bound in known["bounds"]]
            latency.add_metric([method], _buckets(bounds, known["counts"]), known["sum_ms"] / 1000)
            for code, count in known["errors"].items():
                errors.add_metric([method, code], count)
        yield latency
        yield errors

    def _contexts(self) -> Iterable[Metric]:
        contexts = self._metrics["contexts"]
        for name, (field, help_text) in COUNTERS.items():
            yield CounterMetricFamily(f"{PREFIX}_{name}", help_text, value=contexts[field])
        sizes = HistogramMetricFamily(f"{PREFIX}_context_size_tokens", "Tokens of a context.")
        tokens = contexts["tokens"]
        sizes.add_metric([], _buckets(tokens["bounds"], tokens["counts"]), tokens["sum"])
        yield sizes
        for label in ("type", "agent"):
            counts = contexts[f"tokens_by_{label}"]
            yield _labelled(
                CounterMetricFamily,
                f"context_tokens_by_{label}",
                f"Tokens of contexts by {label}.",
                label,
                counts,
            )

    def _gauges(self) -> Iterable[Metric]:
        for name, (fields, help_text) in GAUGES.items():
            value: Any = reduce(getitem, fields, self._metrics)
            yield GaugeMetricFamily(f"{PREFIX}_{name}", help_text, value=value)
        memory = self._metrics["memory_bytes"]
        yield _labelled(
            GaugeMetricFamily, "resident_memory_bytes", "Resident memory of a process.", "process", memory
        )

    def _projects(self) -> Iterable[Metric]:
        projects = self._status["projects"]
        for name, help_text in OF_PROJECTS.items():
            counts = {project["root"]: project[name] for project in projects}
            yield _labelled(GaugeMetricFamily, f"project_{name}", help_text, "project", counts)
        ready = {project["root"]: project["state"] == "ready" for project in projects}
        yield _labelled(
            GaugeMetricFamily, "project_ready", "Whether all of a project is indexed.", "project", ready
        )


def _labelled(
    family: type[CounterMetricFamily | GaugeMetricFamily],
    name: str,
    help_text: str,
    label: str,
    values: Mapping[str, float | None],
) -> Metric:
    """Return a family with a sample for each value that is known."""
    found = family(f"{PREFIX}_{name}", help_text, labels=[label])
    for of, value in values.items():
        if value is not None:
            found.add_metric([of], float(value))
    return found


def _buckets(bounds: Sequence[float], counts: Sequence[int]) -> list[tuple[str, float]]:
    """Return counts by bucket as Prometheus has them: each holds all that are smaller."""
    edges = [*(format(bound, "g") for bound in bounds), "+Inf"]
    buckets, seen = [], 0
    for edge, count in zip(edges, counts, strict=True):
        seen += count
        buckets.append((edge, float(seen)))
    return buckets
