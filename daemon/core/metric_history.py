"""The metrics of this run, and those of the last hour and day: samples in bounded memory, written to a file
for the next start.
"""

from __future__ import annotations

import asyncio
import logging
import time
from bisect import bisect_left
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from functools import reduce
from typing import Literal

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

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


class Histogram(Struct):
    """Values counted in buckets: `counts` has a number for each of the inclusive upper `bounds`, and one for
    larger values."""

    bounds: tuple[float, ...]
    counts: list[int]
    sum: float = 0.0

    @classmethod
    def of(cls, bounds: tuple[float, ...]) -> Histogram:
        """Return a histogram without values."""
        return cls(bounds, [0] * (len(bounds) + 1))

    @property
    def count(self) -> int:
        """The number of values."""
        return sum(self.counts)

    def observe(self, value: float) -> None:
        """Count a value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value

    def plus(self, other: Histogram, times: int = 1) -> Histogram:
        """Return the values of both; with -1 `times` those that the other one hasn't."""
        counts = [own + times * others for own, others in zip(self.counts, other.counts, strict=True)]
        return Histogram(self.bounds, counts, self.sum + times * other.sum)

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


PromptOutcome = Literal["whole", "part", "late", "failed", "nothing", "idle"]
"""What a prompt of an agent got by its hook: a whole context, or a part of it; nothing, because time ran out,
something failed, nothing likely was found, or the prompt needed nothing (small talk, or answered already)."""


class ContextCost(Struct, frozen=True):
    """What one context cost: tokens by type of slice, before and after compression."""

    agent_name: str
    tokens: int
    tokens_before: int
    by_type: Mapping[str, int] = field(default_factory=dict)
    cached: bool = False
    partial: bool = False
    masked: int = 0


HOUR_S = 3_600
LATE_MAX = 1_000
"""Maximum late contexts whose time is remembered."""


class Metrics(Struct):
    """All counts since the daemon started. On the event loop only; counting takes about a microsecond.

    `latency_ms` is by method, `errors` by method and code; `prompt_ms` are the times of the hooks of prompts,
    `prompts` their number by outcome. The counts of contexts are: all contexts, those
    from the cache, partial ones, their sizes, tokens before and after compression, tokens by type of slice
    and by agent, and masked secrets. `contexts_late` counts prompts and starts that got none in time,
    `late_at` has the times of the last `LATE_MAX`.
    """

    latency_ms: dict[str, Histogram] = field(default_factory=dict)
    errors: dict[tuple[str, str], int] = field(default_factory=dict)
    contexts: int = 0
    contexts_cached: int = 0
    contexts_partial: int = 0
    context_tokens: Histogram = field(default_factory=lambda: Histogram.of(TOKEN_BOUNDS))
    tokens_before: int = 0
    tokens_after: int = 0
    tokens_by_type: dict[str, int] = field(default_factory=dict)
    tokens_by_agent: dict[str, int] = field(default_factory=dict)
    secrets_masked: int = 0
    contexts_late: int = 0
    late_at: deque[float] = field(default_factory=lambda: deque(maxlen=LATE_MAX))
    prompt_ms: Histogram = field(default_factory=lambda: Histogram.of(LATENCY_BOUNDS_MS))
    prompts: dict[PromptOutcome, int] = field(default_factory=dict)

    @property
    def cache_hit_rate(self) -> float | None:
        """The share of contexts that came from the cache, 0 to 1; None before the first."""
        return self.contexts_cached / self.contexts if self.contexts else None

    @property
    def compression_ratio(self) -> float | None:
        """Tokens after compression divided by tokens before, 0 to 1; None before the first."""
        return self.tokens_after / self.tokens_before if self.tokens_before else None

    def late_in_hour(self, now: float | None = None) -> int:
        """Return the number of late contexts of the last hour."""
        since = (time.monotonic() if now is None else now) - HOUR_S
        return sum(at > since for at in self.late_at)

    def answered(self, method: str, elapsed_ms: float) -> None:
        """Count an answer to a known method."""
        if method not in self.latency_ms:
            self.latency_ms[method] = Histogram.of(LATENCY_BOUNDS_MS)
        self.latency_ms[method].observe(elapsed_ms)

    def failed(self, method: str, code: str) -> None:
        """Count an error reply of a known method."""
        self.errors[method, code] = self.errors.get((method, code), 0) + 1

    def context_was_late(self, now: float | None = None) -> None:
        """Count a context that an agent didn't get, since time ran out."""
        self.contexts_late += 1
        self.late_at.append(time.monotonic() if now is None else now)

    def prompt_answered(self, outcome: PromptOutcome, elapsed_ms: float) -> None:
        """Count a prompt that a hook told of."""
        self.prompt_ms.observe(elapsed_ms)
        self.prompts[outcome] = self.prompts.get(outcome, 0) + 1

    def context_given(self, figures: ContextCost) -> None:
        """Count a context that was given to an agent."""
        self.contexts += 1
        self.contexts_cached += figures.cached
        self.contexts_partial += figures.partial
        self.secrets_masked += figures.masked
        self.tokens_before += figures.tokens_before
        self.tokens_after += figures.tokens
        self.context_tokens.observe(figures.tokens)
        for name, tokens in figures.by_type.items():
            self.tokens_by_type[name] = self.tokens_by_type.get(name, 0) + tokens
        agents, name = self.tokens_by_agent, figures.agent_name
        agents[name] = agents.pop(name, 0) + figures.tokens  # the most recent one comes last
        if len(agents) > AGENTS_MAX + (OTHERS in agents):
            oldest = next(each for each in agents if each != OTHERS)
            agents[OTHERS] = agents.get(OTHERS, 0) + agents.pop(oldest)

    def copy(self) -> Metrics:
        """Return what was counted so far, which goes on counting for itself."""
        return replace(
            self,
            latency_ms={name: replace(each, counts=[*each.counts]) for name, each in self.latency_ms.items()},
            errors=dict(self.errors),
            context_tokens=replace(self.context_tokens, counts=[*self.context_tokens.counts]),
            tokens_by_type=dict(self.tokens_by_type),
            tokens_by_agent=dict(self.tokens_by_agent),
            prompt_ms=replace(self.prompt_ms, counts=[*self.prompt_ms.counts]),
            prompts=dict(self.prompts),
        )


