"""Diagnostics shows figures over time as charts with tables, exports them, and lists events with their prompts."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from foveal.dashboard.view import STATIC

from tests.site_cases import Pages, pages, read

__all__ = ["pages"]


async def test_a_fresh_daemon_says_what_will_come(pages: Pages) -> None:
    text = await read(pages, "/diagnostics?since=2020-01-01&until=2020-01-02")
    assert "the line comes with the second one" in text
    assert "No figures in this range" in text
    assert "No faults" in text
    assert "style=" not in text


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
