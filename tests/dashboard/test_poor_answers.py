"""Home and Diagnostics tell of contexts that came late or in part."""

from __future__ import annotations

from pathlib import Path

from foveal.dashboard.pages.home import answer_faults
from foveal.dashboard.pages.sessions import CONTEXTS

from tests.conftest import SMALL_PROJECT, DaemonProcess, write_files
from tests.daemon.test_timeline import Host
from tests.site_cases import Pages, pages, read

__all__ = ["pages"]


async def test_home_and_diagnostics_know_of_answers_that_failed(
    pages: Pages, shared_daemon: DaemonProcess, tmp_path: Path
) -> None:
    """A prompt out of time, a context that isn't whole: each is said, with where to look."""
    root = write_files(tmp_path / "shop", SMALL_PROJECT)
    daemon = shared_daemon
    daemon.open_ready(root)
    host = Host(daemon, root, "poor")
    host.tell("SessionStart", source="startup")
    assert "Everything works" in await read(pages, "/")
    assert "No faults" in await read(pages, "/diagnostics")

    fields = {"hook_event_name": "UserPromptSubmit", "session_id": "poor", "cwd": str(root)}
    late = {**fields, "prompt_id": "p1", "prompt": "How does expire() end a session?"}
    daemon.call("HookEvent", host="claude-code", event="UserPromptSubmit", payload=late, deadline_ms=1)
    given = daemon.call("GetContext", cwd=str(root), prompt="Why does a cart expire()?", deadline_ms=1)
    assert given["partial"]
    for page in ("/", "/diagnostics"):
        text = await read(pages, page)
        assert "1 of 2 contexts in the last hour not whole" in text
        assert "1 prompt without a context in time in the last hour" in text
        assert "Everything works" not in text
        assert "No faults" not in text
    assert f'href="/turns/{given["context_id"]}"' in await read(pages, "/diagnostics")
    assert 'href="/diagnostics#answers"' in await read(pages, "/")


def test_of_more_contexts_than_are_listed_it_says_which_were_looked_at() -> None:
    one = {"at": "2999-01-01T00:00:00", "partial": True, "degraded": 0}
    for listed, said in ((CONTEXTS - 1, f"{CONTEXTS - 1} contexts"), (CONTEXTS, "the latest 100 contexts")):
        [fault] = answer_faults([one] * listed, {})
        assert fault["text"] == f"{listed} of {said} in the last hour not whole"
