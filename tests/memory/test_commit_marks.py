"""Which commit holds a decision, and what is said of it when that commit is undone, rewritten or lost."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from foveal.daemon.core.events import EventHub
from foveal.daemon.core.times import timestamp_of
from foveal.daemon.core.work import Work
from foveal.daemon.memory.commit_marks import CommitHistory, CommitMarks, due_edits, is_held
from foveal.daemon.memory.edits import DueEdit, Edit, EditKind, PoolChanges, applied
from foveal.daemon.memory.experience import Experience
from foveal.daemon.memory.experiences import Experiences
from foveal.daemon.memory.pool_records import Known
from foveal.daemon.project.records import Commit, Reverts
from msgspec.structs import replace

from tests.conftest import git, write_files
from tests.pool_cases import Clock, draft, open_pool


def name(number: int) -> str:
    return f"{number:040x}"


def commit(number: int, *files: str, at: int = 0, parent: int | None = None) -> Commit:
    """Return the commit that follows the one with the number before it, ten seconds later."""
    before = number - 1 if parent is None else parent
    return Commit(name(number), (name(before),) if before else (), at or number * 10, f"{number} ada", files)


LOG = (commit(3, "a.py", "b.py"), commit(2, "a.py"), commit(1, "a.py", "b.py", "c.py"))


def history(
    log: tuple[Commit, ...] = LOG,
    *,
    made: Collection[int] = (1, 2, 3),
    undone: Collection[int] = (),
    restored: Collection[int] = (),
    lost: tuple[Commit, ...] = (),
    as_before: bool = False,
) -> CommitHistory:
    return CommitHistory(
        log,
        frozenset(map(name, made)),
        Reverts(frozenset(map(name, undone)), frozenset(map(name, restored))),
        {one.id: one for one in lost},
        lambda commit, paths: as_before,
    )


def known(
    at: float, *files: str, commit: str = "", edits: tuple[tuple[EditKind, PoolChanges], ...] = ()
) -> Known:
    moment = timestamp_of(datetime.fromtimestamp(at, UTC))
    original = Experience("x_1", moment, "a", "s", "Use WAL", files_touched=files, commit=commit)
    made = tuple(
        Edit(f"e_{number}", "x_1", f"2030-01-01T00:00:{number:02}.000Z", kind, changes)
        for number, (kind, changes) in enumerate(edits)
    )
    current, deleted = applied(original, made)
    return Known(original, made, current, deleted, is_shared=False)


def held(number: int, *more: tuple[EditKind, PoolChanges]) -> Known:
    return known(15, "a.py", edits=(("update", PoolChanges(commit=name(number))), *more))


MARK: tuple[EditKind, PoolChanges] = ("mark", PoolChanges(outcome="reverted", commit=name(2)))


def due(one: Known, said: CommitHistory) -> DueEdit | None:
    found = list(due_edits([one], said))
    assert len(found) <= 1
    return found[0] if found else None


def test_commit_holds_decisions_since_its_parent() -> None:
    def check(one: Known, expected: int | None, **said: Collection[int]) -> None:
        found = due(one, history(**said))  # type: ignore[arg-type]  # only made is given
        assert (found.changes.commit if found else None) == (name(expected) if expected else None)
        assert found is None or found.kind == "update"

    check(known(15, "a.py"), 2)
    check(known(20.9, "a.py"), 2)
    check(known(21, "a.py", "other.py"), 3)
    check(known(5, "a.py"), 1)
    check(known(15, "b.py"), None)  # the commit after it isn't about it, and a later one isn't the next
    check(known(31, "a.py"), None)
    check(known(15), None)
    check(known(15, "a.py"), None, made=(1, 3))  # it was fetched


def test_linked_experience_keeps_its_commit() -> None:
    assert is_held(held(2))
    assert not is_held(known(15, "a.py", commit=name(1)))
    assert due(held(2), history()) is None
    assert due(held(9), history()) is None, "nothing is known of it"
    assert due(known(15, "a.py", edits=(("update", PoolChanges(commit="")),)), history()) is None, (
        "a person said so"
    )


def test_a_revert_marks_and_its_own_revert_takes_the_mark_back() -> None:
    found = due(held(2), history(undone=(2,)))
    assert found == DueEdit("x_1", *MARK)
    assert due(held(2, MARK), history(undone=(2,))) is None, "once"
    assert due(held(2, MARK), history(LOG[:1])) is None, "another branch says nothing of it"
    for said in (history(), history(LOG[:1], restored=(2,))):
        back = due(held(2, ("update", PoolChanges(outcome="success")), MARK), said)
        assert back == DueEdit("x_1", "update", PoolChanges(outcome="success", commit=name(2)))
    failed = held(2, MARK, ("update", PoolChanges(outcome="failure", error="slow")))
    for said in (history(), history(undone=(2,))):
        assert due(failed, said) is None, "a person knows better"
    back_again = held(2, MARK, ("update", PoolChanges(outcome="", commit=name(2))))
    assert due(back_again, history()) is None
    assert due(back_again, history(undone=(2,))) == DueEdit("x_1", *MARK)
    assert due(held(2, ("update", PoolChanges(outcome="reverted"))), history(undone=(2,))) is None


def test_a_decision_told_after_its_commit_is_undone_with_it() -> None:
    log = (commit(3, "a.py", at=90), *LOG[1:])
    said = history(log, undone=(2,))
    undone = replace(said, reverts=replace(said.reverts, by={name(3): frozenset([name(2)])}))
    told = known(21, "a.py", commit=name(2))
    assert due(told, undone) == DueEdit("x_1", *MARK)
    assert due(told, replace(undone, made_here=())) == DueEdit("x_1", *MARK), "the revert was fetched"
    held_by_revert = DueEdit("x_1", "update", PoolChanges(commit=name(3)))
    assert due(told, history(log)) == held_by_revert, "an ordinary commit after it"
    assert due(known(80, "a.py", commit=name(2)), undone) == held_by_revert, "nearer to the revert"
    wanted = replace(told.current, decision="Roll back to 1")
    assert due(replace(told, current=wanted), undone) == held_by_revert
    assert due(known(21, "c.py", commit=name(2)), undone) is None, "of another file"


def test_a_lost_commit() -> None:
    lost = replace(commit(2, "a.py"), author="2 eve")
    log = (LOG[2],)

    def check(said: CommitHistory, expected: DueEdit | None) -> None:
        assert due(held(2), said) == expected

    check(history(log, lost=(lost,), as_before=True), DueEdit("x_1", *MARK))
    check(history(log, lost=(lost,)), None)
    amended = replace(commit(5, "a.py", parent=1), author="2 eve")
    moved = DueEdit("x_1", "update", PoolChanges(commit=name(5)))
    check(history((amended, *log), lost=(lost,), as_before=True), moved)
    check(history((replace(amended, files=("b.py",)), *log), lost=(lost,)), None)


async def test_git_that_failed_is_asked_again_after_a_while(tmp_path: Path) -> None:
    root, clock, work = write_files(tmp_path / "shop", {"a.py": "a = 1\n"}), Clock(), Work()
    pool = open_pool(tmp_path, clock, root=str(root))
    pool.graft([draft("Use WAL", files_touched=("a.py",))])
    for arguments in (("init", "-q"), ("add", "."), ("commit", "-qm", "Use WAL")):
        git(root, *arguments)
    commit = git(root, "rev-parse", "HEAD").strip()
    held = root / ".git/objects" / commit[:2] / commit[2:]
    owner: Any = SimpleNamespace(root=str(root), pool=pool)
    marks = CommitMarks(work, Experiences(work, EventHub(clock), clock), clock)
    async with asyncio.TaskGroup() as tasks:
        work.begin(tasks)
        held.rename(tmp_path / "away")
        assert await marks.mark(owner) == ()
        (tmp_path / "away").rename(held)
        assert await marks.mark(owner) == (), "it isn't asked at every list"
        clock.days += 1
        assert len(await marks.mark(owner)) == 1
    work.close()
