"""The page of metrics: sizes, times, queues and memory over the last hour or day."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from aiohttp import web
from markupsafe import Markup

from ...ipc.errors import INVALID_PARAMS, RpcError
from ..drawings import sparkline
from ..view import Page, get

PERIODS: Final[Mapping[str, str]] = {"hour": "the last hour", "day": "the last day"}

POINTS: Final = 120
"""Maximum points of a line; more are finer than a pixel on most screens."""

Sample = Mapping[str, Any]


class Performance(Page):
    """The page at `/performance`."""

    @get("/performance")
    async def _serve(self, request: web.Request) -> web.Response:
        period = request.query.get("period", "hour")
        if period not in PERIODS:
            raise RpcError(INVALID_PARAMS, f"period is one of {', '.join(PERIODS)}, not {period!r:.40}")
        metrics = await self._view.call("GetMetrics", history=period)
        samples = metrics["history"]["samples"]
        return await self._view.page(
            request,
            "performance.html",
            at="metrics",
            title="Metrics",
            period=period,
            periods=PERIODS,
            metrics=metrics,
            seconds=sum(sample["seconds"] for sample in samples),
            lines=_lines(samples, PERIODS[period]),
            agents=_agents(samples),
            methods=_methods(metrics, samples),
        )


def thinned(values: Sequence[float | None], points: int = POINTS) -> list[float | None]:
    """Return at most `points` values, each the largest of its interval, because peaks matter."""
    if len(values) <= points:
        return list(values)
    edges = [position * len(values) // points for position in range(points + 1)]
    return [
        max((value for value in values[low:high] if value is not None), default=None)
        for low, high in pairwise(edges)
    ]


def _lines(samples: Sequence[Sample], period: str) -> Mapping[str, list[Mapping[str, Any]]]:
    """Return the figures by subject: name, latest and largest value, unit, drawing, and what it means."""

    def line(name: str, unit: str, about: str, read: Callable[[Sample], float | None]) -> Mapping[str, Any]:
        values = [read(sample) for sample in samples]
        known = [value for value in values if value is not None]
        return {
            "name": name,
            "unit": unit,
            "about": about,
            "last": known[-1] if known else None,
            "top": max(known, default=None),
            "drawing": sparkline(thinned(values), f"{name} over {period}"),
        }

    def per(sample: Sample, part: str, whole: str) -> float | None:
        return sample[part] / sample[whole] if sample[whole] else None

    return {
        "Contexts": [
            line(
                "Size",
                "number",
                "tokens, mean of those given",
                lambda sample: per(sample, "tokens", "contexts"),
            ),
            line(
                "Sent",
                "share",
                "of what was to be said",
                lambda sample: per(sample, "tokens", "tokens_before"),
            ),
            line("Given", "number", "in each step", lambda sample: sample["contexts"]),
            line(
                "Answered from the cache",
                "share",
                "of them",
                lambda sample: per(sample, "cached", "contexts"),
            ),
        ],
        "Time": [
            line(
                "Median context", "ms", "half of them took less", lambda sample: sample["context_ms"]["p50"]
            ),
            line("Slow contexts", "ms", "99 of 100 took less", lambda sample: sample["context_ms"]["p99"]),
            line("All requests", "number", "answered in each step", lambda sample: sample["requests"]),
            line("Errors", "number", "answered in each step", lambda sample: sample["errors"]),
        ],
        "Work that waits": [
            line("Files", "number", "to be read", lambda sample: sample["files_pending"]),
            line("Parts of files", "number", "for their meaning", lambda sample: sample["chunks_pending"]),
        ],
        "Memory": [
            line("Daemon", "bytes", "", lambda sample: sample["memory_bytes"]["daemon"]),
            line("Indexer", "bytes", "", lambda sample: sample["memory_bytes"]["indexer"]),
            line("Embedder", "bytes", "ends when idle", lambda sample: sample["memory_bytes"]["embedder"]),
        ],
    }


def _agents(samples: Sequence[Sample]) -> list[tuple[str, int]]:
    """Return tokens by agent over the time, the most first."""
    tokens: dict[str, int] = {}
    for sample in samples:
        for name, count in sample["tokens_by_agent"].items():
            tokens[name] = tokens.get(name, 0) + count
    return sorted(tokens.items(), key=lambda pair: (-pair[1], pair[0]))


def _methods(metrics: Mapping[str, Any], samples: Sequence[Sample]) -> list[Mapping[str, Any]]:
    """Return what is known of each method since the start, and its medians, the most asked first."""
    return sorted(
        (
            {
                "name": name,
                "count": known["count"],
                "p50_ms": known["p50_ms"],
                "p95_ms": known["p95_ms"],
                "p99_ms": known["p99_ms"],
                "errors": sum(known["errors"].values()),
                "codes": ", ".join(f"{code}: {count:,}" for code, count in sorted(known["errors"].items())),
                "drawing": _medians(name, samples),
            }
            for name, known in metrics["methods"].items()
        ),
        key=lambda method: (-method["count"], method["name"]),
    )


def _medians(method: str, samples: Sequence[Sample]) -> Markup:
    values = [sample["methods"].get(method, {}).get("p50_ms") for sample in samples]
    return sparkline(thinned(values, POINTS // 2), f"median time of {method}")
