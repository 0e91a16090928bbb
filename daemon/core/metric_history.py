"""The metrics of this run, and those of the last hour and day: samples in bounded memory, written to a file
for the next start.
"""

from __future__ import annotations

import asyncio
import logging
import time
from bisect import bisect_left
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Literal

import msgspec
from msgspec import Struct, field

from .errors import StateError
from .record_file import RecordFile
from .system import System
from .times import timestamp_of

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


log = logging.getLogger(__name__)

AGENTS_TOLD = 8
"""Maximum number of agents whose tokens a sample lists, those with the most; the others are added up."""

NOTHING = HistogramStatistics(LATENCY_BOUNDS_MS, (0,) * (len(LATENCY_BOUNDS_MS) + 1), 0.0, 0)


class Gauges(Struct, frozen=True):
    """Values that are read rather than counted: queue lengths, numbers of scopes and subscribers, and the
    resident bytes of each process, None if it doesn't run."""

    files_pending: int = 0
    chunks_pending: int = 0
    scopes: int = 0
    subscribers: int = 0
    memory_bytes: Mapping[str, int | None] = field(default_factory=dict)


class Quantiles(Struct, frozen=True):
    """Latencies in milliseconds; None without requests."""

    p50: float | None = None
    p95: float | None = None
    p99: float | None = None


class Sample(Struct, frozen=True):
    """The counts of the `seconds` before `at` (ISO 8601), and the gauges at its end.

    `requests` counts answers and errors. `context` are the latencies of GetContext, `all` those of every
    method; `methods` are those that answered, each with its number. Tokens are those of the contexts,
    after and before compression, and by agent.
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
        methods={name: (latency.count, _quantiles(latency)) for name, latency in latencies.items()},
        gauges=gauges,
    )


def _tokens_by_agent(before: Mapping[str, int], after: Mapping[str, int], total: int) -> dict[str, int]:
    """Return the tokens of the agents with the most, and the rest as `OTHERS`.

    The metrics drop agents that haven't asked for long; such an agent starts anew there, so its former
    tokens aren't subtracted.
    """
    found = {}
    for name, tokens in after.items():
        former = before.get(name, 0)
        new = tokens - former if tokens >= former else tokens
        if new and name != OTHERS:
            found[name] = new
    most = dict(sorted(found.items(), key=lambda entry: (-entry[1], entry[0]))[:AGENTS_TOLD])
    rest = total - sum(most.values())
    return most | ({OTHERS: rest} if rest > 0 else {})


def _difference(before: HistogramStatistics, after: HistogramStatistics) -> HistogramStatistics:
    counts = tuple(new - old for old, new in zip(before.counts, after.counts, strict=True))
    return HistogramStatistics(after.bounds, counts, after.sum - before.sum, after.count - before.count)


def _sum(histograms: Iterable[HistogramStatistics]) -> HistogramStatistics:
    found = NOTHING
    for each in histograms:
        counts = tuple(map(sum, zip(found.counts, each.counts, strict=True)))
        found = HistogramStatistics(each.bounds, counts, found.sum + each.sum, found.count + each.count)
    return found


def _quantiles(histogram: HistogramStatistics) -> Quantiles:
    return Quantiles(*map(histogram.quantile, (0.5, 0.95, 0.99)))


Period = Literal["hour", "day"]

HOUR_STEP_S, HOUR_SAMPLES = 10.0, 360
DAY_STEP_S, DAY_SAMPLES = 300.0, 288
"""Seconds of a step and number of samples: an hour has a point every 10 seconds, a day every 5 minutes,
about as many as a screen shows."""

EARLY_S = 0.5
"""Seconds before its end from which a step counts as over: a timer may fire a little early."""


class MetricSamples(Struct, frozen=True):
    """The samples of a period, the oldest first, `step_s` seconds apart."""

    period: Period
    step_s: float
    samples: tuple[Sample, ...]


FILE = "metrics.sqlite"
VERSION = 1
SCHEMA = """
CREATE TABLE samples (
    period TEXT NOT NULL, at INTEGER NOT NULL, sample BLOB NOT NULL, PRIMARY KEY (period, at)) WITHOUT ROWID;
