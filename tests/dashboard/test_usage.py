"""Usage ranks what contexts cost, draws tokens by day, and exports each table."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

from foveal.dashboard.pages.usage import COLUMNS

from tests.conftest import SMALL_PROJECT, DaemonProcess, write_files
from tests.site_cases import Pages, pages, read

__all__ = ["pages"]


async def test_an_unused_daemon_says_what_will_come(pages: Pages) -> None:
    text = await read(pages, "/usage?since=2020-01-01&until=2020-01-02")
    assert text.count('class="empty"') == 1
    assert "Nothing in this range" in text
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
    for by in ("day", "project", "host", "agent", "session", "type", "never"):
        assert "All lists" in await read(pages, f"/usage?by={by}")
    async with pages.get("/usage?by=colour") as answer:
        assert answer.status == 400
        assert "By is one of day, project, host, agent, session, type, never" in await answer.text()
