"""The page of a project tells its index, what is excluded, hosts, and what forgetting it removes."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

from foveal.dashboard.pages.project import _ignored, forgotten, progress

from tests.conftest import SMALL_PROJECT, DaemonProcess, write_files
from tests.site_cases import Pages, pages, read

__all__ = ["pages"]

INDEXED = {
    "files": 100,
    "files_pending": 20,
    "files_unlinked": 100,
    "embedded": 30,
    "pending": 10,
    "embedding": "running",
    "eta_ms": 90_000,
}


def test_progress_is_told_for_reading_linking_and_embedding() -> None:
    assert progress(INDEXED) == [
        ("Files read", 80, 100, "20 to go"),
        ("References linked", 0, 100, "100 files to go"),
        ("Chunks embedded", 30, 40, "10 to go, about 1 min 30 s"),
    ]
    assert progress({**INDEXED, "embedding": "paused"})[2][3] == "paused"


def test_what_goes_is_told_without_what_there_is_none_of() -> None:
    removed = {"index_bytes": 10, "contexts": 1, "requests": 0, "decisions": 1200}
    assert forgotten(removed) == ["1 context", "1,200 decisions"]


def test_only_lines_of_the_project_itself_are_shown_as_excluded(tmp_path: Path) -> None:
    file = tmp_path / ".fovealignore"
    assert _ignored(str(file)) == ()
    file.write_text("# made\n\ndocs/\n*.log  \n", encoding="utf-8")
    assert _ignored(str(file)) == ["docs/", "*.log"]
    (tmp_path / "link").symlink_to(file)
    assert _ignored(str(tmp_path / "link")) == ()
    os.mkfifo(tmp_path / "pipe")
    assert _ignored(str(tmp_path / "pipe")) == []


async def test_a_project_is_told_and_leads_to_its_scopes(
    pages: Pages, shared_daemon: DaemonProcess, tmp_path: Path
) -> None:
    files = {**SMALL_PROJECT, ".fovealignore": "build/\n", "docs/a.md": "# A\n"}
    root = shared_daemon.open_ready(write_files(tmp_path / "sh<op", files))["root"]
    for number in range(3):
        shared_daemon.call("GetContext", cwd=root, prompt=f"sessions {number}", agent_name=f"agent-{number}")
    text = await read(pages, f"/project?project={quote(root)}")
    assert 'aria-label="Exclude docs/"' in text
    assert 'aria-label="Exclude src/"' not in text, "it holds source"
    for said in ("sh&lt;op", "3 scopes", "build/", "docs/", "Forget sh&lt;op"):
        assert said in text, said
    assert "style=" not in text
    asked = await read(pages, f"/project?project={quote(root)}&forget=1")
    assert "3 contexts" in asked
    assert "data-live" not in asked
    assert shared_daemon.call("ListContexts", cwd=root)["contexts"]
