"""Delivered contexts are kept on the disk: across restarts, within their limits, without secrets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest
from foveal.daemon.context.assembly import Built
from foveal.daemon.context.caller import Caller, ContextJob
from foveal.daemon.context.context_history import Access, ContextHistory, new_context_id
from foveal.daemon.context.reply import Conversation
from foveal.daemon.context.requests import ContextRequest, Message
from foveal.daemon.core.errors import StateError
from foveal.daemon.core.storage import Database
from foveal.daemon.core.system import System
from foveal.daemon.core.work import Work
from foveal.daemon.privacy.policy import Policy
from foveal.daemon.sessions.context_table import ContextFilter, ContextRow
from foveal.daemon.sessions.request_log_service import RequestLog
from foveal.daemon.sessions.scope import Scope
from foveal.daemon.sessions.stored_contents import LedgerLimits

KEY = "AKIA" + "Q3EGW7ZLTNKD5RXB"
REQUEST = ContextRequest(prompt=f"how?\nwith {KEY}", history=(Message("user", "before"),), format="prompts")
ANY = ContextFilter()


class Clock(System):
    """A clock that goes on by a second at each look."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 1, 31, tzinfo=UTC)

    def now(self) -> datetime:
        self.moment += timedelta(seconds=1)
        return self.moment


@dataclass
class Opened:
    """A history at work, with what gives contexts."""

    history: ContextHistory
    requests: RequestLog
    clock: Clock
    built: dict[str, Built] = field(default_factory=dict)

    def give(self, text: str, scope: str = "s_1", *, again: str = "", **fields: Any) -> str:
        """Give a context, built now or the one that is given `again`; returns its id."""
        path = fields.pop("path", "a.py")
        reply = {
            "context": text, "user_prompt": REQUEST.prompt, "system_prompt": "Be kind.",
            "slices": [{"id": "f", "path": path}], "items": [], "gaps": ["one"], "degraded": [],
            "layers": {"anchor": 1, "focus": 2, "horizon": 3}, "tokens": 6, "bytes": 24, "truncated": False,
        }  # fmt: skip
        conversation = Conversation("Be kind.", REQUEST.prompt, (), (), ())
        built = Built(reply, (), (), 0, context_id=new_context_id(), conversation=conversation)
        built = self.built.setdefault(again or built.context_id, built)
        answer = {**built.reply, "cached": bool(again), "partial": False}
        caller = Caller(policy=fields.pop("policy", Policy()))
        root, request = fields.pop("root", "/p"), fields.pop("request", REQUEST)
        given_scope = Scope(scope, root, "", **fields)
        job = ContextJob(cast("Any", None), given_scope, request, "shown", caller, 0.0)
        self.history.note(job, "sam", built, answer, 1.5)
        return built.context_id

    async def page(self, chosen: ContextFilter = ANY, limit: int = 100, before: str = "") -> list[str]:
        return [row.id for row in await self.rows(chosen, limit, before)]

    async def rows(self, chosen: ContextFilter = ANY, limit: int = 100, before: str = "") -> list[ContextRow]:
        async def may_see(access: Access) -> bool:
            return access.policy == Policy()

        return await self.history.page(chosen, limit, before, may_see)

    def alter(self, statement: str, *values: object) -> None:
        """Change the file behind the history's back, as damage does."""
        assert self.requests.opened is not None
        with self.requests.opened[0].writing() as database:
            assert database.execute(statement, values).rowcount > 0


@asynccontextmanager
async def opened(folder: Path, limits: LedgerLimits | None = None) -> AsyncIterator[Opened]:
    work, clock = Work(), Clock()
    requests = RequestLog(str(folder), work, clock, limits)
    history = ContextHistory(requests, work, clock)
    async with asyncio.TaskGroup() as tasks:
        work.begin(tasks)
        assert await requests.load() == ""
        yield Opened(history, requests, clock)
        await history.write()
        await requests.close()
    work.close()