log = logging.getLogger(__name__)

AGENTS_TOLD = 8
"""Maximum number of agents whose tokens a sample lists, those with the most; the others are added up."""

NOTHING = Histogram.of(LATENCY_BOUNDS_MS)


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
    after and before compression, and by agent. `prompt` are the times of the hooks of prompts, `prompts`
    their number by outcome; samples of former versions have none.
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
    prompt: Quantiles = Quantiles()
    prompts: Mapping[PromptOutcome, int] = {}


def sample_between(before: Metrics, after: Metrics, at: str, seconds: float, gauges: Gauges) -> Sample:
    """Return the sample between two states of the same metrics."""
    latencies = {
        name: difference
        for name, histogram in sorted(after.latency_ms.items())
        if (difference := histogram.plus(before.latency_ms.get(name, NOTHING), -1)).count
    }
    everything = reduce(Histogram.plus, latencies.values(), NOTHING)
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
        prompt=_quantiles(after.prompt_ms.plus(before.prompt_ms, -1)),
        prompts={
            outcome: new
            for outcome, number in after.prompts.items()
            if (new := number - before.prompts.get(outcome, 0))
        },
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


def _quantiles(histogram: Histogram) -> Quantiles:
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
            except Exception:  # noqa: BLE001, S112 - damaged, or of another version
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
        now, before = system.monotonic(), metrics.copy()
        self._series: dict[Period, _Series] = {
            "hour": _Series(HOUR_STEP_S, HOUR_SAMPLES, now, before),
            "day": _Series(DAY_STEP_S, DAY_SAMPLES, now, before),
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
        at, metrics, gauges = timestamp_of(self._system.now()), self._metrics.copy(), self._gauges()
        for series in due:
            series.take(now, at, metrics, gauges)

    def history(self, period: Period) -> MetricSamples:
        """Return the samples of a period so far."""
        series = self._series[period]
        return MetricSamples(period, series.step_s, tuple(series.samples))

    def _due_in(self) -> float:
        now = self._system.monotonic()
        return max(min(series.due_in(now) for series in self._series.values()), 0.0)


class _Series:
    """The samples of a period, and the state at which the next sample begins."""

    def __init__(self, step_s: float, most: int, now: float, metrics: Metrics) -> None:
        self.step_s = step_s
        self.samples: deque[Sample] = deque(maxlen=most)
        self.new: list[Sample] = []
        """Samples that aren't written yet."""
        self._began, self._before, self._due = now, metrics, now + step_s

    def due_in(self, now: float) -> float:
        """Return the seconds until the next sample is due; negative if it is late."""
        return self._due - now

    def take(self, now: float, at: str, metrics: Metrics, gauges: Gauges) -> None:
        """Add a sample of the time since the last one."""
        sample = sample_between(self._before, metrics, at, now - self._began, gauges)
        self.samples.append(sample)
        self.new = [*self.new, sample][-(self.samples.maxlen or 0) :]
        self._began, self._before = now, metrics
        # The next step ends at a multiple of the step, so that delays don't add up; after a long delay, steps
        # count from now.
        self._due += self.step_s
        if self._due <= now:
            self._due = now + self.step_s
