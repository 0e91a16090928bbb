"""Sessions for programs: read and changed as JSON, with the right status for what goes wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from foveal.dashboard.api import update_of

from tests.conftest import DaemonProcess, write_files
from tests.site_cases import Pages, pages

__all__ = ["pages"]


@pytest.fixture(scope="module")
def root(shared_daemon: DaemonProcess, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_files(tmp_path_factory.mktemp("p"), {".git/HEAD": "x", "AGENTS.md": "Be kind.\n"})


@pytest.fixture
def session(shared_daemon: DaemonProcess, root: Path) -> str:
    return str(shared_daemon.call("CreateSession", cwd=str(root), name="Mine")["session_id"])


async def patch(pages: Pages, session: str, body: Any) -> tuple[int, Any]:
    async with pages.patch(f"/api/sessions/{session}", json=body) as reply:
        assert reply.content_type == "application/json"
        return reply.status, await reply.json()


async def test_one_and_all_are_read(
    pages: Pages, shared_daemon: DaemonProcess, root: Path, session: str
) -> None:
    async with pages.get(f"/api/sessions/{session}") as reply:
        assert await reply.json() == shared_daemon.call("GetSession", session_id=session)
    for address in ("/api/sessions", f"/api/sessions?cwd={root}"):
        async with pages.get(address) as reply:
            assert session in [one["session_id"] for one in (await reply.json())["sessions"]]
    async with pages.get("/api/sessions?cwd=/nowhere/at/all") as reply:
        listed = await reply.json()
        assert reply.status >= 400 or listed["sessions"] == []


async def test_sets_are_replaced_one_is_set_and_joined(pages: Pages, session: str) -> None:
    status, changed = await patch(pages, session, {"context": {"ports": ["80"], "files": ["/a"]}})
    assert (status, changed["context"]) == (200, {"files": ["/a"], "ports": ["80"]})
    body: dict[str, Any] = {"setContext": {"setName": "files", "items": ["/b"]}}
    assert (await patch(pages, session, body))[1]["context"] == {"files": ["/b"], "ports": ["80"]}
    body = {"unionContext": {"set_name": "files", "items": ["/c", "/b"]}, "currentIntent": "Mend it"}
    status, changed = await patch(pages, session, body)
    assert changed["context"]["files"] == ["/b", "/c"]
    assert (changed["current_intent"], changed["warnings"], changed["name"]) == ("Mend it", [], "Mine")


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({}, 400, None),
        ([], 400, "params"),
        ({"contxt": {}}, 400, "contxt"),
        ({"setContext": ["files"]}, 400, "set_context"),
        ({"setContext": {"setName": "files", "entries": []}}, 400, "set_context.entries"),
        ({"setContext": {"setName": "files", "items": ["relative"]}}, 400, "items"),
        ({"setContext": {"setName": "ports", "items": [str(n) for n in range(1, 12)]}}, 413, None),
        ({"name": 5}, 400, "name"),
        ({"context": None}, 400, "context"),
    ],
)
async def test_what_cannot_be_done_changes_nothing_and_says_why(
    pages: Pages, shared_daemon: DaemonProcess, session: str, body: Any, status: int, field: str | None
) -> None:
    before = shared_daemon.call("GetSession", session_id=session)
    found, error = await patch(pages, session, body)
    assert (found, error.get("data", {}).get("field")) == (status, field), error
    assert error["message"]
    assert shared_daemon.call("GetSession", session_id=session) == before


async def test_a_body_that_cannot_be_unpacked_is_refused(pages: Pages, session: str) -> None:
    headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    async with pages.patch(f"/api/sessions/{session}", data=b"junk", headers=headers) as reply:
        assert (reply.status, (await reply.json())["code"]) == (400, "invalid_params")


def test_both_spellings_of_a_field_are_understood_but_not_together() -> None:
    assert update_of({"envHint": "a"}) == update_of({"env_hint": "a"}) == {"env_hint": "a"}
