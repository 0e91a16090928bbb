"""Diagnostics shows figures over time as charts with tables, exports them, and lists events with their prompts."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from foveal.dashboard.pages.diagnostics import CHARTS, _drawings, intervals
from foveal.dashboard.view import STATIC

from tests.conftest import SMALL_PROJECT, DaemonProcess, write_files
from tests.site_cases import Pages, pages, read

__all__ = ["pages"]


def sample(at: int, **changed: Any) -> dict[str, Any]:
    start = datetime.fromisoformat("2026-03-01T12:00:00+00:00")
    return {
        "at": (start + timedelta(seconds=10 * at)).isoformat(),
        "seconds": 10.0,
        "requests": 0,
        "errors": 0,
        "contexts": 0,
        "cached": 0,
        "tokens": 0,
        "tokens_before": 0,
        "tokens_by_agent": {},
        "context_ms": {"p50": None, "p95": None, "p99": None},
        "files_pending": 0,
        "chunks_pending": 0,
        "memory_bytes": {"daemon": 1, "indexer": None, "embedder": None},
        **changed,
    }


def test_intervals_hold_every_sample_once() -> None:
    assert intervals([]) == []
    for count in (1, 5, 119, 120, 121, 360):
        samples = [sample(at) for at in range(count)]
        parts = intervals(samples)
        assert len(parts) == min(count, 120)
        assert [one for part in parts for one in part] == samples


def test_a_line_keeps_peaks_rates_and_shares() -> None:
    samples = [sample(at, requests=6, contexts=2, cached=1) for at in range(240)]
    samples[7] = sample(7, requests=12, context_ms={"p50": 3.0, "p95": 40.0, "p99": 90.0})
    charts = {chart.name: chart for chart in _drawings(samples, "hour")}
    assert list(charts) == [name for name, *_ in CHARTS]
    assert charts["latency"].rows[3][1] == [3.0, 90.0]
    assert charts["latency"].rows[4][1] == [None, None]
    assert charts["requests"].rows[3][1] == [54.0, 6.0, 0.0]
    assert charts["cache"].rows[0][1] == [0.5]
    assert charts["memory"].rows[0][1] == [1, None, None]


async def test_a_fresh_daemon_says_what_will_come(pages: Pages) -> None:
    text = await read(pages, "/diagnostics?since=2020-01-01&until=2020-01-02")
    assert "the line comes with the second one" in text
    assert "No figures in this range" in text
    assert "No faults" in text
    assert "style=" not in text


async def test_events_have_the_prompt_and_a_link(
    pages: Pages, shared_daemon: DaemonProcess, tmp_path: Path
) -> None:
    root = shared_daemon.open_ready(write_files(tmp_path / "p", SMALL_PROJECT))["root"]
    reply = shared_daemon.call("GetContext", cwd=root, prompt="how do <sessions> expire?", agent_name="codex")
    events = (await read(pages, "/diagnostics")).split('<ol id="events"')[1].split("</ol>")[0]
    assert f'href="/turns/{reply["context_id"]}"' in events
    assert "how do &lt;sessions&gt; expire?" in events
    assert re.search(r'<time datetime="\d{4}-\d\d-\d\dT[^"]*"', events)


async def test_figures_of_methods_are_exported(pages: Pages, shared_daemon: DaemonProcess) -> None:
    shared_daemon.call("Ping")
    async with pages.get("/diagnostics?table=methods&format=csv") as reply:
        assert reply.content_type == "text/csv"
        rows = list(csv.DictReader(io.StringIO(await reply.text())))
    assert int(next(row["calls"] for row in rows if row["method"] == "Ping")) >= 1
    async with pages.get("/diagnostics?format=json") as reply:
        samples = json.loads(await reply.text())
    assert all("latency p99" in row and "memory daemon" in row for row in samples)


async def test_charts_are_loaded_only_where_there_are_charts(pages: Pages) -> None:
    assert "uPlot" in await read(pages, "/diagnostics")
    assert "uPlot" not in await read(pages, "/")


def test_vendored_files_are_the_pinned_ones() -> None:
    folder = Path(STATIC, "vendor")
    rows = re.findall(
        r"^\| `([^`]+)` .*`([0-9a-f]{64})` \|$", (folder / "README.md").read_text("utf-8"), re.MULTILINE
    )
    found = {str(path.relative_to(folder)) for path in folder.glob("*/*") if path.name != "LICENSE"}
    assert {name for name, _ in rows} == found
    for name, digest in rows:
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
        assert (folder / name).parent.joinpath("LICENSE").exists()
