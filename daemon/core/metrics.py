"""The daemon's own metrics: latencies, contexts, tokens by agent.

Only counts and sums, in bounded memory. Values that are rarely asked for, such as memory and queue
lengths, are read on request. No metric leaves the machine.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import OrderedDict, deque
from collections.abc import Mapping

from msgspec import Struct, field

LATENCY_BOUNDS_MS = (
    0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1_000.0, 2_500.0, 5_000.0, 10_000.0,
)  # fmt: skip
"""Upper bounds of the buckets in milliseconds, in steps of about 2.5 as Prometheus has them, from the hot
path's 0.2 ms to the longest deadline in use. Larger values go into one more bucket."""

TOKEN_BOUNDS = (250.0, 500.0, 1_000.0, 2_000.0, 4_000.0, 8_000.0, 16_000.0, 32_000.0, 64_000.0, 128_000.0)

AGENTS_MAX = 100
"""Maximum number of agents whose tokens are counted, the most recent ones; the others go into `OTHERS`."""

OTHERS = "(others)"


class HistogramStatistics(Struct, frozen=True):
    """`counts` has one number for each of the inclusive upper `bounds`, and one for larger values."""

    bounds: tuple[float, ...]
    counts: tuple[int, ...]
    sum: float
    count: int

    def quantile(self, share: float) -> float | None:
        """Estimate the value below which a share (0..1) of the values lies, linear within its bucket; None
        without values. A value above the last bound counts as that bound."""
        wanted, seen = share * self.count, 0
        for position, count in enumerate(self.counts):
            if count and seen + count >= wanted:
                if position == len(self.bounds):
                    return self.bounds[-1]
                low = self.bounds[position - 1] if position else 0.0
                return low + (self.bounds[position] - low) * max(wanted - seen, 0.0) / count
            seen += count
        return None


class Histogram:
    """Counts values in buckets."""

    __slots__ = ("_bounds", "_counts", "_sum")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def observe(self, value: float) -> None:
        """Count a value."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def statistics(self) -> HistogramStatistics:
        """Return what was counted."""
        return HistogramStatistics(self._bounds, tuple(self._counts), self._sum, sum(self._counts))


class ContextFigures(Struct, frozen=True):
    """What one context cost: tokens by type of slice, before and after compression."""

    agent_name: str
    tokens: int
    tokens_before: int
    by_type: Mapping[str, int] = field(default_factory=dict)
    cached: bool = False
    partial: bool = False
    masked: int = 0


class MetricsStatistics(Struct, frozen=True):
    """All counts since the daemon started.

    `latency_ms` is by method, `errors` by method and code. The counts of contexts are: all contexts, those
    from the cache, partial ones, their sizes, tokens before and after compression, tokens by type of slice
    and by agent, and masked secrets. `contexts_late` counts prompts and starts that got none in time,
    `contexts_late_hour` those of the last hour, at most `LATE_MAX`.
    """

    latency_ms: Mapping[str, HistogramStatistics]
    errors: Mapping[tuple[str, str], int]
    contexts: int
    contexts_cached: int
    contexts_partial: int
    context_tokens: HistogramStatistics
    tokens_before: int
    tokens_after: int
    tokens_by_type: Mapping[str, int]
    tokens_by_agent: Mapping[str, int]
    secrets_masked: int
    contexts_late: int = 0
    contexts_late_hour: int = 0

    @property
    def cache_hit_rate(self) -> float | None:
        """The share of contexts that came from the cache, 0 to 1; None before the first."""
        return self.contexts_cached / self.contexts if self.contexts else None

    @property
    def compression_ratio(self) -> float | None:
        """Tokens after compression divided by tokens before, 0 to 1; None before the first."""
        return self.tokens_after / self.tokens_before if self.tokens_before else None


HOUR_S = 3_600
LATE_MAX = 1_000
"""Maximum late contexts whose time is remembered."""


class Metrics:
    """Counts. On the event loop only; each call takes about a microsecond."""

    def __init__(self) -> None:
        self._latency: dict[str, Histogram] = {}
        self._errors: dict[tuple[str, str], int] = {}
        self._contexts = self._cached = self._partial = self._masked = self._late = 0
        self._late_at: deque[float] = deque(maxlen=LATE_MAX)
        self._before = self._after = 0
        self._size = Histogram(TOKEN_BOUNDS)
        self._by_type: dict[str, int] = {}
        self._by_agent: OrderedDict[str, int] = OrderedDict()
        self._others = 0

    def answered(self, method: str, elapsed_ms: float) -> None:
        """Count an answer to a known method."""
        histogram = self._latency.get(method)
        if histogram is None:
            histogram = self._latency[method] = Histogram(LATENCY_BOUNDS_MS)
        histogram.observe(elapsed_ms)

    def failed(self, method: str, code: str) -> None:
        """Count an error reply of a known method."""
        self._errors[method, code] = self._errors.get((method, code), 0) + 1

    def context_was_late(self, now: float | None = None) -> None:
        """Count a context that an agent didn't get, since time ran out."""
        self._late += 1
        self._late_at.append(time.monotonic() if now is None else now)

    def context_given(self, figures: ContextFigures) -> None:
        """Count a context that was given to an agent."""
        self._contexts += 1
        self._cached += figures.cached
        self._partial += figures.partial
        self._masked += figures.masked
        self._before += figures.tokens_before
        self._after += figures.tokens
        self._size.observe(figures.tokens)
        for name, tokens in figures.by_type.items():
            self._by_type[name] = self._by_type.get(name, 0) + tokens
        self._by_agent[figures.agent_name] = self._by_agent.get(figures.agent_name, 0) + figures.tokens
        self._by_agent.move_to_end(figures.agent_name)
        if len(self._by_agent) > AGENTS_MAX:
            self._others += self._by_agent.popitem(last=False)[1]

    def statistics(self, now: float | None = None) -> MetricsStatistics:
        """Return what was counted."""
        since = (time.monotonic() if now is None else now) - HOUR_S
        by_agent = dict(self._by_agent)
        if self._others:
            by_agent[OTHERS] = self._others
        return MetricsStatistics(
            {method: histogram.statistics() for method, histogram in sorted(self._latency.items())},
            dict(self._errors),
            self._contexts,
            self._cached,
            self._partial,
            self._size.statistics(),
            self._before,
            self._after,
            dict(sorted(self._by_type.items())),
            by_agent,
            self._masked,
            self._late,
            sum(at > since for at in self._late_at),
        )
