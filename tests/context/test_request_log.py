"""The log of requests is written behind the answers, tells why it can't be, and stays within its bounds by itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from foveal.daemon.context.assembly import Built
from foveal.daemon.context.reply import Conversation
from foveal.daemon.context.requests import ContextRequest
from foveal.daemon.core.errors import NotFound, StateError
from foveal.daemon.core.system import System
from foveal.daemon.core.work import Work
from foveal.daemon.rules.items import ItemKey
from foveal.daemon.sessions import request_log_service as request_log
from foveal.daemon.sessions.request_log_service import FILE, RequestLog, sent_of
from foveal.daemon.sessions.scope import Scope
from foveal.daemon.sessions.stored_contents import LedgerLimits

REPLY: dict[str, Any] = {
    "context": "# CONTEXT\n",
    "tokens": 3,
    "bytes": 10,
    "degraded": [],
    "slices": [
        {"id": "f", "type": "focus", "layer": "focus", "weight": 1.0, "tokens": 3, "compressed": False,
         "source": "asked for"}
    ],
}  # fmt: skip
REQUEST = ContextRequest(prompt="What is x?")


class Clock(System):
    """A clock that a test moves on."""

    def __init__(self) -> None:
        self.later = timedelta()

    def now(self) -> datetime:
        return super().now() + self.later


def built(conversation: Conversation | None = None) -> Built:
    return Built(
        REPLY, (), (), 0, conversation=conversation or Conversation("system", "What is x?", (), (), ())
    )


def record(log: RequestLog, session_id: str = "s") -> str | None:
    scope = Scope(id="s_1", root="/p", identity="i", session_id=session_id)
    return log.record(scope, REQUEST, built(), REPLY, "codex", 1.5)


@asynccontextmanager
async def opened(folder: Path, system: System) -> AsyncIterator[RequestLog]:
    work = Work()
    log = RequestLog(str(folder), work, system)
    async with asyncio.TaskGroup() as tasks:
        work.begin(tasks)
        assert await log.load() == ""
        yield log
        await log.close()
    work.close()


async def test_what_is_recorded_is_there_at_once_and_after_a_restart(tmp_path: Path) -> None:
    async with opened(tmp_path, Clock()) as log:
        ids = [record(log), record(log)]
        assert [one.id for one in await log.list("s", 10, "")] == ids[::-1]
    async with opened(tmp_path, Clock()) as log:
        assert ids[0] is not None
        found = await log.get("s", ids[0])
        assert found.sent == sent_of(REQUEST, built())
        assert (found.record.agent_name, found.record.elapsed_ms, found.record.project_root) == (
            "codex",
            1.5,
            "/p",
        )
        page = await log.export(
            session_id=None, project_root="/p", since="", before="", limit=1, content=False
        )
        assert [one.record.id for one in page.requests] == ids[:1]
        with pytest.raises(NotFound):
            await log.get("s", "nope")


async def test_a_report_is_counted(tmp_path: Path) -> None:
    async with opened(tmp_path, Clock()) as log:
        request_id = record(log)
        assert request_id is not None
        reported = await log.report("s", request_id, "", [ItemKey("rule", "A")])
        assert reported.unknown == (ItemKey("rule", "A"),)
        assert await log.ask_usage(lambda usage: usage.items("/p", "")) == ()


async def test_where_it_can_not_be_opened_nothing_is_recorded_and_why_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    work = Work()
    log = RequestLog(str(tmp_path / "file"), work, System())
    assert record(log) is None
    with pytest.raises(StateError, match="the daemon is still starting"):
        await log.list("s", 1, "")
    problem = await log.load()
    assert FILE in problem
    assert record(log) is None
    with pytest.raises(StateError, match="can't be opened"):
        await log.prune()
    await log.close()
    work.close()


async def test_what_is_too_old_goes_though_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    async with opened(tmp_path, clock) as log:
        record(log)
    clock.later = timedelta(days=LedgerLimits().record_days + 1)
    monkeypatch.setattr(request_log, "PRUNE_FIRST_S", 0.0)
    async with opened(tmp_path, clock) as log:
        while await log.list("s", 10, ""):  # noqa: ASYNC110 - the end of background work is no event
            await asyncio.sleep(0)
        assert await log.prune() == 0


async def test_pruning_by_hand_tells_how_many_it_touched(tmp_path: Path) -> None:
    clock = Clock()
    async with opened(tmp_path, clock) as log:
        record(log, "one")
        record(log, "two")
    clock.later = timedelta(days=LedgerLimits().content_days + 1)
    async with opened(tmp_path, clock) as log:
        assert await log.prune() == 2
        (summary,) = await log.list("one", 1, "")
        assert "older than" in summary.pruned


async def test_what_finds_no_room_is_told_and_written_as_soon_as_there_is_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_log, "RETRY_S", 0.0)
    async with opened(tmp_path, Clock()) as log:
        assert log._opened is not None
        database = log._opened.file

        async def until(told: bool) -> None:
            async with asyncio.timeout(20):
                while bool(log.problem) != told:  # noqa: ASYNC110 - it is written behind, which is no event
                    await asyncio.sleep(0)

        with database.writing() as connection:
            connection.execute("PRAGMA max_page_count = 1")
        ids = [record(log, f"s{number}") for number in range(200)]
        await until(told=True)
        assert "full" in log.problem
        with database.writing() as connection:
            connection.execute("PRAGMA max_page_count = 1000000")
        await until(told=False)
    async with opened(tmp_path, Clock()) as log:
        assert [(await log.list(f"s{number}", 1, ""))[0].id for number in (0, 199)] == [ids[0], ids[199]]
