"""The page of diagnostics: faults, figures of the daemon over time, methods, and events as they come."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from aiohttp import web

from ...hooks.http import pass_on
from ...ipc.aclient import AsyncClient, DaemonLink
from ...ipc.errors import INVALID_PARAMS, RpcError
from ..exports import exported
from ..view import Page, get, href
from .home import answer_faults
from .usage import Drawing, ranked

PERIODS: Final[Mapping[str, str]] = {"hour": "Last hour", "day": "Last day"}

PERIOD_TIMES: Final = {"hour": timedelta(hours=1), "day": timedelta(days=1)}

POINTS: Final = 120
"""Maximum points of a line; a smaller range of the same figures is finer."""

TURNS: Final = 12
"""Maximum turns among the events when the page is opened, the latest ones."""

LISTED: Final = 100
"""Maximum contexts looked at for those that weren't whole, the latest."""

POOR: Final = 5
"""Maximum contexts named that weren't whole."""

OUTCOMES: Final[Mapping[str, tuple[str, str]]] = {
    "whole": ("a whole context", ""),
    "part": ("a part: a source had no time, was not ready or failed", "warn"),
    "late": ("nothing: the time ran out", "warn"),
    "failed": ("nothing: something failed, as foveal logs says", "warn"),
    "nothing": ("nothing: nothing was found that is likely enough and not there yet", ""),
    "idle": ("nothing needed: it asked nothing of the project, or was answered already", ""),
}
"""What the prompts of hooks got, in words, and how that is marked."""

TOPICS: Final[Mapping[str, str]] = {
    "context.built": "a context was given",
    "context.changed": "a session's sets changed",
    "context.resumed": "a session was resumed",
    "session.changed": "a session was made, ended or got other items",
    "items.changed": "an item or its mode changed",
    "experience.grafted": "an agent left a decision",
    "experience.changed": "a decision was edited",
    "index.progress": "a project is read",
    "project.changed": "files changed",
    "scope.created": "a scope was made",
    "scope.changed": "a scope's focus changed",
    "scope.released": "a scope ended",
}
"""The topics of events and their meaning."""

Sample = Mapping[str, Any]
Reduce = Callable[[Sequence[Sample]], float | None]


def _highest(*path: str) -> Reduce:
    """Return the highest value of the samples, because peaks matter."""

    def read(samples: Sequence[Sample]) -> float | None:
        values = []
        for sample in samples:
            value: Any = sample
            for name in path:
                value = value[name]
            if value is not None:
                values.append(value)
        return max(values, default=None)

    return read


def _per(part: str, whole: str) -> Reduce:
    def read(samples: Sequence[Sample]) -> float | None:
        total = sum(sample[whole] for sample in samples)
        return round(sum(sample[part] for sample in samples) / total, 4) if total else None

    return read


def _per_minute(name: str) -> Reduce:
    def read(samples: Sequence[Sample]) -> float | None:
        seconds = sum(sample["seconds"] for sample in samples)
        return round(sum(sample[name] for sample in samples) / seconds * 60, 3) if seconds else None

    return read


CHARTS: Final[Sequence[tuple[str, str, str, str, Mapping[str, Reduce]]]] = (
    (
        "latency",
        "Time to answer a prompt",
        "ms",
        "hooks and GetContext",
        {
            f"{name} {share}": _highest(field, share)
            for name, field in (("hook", "prompt_ms"), ("GetContext", "context_ms"))
            for share in ("p50", "p99")
        },
    ),
    (
        "memory",
        "Memory by process",
        "bytes",
        "resident",
        {name: _highest("memory_bytes", name) for name in ("daemon", "indexer", "embedder")},
    ),
    (
        "requests",
        "Requests per minute",
        "number",
        "all methods",
        {
            "requests": _per_minute("requests"),
            "contexts": _per_minute("contexts"),
            "errors": _per_minute("errors"),
        },
    ),
    ("cache", "Cache hit rate", "share", "of contexts", {"hits": _per("cached", "contexts")}),
    ("tokens", "Tokens per context", "number", "mean", {"sent": _per("tokens", "contexts")}),
    (
        "queue",
        "Queue of the index",
        "number",
        "work that waits",
        {"files to read": _highest("files_pending"), "chunks to embed": _highest("chunks_pending")},
    ),
)
"""The charts: name, title, unit, remark, and how each line is read from the samples of an interval."""


