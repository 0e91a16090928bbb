"""Home: what is wrong, in one line or in a few, and the latest sessions with their turns."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from foveal.dashboard.hosts import ConnectedHost
from foveal.dashboard.pages.home import answer_faults, faults_of, first_steps, page_faults
from foveal.dashboard.pages.sessions import CONTEXTS
from foveal.hooks.hosts.host import Obstacle

from tests.conftest import SMALL_PROJECT, DaemonProcess, write_files
from tests.site_cases import Pages, pages, read

__all__ = ["pages"]


def project(state: str = "ready", *degraded: str, pending: int = 0) -> dict[str, Any]:
    return {
        "root": "/src/shop",
        "state": state,
        "degraded": list(degraded),
        "files": 10,
        "files_pending": pending,
        "files_unlinked": 0,
        "embedding": "off",
        "embedded": 0,
        "pending": 0,
    }


def test_each_fault_says_with_what_and_how_to_mend_it() -> None:
    status = {"degraded": ["disk full"], "projects": [project("degraded", "the root is gone")]}
    host = ConnectedHost("codex", "Codex", ("user",), 1, False, (Obstacle("off", "switch it on"),), "", "")
    faults = faults_of(status, [host], ["s1 can't be read"])
    assert [(one["what"], one["text"]) for one in faults] == [
        ("Daemon", "disk full"),
        ("shop", "the root is gone"),
        ("Codex", "off"),
        ("Sessions", "s1 can't be read"),
    ]
    assert faults[1]["link"] == "/project?project=%2Fsrc%2Fshop"
    assert faults[2]["fix"] == "switch it on"


def test_work_that_goes_on_is_no_fault() -> None:
    status = {"degraded": [], "projects": [project("indexing", "not all files are read", pending=3)]}
    assert faults_of(status, [], []) == []


def test_pages_that_failed_are_counted_and_the_last_is_named() -> None:
    assert page_faults([]) == []
    [fault] = page_faults(["/usage", "/explore"])
    assert fault["text"] == "2 pages of this dashboard failed in the last hour, the last /explore"
    assert (fault["link"], fault["fix"]) == ("/explore", "foveal logs")


async def test_everything_works_in_one_line(
    pages: Pages, shared_daemon: DaemonProcess, tmp_path: Path
) -> None:
    root = write_files(tmp_path / "shop", SMALL_PROJECT)
    shared_daemon.open_ready(root)
    asked = shared_daemon.call("GetContext", cwd=str(root), prompt="sessions", session_id="h1")
    text = await read(pages, "/")
    assert "<strong>Everything works.</strong> 1 project open, 0 hosts connected" in text
    assert re.search(r"the daemon has been running for \d+ (s|min),", text)
    assert f'title="{asked["tokens"]:,} tokens were sent since midnight"' in text


def test_of_more_contexts_than_are_listed_it_says_which_were_looked_at() -> None:
    one = {"at": "2999-01-01T00:00:00", "partial": True, "degraded": 0}
    for listed, said in ((CONTEXTS - 1, f"{CONTEXTS - 1} answers"), (CONTEXTS, "the latest 100 answers")):
        [fault] = answer_faults([one] * listed, {})
        assert fault["text"] == f"{listed} of {said} in the last hour were partial"


async def test_a_session_is_one_line_that_says_its_title_once(
    pages: Pages, shared_daemon: DaemonProcess, tmp_path: Path
) -> None:
    root = str(write_files(tmp_path / "shop", SMALL_PROJECT))
    shared_daemon.open_ready(root)
    asked = shared_daemon.call("GetContext", cwd=root, prompt="Where does a login end?", session_id="once")
    text = await read(pages, "/")
    [row] = [row for row in text.split("<tr>") if asked["context_id"] in row]
    assert row.count("Where does a login end?</") == 1
    assert "the same prompt</a>" in row
    assert "data-ago>just now</time>" in row


def test_until_the_first_turn_the_first_steps_are_told() -> None:
    host = ConnectedHost("codex", "Codex", ("user",), 1, False, (), "", "")
    nothing: dict[str, Any] = {"projects": [], "closed": []}
    some = nothing | {"projects": [project()]}
    assert first_steps(nothing, [], [], []) == first_steps(some, [], [], []) == (False, False)
    assert first_steps(some, [host], [], []) == (True, False)
    assert first_steps(some, [host], [{"session_id": "a"}], []) == (True, True)
    assert first_steps(nothing, [], [], [{"context_id": "c"}]) is None