async def test_a_context_is_there_at_once_and_after_a_restart(tmp_path: Path) -> None:
    async with opened(tmp_path) as at:
        scope: dict[str, Any] = {
            "session_id": "ses",
            "focus_paths": ("a.py", "\udcff"),
            "constraints": (f"not {KEY}",),
        }
        first = at.give("a text", policy=Policy(), **scope)
        before = await at.history.get(first)
    async with opened(tmp_path) as at:
        found = await at.history.get(first)
    assert found is not None
    assert found == before
    assert (found.row.agent_name, found.row.times, found.row.project) == ("sam", 1, "/p")
    assert found.row.prompt == "how?"
    assert found.request.prompt == found.reply["user_prompt"] == "how?\nwith [masked]16+"
    assert found.request.history == (), "what others said isn't kept for it"
    assert (found.reply["context"], found.reply["system_prompt"]) == ("a text", "Be kind.")
    assert (found.scope.focus_paths, found.scope.constraints) == (("a.py", "\udcff"), ("not [masked]16+",))
    assert found.reply["layers"] == {"anchor": 1, "focus": 2, "horizon": 3}
    assert (found.row.anchor, found.row.gaps, found.row.text_kept) == (1, 1, True)
    assert not holding(tmp_path, KEY)


def holding(folder: Path, text: str) -> list[str]:
    return [path.name for path in folder.iterdir() if text.encode() in path.read_bytes()]


async def test_a_repeated_context_counts_and_comes_first(tmp_path: Path) -> None:
    async with opened(tmp_path) as at:
        first, second = at.give("a"), at.give("b")
        at.give("a", again=first)
        assert await at.page() == [first, second]
        at.give("a", again=first)
        at.give("b", again=second)
    async with opened(tmp_path) as at:
        assert await at.page() == [second, first]
        at.clock.moment += timedelta(hours=1)
        at.built[first] = Built({**(await given(at, first)), "context": "a"}, (), (), 0, context_id=first)
        at.give("a", again=first)
        newest, _ = await at.rows()
        assert (newest.id, newest.times, newest.cached) == (first, 4, True), "counted, though not known"
        assert newest.at > newest.first_at


async def given(at: Opened, context_id: str) -> dict[str, Any]:
    found = await at.history.get(context_id)
    assert found is not None
    return found.reply


async def test_a_context_names_the_previous_one_and_whether_it_says_the_same(tmp_path: Path) -> None:
    async with opened(tmp_path) as at:
        ids = [at.give(text) for text in ("one", "one", "two")]
        at.give("two", scope="s_2")
        await at.page()
    async with opened(tmp_path) as at:
        at.clock.moment += timedelta(hours=1)
        ids.append(at.give("two"))
        rows = {row.id: (row.previous, row.is_same) for row in await at.rows()}
        assert [rows[one] for one in ids] == [("", False), (ids[0], True), (ids[1], False), (ids[2], True)]


async def test_contexts_are_listed_in_pages_by_every_filter(tmp_path: Path) -> None:
    async with opened(tmp_path) as at:
        ids = [at.give(f"{n}", scope=f"s_{n % 2}", root=f"/p{n % 3}", path=f"f{n % 4}.py") for n in range(12)]
        whole = ids[::-1]
        assert await at.page() == whole
        assert await at.page(limit=5) == whole[:5]
        assert await at.page(limit=5, before=whole[4]) == whole[5:10]
        assert await at.page(before="c_unknown") == []
        assert await at.page(ContextFilter(scope_id="s_1")) == ids[11::-2]
        assert await at.page(ContextFilter(project="/p2"), before=ids[8]) == [ids[5], ids[2]]
        assert await at.page(ContextFilter(path="f3.py")) == [ids[11], ids[7], ids[3]]
        assert await at.page(ContextFilter(project="/p1", path="f3.py")) == [ids[7]]
        assert await at.page(ContextFilter(agent_name="sam", session_id="")) == whole
        assert await at.page(ContextFilter(agent_name="kim")) == []
        rows = await at.rows()
        since, until = rows[6].at, rows[2].at
        assert await at.page(ContextFilter(since=since, until=until)) == whole[3:7]