class Diagnostics(Page):
    """The page at `/diagnostics`."""

    @get("/diagnostics")
    async def _serve(self, request: web.Request) -> web.Response:
        view, query = self._view, request.query
        period = query.get("period", "hour")
        if period not in PERIODS:
            raise RpcError(INVALID_PARAMS, f"period is one of {', '.join(PERIODS)}, not {period!r:.40}")
        since, until = moment_of(request, "since"), moment_of(request, "until")
        begun, ended = since or datetime.now(UTC) - PERIOD_TIMES[period], until and until.isoformat()
        metrics, status, given, by_host, by_agent = await asyncio.gather(
            view.call("GetMetrics", history=period),
            view.call("Status"),
            view.call("ListContexts", limit=LISTED),
            *[
                view.call("GetUsage", by=group, since=begun.isoformat(), until=ended)
                for group in ("host", "agent")
            ],
        )
        poor = [one for one in given["contexts"] if one["partial"] or one["degraded"]][:POOR]
        whole = await asyncio.gather(
            *[view.call("GetBuiltContext", context_id=one["context_id"]) for one in poor],
            return_exceptions=True,
        )
        samples = [
            sample
            for sample in metrics["history"]["samples"]
            if (since is None or datetime.fromisoformat(sample["at"]) >= since)
            and (until is None or datetime.fromisoformat(sample["at"]) <= until)
        ]
        methods = _methods(metrics)
        table = methods if query.get("table") == "methods" else _table(samples)
        if response := exported(request, list(table[0]) if table else ["at"], table):
            return response
        return await view.page(
            request,
            "diagnostics.html",
            title="Diagnostics",
            period=period,
            periods=PERIODS,
            zoomed=since is not None or until is not None,
            unzoomed=href("/diagnostics", period=period),
            metrics=metrics,
            latency={"hook": metrics["prompts"], "GetContext": metrics["methods"].get("GetContext", {})},
            daemon=status,
            faults=[
                (project["root"], project["degraded"])
                for project in status["projects"]
                if project["degraded"]
            ],
            samples=samples,
            drawings=_drawings(samples, period),
            spent={"host": ranked("host", by_host["rows"]), "agent": ranked("agent", by_agent["rows"])},
            prompts=_prompts(samples),
            methods=methods,
            pages_ask=PAGES_ASK,
            topics=TOPICS,
            turns=given["contexts"][:TURNS],
            answers=answer_faults(given["contexts"], metrics["contexts"]),
            poor=poor,
            reasons=list(dict.fromkeys(filter(None, map(_why, whole)))),
        )


def _why(built: Mapping[str, Any] | BaseException) -> str:
    """Return why a context isn't whole, "" if that isn't known any more."""
    if isinstance(built, BaseException):
        return ""
    return "; ".join(built["degraded"] or built["gaps"])


