"""Diagnostics shows figures over time as charts with tables, exports them, and lists events with their prompts."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from foveal.dashboard.view import STATIC

from tests.conftest import SMALL_PROJECT, DaemonProcess, write_files
from tests.site_cases import Pages, pages, read

__all__ = ["pages"]


async def test_a_fresh_daemon_says_what_will_come(pages: Pages) -> None:
    text = await read(pages, "/diagnostics?since=2020-01-01&until=2020-01-02")
    assert "the line comes with the second one" in text
    assert "No figures in this range" in text
    assert "No faults" in text
    assert "style=" not in text


async def test_prompts_and_tokens_are_those_that_usage_has(
    pages: Pages, shared_daemon: DaemonProcess, tmp_path: Path
) -> None:
    root = shared_daemon.open_ready(write_files(tmp_path / "shop", SMALL_PROJECT))["root"]
    for name, more in (
        ("SessionStart", {"source": "startup"}),
        ("UserPromptSubmit", {"prompt": "how do sessions expire?"}),
    ):
        payload = {"hook_event_name": name, "session_id": "diagnosed", "cwd": root, **more}
        shared_daemon.call("HookEvent", host="claude-code", event=name, payload=payload)
    shared_daemon.call("GetContext", cwd=root, prompt="how do sessions expire?", agent_name="ada")
    text, usage = await read(pages, "/diagnostics?period=day"), await read(pages, "/usage")
    assert "Prompts by hooks, p50 and p99" in text
    for page in (text, usage):
        lists = re.findall(r'aria-label="(Tokens by (?:host|agent))">(.*?)</ol>', page, re.DOTALL)
        names = {title: set(re.findall(r'title="[^"]*">([^<]+)<', rows)) for title, rows in lists}
        assert "Claude Code" in names["Tokens by host"]
        assert "ada" in names["Tokens by agent"]


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
