"""The timeline is bounded, its counts hold whatever the order of writes, and a failed write loses nothing."""

from __future__ import annotations

import asyncio
import json
import os
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast, get_args

import pytest
from foveal.daemon.context.assembly import Built
from foveal.daemon.context.requests import ContextRequest
from foveal.daemon.core.errors import InvalidRequest, StateError
from foveal.daemon.core.record_file import RecordFile
from foveal.daemon.core.storage import Database
from foveal.daemon.core.system import System
from foveal.daemon.core.work import Work
from foveal.daemon.sessions import timeline, timeline_service
from foveal.daemon.sessions.scope import Scope
from foveal.daemon.sessions.timeline import Entry, Place, SessionRow, Turn, Use, UseSign
from foveal.daemon.sessions.timeline_service import Happening, Timeline
from foveal.daemon.transcripts.activity import Activity

DAY_MS = 86_400_000


class Clock(System):
    """A clock that only goes on when it is told to."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 1, 31, tzinfo=UTC)

    def now(self) -> datetime:
        return self.moment

    def pass_on(self, **time: float) -> None:
        self.moment += timedelta(**time)


class Projects:
    """Every folder but `/nowhere` is a project's root."""

    async def root_of(self, cwd: str) -> str:
        if cwd == "/nowhere":
            raise InvalidRequest("no project", "cwd")
        return cwd


@asynccontextmanager
async def running(folder: Path, clock: Clock) -> AsyncIterator[Timeline]:
    work = Work()
    kept = Timeline(str(folder), cast("Any", Projects()), work, clock)
    async with asyncio.TaskGroup() as tasks:
        work.begin(tasks)
        assert await kept.load() == ""
        try:
            yield kept
        finally:
            work.cancel()
            await kept.close()
            work.close()


@pytest.fixture
def clock() -> Clock:
    return Clock()


def give(kept: Timeline, context_id: str, *paths: str, session: str = "s", prompt: str = "how?") -> None:
    slices = [
        {"type": "document", "tokens": 9, "tokens_before": 10, "span": [0, 4], "path": path} for path in paths
    ]
    reply = {"context": "text", "slices": slices, "tokens": 20, "bytes": 40, "context_id": context_id}
    built = Built(reply, (), (), 0, context_id=context_id, tokens_before=30)
    kept.given(Scope("x", "/p", "", session_id=session), ContextRequest(prompt=prompt), built, reply, "sam")


def happening(kind: timeline.TimelineKind, *paths: str, cwd: str = "/p", **fields: Any) -> Happening:
    return Happening("s", "codex", cwd, kind, paths=paths, **fields)


async def kinds(kept: Timeline) -> list[str]:
    page = await kept.page("s", 1_000, "")
    return [entry.kind for entry in reversed(page.entries)]


async def test_entries_of_a_session_are_bounded(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeline, "ENTRIES_MAX", 5)
    async with running(tmp_path, clock) as kept:
        for number in range(9):
            clock.pass_on(seconds=1)
            kept.happened(happening("prompt", text=f"prompt {number}"))
        page = await kept.page("s", 100, "")
    assert [entry.text for entry in page.entries] == [f"prompt {number}" for number in range(8, 3, -1)]


async def test_what_is_older_than_thirty_days_is_removed(tmp_path: Path, clock: Clock) -> None:
    async with running(tmp_path, clock) as kept:
        give(kept, "old", "a.py")
        clock.pass_on(days=20)
        kept.happened(happening("edit", "/p/a.py"))
        give(kept, "new", "b.py", session="t")
        assert await kinds(kept) == ["prompt", "edit"]
        clock.pass_on(days=10, seconds=1)
        await asyncio.to_thread(kept.prune)
        assert await kinds(kept) == ["edit"]
        report = await kept.usage("session", None, "", "")
        assert [(row.key, row.turns) for row in report.rows] == [("t", 1)]
        clock.pass_on(days=30)
        await asyncio.to_thread(kept.prune)
        assert await kept._ask(everything) == {}, "paths and sessions without anything go too"


