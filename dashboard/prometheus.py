"""Metrics for Prometheus: the daemon's counters as metric families, read on each request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
        for name, help_text, value in (
            ("contexts", "Contexts that were given.", contexts["count"]),
            ("contexts_cached", "Contexts that were answered from the cache.", contexts["cached"]),
            ("contexts_partial", "Contexts of which a part was missing.", contexts["partial"]),
            ("context_tokens_before", "Tokens of contexts before compression.", contexts["tokens_before"]),
            ("context_tokens_after", "Tokens of contexts as they were given.", contexts["tokens_after"]),
            (
                "secrets_masked",
                "Values that looked like secrets and were masked.",
                contexts["secrets_masked"],
            ),
        ):
            yield CounterMetricFamily(f"{PREFIX}_{name}", help_text, value=value)
        sizes = HistogramMetricFamily(f"{PREFIX}_context_size_tokens", "Tokens of a context.")
        tokens = contexts["tokens"]
        sizes.add_metric([], _buckets(tokens["bounds"], tokens["counts"]), tokens["sum"])
        yield sizes
        for label, counts in (("type", contexts["tokens_by_type"]), ("agent", contexts["tokens_by_agent"])):
            family = CounterMetricFamily(
                f"{PREFIX}_context_tokens_by_{label}", f"Tokens of contexts by {label}.", labels=[label]
            )
            for name, count in counts.items():
                family.add_metric([name], count)
            yield family

    def _gauges(self) -> Iterable[Metric]:
        metrics = self._metrics
        for name, help_text, value in (
            ("uptime_seconds", "Time since the daemon started.", metrics["uptime_s"]),
            ("scopes", "Scopes that are kept.", metrics["scopes"]["count"]),
            ("scopes_bytes", "Memory of the scopes.", metrics["scopes"]["bytes"]),
            ("subscribers", "Connections that follow events.", metrics["subscribers"]),
            ("files_pending", "Files that wait to be read.", metrics["index"]["files_pending"]),
            (
                "chunks_pending",
                "Parts of files that wait for their meaning.",
                metrics["index"]["chunks_pending"],
            ),
        ):
            yield GaugeMetricFamily(f"{PREFIX}_{name}", help_text, value=value)
        memory = GaugeMetricFamily(
            f"{PREFIX}_resident_memory_bytes", "Resident memory of a process.", labels=["process"]
        )
        for process, size in metrics["memory_bytes"].items():
            if size is not None:
                memory.add_metric([process], size)
        yield memory

    def _projects(self) -> Iterable[Metric]:
        families = {
            name: GaugeMetricFamily(f"{PREFIX}_project_{name}", help_text, labels=["project"])
            for name, help_text in (
                ("files", "Files of a project."),
                ("symbols", "Definitions of a project."),
                ("chunks", "Parts of files that are searched."),
                ("experiences", "Decisions that are kept."),
                ("index_bytes", "Size of a project's index on disk."),
            )
        }
        ready = GaugeMetricFamily(
            f"{PREFIX}_project_ready", "Whether all of a project is indexed.", labels=["project"]
        )
        for project in self._status["projects"]:
            for name, family in families.items():
                family.add_metric([project["root"]], project[name])
            ready.add_metric([project["root"]], float(project["state"] == "ready"))
        yield from families.values()
        yield ready


def _buckets(bounds: Sequence[float], counts: Sequence[int]) -> list[tuple[str, float]]:
    """Return counts by bucket as Prometheus has them: each holds all that are smaller."""
    edges = [*(format(bound, "g") for bound in bounds), "+Inf"]
    buckets, seen = [], 0
    for edge, count in zip(edges, counts, strict=True):
        seen += count
        buckets.append((edge, float(seen)))
    return buckets
