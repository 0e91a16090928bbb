"""A subagent's end is grafted once, from its transcript or last words; what fails for now waits on the disk."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from foveal.daemon.core.errors import InvalidRequest, StateError
from foveal.daemon.core.system import System
from foveal.daemon.hooks.grafts import MAX_FILES, HookGrafts, Spool
from foveal.hooks.hosts.events import Event, Origin
from foveal.hooks.spool import keep

from tests.both_loops import eventually
from tests.hook_cases import payload


class Pool:
    """Takes grafts and tells of each; `failures` are raised one after the other."""

    def __init__(self, *failures: Exception) -> None:
        self.grafted: asyncio.Queue[tuple[str, str, str, str, str]] = asyncio.Queue()
        self._failures = list(failures)

    async def graft(self, cwd: str, path: str, session_id: str, agent_id: str, speaker: str) -> None:
        await self.grafted.put((cwd, _content_of(path), session_id, agent_id, speaker))
        if self._failures:
            raise self._failures.pop(0)


def _content_of(path: str) -> str:
    """Return what stands in a report, and the path of a transcript, which isn't there."""
    return Path(path).read_text() if Path(path).exists() else path


@asynccontextmanager
async def running(state: Path, pool: Pool, **more: float) -> AsyncIterator[HookGrafts]:
    """Run the grafts of one daemon over a state folder."""
    grafts = HookGrafts(str(state), pool.graft, System(), **more)
    task = asyncio.create_task(grafts.run())
    try:
        yield grafts
    finally:
        task.cancel()
        await asyncio.wait([task])


def waiting(state: Path) -> int:
    return len(Spool(str(state), System()).waiting())


def told(host: str = "claude-code", name: str = "SubagentStop", **changed: Any) -> tuple[str, str, str, str]:
    return host, name, "/home/ada/shop", json.dumps(payload(host, name, **changed))


async def next_graft(pool: Pool) -> tuple[str, str, str, str, str]:
    async with asyncio.timeout(60):
        return await pool.grafted.get()


async def test_subagent_transcript_is_grafted(tmp_path: Path) -> None:
    pool = Pool()
    async with running(tmp_path, pool) as grafts:
        await grafts.keep(*told())
        cwd, path, session, agent, speaker = await next_graft(pool)
        await eventually(lambda: waiting(tmp_path) == 0)
    assert path.endswith("agent-ab12.jsonl")
    assert (cwd, session[:4], agent, speaker) == ("/home/ada/shop", "6f1e", "explorer", "ab12")


async def test_report_is_grafted_if_transcript_is_unreadable(tmp_path: Path) -> None:
    pool = Pool(InvalidRequest("no transcript"))
    async with running(tmp_path, pool) as grafts:
        await grafts.keep(*told())
        assert (await next_graft(pool))[1].endswith(".jsonl")
        assert json.loads((await next_graft(pool))[1])["content"] == "Done."
        await eventually(lambda: waiting(tmp_path) == 0)


async def test_ungraftable_event_is_removed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    pool = Pool(InvalidRequest("is gone"))
    with caplog.at_level(logging.WARNING):
        async with running(tmp_path, pool) as grafts:
            await grafts.keep(*told(last_assistant_message=None))
            await grafts.keep("claude-code", "SubagentStop", "/w", "no JSON")
            await grafts.keep("no-host", "SubagentStop", "/w", "{}")
            await grafts.keep("claude-code", "Stop", "/w", "{}")
            await eventually(lambda: waiting(tmp_path) == 0)
    assert pool.grafted.qsize() == 1
    assert "is gone" in caplog.text


async def test_temporary_failure_waits_for_next_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pool = Pool(StateError("the disk is full"))
    async with running(tmp_path, pool) as grafts:
        await grafts.keep(*told())
        await next_graft(pool)
        await grafts.keep(*told("codex"))
        assert "report" in (await next_graft(pool))[1], "it holds up no other"
        await eventually(lambda: waiting(tmp_path) == 1)
    assert "the disk is full" in caplog.text
    async with running(tmp_path, pool):
        assert (await next_graft(pool))[1].endswith("agent-ab12.jsonl")
        await eventually(lambda: waiting(tmp_path) == 0)


async def test_stop_during_graft_loses_nothing(tmp_path: Path) -> None:
    class Slow(Pool):
        async def graft(self, cwd: str, path: str, session_id: str, agent_id: str, speaker: str) -> None:
            await super().graft(cwd, path, session_id, agent_id, speaker)
            await asyncio.get_running_loop().create_future()

    slow = Slow()
    async with running(tmp_path, slow) as grafts:
        await grafts.keep(*told("codex"))
        await next_graft(slow)
    assert waiting(tmp_path) == 1
    assert not list((tmp_path / "hook-reports").iterdir())


async def test_spooled_hooks_are_found(tmp_path: Path) -> None:
    pool = Pool()
    async with running(tmp_path, pool) as grafts:
        await grafts.keep(*told())
        await next_graft(pool)
        await eventually(lambda: waiting(tmp_path) == 0)
        host, *words, text = told("codex")
        Spool(str(tmp_path), System()).put((host, *words), text)
        grafts.look()
        assert "report" in (await next_graft(pool))[1]