def moment_of(request: web.Request, name: str) -> datetime | None:
    """Return a moment of the address, None if it has none. Raises `RpcError`."""
    text = request.query.get(name, "")
    if not text:
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise RpcError(
            INVALID_PARAMS,
            f"{name} must be a time such as 2026-01-31T12:00:00Z, not {text!r:.40}",
            {"field": name},
        ) from None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def intervals(samples: Sequence[Sample], points: int = POINTS) -> list[Sequence[Sample]]:
    """Return the samples in at most `points` intervals of equal length."""
    count = min(len(samples), points)
    return [samples[at * len(samples) // count : (at + 1) * len(samples) // count] for at in range(count)]


def _drawings(samples: Sequence[Sample], period: str) -> list[Drawing]:
    parts = intervals(samples)
    every = "ten seconds" if period == "hour" else "five minutes"
    few = (
        "No agent asked for a context in this time; the line comes with the next one."
        if len(parts) > 1
        else f"The daemon takes a sample every {every}; the line comes with the second one."
    )
    return [
        Drawing(
            name,
            title,
            unit,
            about,
            tuple(lines),
            [(part[-1]["at"], [read(part) for read in lines.values()]) for part in parts],
            few,
        )
        for name, title, unit, about, lines in CHARTS
    ]


def _table(samples: Sequence[Sample]) -> list[dict[str, Any]]:
    """Return the figures of each sample, for an export."""
    return [
        {"at": sample["at"]}
        | {
            f"{name} {line}": read([sample])
            for name, _, _, _, lines in CHARTS
            for line, read in lines.items()
        }
        for sample in samples
    ]


def _prompts(samples: Sequence[Sample]) -> list[tuple[str, str, int, float]]:
    """Return what prompts got in the time: in words, how it is marked, how many, and their share."""
    numbers = {name: sum(sample["prompts"].get(name, 0) for sample in samples) for name in OUTCOMES}
    total = sum(numbers.values())
    return [
        (text, mark, numbers[name], numbers[name] / total) for name, (text, mark) in OUTCOMES.items() if total
    ]


PAGES_ASK: Final = frozenset(
    [
        "CheckDashboard",
        "GetMetrics",
        "GetTimeline",
        "GetTrust",
        "GetUsage",
        "Hello",
        "ListContexts",
        "ListExperiences",
        "ListHosts",
        "ListItems",
        "ListProjects",
        "ListQuarantine",
        "ListScopes",
        "ListSessions",
        "ListToolServers",
        "OpenDashboard",
        "Status",
    ]
)
"""Methods that mostly a dashboard's pages ask, for what they show; their rows are folded."""


def _methods(metrics: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what is known of each method since the start, the most called first."""
    methods = [
        {
            "method": name,
            "calls": known["count"],
            **{figure: known[figure] for figure in ("p50_ms", "p95_ms", "p99_ms")},
            "errors": sum(known["errors"].values()),
            "codes": ", ".join(f"{code}: {count:,}" for code, count in sorted(known["errors"].items())),
        }
        for name, known in metrics["methods"].items()
    ]
    return sorted(methods, key=lambda method: (-method["calls"], method["method"]))


HEARTBEAT_S: Final = 10.0
"""Seconds between two heartbeats, by which each side notices that the other is gone."""

BEAT: Final = b"event: beat\ndata: {}\n\n"
"""The heartbeat, an event because a browser's script doesn't see comments."""

RETRY_MS: Final = 1_000
"""Milliseconds until a browser reconnects to a broken stream."""

STREAMS_MAX: Final = 64
"""Maximum open streams. Each is a connection to the daemon; a browser opens one for all its pages."""


class EventStream:
    """The address `/events?topics=a,b`: events with topic and data, until either side closes."""

    def __init__(self, link: DaemonLink, *, heartbeat_s: float = HEARTBEAT_S) -> None:
        self._link = link
        self._heartbeat_s = heartbeat_s
        self._open: set[AsyncClient] = set()

    def add_to(self, application: web.Application) -> None:
        """Serve the address, and end all streams when the application ends."""
        application.router.add_get("/events", self._serve, allow_head=False)
        application.router.add_head("/events", self._admit)
        application.on_shutdown.append(self._end)

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        topics = [topic for topic in request.query.get("topics", "").split(",") if topic]
        if not topics:
            raise RpcError(INVALID_PARAMS, "topics must name what to follow", {"field": "topics"})
        if len(self._open) >= STREAMS_MAX:
            raise web.HTTPServiceUnavailable(text=f"{STREAMS_MAX} pages are followed already; close some")
        connection = await self._link.subscribe(topics)
        self._open.add(connection)
        try:
            response = web.StreamResponse(
                headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"}
            )
            await response.prepare(request)
            await response.write(b"retry: %d\n\n" % RETRY_MS)
            await pass_on(response, connection, BEAT, self._heartbeat_s)
            return response
        finally:
            self._open.discard(connection)
            await connection.close()

    async def _admit(self, request: web.Request) -> web.Response:
        # A browser's script isn't told why a stream failed; this tells whether it would be let in.
        return web.Response(status=204)

    async def _end(self, application: web.Application) -> None:
        await asyncio.gather(*[connection.close() for connection in self._open])
