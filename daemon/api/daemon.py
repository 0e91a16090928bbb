"""The methods about the daemon itself: ping, status, metrics, events, shutdown, access to the dashboard.

Their docstrings become rows of docs/methods.md; "below" means a section of docs/protocol-*.md.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType, to_builtins

from ...ipc.connection import Connection
from ...ipc.version import __version__
from ..access.records import CODE_S, LOOPBACK, Admission
from ..access.service import Dashboard
from ..config.addresses import editor_template
from ..core.errors import InvalidRequest, Unsupported
from ..core.events import TOPICS, Sink
from ..core.metric_history import Histogram, Metrics, MetricSamples, Period, Quantiles, Sample
from ..core.parameters import Texts
from ..core.system import resident_bytes
from ..engine.service import Engine
from .events import filtered
from .marks import Plain, Text
from .method import AgentRequest, DaemonRequest, MethodRequest, WireMap, method, reply_of
from .projects import ProjectReply, project_reply

QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}

TOPIC_LIST = f"a list of topics, of which there are {', '.join(sorted(TOPICS))}"


class PingRequest(MethodRequest, frozen=True):
    protocol: Annotated[int, Meta(ge=0, le=1 << 31)] | None = None


class PingReply(Struct, frozen=True):
    version: Plain[str]
    protocol: Plain[int]
    pid: Plain[int]


class StatusReply(Struct, frozen=True):
    version: Plain[str]
    protocol: Plain[int]
    pid: Plain[int]
    uptime_s: Plain[float]
    rss_bytes: Plain[int | None]
    projects: list[ProjectReply]
    scopes: Plain[int]
    scopes_bytes: Plain[int]
    indexer_pid: Plain[int | None]
    embedder: Text[dict[str, object] | None]
    compressor: Text[dict[str, object] | None]
    degraded: Text[list[str]]


class SubscribeRequest(AgentRequest, frozen=True, kw_only=True):
    topics: Annotated[Texts, Meta(description=TOPIC_LIST)]


class SubscribeReply(Struct, frozen=True):
    topics: Plain[list[str]]


class ShutdownReply(Struct, frozen=True):
    stopping: bool


class MetricsRequest(DaemonRequest, frozen=True, kw_only=True):
    history: Period | None = None


class ContextTotals(Struct, frozen=True):
    """Totals of the contexts since the daemon started."""

    count: Plain[int]
    cached: Plain[int]
    partial: Plain[int]
    cache_hit_rate: Plain[float | None]
    compression_ratio: Plain[float | None]
    tokens: Plain[dict[str, object]]
    tokens_before: Plain[int]
    tokens_after: Plain[int]
    tokens_by_type: Plain[dict[str, int]]
    tokens_by_agent: Plain[dict[str, int]]
    secrets_masked: Plain[int]
    late: Plain[int] = 0
    late_hour: Plain[int] = 0


class ScopeFigures(Struct, frozen=True):
    count: Plain[int]
    bytes: Plain[int]


class IndexFigures(Struct, frozen=True):
    files_pending: Plain[int]
    chunks_pending: Plain[int]


class MetricsReply(Struct, frozen=True):
    uptime_s: Plain[float]
    methods: Plain[dict[str, dict[str, object]]]
    contexts: ContextTotals
    scopes: ScopeFigures
    subscribers: Plain[int]
    index: IndexFigures
    memory_bytes: Plain[dict[str, int | None]]
    prompts: Plain[dict[str, object]]
    history: Plain[dict[str, object] | UnsetType] = UNSET


class DaemonMethods:
    """The methods over one engine. `stop` asks the daemon to shut down."""

    def __init__(self, engine: Engine, stop: Callable[[], None], protocol: int) -> None:
        self._engine = engine
        self._stop = stop
        self._protocol = protocol
        self._started = time.monotonic()

    @method("Ping", policy="open", access="anyone")
    def ping(self, request: PingRequest) -> PingReply:
        """Return the versions; `unsupported` if the protocols differ."""
        wanted, spoken = request.protocol, self._protocol
        if wanted is not None and wanted != spoken:
            older = "client" if wanted < spoken else "daemon (foveal restart after an upgrade)"
            raise Unsupported(
                f"the client speaks protocol {wanted}, the daemon {spoken}: update the {older}",
                {"protocol": spoken, "version": __version__},
            )
        return PingReply(__version__, spoken, os.getpid())

    @method("Status", policy="daemon", access="read")
    async def status(self, request: DaemonRequest) -> StatusReply:
        """Return the state of the daemon and its open projects, or only of the project around `cwd`."""
        engine = self._engine
        chosen = list(engine.projects)
        if request.cwd is not None:
            root = await engine.projects.root_of(request.cwd)
            chosen = [project for project in chosen if project.root == root]
        asks = not request.agent.is_named
        return StatusReply(
            version=__version__,
            protocol=self._protocol,
            pid=os.getpid(),
            uptime_s=self._uptime_s,
            rss_bytes=resident_bytes(os.getpid()),
            projects=[await project_reply(engine, project, asks=asks) for project in chosen],
            scopes=len(engine.scopes),
            scopes_bytes=engine.scopes_bytes,
            indexer_pid=engine.indexing.link.pid,
            embedder=engine.semantics.describe(),
            compressor=engine.compressing.describe(),
            degraded=list(dict.fromkeys(await engine.problems())),
        )

    @method("Subscribe", policy="own", access="read")
    def subscribe(self, request: SubscribeRequest, connection: Connection) -> SubscribeReply:
        """Send events of these topics from now on, as notifications `[2, "event", [{topic, at, data}]]`."""
        topics = request.topics
        unknown = [topic for topic in topics if topic not in TOPICS]
        if unknown:
            known = ", ".join(sorted(TOPICS))
            raise InvalidRequest(
                f"topics has the unknown topic {unknown[0]!r:.80}; known are {known}", "topics"
            )
        agent, permissions = request.agent, self._engine.permissions
        sink: Sink = connection.publish
        if agent.is_named:
            permissions.require_by_user(agent)
            sink = filtered(sink, agent, permissions)
        self._engine.events.subscribe(connection, topics, sink)
        connection.when_lost(self._engine.events.unsubscribe)
        return SubscribeReply(list(topics))

    @method("Shutdown", policy="daemon", access="person")
    def shutdown(self, request: DaemonRequest) -> ShutdownReply:
        """Stop the daemon once this is answered."""
        asyncio.get_running_loop().call_soon(self._stop)
        return ShutdownReply(stopping=True)

    @method("GetMetrics", policy="daemon", access="person")
    async def metrics(self, request: MetricsRequest) -> MetricsReply:
        """Return the metrics since the daemon started. In a histogram, `counts` has a number for each upper
        bound in `bounds` and a last number for larger values. With `history` the reply also has samples,
        below."""
        history: dict[str, object] | UnsetType = UNSET
        if request.history is not None:
            # In a thread: the maps of 360 samples take 10 ms.
            samples = self._engine.history.history(request.history)
            history = await asyncio.to_thread(history_map, samples)
        engine, gauges = self._engine, self._engine.gauges()
        statistics = engine.metrics
        return MetricsReply(
            uptime_s=self._uptime_s,
            methods=method_figures(statistics),
            contexts=context_figures(statistics),
            scopes=ScopeFigures(gauges.scopes, engine.scopes_bytes),
            subscribers=gauges.subscribers,
            index=IndexFigures(gauges.files_pending, gauges.chunks_pending),
            memory_bytes=dict(gauges.memory_bytes),
            prompts={**_histogram(statistics.prompt_ms, "_ms"), "outcomes": dict(statistics.prompts)},
            history=history,
        )

    @property
    def _uptime_s(self) -> float:
        return round(time.monotonic() - self._started, 3)


def method_figures(statistics: Metrics) -> dict[str, dict[str, object]]:
    """Return latencies and errors by method."""
    errors: dict[str, dict[str, int]] = {}
    for (name, code), count in sorted(statistics.errors.items()):
        errors.setdefault(name, {})[code] = count
    return {
        name: {**_histogram(histogram, "_ms"), "errors": errors.pop(name, {})}
        for name, histogram in sorted(statistics.latency_ms.items())
    }


def context_figures(statistics: Metrics) -> ContextTotals:
    """Return the number of contexts and their total tokens."""
    return reply_of(
        ContextTotals,
        statistics,
        count=statistics.contexts,
        cached=statistics.contexts_cached,
        partial=statistics.contexts_partial,
        late=statistics.contexts_late,
        late_hour=statistics.late_in_hour(),
        cache_hit_rate=_rounded(statistics.cache_hit_rate),
        compression_ratio=_rounded(statistics.compression_ratio),
        tokens=_histogram(statistics.context_tokens, ""),
        tokens_by_type=dict(sorted(statistics.tokens_by_type.items())),
        tokens_by_agent=dict(statistics.tokens_by_agent),
    )


def history_map(history: MetricSamples) -> WireMap:
    """Return the samples of a period in the form of the wire."""
    return {**to_builtins(history), "samples": [_sample(sample) for sample in history.samples]}


def _sample(sample: Sample) -> dict[str, object]:
    found: dict[str, object] = to_builtins(sample)
    for name in ("context", "all", "prompt", "gauges"):
        del found[name]
    methods = {
        name: {"count": count, "p50_ms": _rounded(each.p50), "p95_ms": _rounded(each.p95)}
        for name, (count, each) in sample.methods.items()
    }
    latencies = {
        "context_ms": _quantiles(sample.context),
        "all_ms": _quantiles(sample.all),
        "prompt_ms": _quantiles(sample.prompt),
        "methods": methods,
    }
    return {**found, **latencies, **to_builtins(sample.gauges)}


def _quantiles(found: Quantiles) -> dict[str, float | None]:
    return {"p50": _rounded(found.p50), "p95": _rounded(found.p95), "p99": _rounded(found.p99)}


def _histogram(histogram: Histogram, unit: str) -> dict[str, object]:
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


class OpenDashboardRequest(DaemonRequest, frozen=True, kw_only=True):
    login: bool = True


class OpenDashboardReply(Struct, frozen=True):
    address: Plain[str]
    token: Plain[str]
    remark: Text[str]
    url: Plain[str | UnsetType] = UNSET
    code_expires_s: Plain[float | UnsetType] = UNSET


class CheckDashboardRequest(MethodRequest, frozen=True):
    cookie: str | None = None
    code: str | None = None
    token: str | None = None


class CheckDashboardReply(Struct, frozen=True):
    allowed: bool
    editor: Plain[str]
    port: Plain[int]
    csrf: Plain[str | UnsetType] = UNSET
    cookie: Plain[str | UnsetType] = UNSET


class RevokeDashboardReply(Struct, frozen=True):
    revoked: Plain[int]


class DashboardMethods:
    """The methods over one dashboard."""

    def __init__(self, dashboard: Dashboard) -> None:
        self._dashboard = dashboard

    @method("OpenDashboard", policy="daemon", access="person")
    async def open(self, request: OpenDashboardRequest) -> OpenDashboardReply:
        """Open the dashboard. With `login`, `url` is an address that signs in one browser, once. `token` is
        for programs and valid until the daemon ends; `remark` says why the port isn't the configured one, or
        is empty."""
        address = f"http://{LOOPBACK}:{await self._dashboard.open()}/"
        access = self._dashboard.access
        return OpenDashboardReply(
            address,
            access.token,
            self._dashboard.remark,
            f"{address}login?code={access.new_code()}" if request.login else UNSET,
            CODE_S if request.login else UNSET,
        )

    @method("CheckDashboard", policy="open", access="anyone")
    async def check(self, request: CheckDashboardRequest) -> CheckDashboardReply:
        """Check one of `cookie`, `code` and `token`. `editor` is the address that opens a file, with
        `{path}` and `{line}` to fill in, or empty; `csrf` is the token that changes by this login must carry;
        `cookie` is the new cookie for the browser, after a code and about once a day
        ([dashboard](dashboard.md))."""
        access = self._dashboard.access
        match (request.cookie, request.code, request.token):
            case (str(cookie), None, None):
                admission = await access.admit(cookie)
                return self._checked(admission is not None, admission)
            case (None, str(code), None):
                admission = await access.redeem(code)
                return self._checked(admission is not None, admission)
            case (None, None, str(token)):
                return self._checked(access.is_token(token), None)
        given = "cookie" if request.cookie is not None or request.code is None else "code"
        raise InvalidRequest("give exactly one of cookie, code, token", given)

    @method("RevokeDashboard", policy="daemon", access="person")
    async def revoke(self, request: DaemonRequest) -> RevokeDashboardReply:
        """End all sessions, codes and the token; `revoked` counts the sessions."""
        return RevokeDashboardReply(await self._dashboard.access.revoke())

    def _checked(self, allowed: bool, admission: Admission | None) -> CheckDashboardReply:
        return CheckDashboardReply(
            allowed=allowed,
            editor=editor_template(self._dashboard.config.editor),
            port=self._dashboard.port,
            csrf=admission.csrf if admission is not None else UNSET,
            cookie=(admission.cookie or UNSET) if admission is not None else UNSET,
        )