async def test_entries_of_a_wrong_clock_grow_old_too(tmp_path: Path, clock: Clock) -> None:
    async with running(tmp_path, clock) as kept:
        for number in range(2):
            clock.pass_on(hours=1)
            kept.happened(happening("prompt", text=f"prompt {number}"))
            give(kept, f"c{number}", "a.py", session="t")
        clock.pass_on(days=3_650)
        kept.happened(happening("edit", "/p/a.py"))
        give(kept, "c2", "b.py", session="t")
        assert await kinds(kept) == ["prompt", "prompt", "edit"]
        clock.pass_on(days=-3_650)
        await asyncio.to_thread(kept.prune)
        assert sorted(await kinds(kept)) == ["edit", "prompt", "prompt"]
        clock.pass_on(days=31)
        await asyncio.to_thread(kept.prune)
        assert await kept._ask(everything) == {}


async def test_entries_outlast_a_clock_that_does_not_know_the_time_yet(tmp_path: Path, clock: Clock) -> None:
    async with running(tmp_path, clock) as kept:
        for number in range(3):
            clock.pass_on(hours=1)
            kept.happened(happening("prompt", text=f"prompt {number}"))
            give(kept, f"c{number}", "a.py", session="t")
        before = await kept._ask(everything)
        clock.pass_on(days=-19_000)
        await asyncio.to_thread(kept.prune)
        clock.pass_on(days=19_000)
        await asyncio.to_thread(kept.prune)
        assert await kept._ask(everything) == before


def everything(database: Database) -> dict[str, int]:
    tables = ("sessions", "entries", "turns", "paths", "places")
    counts = {name: database.execute(f"SELECT COUNT(*) FROM {name}").fetchone()[0] for name in tables}
    return {name: count for name, count in counts.items() if count}


async def test_turns_are_bounded(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline, "TURNS_MAX", 3)
    monkeypatch.setattr(timeline, "PRUNED_AT_ONCE", 2)
    async with running(tmp_path, clock) as kept:
        for number in range(10):
            give(kept, f"c{number}", "a.py", session="")
        await kept.usage("day", None, "", "")
        await asyncio.to_thread(kept.prune)
        assert (await kept.usage("day", None, "", "")).total.turns == 3


async def test_project_is_forgotten(tmp_path: Path, clock: Clock) -> None:
    async with running(tmp_path, clock) as kept:
        give(kept, "c1", "a.py")
        kept.happened(happening("edit", "/p/a.py"))
        kept.happened(Happening("other", "codex", "/q", "start"))
        assert await kept.count_of("/p") == 2
        await kept.forget_project("/p")
        assert await kept._ask(everything) == {"sessions": 1, "entries": 1}


async def test_prompt_of_another_project_stays_open_while_one_is_forgotten(
    tmp_path: Path, clock: Clock
) -> None:
    async with running(tmp_path, clock) as kept:
        kept.happened(Happening("other", "codex", "/q", "prompt", text="How does it end?"))
        kept.happened(happening("prompt", text="Why?"))
        await kept.forget_project("/q")
        give(kept, "c1", "a.py", prompt="Why?")
        page = await kept.page("s", 9, "")
        assert [(entry.kind, entry.context_id) for entry in page.entries] == [("prompt", "c1")]
        assert (await kept.page("other", 9, "")).entries == ()


