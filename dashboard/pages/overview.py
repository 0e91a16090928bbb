"""The first page: all projects with their state, response times, and the latest contexts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from aiohttp import web

from ..drawings import sparkline
from ..view import Page, ProjectChoice, get

CONTEXTS: Final = 12
"""Maximum contexts on the page, the latest ones."""

WATCHES: Final[Mapping[str, str]] = {
    "native": "watched",
    "polling": "compared with the disk every few seconds, since watching isn't possible there",
    "off": "not watched",
}

STATES: Final[Mapping[str, tuple[str, str]]] = {
    "ready": ("ready", "good"),
    "scanning": ("looking for files", "accent"),
    "indexing": ("reading files", "accent"),
    "degraded": ("not whole", "warn"),
}
"""A project's state in words, and the kind of its badge."""


class Overview(Page):
    """The page at `/`."""

    @get("/")
    async def _serve(self, request: web.Request) -> web.Response:
        view = self._view
        status, known, metrics, contexts = await asyncio.gather(
            view.call("Status"),
            view.call("ListProjects"),
            view.call("GetMetrics", history="hour"),
            view.call("ListContexts", limit=CONTEXTS),
        )
        return await view.page(
            request,
            "overview.html",
            at="overview",
            title="Overview",
            daemon=status,
            known=ProjectChoice("", known),
            metrics=metrics,
            contexts=contexts["contexts"],
            figures=list(_figures(metrics)),
            progress=progress,
            states=STATES,
            watches=WATCHES,
        )


def progress(project: Mapping[str, Any]) -> list[tuple[str, int, int, str]]:
    """Return a project's running work: what, how much is done, of how much, and a remark."""
    running = []
    pending = project["files_pending"]
    if pending:
        done = max(project["files"] - pending, 0)
        running.append(("Files read", done, project["files"], f"{pending:,} to go"))
    unlinked = project["files_unlinked"]
    if unlinked and not pending:
        done = max(project["files"] - unlinked, 0)
        running.append(("References linked", done, project["files"], f"{unlinked:,} files to go"))
    if project["embedding"] in ("running", "paused") and project["pending"]:
        whole = project["embedded"] + project["pending"]
        said = f"{project['pending']:,} to go"
        if project["embedding"] == "paused":
            said += ", paused"
        elif project["eta_ms"] is not None:
            said += f", about {_minutes(project['eta_ms'] / 1000)}"
        running.append(("Meaning known", project["embedded"], whole, said))
    return running


def _figures(metrics: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the figures at the top: name, value since the daemon started, and its line over the last
    hour. Times are estimated from the daemon's histogram buckets."""
    samples = metrics["history"]["samples"]
    contexts = metrics["contexts"]
    latency = metrics["methods"].get("GetContext", {})

    given = [sample["contexts"] for sample in samples]
    hits = [sample["cached"] / sample["contexts"] if sample["contexts"] else None for sample in samples]

    def latencies(quantile: str) -> list[float | None]:
        return [sample["context_ms"][quantile] for sample in samples]

    return [
        {
            "name": "Contexts given",
            "value": contexts["count"],
            "unit": "number",
            "line": sparkline(given, "contexts over the last hour"),
        },
        {
            "name": "Half of them within",
            "value": latency.get("p50_ms"),
            "unit": "ms",
            "line": sparkline(latencies("p50"), "median time of a context over the last hour"),
        },
        {
            "name": "99 of 100 within",
            "value": latency.get("p99_ms"),
            "unit": "ms",
            "line": sparkline(latencies("p99"), "slowest contexts over the last hour"),
        },
        {
            "name": "Answered from the cache",
            "value": contexts["cache_hit_rate"],
            "unit": "share",
            "line": sparkline(hits, "share of kept answers over the last hour"),
        },
    ]


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
