"""Usage ranks what contexts cost, draws tokens by day, and exports each table."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from foveal.dashboard.pages.usage import COLUMNS, _drawing, name_of

from tests.conftest import SMALL_PROJECT, DaemonProcess, write_files
from tests.site_cases import Pages, pages, read

__all__ = ["pages"]


def row(key: str, tokens: int, **changed: Any) -> dict[str, Any]:
    counts = {"turns": 1, "bytes": 4 * tokens, "tokens_before": tokens, "places_shown": 2, "places_used": 1}
    return {"key": key, "tokens": tokens, "sessions": 1, **counts, **changed}


def test_the_chart_has_a_bar_for_each_day_between_the_first_and_the_last() -> None:
    drawing = _drawing([row("2026-03-02", 20), row("2026-02-27", 10)])
    assert drawing.rows == [
        ("2026-02-27", (10,)),
        ("2026-02-28", (0,)),
        ("2026-03-01", (0,)),
        ("2026-03-02", (20,)),
    ]
    assert drawing.is_drawn
    assert [day for day, _ in _drawing([row("2026-03-02", 20)], 3).rows] == [
        "2026-02-28",
        "2026-03-01",
        "2026-03-02",
    ]
    assert not _drawing([]).is_drawn


@pytest.mark.parametrize(
    ("group", "key", "name", "expected"),
    [
        ("project", "/home/me/shop/", None, "shop"),
        ("session", "s1", "Payment bug", "Payment bug"),
        ("session", "s1", None, "s1"),
        ("session", "", None, "without a session"),
        ("host", "", None, "without a host"),
        ("host", "codex", "Codex", "Codex"),
        ("type", "agent_history", None, "earlier decision"),
    ],
)
def test_a_row_is_named_for_people(group: str, key: str, name: str | None, expected: str) -> None:
    assert name_of(group, row(key, 1, name=name)) == expected


async def test_an_unused_daemon_says_what_will_come(pages: Pages) -> None:
    text = await read(pages, "/usage?since=2020-01-01&until=2020-01-02")
    assert "A bar for each day comes with the first context" in text
    assert "are ranked here by tokens once agents get contexts" in text
    assert "style=" not in text


async def test_tokens_are_counted_by_project_session_and_type(
    pages: Pages, shared_daemon: DaemonProcess, tmp_path: Path
) -> None:
    root = shared_daemon.open_ready(write_files(tmp_path / "sh<op", SMALL_PROJECT))["root"]
    shared_daemon.call("CreateSession", cwd=root, session_id="usage-1", name="Payment <bug>")
    reply = shared_daemon.call("GetContext", cwd=root, prompt="how do sessions expire?", session_id="usage-1")
    assert reply["tokens"]
    text = await read(pages, f"/usage?project={root.replace('<', '%3C')}")
    assert "Payment &lt;bug&gt;" in text
    assert 'href="/sessions/usage-1"' in text
    async with pages.get("/usage", params={"project": root, "by": "session", "format": "csv"}) as answer:
        rows = list(csv.DictReader(io.StringIO(await answer.text())))
    assert list(rows[0]) == list(COLUMNS)
    assert [one["key"] for one in rows] == ["usage-1"]
    assert int(rows[0]["tokens"]) >= reply["tokens"]
    async with pages.get("/usage", params={"project": root, "by": "never", "format": "json"}) as answer:
        assert all(set(one) == {"path", "project", "shown"} for one in json.loads(await answer.text()))


async def test_each_table_is_shown_whole(pages: Pages) -> None:
    for by in ("day", "project", "host", "session", "type", "never"):
        assert "All lists" in await read(pages, f"/usage?by={by}")
    async with pages.get("/usage?by=colour") as answer:
        assert answer.status == 400
        assert "by is one of day, project, host, session, type, never" in await answer.text()
