"""Deliveries are written behind the answers, come back across restarts, and stay within their limits."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest
from foveal.daemon.core import write_behind
from foveal.daemon.core.errors import StateError
from foveal.daemon.core.times import timestamp_of
from foveal.daemon.core.work import Work
from foveal.daemon.privacy.policy import Policy
from foveal.daemon.sessions import deliveries as store
from foveal.daemon.sessions.delivered_context import ContextFilter
from foveal.daemon.sessions.deliveries import Deliveries
from foveal.daemon.sessions.delivery_tables import FILE, DeliveryLimits
from foveal.daemon.sessions.session_events import UsedPlace
from foveal.daemon.sessions.timeline import SessionEvent

from tests.delivery_cases import Clock, Opened, opened, record_of, root_of

LIMITS = DeliveryLimits(max_bytes=400_000)


# Contexts


async def test_a_context_is_there_at_once_and_after_a_restart(tmp_path: Path) -> None:
    async with opened(tmp_path) as at:
        first = at.give(text="a text\n")
        before = await at.deliveries.context(first)
    async with opened(tmp_path) as at:
        found = await at.deliveries.context(first)
        assert await at.deliveries.context("c_none") is None
    assert found == before
    assert found is not None
    assert (found.row.agent_name, found.row.times, found.row.project, found.row.session_id) == (
        "sam",
        1,
        "/p",
        "ses",
    )
    assert (found.reply["context"], found.reply["user_prompt"], "context" in found.reply) == (
        "a text\n",
        "how?",
        True,
    )
    assert "system_prompt" not in found.reply, "the reply didn't have it"
    assert found.scope["focus_paths"] == ["a.py", "\udcff"]
    assert (found.access.policy, found.access.agent_names) == (Policy(), ("sam",))
    assert found.row.layers == {"anchor": 1, "focus": 2, "horizon": 3}


async def test_a_repeated_context_counts_and_comes_first(tmp_path: Path) -> None:
    async with opened(tmp_path) as at:
        first, second = at.give(), at.give(preview=True)
        at.clock.pass_on(seconds=1)
        at.give(first, cached=True)
        at.give(first, cached=True)
        assert await at.ids() == [first, second]
    async with opened(tmp_path) as at:
        at.clock.pass_on(hours=1)
        at.give(first, preview=True)
        at.give(second)
        at.give(second, cached=True)
        rows = {row.id: row for row in await at.rows()}
        assert (rows[first].times, rows[second].times) == (4, 3), (
            "counted, though this daemon didn't build it"
        )
        assert (rows[first].preview, rows[second].preview) == (False, False)
        assert rows[first].at - rows[first].first_at == 3_600_000
        assert (await at.deliveries.usage("day", None, "", "")).total.turns == 5, "previews don't count"


async def test_a_context_names_the_previous_one_and_whether_it_says_the_same(tmp_path: Path) -> None:
    async with opened(tmp_path) as at:
        ids = [at.give(text=text) for text in ("one", "one", "two")]
        at.give(text="two", scope="s_2")
    async with opened(tmp_path) as at:
        ids.append(at.give(text="two"))
        rows = {row.id: (row.previous, row.same_as) for row in await at.rows()}
        assert [rows[one] for one in ids] == [("", ""), (ids[0], ids[0]), (ids[1], ""), (ids[2], ids[2])]


async def test_contexts_are_listed_in_pages_by_every_filter(tmp_path: Path) -> None:
    async with opened(tmp_path) as at:
        ids = []
        for n in range(12):
            at.clock.pass_on(seconds=1)
            path, session = f"f{n % 4}.py", "" if n < 6 else "ses"
            ids.append(at.give(scope=f"s_{n % 2}", root=f"/p{n % 3}", paths=[path], session=session))
        whole = ids[::-1]
        assert await at.ids() == whole
        assert await at.ids(limit=5) == whole[:5]
        assert await at.ids(limit=5, before=whole[4]) == whole[5:10]
        assert await at.ids(before="c_unknown") == []
        assert await at.ids(ContextFilter(scope_id="s_1")) == ids[11::-2]
        assert await at.ids(ContextFilter(project="/p2"), before=ids[8]) == [ids[5], ids[2]]
        assert await at.ids(ContextFilter(path="f3.py")) == [ids[11], ids[7], ids[3]]
        assert await at.ids(ContextFilter(project="/p1", path="f3.py")) == [ids[7]]
        assert await at.ids(ContextFilter(agent_name="sam", session_id="")) == ids[5::-1]
        assert await at.ids(ContextFilter(session_id="ses")) == whole[:6]
        assert await at.ids(ContextFilter(agent_name="kim")) == []
        rows = await at.rows()
        assert await at.ids(ContextFilter(since=rows[6].at, until=rows[2].at)) == whole[3:7]


async def test_a_page_is_full_though_others_are_hidden(tmp_path: Path) -> None:
    async with opened(tmp_path) as at:
        seen = at.give()
        for number in range(5):
            at.give(policy=Policy(deny_paths=(f"{number}/**",)))
        assert await at.ids(limit=1) == [seen]


async def test_a_damaged_record_is_reported_and_the_list_goes_on(tmp_path: Path) -> None:
    async with opened(tmp_path) as at:
        first, second = at.give(), at.give()
        await at.deliveries.flush()
        await at.alter("UPDATE contents SET record = X'00' WHERE number = 1")
        await at.alter("UPDATE contents SET sent = X'00'")
        assert await at.ids() == [second, first]
        with pytest.raises(StateError, match="damaged"):
            await at.deliveries.context(first)
        found = await at.deliveries.context(second)
        assert found is not None
        assert "context" not in found.reply


# Limits


async def test_content_goes_by_age_then_the_record_then_the_counts(tmp_path: Path) -> None:
    async with opened(tmp_path) as at:
        old = at.give(paths=["gone.py"], record=record_of(1))
        at.timeline.record(SessionEvent("ses", "codex", "/p", "prompt", text="Why?"))
        at.clock.pass_on(days=29)
        new = at.give(paths=["a.py"], record=record_of(2, at=timestamp_of(at.clock.at)))
        assert await at.deliveries.prune() == 0
        at.clock.pass_on(days=2)
        assert await at.deliveries.prune() == 2
        assert (await at.ids(), await at.deliveries.context(old), await at.kinds()) == ([new], None, [])
        assert await at.requests() == ["req_2", "req_1"]
        found = await at.deliveries.request("ses", "req_1")
        assert found.sent is None
        assert found.problem == "What was sent is not kept any more: it was older than 30 days."
        assert found.record == record_of(1)
        at.clock.pass_on(days=150)
        await at.deliveries.prune()
        assert await at.requests() == ["req_2"]
        at.clock.pass_on(days=40)
        await at.deliveries.prune()
        assert await at.counts() == {"items": 3, "item_days": 6}, "counts of items outlive their requests"
        at.clock.pass_on(days=200)
        await at.deliveries.prune()
        assert await at.counts() == {}


async def test_what_a_wrong_clock_dated_ahead_grows_old_too(tmp_path: Path) -> None:
    async with opened(tmp_path) as at:
        for _ in range(2):
            at.give()
            at.timeline.record(SessionEvent("ses", "codex", "/p", "prompt"))
        at.clock.pass_on(days=3_650)
        at.give()
        at.timeline.record(SessionEvent("ses", "codex", "/p", "end"))
        at.clock.pass_on(days=-3_650)
        await at.deliveries.prune()
        assert (len(await at.ids()), len(await at.kinds())) == (3, 3)
        at.clock.pass_on(days=31)
        await at.deliveries.prune()
        assert await at.counts() == {}


async def test_a_session_and_all_together_keep_their_latest(tmp_path: Path) -> None:
    limits = DeliveryLimits(max_per_session=3, entries_per_session=4, max_requests=7, max_contexts=6)
    async with opened(tmp_path, limits) as at:
        for number in range(9):
            at.clock.pass_on(seconds=1)
            await at.put(record_of(number, f"t{number}" if number % 2 else "s"))
            at.timeline.record(SessionEvent("s", "codex", "/p", "prompt", text=f"{number}"))
        assert await at.requests("s") == ["req_8", "req_6", "req_4"]
        page = await at.timeline.page("s", 100, "")
        assert [stored.entry.text for stored in page.entries] == ["8", "7", "6", "5"]
        await at.deliveries.prune()
        assert (await at.requests("t1"), await at.requests("t3")) == ([], ["req_3"])
        assert len(await at.ids()) == 6


async def test_the_oldest_content_goes_when_the_file_is_too_large(tmp_path: Path) -> None:
    async with opened(tmp_path, LIMITS) as at:
        ids = []
        for number in range(100):
            at.clock.pass_on(seconds=1)
            ids.append(at.give(text=f"{number}\n{Random(number).randbytes(5_000).hex()}"))
        await at.deliveries.prune()  # a write removes a part only
        kept = await at.ids()
        assert kept == ids[::-1][: len(kept)], "the oldest go first"
        assert 3 < len(kept) < 100
        found = await at.deliveries.context(kept[-1])
        assert found is not None
        assert found.reply["context"].startswith(f"{ids.index(kept[-1])}\n")


async def test_records_go_too_when_no_content_is_left(tmp_path: Path) -> None:
    async with opened(tmp_path, DeliveryLimits(max_bytes=1)) as at:
        for number in range(60):
            at.give(record=record_of(number))
        await at.deliveries.prune()
        assert await at.requests() == []


# Forgetting


async def test_a_project_is_forgotten_and_no_other(tmp_path: Path) -> None:
    async with opened(tmp_path) as at:
        for number in range(3):
            for root, session in (("/p", "ses"), ("/q", "other")):
                record = record_of(number, session, project_root=root)
                at.give(root=root, session=session, paths=[f"{number}.py"], record=record)
                at.timeline.record(
                    SessionEvent(session, "codex", root, "edit", paths=(f"{root}/{number}.py",))
                )
        at.timeline.record(SessionEvent("ses", "codex", "/p", "prompt", text="Why?"))
        at.timeline.record(SessionEvent("other", "codex", "/q", "prompt", text="How?"))
        before = await at.counts()
        assert await at.deliveries.counts_of("/p") == (3, 3, 2)
        await at.timeline.forget_project("/p")
        assert await at.deliveries.counts_of("/p") == (0, 0, 0)
        assert await at.counts() == {name: count // 2 for name, count in before.items()}
        at.timeline.attach(("other", ""), "c1", "", "How?", "sam")
        page = await at.timeline.page("other", 1, "")
        assert [(one.entry.kind, one.entry.context_id) for one in page.entries] == [("prompt", "c1")]


# Writing behind


async def test_what_finds_no_room_is_told_and_written_as_soon_as_there_is_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path) as at:
        await at.alter("PRAGMA max_page_count = 1")
        ids = [at.give(record=record_of(number), paths=["a.py"]) for number in range(50)]
        at.timeline.record(SessionEvent("ses", "codex", "/p", "edit", paths=("/p/a.py",)))
        assert await at.ids() == []
        assert "full" in at.deliveries.problem
        at.give(ids[0], cached=True)
        await at.alter("PRAGMA max_page_count = 1000000")
        assert len(await at.ids()) == 50
        assert (at.deliveries.problem, at.deliveries.lost) == ("", 0)
        assert await at.requests() == [f"req_{number}" for number in range(49, -1, -1)]
        assert await at.deliveries.used_places(ids[7]) == [UsedPlace("a.py", "edited", at.deliveries.now())]
        assert (await at.rows())[-1].times == 2


async def test_a_context_that_cannot_be_kept_holds_up_no_other(tmp_path: Path) -> None:
    async with opened(tmp_path) as at:
        at.give(record=record_of(1, elapsed_ms=float("nan")))
        kept = at.give(record=record_of(2))
        assert (await at.ids(), await at.requests(), at.deliveries.lost) == ([kept], ["req_2"], 1)


async def test_those_that_waited_longest_are_lost_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write_behind, "WAITING_BYTES", 200_000)
    async with opened(tmp_path) as at:
        ids = [at.give(text="x" * 20_000) for _ in range(20)]
        at.clock.pass_on(seconds=1)
        assert await at.ids() == ids[:-6:-1]
        assert at.deliveries.lost == 15


async def test_pruning_begins_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    async with opened(tmp_path, clock=clock) as at:
        await at.put(record_of())
    clock.pass_on(days=400)
    monkeypatch.setattr(store, "PRUNE_FIRST_S", 0.0)
    async with opened(tmp_path, clock=clock) as at:
        while await at.requests():
            pass


# The file


async def test_without_its_file_nothing_is_kept_and_why_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    work = Work()
    deliveries = Deliveries(str(tmp_path / "file"), root_of, work, Clock())
    at = Opened(deliveries, None, Clock())  # type: ignore[arg-type]  # as above
    at.give()
    with pytest.raises(StateError, match="still starting"):
        await at.ids()
    assert FILE in await deliveries.load()
    at.give()
    for question in (at.ids(), deliveries.prune(), deliveries.forget_project("/p")):
        with pytest.raises(StateError, match="can't be opened"):
            await question
    await deliveries.close()
    work.close()


async def test_a_damaged_file_is_set_aside_and_told(tmp_path: Path) -> None:
    async with opened(tmp_path) as at:
        await at.put(record_of())
    path = tmp_path / FILE
    path.write_bytes(b"no database" * 1_000)
    async with opened(tmp_path, said="sessions is lost: deliveries.sqlite could not be used") as at:
        assert await at.requests() == []
        await at.put(record_of(2))
        assert await at.requests() == ["req_2"]
    assert len([name for name in os.listdir(tmp_path) if name.rpartition("-")[2].isdigit()]) == 1