async def test_a_common_file_is_found_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foveal.daemon.sessions.context_table.RARE", 2)
    async with opened(tmp_path) as at:
        ids = [at.give(f"{n}", path=f"f{n % 2}.py") for n in range(6)]
        assert await at.page(ContextFilter(path="f1.py"), limit=2) == [ids[5], ids[3]]


async def test_a_page_is_full_though_others_are_hidden(tmp_path: Path) -> None:
    async with opened(tmp_path) as at:
        hidden = [Policy(deny_paths=(f"{n}/**",)) for n in range(5)]
        seen = at.give("seen")
        for policy in hidden:
            at.give("hidden", policy=policy)
        assert await at.page(limit=1) == [seen]


async def test_old_contexts_go_and_the_file_stays_within_its_size(tmp_path: Path) -> None:
    async with opened(tmp_path, LedgerLimits(content_days=2)) as at:
        old = at.give("old", path="gone.py")
        await at.page()
        at.clock.moment += timedelta(days=3)
        new = at.give("new")
        assert await at.page() == [new]
        await at.requests.prune()
        assert await at.history.get(old) is None
        assert at.requests.opened is not None
        with at.requests.opened[0].reading() as database:
            assert count(database, "context_files") == count(database, "context_packs") == 1
    limits = LedgerLimits(max_bytes=400_000)
    async with opened(tmp_path, limits) as at:
        at.clock.moment += timedelta(days=9)
        ids = [at.give(f"{n}\n{Random(n).randbytes(5_000).hex()}") for n in range(100)]
        await at.page()
        await at.requests.prune()  # a write removes a part only
        kept = await at.page()
        assert kept == ids[::-1][: len(kept)], "the oldest go first"
        assert 3 < len(kept) < 100
        assert (await given(at, kept[-1]))["context"].startswith(f"{ids.index(kept[-1])}\n")


def count(database: Database, table: str) -> int:
    return int(database.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0])


async def test_a_damaged_record_is_reported_and_the_list_goes_on(tmp_path: Path) -> None:
    async with opened(tmp_path) as at:
        first, second = at.give("a"), at.give("b")
        await at.page()
        at.alter("UPDATE context_records SET data = X'00' WHERE number = 1")
        at.alter("UPDATE context_packs SET data = X'00'")
        assert await at.page() == [second, first]
        with pytest.raises(StateError, match="damaged"):
            await at.history.get(first)
        found = await at.history.get(second)
        assert found is not None
        assert not found.has_text


async def test_contexts_wait_in_memory_while_the_disk_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path) as at:
        first = at.give("a")
        assert await at.page() == [first]
        assert at.requests.opened is not None
        ledger = at.requests.opened[1]

        def refuse() -> int:
            raise StateError("the disk is full")

        with monkeypatch.context() as patched:
            patched.setattr(ledger, "write", refuse)
            second = at.give("b")
            at.give("a", again=first)
            assert await at.page() == [first]
            assert "the disk is full" in at.history.problem
            found = await at.history.get(second)
            assert found is not None
            assert (found.row.times, found.reply["context"]) == (1, "b")
            at.give("b", again=second)
            await at.page()
        rows = {row.id: row.times for row in await at.rows()}
        assert rows == {first: 2, second: 2}
        assert (at.history.problem, at.history.lost) == ("", 0)


async def test_the_oldest_are_lost_where_too_much_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("foveal.daemon.context.context_history.WAITING_BYTES", 200_000)
    async with opened(tmp_path) as at:
        ids = [at.give("x" * 10_000) for _ in range(20)]
        assert await at.page() == ids[:-5:-1]
        assert at.history.lost == 16


async def test_a_cancelled_write_counts_each_context_once(tmp_path: Path) -> None:
    async with opened(tmp_path) as at:
        first = at.give("a")
        writing = asyncio.create_task(at.history.write())
        await asyncio.sleep(0)  # it begins
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing
        assert [(row.id, row.times) for row in await at.rows()] == [(first, 1)]
