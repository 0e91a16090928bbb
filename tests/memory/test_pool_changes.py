"""A pool's experiences are edited, deleted, restored and marked by further lines, and pruned for good."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest
from foveal.daemon.core.errors import Busy, NotFound
from foveal.daemon.core.system import System
from foveal.daemon.memory.edits import DueEdit, PoolChanges
from foveal.daemon.memory.pool import Pool
from foveal.daemon.memory.pool_filters import Criteria

from tests.pool_cases import Clock, decisions, draft, names, open_pool, path_in


def graft(pool: Pool, *texts: str) -> tuple[str, ...]:
    return pool.graft([draft(text) for text in texts]).ids


def nothing(path: str) -> bool:
    return False


# --- Edits ---


def test_changes_are_appended_and_read_back(tmp_path: Path) -> None:
    pool = open_pool(tmp_path)
    [first] = graft(pool, "Use WAL")
    before = Path(path_in(tmp_path)).read_bytes()
    generation = pool.generation
    known = pool.update(first, {"decision": "Use files", "outcome": {"kind": "failure", "error": "slow"}})
    assert pool.generation > generation
    assert Path(path_in(tmp_path)).read_bytes().startswith(before)
    for reader in (pool, open_pool(tmp_path)):
        [found] = reader.list()[0]
        assert found == known.current
        assert (found.id, found.decision, found.outcome, found.error) == (
            first,
            "Use files",
            "failure",
            "slow",
        )
        assert [edit.kind for edit in reader.get(first).edits] == ["update"]
        assert reader.get(first).original.decision == "Use WAL"
    again = pool.graft([draft("Use WAL")])
    assert (again.grafted, again.duplicates) == (0, 1), "what was edited doesn't come back as it was"


def test_deleted_experience_is_hidden_until_restored(tmp_path: Path) -> None:
    pool = open_pool(tmp_path)
    first, _ = graft(pool, "about tokens", "other")
    known, changed = pool.delete(first)
    assert (known.deleted, changed) == (True, True)
    assert pool.delete(first)[1] is False
    for reader in (pool, open_pool(tmp_path)):
        assert decisions(reader) == ["other"]
        assert [one.decision for one in reader.relevant([], [], ["tokens"], 5)] == ["other"]
        assert decisions(reader, deleted=True) == ["about tokens"]
        assert (reader.statistics().experiences, reader.statistics().deleted) == (1, 1)
    with pytest.raises(NotFound, match="restore it first"):
        pool.update(first, {"decision": "d"})
    with pytest.raises(NotFound, match="'x_none'"):
        pool.delete("x_none")
    again = pool.graft([draft("about tokens")])
    assert (again.grafted, again.duplicates) == (0, 1)
    assert again.warnings == ((0, f"it was deleted as {first}, which can be restored"),)
    assert pool.restore(first)[1] is True
    assert pool.restore(first)[1] is False
    assert sorted(decisions(open_pool(tmp_path))) == ["about tokens", "other"]


def test_edits_that_a_program_derived(tmp_path: Path) -> None:
    pool = open_pool(tmp_path)
    first, second, third = graft(pool, "one", "two", "three")
    pool.delete(third)
    undone = PoolChanges(outcome="reverted", commit="0123abcd")
    edits = [
        DueEdit(first, "update", PoolChanges(commit="0123abcd")),
        DueEdit(second, "mark", undone),
        DueEdit(third, "update", PoolChanges(commit="0123abcd")),
        DueEdit("x_none", "update", PoolChanges(commit="0123abcd")),
    ]
    assert pool.annotate(edits) == (first, second)
    size = Path(path_in(tmp_path)).stat().st_size
    assert pool.annotate(edits) == (), "they are as they should be"
    assert Path(path_in(tmp_path)).stat().st_size == size
    for reader in (pool, open_pool(tmp_path)):
        newest = reader.newest(5)
        assert [known.original.id for known in newest] == [second, first]
        assert [known.current.commit for known in newest] == ["0123abcd", "0123abcd"]
        assert [mark.kind for mark in newest[0].current.marks] == ["reverted"]
        assert [known.original.id for known in reader.newest(1)] == [second]
    pool.annotate([DueEdit(second, "update", PoolChanges(outcome="", commit="0123abcd"))])
    assert (pool.get(second).current.outcome, pool.get(second).current.marks) == ("", ()), "it is back"


# --- Marks ---


# --- Safety ---


# --- Merges ---


def test_conflict_marks_and_reordered_lines_of_a_merge_are_no_harm(tmp_path: Path) -> None:
    pool = open_pool(tmp_path)
    [first], [second], _ = (graft(pool, text) for text in ("one", "two", "three"))
    pool.delete(first)
    pool.update(second, {"decision": "two, edited"})
    expected = decisions(pool)
    path = Path(path_in(tmp_path))
    lines = path.read_bytes().splitlines(keepends=True)
    merged = [b"<<<<<<< HEAD\n", *reversed(lines), b"=======\n", *lines, b">>>>>>> other\n"]
    path.write_bytes(b"".join(merged))
    pool.refresh()
    for reader in (pool, open_pool(tmp_path)):
        assert decisions(reader) == expected == ["three", "two, edited"]
        statistics = reader.statistics()
        assert (statistics.bad_lines, statistics.repeated_lines, statistics.problem) == (3, 5, "")
    found, total = pool.quarantined(10)
    assert total == 3
    assert {one.text for one in found} == {"<<<<<<< HEAD\n", "=======\n", ">>>>>>> other\n"}
    assert all("conflict" in one.reason for one in found)
    pool.restore(first)
    assert sorted(decisions(open_pool(tmp_path))) == ["one", "three", "two, edited"]


# --- Pruning ---


def test_pruning_removes_experiences_with_their_edits(tmp_path: Path) -> None:
    clock = Clock()
    pool = open_pool(tmp_path, clock)
    [old] = graft(pool, "old")
    pool.update(old, {"rationale": "very old"})
    clock.days = 100
    [new] = graft(pool, "new")
    pool.update(new, {"rationale": "quite new"})
    before = Path(path_in(tmp_path)).read_bytes()
    assert len(pool.prune(Criteria(max_age_days=50), nothing, dry_run=True).pruned) == 1
    assert Path(path_in(tmp_path)).read_bytes() == before
    generation = pool.generation
    result = pool.prune(Criteria(max_age_days=50), nothing, dry_run=False)
    assert ([one.id for one in result.pruned], result.kept) == ([old], 1)
    assert pool.generation > generation
    assert b"old" not in Path(path_in(tmp_path)).read_bytes()
    for reader in (pool, open_pool(tmp_path)):
        [found] = reader.list()[0]
        assert found.rationale == "quite new"
    with pytest.raises(NotFound):
        pool.restore(old)
    assert pool.graft([draft("old")]).grafted == 1


def test_pruning_everything_leaves_an_empty_pool(tmp_path: Path) -> None:
    pool = open_pool(tmp_path, rotate_bytes=500)
    for number in range(20):
        graft(pool, f"decision {number}")
    pool.delete(pool.list()[0][0].id)
    assert len(names(tmp_path)) > 3
    result = pool.prune(Criteria(max_count=0), nothing, dry_run=False)
    assert (len(result.pruned), result.kept) == (20, 0)
    assert names(tmp_path) == ["experiences.jsonl"]
    assert Path(path_in(tmp_path)).read_bytes() == b""
    for reader in (pool, open_pool(tmp_path)):
        assert reader.list() == ((), 0)
        assert (reader.statistics().experiences, reader.statistics().parts) == (0, 1)
    assert graft(pool, "again")
    assert decisions(open_pool(tmp_path)) == ["again"]
    assert open_pool(tmp_path / "..").prune(Criteria(max_count=0), nothing, dry_run=False).pruned == ()


def test_lines_of_a_newer_version_outlive_a_pruning(tmp_path: Path) -> None:
    pool = open_pool(tmp_path)
    first, _ = graft(pool, "one", "two")
    path = Path(path_in(tmp_path))
    path.write_bytes(path.read_bytes() + b'{"type":"vote","of":"x_9"}\ngarbage\n')
    pool.delete(first)
    pool.prune(Criteria(deleted=True), nothing, dry_run=False)
    lines = path.read_text().splitlines()
    assert len(lines) == 2
    assert lines[1] == '{"type":"vote","of":"x_9"}'
    assert pool.statistics().bad_lines == 0
    assert [one.text for one in pool.quarantined(5)[0]] == ["garbage\n"]


def test_files_that_never_hold_still_are_busy(tmp_path: Path) -> None:
    class Restless(Clock):
        restless = False

        def lstat(self, path: str) -> os.stat_result:
            if self.restless and path == path_in(tmp_path):
                (tmp_path / "new").write_bytes(b"\n")
                os.replace(tmp_path / "new", path)
            return super().lstat(path)

    system = Restless()
    pool = open_pool(tmp_path, system)
    graft(pool, "one")
    system.restless = True
    with pytest.raises(Busy, match="change all the time"):
        pool.refresh()


# --- Rotation ---


def test_full_files_stay_readable(tmp_path: Path) -> None:
    pool = open_pool(tmp_path, rotate_bytes=1_000)
    ids = [graft(pool, f"decision {number}")[0] for number in range(40)]
    pool.delete(ids[0])
    pool.update(ids[1], {"decision": "changed"})
    statistics = pool.statistics()
    assert statistics.parts == len(names(tmp_path)) > 5
    assert statistics.size_bytes == sum(path.stat().st_size for path in tmp_path.iterdir())
    assert max(path.stat().st_size for path in tmp_path.iterdir()) < 1_500
    again = open_pool(tmp_path, rotate_bytes=1_000)
    for reader in (pool, again):
        assert reader.list()[1] == 39
        assert decisions(reader, query="changed") == ["changed"]
        assert reader.list() == pool.list()
    assert again.graft([draft("decision 5")]).duplicates == 1
    pool.prune(Criteria(max_count=3), nothing, dry_run=False)
    assert decisions(open_pool(tmp_path)) == ["decision 39", "decision 38", "decision 37"]
    assert len(names(tmp_path)) <= 3


def test_file_rotated_while_reading_is_read_on(tmp_path: Path) -> None:
    other = open_pool(tmp_path, rotate_bytes=500)
    graft(other, "first")

    class Overtaken(Clock):
        """Lets the other pool set its file aside while this one lists the files."""

        turns = 5

        def lstat(self, path: str) -> os.stat_result:
            if self.turns and path == path_in(tmp_path):
                self.turns -= 1
                graft(other, f"turn {self.turns} " + "x" * 600)
            return super().lstat(path)

    system = Overtaken()
    pool = open_pool(tmp_path, system)
    assert system.turns == 0
    assert pool.list()[1] == 6
    assert len(names(tmp_path)) > 3


# --- Retention ---


def test_the_retention_prunes_on_opening_and_once_a_day(tmp_path: Path) -> None:
    graft(open_pool(tmp_path), "one", "two", "three")
    clock = Clock()
    clock.days = 10
    pool = open_pool(tmp_path, clock, retention=Criteria(max_age_days=100, max_count=2))
    assert len(decisions(pool)) == 2
    statistics = pool.statistics()
    assert (statistics.retired, statistics.retired_at[:10]) == (1, "2025-01-11")
    graft(pool, "four", "five")
    assert len(decisions(pool)) == 4, "not on every write"
    clock.days = 10.9
    pool.refresh()
    assert len(decisions(pool)) == 4
    clock.days = 11.1
    assert pool.refresh() is True
    assert sorted(decisions(pool)) == ["five", "four"]
    assert pool.statistics().retired == 3
    clock.days = 200
    pool.refresh()
    assert decisions(pool) == decisions(open_pool(tmp_path)) == []
    assert (pool.statistics().retired, pool.statistics().problem) == (5, "")
    assert open_pool(tmp_path, retention=Criteria()).statistics().retired_at == ""


def test_failed_retention_is_reported_and_the_pool_stays_readable(tmp_path: Path) -> None:
    graft(open_pool(tmp_path), "one", "two")

    class Failing(Clock):
        fails = True

        def fsync(self, descriptor: int) -> None:
            if self.fails:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            super().fsync(descriptor)

    clock = Failing()
    pool = open_pool(tmp_path, clock, retention=Criteria(max_count=1))
    assert len(decisions(pool)) == 2
    assert "No space left" in pool.statistics().problem
    clock.fails, clock.days = False, 1.5
    pool.refresh()
    assert len(decisions(pool)) == 1
    assert pool.statistics().problem == ""


# --- The shared pool ---


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / ".git").mkdir(parents=True)
    return root


def open_shared(
    tmp_path: Path, root: Path, path: str = "team/pool.jsonl", system: System | None = None
) -> Pool:
    (tmp_path / "state").mkdir(exist_ok=True)
    return open_pool(tmp_path / "state", system, root=str(root), shared=path, trusted=True)


def test_shared_pool_is_read_too_and_gets_new_experiences(tmp_path: Path, root: Path) -> None:
    (tmp_path / "state").mkdir()
    [private] = graft(open_pool(tmp_path / "state", root=str(root)), "private")
    pool = open_shared(tmp_path, root)
    assert pool.statistics().shared == "team/pool.jsonl"
    assert not (root / "team").exists(), "nothing is made before something is shared"
    [shared] = graft(pool, "shared")
    assert graft(pool, "private") == ()
    assert sorted(decisions(pool)) == sorted(decisions(open_shared(tmp_path, root))) == ["private", "shared"]
    content = (root / "team" / "pool.jsonl").read_text()
    assert "shared" in content
    assert "private" not in content
    pool.delete(private)
    pool.update(shared, {"decision": "edited"})
    assert (root / "team" / "pool.jsonl").read_text().count("\n") == 2
    assert decisions(open_pool(tmp_path / "state")) == []
    (tmp_path / "colleague").mkdir()
    colleague = open_shared(tmp_path / "colleague", root)
    assert decisions(colleague) == ["edited"]
    assert names(root / "team") == ["pool.jsonl"], "what is kept beside it is private"


def test_a_shared_pool_needs_trust(tmp_path: Path, root: Path) -> None:
    (root / "pool.jsonl").write_text(
        '{"id":"x_1","timestamp":"2025-01-01T00:00:00Z","agent_id":"a","session_id":"s","decision":"theirs"}\n'
    )
    pool = open_pool(tmp_path, root=str(root), shared="pool.jsonl")
    assert decisions(pool) == []
    assert "not trusted" in pool.statistics().problem
    graft(pool, "mine")
    assert "mine" not in (root / "pool.jsonl").read_text()
    generation = pool.generation
    pool.share("pool.jsonl", trusted=True)
    assert pool.generation > generation
    assert sorted(decisions(pool)) == ["mine", "theirs"]
    assert pool.statistics().problem == ""
    pool.share("", trusted=True)
    assert decisions(pool) == ["mine"]
    pool.share("../pool.jsonl", trusted=True)
    assert "a plain path in the project" in pool.statistics().problem


def test_shared_pool_outside_the_project_is_left_out_and_reported(tmp_path: Path, root: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (root / "team").symlink_to(outside)
    pool = open_shared(tmp_path, root)
    assert pool.statistics().problem == ""
    (outside / "pool.jsonl").write_text("")
    pool.refresh()
    assert "leads out of the project" in pool.statistics().problem
    result = pool.graft([draft("mine")])
    assert result.grafted == 1
    assert result.warnings == ((0, "the pool team/pool.jsonl can't be used now, so it is kept privately"),)
    assert decisions(pool) == ["mine"]
    assert (outside / "pool.jsonl").read_text() == ""
    (root / "team").unlink()
    pool.refresh()
    assert pool.statistics().problem == ""
    assert pool.graft([draft("ours")]).warnings == ()
    assert "ours" in (root / "team" / "pool.jsonl").read_text()


def test_bad_lines_of_a_shared_pool_go_to_the_private_quarantine(tmp_path: Path, root: Path) -> None:
    line = {"id": "x_1", "timestamp": "2025-01-01T00:00:00Z", "decision": "red \x1b[31m", "agent_id": "a\nb"}
    (root / "pool.jsonl").write_text("<<<<<<< HEAD\n" + json.dumps(line) + "\n")
    pool = open_shared(tmp_path, root, "pool.jsonl")
    [found] = pool.list()[0]
    assert (found.decision, found.agent_id) == ("red \ufffd[31m", "a b")
    assert names(root) == [".git", "pool.jsonl"]
    assert names(tmp_path / "state") == ["experiences.jsonl.quarantine"]
    assert [one.file for one in pool.quarantined(5)[0]] == ["pool.jsonl"]


def test_a_pruning_takes_both_and_the_retention_the_private_one(tmp_path: Path, root: Path) -> None:
    (tmp_path / "state").mkdir()
    graft(open_pool(tmp_path / "state"), "private one", "private two")
    pool = open_shared(tmp_path, root)
    graft(pool, "shared one", "shared two")
    retired = open_pool(
        tmp_path / "state",
        root=str(root),
        shared="team/pool.jsonl",
        trusted=True,
        retention=Criteria(max_count=1),
    )
    assert sorted(decisions(retired)) == ["private two", "shared one", "shared two"]
    pool.prune(Criteria(max_count=0), nothing, dry_run=False)
    assert decisions(pool) == []
    assert (root / "team" / "pool.jsonl").read_bytes() == b""