"""

WRITE_S = 60.0
"""Seconds between two writes of new samples; a killed daemon loses that much of its history."""


class SampleFile:
    """The samples of earlier starts. Every method blocks for the disk and raises `StateError`."""

    def __init__(self, path: str, system: System) -> None:
        self._file = RecordFile(path, SCHEMA, VERSION, system)

    def read(self, period: Period, since: int) -> list[Sample]:
        """Return the samples of a period since a time in milliseconds, the oldest first."""
        with self._file.reading() as database:
            rows = database.execute(
                "SELECT sample FROM samples WHERE period = ? AND at > ? ORDER BY at", (period, since)
            ).fetchall()
        found = []
        for (data,) in rows:
            try:
                found.append(msgspec.json.decode(data, type=Sample))
            except msgspec.MsgspecError:  # of another version
                continue
        return found

    def write(self, period: Period, samples: Sequence[Sample], since: int) -> None:
        """Add samples, and remove those before a time in milliseconds."""
        rows = [(period, _milliseconds(sample.at), data) for sample in samples if (data := _packed(sample))]
        with self._file.writing() as database:
            database.executemany("INSERT OR REPLACE INTO samples VALUES (?, ?, ?)", rows)
            database.execute("DELETE FROM samples WHERE period = ? AND at <= ?", (period, since))

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _packed(sample: Sample) -> bytes:
    """Return a sample as JSON, nothing for one that names an agent with half a surrogate."""
    try:
        return msgspec.json.encode(sample)
    except UnicodeEncodeError:
        return b""


def _milliseconds(at: str) -> int:
    return round(datetime.fromisoformat(at).timestamp() * 1000)


class MetricHistory:
    """Takes samples. On the event loop only: a sample takes .3 ms, 2 ms if all methods were called, and 4
    KB.

    `gauges` reads the values that aren't counted, and `sleep` waits some seconds. Without a `file` the
    samples are lost with the process.
    """

    def __init__(
        self,
        metrics: Metrics,
        gauges: Callable[[], Gauges],
        system: System,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        file: SampleFile | None = None,
    ) -> None:
        self._metrics = metrics
        self._gauges = gauges
        self._system = system
        self._sleep = sleep
        self._file = file
        self._write_due = system.monotonic() + WRITE_S
        now, statistics = system.monotonic(), metrics.statistics()
        self._series: dict[Period, _Series] = {
            "hour": _Series(HOUR_STEP_S, HOUR_SAMPLES, now, statistics),
            "day": _Series(DAY_STEP_S, DAY_SAMPLES, now, statistics),
        }

    async def load(self) -> str:
        """Read the samples of earlier starts; returns a warning or an empty text."""
        if self._file is None:
            return ""
        try:
            for period, series in self._series.items():
                series.samples.extend(await asyncio.to_thread(self._file.read, period, self._oldest(series)))
        except StateError as error:
            return f"the history of metrics begins anew: {error}"
        return ""

    async def run(self) -> None:
        """Take samples until cancelled."""
        while True:
            await self._sleep(self._due_in())
            self.take()
            if self._system.monotonic() >= self._write_due:
                await self._write()

    async def close(self) -> None:
        """Write the last samples, and close the file."""
        await self._write()
        if self._file is not None:
            await asyncio.to_thread(self._file.close)

    async def _write(self) -> None:
        """Write new samples; a failure loses nothing but them at the next start."""
        self._write_due = self._system.monotonic() + WRITE_S
        for period, series in self._series.items():
            new, series.new = series.new, []
            if self._file is not None and new:
                try:
                    await asyncio.to_thread(self._file.write, period, new, self._oldest(series))
                except StateError as error:
                    log.warning("samples of the metrics are not kept: %s", error)

    def _oldest(self, series: _Series) -> int:
        """Return the time in milliseconds before which a period has no samples."""
        span_s = series.step_s * (series.samples.maxlen or 0)
        return round((self._system.now().timestamp() - span_s) * 1000)

    def take(self) -> None:
        """Take the samples that are due."""
        now = self._system.monotonic()
        due = [series for series in self._series.values() if series.due_in(now) <= EARLY_S]
        if not due:
            return
        at, statistics, gauges = timestamp_of(self._system.now()), self._metrics.statistics(), self._gauges()
        for series in due:
            series.take(now, at, statistics, gauges)

    def history(self, period: Period) -> MetricSamples:
        """Return the samples of a period so far."""
        series = self._series[period]
        return MetricSamples(period, series.step_s, tuple(series.samples))

    def _due_in(self) -> float:
        now = self._system.monotonic()
        return max(min(series.due_in(now) for series in self._series.values()), 0.0)


class _Series:
    """The samples of a period, and the state at which the next sample begins."""

    def __init__(self, step_s: float, most: int, now: float, statistics: MetricsStatistics) -> None:
        self.step_s = step_s
        self.samples: deque[Sample] = deque(maxlen=most)
        self.new: list[Sample] = []
        """Samples that aren't written yet."""
        self._began, self._before, self._due = now, statistics, now + step_s

    def due_in(self, now: float) -> float:
        """Return the seconds until the next sample is due; negative if it is late."""
        return self._due - now

    def take(self, now: float, at: str, statistics: MetricsStatistics, gauges: Gauges) -> None:
        """Add a sample of the time since the last one."""
        sample = sample_between(self._before, statistics, at, now - self._began, gauges)
        self.samples.append(sample)
        self.new = [*self.new, sample][-(self.samples.maxlen or 0) :]
        self._began, self._before = now, statistics
        # The next step ends at a multiple of the step, so that delays don't add up; after a long delay, steps
        # count from now.
        self._due += self.step_s
        if self._due <= now:
            self._due = now + self.step_s