def test_large_project_is_forgotten_in_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline, "PRUNED_AT_ONCE", 20)
    file = RecordFile(str(tmp_path / "t.sqlite"), timeline.SCHEMA, timeline.VERSION, System())
    with file.writing() as database:
        for root in ("/p", "/q"):
            session = timeline.put_session(database, SessionRow(root, root))
            for number in range(50):
                place = Place(f"{number}.py", "focus", 1, 1)
                turn = Turn(f"{root}{number}", root, root, number, 1, 1, 1, 1, {"focus": (1, 1, 1)}, (place,))
                timeline.put_turn(database, session, turn)
                timeline.put_entry(database, session, Entry(0, root, number, "prompt", mark=str(number)))
                database.execute(
                    "UPDATE entries SET number = (SELECT MAX(number) FROM entries) + 1 WHERE number = 0"
                )
        before = everything(database)
        rounds = []
        while removed := timeline.forget_round(database, "/p"):
            rounds.append(removed)
        assert rounds == [40, 40, 20]
        assert everything(database) == {name: count // 2 for name, count in before.items()}
    file.close()


async def test_failed_write_is_told_and_tried_again(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path, clock) as kept:
        with monkeypatch.context() as patched:
            patched.setattr(RecordFile, "writing", refused)
            give(kept, "c1", "a.py")
            kept.happened(happening("edit", "/p/a.py"))
            await kept._write()
            assert "no room" in kept.problem
            give(kept, "c1", "a.py")
            give(kept, "c2", "b.py")
            with pytest.raises(StateError, match="no room"):
                await kept.page("s", 10, "")
        await kept._write()
        assert kept.problem == ""
        assert await kinds(kept) == ["prompt", "edit", "prompt"]
        report = await kept.usage("day", None, "", "")
        assert (report.total.turns, report.total.places_used) == (3, 1)


def refused(file: RecordFile) -> Iterator[Database]:
    raise StateError("no room")


async def test_what_waits_is_bounded(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline_service, "WAITING_MAX", 3)
    monkeypatch.setattr(timeline_service, "TURNS_WAITING_MAX", 3)
    async with running(tmp_path, clock) as kept:
        for number in range(9):
            kept.happened(happening("prompt"))
            give(kept, f"c{number}")
        assert len(await kinds(kept)) == 3
        assert (await kept.usage("day", None, "", "")).total.turns == 3


async def test_task_of_a_subagent_is_told_once(tmp_path: Path, clock: Clock) -> None:
    async with running(tmp_path, clock) as kept:
        kept.happened(happening("subagent", agent_id="a", text="Find it"))
        kept.happened(happening("prompt", agent_id="a", text="Find it"))
        kept.happened(happening("subagent", agent_id="b"))
        kept.happened(happening("prompt", agent_id="b", text="Look there"))
        kept.happened(happening("prompt", agent_id="b", text="And there"))
        page = await kept.page("s", 10, "")
    told = [(entry.kind, entry.agent_id, entry.text) for entry in reversed(page.entries)]
    assert told == [
        ("subagent", "a", "Find it"),
        ("subagent", "b", "Look there"),
        ("prompt", "b", "And there"),
    ]


async def test_without_a_project_paths_are_left_out(tmp_path: Path, clock: Clock) -> None:
    async with running(tmp_path, clock) as kept:
        kept.happened(happening("start", cwd="/nowhere"))
        kept.happened(happening("edit", "/nowhere/a.py", cwd="/nowhere"))
        assert await kinds(kept) == ["start"]


async def test_no_text_of_a_client_damages_the_file(tmp_path: Path, clock: Clock) -> None:
    odd = "a\udcff\0b"
    async with running(tmp_path, clock) as kept:
        give(kept, odd, odd, session=odd, prompt=odd)
        kept.happened(Happening(odd, odd, f"/{odd}", "edit", odd, odd, odd, (odd, "", "/", "../..")))
        kept.happened(happening("edit", odd, f"/p/{odd}", "a.py", text=odd))
        activity = [Activity(how, odd, 1, odd, odd, odd) for how in get_args(Use)]
        kept.read_transcript(f"/{odd}", odd, odd, activity)
        kept.read_transcript("/p", "s", odd, [*activity, Activity("read", "/p/a.py", 2, "", "", "")])
        kept.named(odd, [odd])
        await kept._flush()
        assert await kinds(kept) == ["edit", "read"]
        assert (await kept.usage("session", f"/{odd}", "", "")).rows == ()
        assert (await kept.usage("session", None, "", "")).total.turns == 1
        assert [place.how for place in await kept.used(odd)] == ["named"]
        assert (await kept.page(odd, 10, "")).entries
        await kept.forget_project(odd)
    assert not any("damaged" in name for name in os.listdir(tmp_path))


async def test_numbers_go_on_after_a_restart(tmp_path: Path, clock: Clock) -> None:
    for _ in range(3):
        async with running(tmp_path, clock) as kept:
            kept.happened(happening("prompt"))
            assert "prompt" in await kinds(kept)
    async with running(tmp_path, clock) as kept:
        assert await kinds(kept) == ["prompt"] * 3


async def test_transcript_adds_only_what_hooks_did_not_report(tmp_path: Path, clock: Clock) -> None:
    path = str(tmp_path / "t.sqlite")
    file = RecordFile(path, timeline.SCHEMA, timeline.VERSION, System())
    with file.writing() as database:
        session = timeline.put_session(database, SessionRow("s", "/p"))
        timeline.put_entry(database, session, Entry(1, "s", 100_000, "edit", paths=("a.py",)))
        for number, paths in enumerate([("a.py",), ("a.py", "b.py"), ("a.py", "b.py", "c.py")], 2):
            found = Entry(number, "s", 90_000, "edit", paths=paths, mark="7:edit", last=95_000)
            timeline.put_entry(database, session, found)
        late = Entry(9, "s", 500_000, "edit", paths=("a.py",), mark="9:edit", last=500_000)
        timeline.put_entry(database, session, late)
        entries = timeline.entries_of(database, "s", 10, None)
    file.close()
    assert [json.loads(entry.paths_json) for entry in entries] == [["a.py"], ["a.py"], ["b.py", "c.py"]]


def test_loose_names_mean_the_only_shown_file_that_ends_so(tmp_path: Path) -> None:
    file = RecordFile(str(tmp_path / "t.sqlite"), timeline.SCHEMA, timeline.VERSION, System())
    places = tuple(Place(path, "document", 1, 1) for path in ("src/a/x.py", "src/b/x.py", "src/y.py"))
    with file.writing() as database:
        session = timeline.put_session(database, SessionRow("s", "/p"))
        timeline.put_turn(database, session, Turn("c", "s", "/p", 5, 1, 1, 1, 1, {}, places))

        def used(path: str, *, exact: bool = False) -> list[str]:
            timeline.mark_used(database, session, [UseSign("s", "named", path, 9, exact)])
            return [place.path for place in timeline.used_places(database, "c")]

        assert used("x.py") == [], "two files end so"
        assert used("y.py", exact=True) == [], "another file"
        assert used("xy.py") == []
        assert used("b/x.py") == ["src/b/x.py"]
        assert used("y.py") == ["src/b/x.py", "src/y.py"]
    file.close()


@pytest.mark.parametrize("seed", range(8))
def test_counts_are_those_of_the_places(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    file = RecordFile(str(tmp_path / "t.sqlite"), timeline.SCHEMA, timeline.VERSION, System())
    paths, types = [f"src/{number}.py" for number in range(6)], ("document", "focus")
    hows: tuple[Use, ...] = ("edited", "read", "named")
    with file.writing() as database:
        for step in range(120):
            name = chance.choice(["s", "t", "u"])
            session = timeline.put_session(database, SessionRow(name, "/p"))
            at = step * DAY_MS // 4
            match chance.randrange(8):
                case 0 | 1 | 2 | 3:
                    places = tuple(
                        Place(path, chance.choice(types), chance.randrange(9), 20)
                        for path in chance.sample(paths, 3)
                    )
                    sums = dict.fromkeys(types, (1, 2, 3))
                    context_id = f"c{chance.randrange(90)}"
                    known = database.execute("SELECT 1 FROM turns WHERE context_id = ?", (context_id,))
                    if known.fetchone() is None:
                        turn = Turn(context_id, name, "/p", at, 1, 1, 1, 1, sums, places)
                        timeline.put_turn(database, session, turn)
                case 4 | 5:
                    signs = [UseSign(name, chance.choice(hows), chance.choice(paths), at) for _ in range(2)]
                    timeline.mark_used(database, session, signs)
                case 6:
                    timeline.observe(database, session, at, mined=True)
                case 7:
                    timeline.prune_round(database, at - 20 * DAY_MS, at)
            check_counts(database)
        while timeline.forget_round(database, "/p"):
            pass
        assert everything(database) == {}
    file.close()


def check_counts(database: Database) -> None:
    """Compare the counts that are kept with those of the places."""
    used = "COALESCE(edited, read, named) IS NOT NULL"
    kept = database.execute("SELECT id, shown, used FROM paths WHERE shown ORDER BY id").fetchall()
    counted = database.execute(
        f"SELECT path, COUNT(*), SUM({used}) FROM places JOIN turns ON number = turn"
        " JOIN sessions ON id = session WHERE observed > 0 GROUP BY path ORDER BY path"
    ).fetchall()
    assert kept == counted
    for number, shown, count, types in database.execute("SELECT number, shown, used, types FROM turns"):
        rows = database.execute(f"SELECT {used} FROM places WHERE turn = ?", (number,)).fetchall()
        assert (shown, count) == (len(rows), sum(row[0] for row in rows))
        sums = json.loads(types).values()
        assert (shown, count) == (sum(one[3] for one in sums), sum(one[4] for one in sums))