def ending(name: str = "Stop", **changed: Any) -> tuple[str, str, Any, str]:
    """Return what is told of the end of a turn or of a conversation."""
    fields = payload("claude-code", name, **changed)
    path, origin = fields["transcript_path"], Origin("claude-code", fields["session_id"], fields["cwd"])
    event = Event("turn_end" if name == "Stop" else "end", origin, transcript_path=path)
    return "claude-code", name, event, json.dumps(fields)


async def test_resting_conversation_is_grafted(tmp_path: Path) -> None:
    pool = Pool()
    async with running(tmp_path, pool, rest_s=0.0) as grafts:
        for session in ("first", "second"):
            await grafts.rest(*ending(session_id=session))
            cwd, path, session_id, agent, speaker = await next_graft(pool)
            assert (cwd, path[-10:], session_id, agent, speaker) == (
                "/home/ada/shop", "6f1e.jsonl", session, "claude-code", "",
            )  # fmt: skip
            await eventually(lambda: waiting(tmp_path) == 0)


async def test_active_conversation_spools_one_file(tmp_path: Path) -> None:
    pool = Pool()
    async with running(tmp_path, pool, rest_s=1e6) as grafts:
        for _ in range(3):
            await grafts.rest(*ending())
            assert waiting(tmp_path) == 1
        await grafts.keep(*told("codex"))
        assert "report" in (await next_graft(pool))[1], "it holds up no other"
        await eventually(lambda: waiting(tmp_path) == 1)
        await grafts.rest(*ending("SessionEnd"))
        assert (await next_graft(pool))[1].endswith("6f1e.jsonl")
        await eventually(lambda: waiting(tmp_path) == 0)
    assert pool.grafted.empty()


async def test_active_conversation_is_grafted_periodically(tmp_path: Path) -> None:
    pool = Pool()
    async with running(tmp_path, pool, rest_s=1e6, latest_s=0.0) as grafts:
        await grafts.rest(*ending())
        assert (await next_graft(pool))[1].endswith("6f1e.jsonl")


async def test_rest_survives_a_restart(tmp_path: Path) -> None:
    async with running(tmp_path, Pool(), rest_s=1e6) as grafts:
        await grafts.rest(*ending())
    pool = Pool()
    async with running(tmp_path, pool, rest_s=1e6):
        assert (await next_graft(pool))[1].endswith("6f1e.jsonl")
        await eventually(lambda: waiting(tmp_path) == 0)


async def test_unreadable_conversation_is_tried_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pool = Pool(InvalidRequest("isn't there yet"), InvalidRequest("is no transcript"))
    path = tmp_path / "odd.txt"
    async with running(tmp_path, pool, rest_s=0.0) as grafts:
        for text in (None, "x"):
            path.write_text(text) if text else None
            await grafts.rest(*ending(transcript_path=str(path)))
            await next_graft(pool)
            await eventually(lambda: waiting(tmp_path) == 0)
        await grafts.rest(*ending(transcript_path=str(path)))
        await grafts.rest(*ending("SessionEnd", transcript_path=str(path)))
        await grafts.rest(*ending(transcript_path=""))
        await grafts.rest(*ending(transcript_path="relative.jsonl"))
        assert waiting(tmp_path) == 0
    assert pool.grafted.empty()
    assert caplog.text.count("is no transcript") == 1


async def test_full_spool_refuses_events(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    grafts = HookGrafts(str(tmp_path), Pool().graft, System())
    (tmp_path / "hook-spool").mkdir()
    for number in range(MAX_FILES):
        (tmp_path / "hook-spool" / str(number)).touch()
    await grafts.keep(*told())
    assert "too many wait already" in caplog.text
    await grafts.rest(*ending())
    assert "too much waits already" in caplog.text


async def test_conversation_takes_over_the_file_of_its_hook(tmp_path: Path) -> None:
    grafts = HookGrafts(str(tmp_path), Pool().graft, System())
    host, name, event, text = ending()

    def kept() -> str:
        return keep(str(tmp_path), (host, name, "/"), text.encode())

    for _ in range(2):  # the first is the conversation's, the second one too many
        await grafts.rest(host, name, event, text, kept())
        assert waiting(tmp_path) == 1
    await grafts.drop(kept())
    await grafts.drop("")
    assert waiting(tmp_path) == 1
    other = ending(transcript_path="/other.jsonl")
    await grafts.rest(*other, "12345-gone")
    assert waiting(tmp_path) == 2, "a file that is gone is written again"


def test_parts_of_killed_hooks_are_removed_when_they_are_old(tmp_path: Path) -> None:
    spool = Spool(str(tmp_path), System())
    spool.put(("claude-code", "Stop", "/"), "{}")
    folder = tmp_path / "hook-spool"
    for name in ("old.tmp", "new.tmp"):
        (folder / name).write_text("half")
    os.utime(folder / "old.tmp", (0, 0))
    assert len(spool.waiting()) == 1
    assert {path.name for path in folder.glob("*.tmp")} == {"new.tmp"}
