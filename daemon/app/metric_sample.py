"""Owns what happened between two looks at the metrics: differences of their counters, with quantiles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct, field

from ..core.metrics import LATENCY_BOUNDS_MS, OTHERS, HistogramStatistics, MetricsStatistics

AGENTS_TOLD = 8
"""Tokens are told of so many agents, those with the most; the others' are added up."""

NOTHING = HistogramStatistics(LATENCY_BOUNDS_MS, (0,) * (len(LATENCY_BOUNDS_MS) + 1), 0.0, 0)


class Gauges(Struct, frozen=True):
    """What is read at a moment and not counted: what waits, what is kept, and the bytes that each process has
    in RAM, None for one that doesn't run."""

    files_pending: int = 0
    chunks_pending: int = 0
    scopes: int = 0
    subscribers: int = 0
    memory_bytes: Mapping[str, int | None] = field(default_factory=dict)


class Quantiles(Struct, frozen=True):
    """Latencies in milliseconds; None where there were none."""

    p50: float | None = None
    p95: float | None = None
    p99: float | None = None


class Sample(Struct, frozen=True):
    """What happened in `seconds` before `at` (ISO 8601), and the gauges at its end.

    `requests` counts answers and errors. `context` are the latencies of GetContext, `all` those of every
    method; `methods` are those that answered, each with their number. Tokens are those of the contexts, after
    and before compression, and by agent.
    """

    at: str
    seconds: float
    requests: int
    errors: int
    contexts: int
    cached: int
    tokens: int
    tokens_before: int
    tokens_by_agent: Mapping[str, int]
    context: Quantiles
    all: Quantiles
    methods: Mapping[str, tuple[int, Quantiles]]
    gauges: Gauges


def sample_between(
    before: MetricsStatistics, after: MetricsStatistics, at: str, seconds: float, gauges: Gauges
) -> Sample:
    """Return the sample between two states of the same metrics."""
    latencies = {
        name: difference
        for name, histogram in after.latency_ms.items()
        if (difference := _difference(before.latency_ms.get(name, NOTHING), histogram)).count
    }
    everything = _sum(latencies.values())
    errors = sum(after.errors.values()) - sum(before.errors.values())
    tokens = after.tokens_after - before.tokens_after
    return Sample(
        at=at,
        seconds=round(seconds, 3),
        requests=everything.count + errors,
        errors=errors,
        contexts=after.contexts - before.contexts,
        cached=after.contexts_cached - before.contexts_cached,
        tokens=tokens,
        tokens_before=after.tokens_before - before.tokens_before,
        tokens_by_agent=_tokens_by_agent(before.tokens_by_agent, after.tokens_by_agent, tokens),
        context=_quantiles(latencies.get("GetContext", NOTHING)),
        all=_quantiles(everything),
        methods={name: (one.count, _quantiles(one)) for name, one in latencies.items()},
        gauges=gauges,
    )


def _tokens_by_agent(before: Mapping[str, int], after: Mapping[str, int], total: int) -> dict[str, int]:
    """Return the tokens of those agents that had the most, the rest as `OTHERS`.

    The metrics forget agents that didn't ask for long; one that comes back begins anew there, so that what it
    had before isn't taken off.
    """
    found = {}
    for name, tokens in after.items():
        former = before.get(name, 0)
        new = tokens - former if tokens >= former else tokens
        if new and name != OTHERS:
            found[name] = new
    most = dict(sorted(found.items(), key=lambda one: (-one[1], one[0]))[:AGENTS_TOLD])
    rest = total - sum(most.values())
    return most | ({OTHERS: rest} if rest > 0 else {})


def _difference(before: HistogramStatistics, after: HistogramStatistics) -> HistogramStatistics:
    counts = tuple(new - old for old, new in zip(before.counts, after.counts, strict=True))
    return HistogramStatistics(after.bounds, counts, after.sum - before.sum, after.count - before.count)


def _sum(histograms: Iterable[HistogramStatistics]) -> HistogramStatistics:
    found = NOTHING
    for one in histograms:
        counts = tuple(map(sum, zip(found.counts, one.counts, strict=True)))
        found = HistogramStatistics(one.bounds, counts, found.sum + one.sum, found.count + one.count)
    return found


def _quantiles(histogram: HistogramStatistics) -> Quantiles:
    return Quantiles(*map(histogram.quantile, (0.5, 0.95, 0.99)))
