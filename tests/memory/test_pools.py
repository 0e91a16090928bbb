"""The pool that the work trees of a repository have in common, and how what each had before joins it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from foveal.daemon.core.system import System
from foveal.daemon.memory.lines import MAX_LINE_BYTES
from foveal.daemon.memory.pool_filters import Criteria
from foveal.daemon.memory.pools import Pools
from foveal.daemon.memory.records import ExperienceListing
from foveal.daemon.memory.worktree_view import WorktreeView
from foveal.daemon.project.records import Worktree

from tests.conftest import git, write_files
from tests.pool_cases import decisions, draft, open_pool


@pytest.fixture
def tree(tmp_path: Path) -> Worktree:
    """Give a linked work tree beside its repository, and folders in the state for both."""
    root = write_files(tmp_path.resolve() / "main", {"a.py": ""})
    for command in ("init -q -b main", "add -A", "commit -q -m first", "worktree add -q ../a"):
        git(root, *command.split())
    for name in ("state/main", "state/a"):
        (tmp_path / name).mkdir(parents=True)
    return Worktree(str(root.parent / "a"), str(root / ".git"), "a", "2025-01-01T00:00:00.000Z")


def opened(tree: Worktree, tmp_path: Path, of: Pools | None = None, **more: Any) -> Any:
    given: dict[str, Any] = {"folder": tmp_path / "state/a", "worktree": tree, "shared": "", **more}
    pool = (of or Pools(Criteria(), System())).open(
        tree.root,
        str(given["folder"]),
        str(tmp_path / "state/main"),
        given["worktree"],
        given["shared"],
        trusted=True,
    )
    pool.refresh()
    return pool


def everything(pool: Any) -> list[str]:
    return sorted(decisions(pool, everywhere=True))


def test_a_former_pool_joins_once(tree: Worktree, tmp_path: Path) -> None:
    main = open_pool(tmp_path / "state/main")
    main.graft([draft("in both"), draft("main's")])
    former = open_pool(tmp_path / "state/a", rotate_bytes=400)
    ids = former.graft([draft(f"a's {number}") for number in range(3)]).ids
    former.graft([draft("in both"), draft("wrong")])
    former.update(ids[0], {"decision": "a's, edited"})
    former.delete(ids[1])
    path = tmp_path / "state/a/experiences.jsonl"
    path.write_bytes(path.read_bytes() + b'{"version":99,"x":1}\nno JSON\n{"id":"x_9","timestamp":"2026-01-01",'
                     b'"decision":"later","new_field":[1]}')  # fmt: skip
    lines = {name: (tmp_path / "state/a" / name).read_bytes() for name in os.listdir(tmp_path / "state/a")}
    assert len(lines) > 1
    expected = ["a's 2", "a's, edited", "in both", "in both", "later", "main's", "wrong"]
    pool = opened(tree, tmp_path)
    assert everything(pool) == expected
    assert os.listdir(tmp_path / "state/a") == ["experiences.jsonl.quarantine"]
    text = (tmp_path / "state/main/experiences.jsonl").read_text()
    assert text.count('"version":99') == 1
    [later] = [json.loads(line) for line in text.splitlines() if "new_field" in line]
    assert (later["new_field"], later["worktree"]) == ([1], tree.id)
    size = len(text)
    for names in (
        list(lines),
        list(lines)[1:],
        [],
    ):  # as after a crash before, between and after the removals
        for name in names:
            (tmp_path / "state/a" / name).write_bytes(lines[name])
        assert everything(opened(tree, tmp_path)) == expected
        assert len((tmp_path / "state/main/experiences.jsonl").read_text()) == size


def test_lines_join_as_they_are(tree: Worktree, tmp_path: Path) -> None:
    """The work tree is added where a line is still one with it; nothing that a line holds stops the opening."""
    (tmp_path / "state/a").mkdir(exist_ok=True)
    begin = b'{"id":"x_%d","timestamp":"2026-01-01","agent_id":"a","session_id":"s","decision":"%s","more":'
    mores = [b'"\\ud800"', b"1e999", b"[" * 500 + b"]" * 500, b'"%s"' % (b"x" * (MAX_LINE_BYTES - 120))]
    lines = [begin % (number, b"d%d \\ud83d" % number) + more + b"}" for number, more in enumerate(mores)]
    (tmp_path / "state/a/experiences.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    pool = opened(tree, tmp_path)
    assert pool.statistics().problem == ""
    assert len(everything(pool)) == len(lines)
    there = (tmp_path / "state/main/experiences.jsonl").read_bytes().splitlines()
    added = b',"worktree":"%s"}' % tree.id.encode()
    assert there == [*(line[:-1] + added for line in lines[:-1]), lines[-1]]


def test_a_pool_that_cant_join_stays(tree: Worktree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_pool(tmp_path / "state/a").graft([draft("a's")])

    def fail(path: str) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "unlink", fail)
    every = Pools(Criteria(), System())
    pool = opened(tree, tmp_path, every)
    main = Worktree(os.path.dirname(tree.common), tree.common)
    opened(main, tmp_path, every, folder=tmp_path / "state/main", worktree=main)
    (tmp_path / "state/b").mkdir()
    opened(tree, tmp_path, every, folder=tmp_path / "state/b")
    assert "could not join" in pool.statistics().problem, "what another one has joins well"
    assert (tmp_path / "state/a/experiences.jsonl").exists()
    monkeypatch.undo()
    again = opened(tree, tmp_path)
    assert everything(again) == ["a's"]
    assert again.statistics().problem == ""


def test_open_pools_have_one_store_but_for_a_shared_pool(tree: Worktree, tmp_path: Path) -> None:
    every = Pools(Criteria(), System())
    main = Worktree(os.path.dirname(tree.common), tree.common)
    pool, other = (
        opened(each, tmp_path, every, folder=tmp_path / "state/main", worktree=each) for each in (tree, main)
    )
    assert pool.store is other.store
    before = other.generation
    pool.graft([draft("a's", files_touched=("new.py",))])
    assert other.generation != before
    other.refresh()
    assert decisions(pool) == decisions(other) == ["a's"], "nothing of it is changed, so it belongs to HEAD"
    Path(tree.root, "new.py").write_text("new\n")
    pool.graft([draft("a's later", files_touched=("new.py",))])
    other.refresh()
    assert decisions(other) == ["a's"]
    assert other.count_elsewhere(ExperienceListing()) == 1
    pool.share("notes/decisions.jsonl", trusted=True)
    pool.graft([draft("for all", files_touched=("new.py",))])
    line = json.loads(Path(tree.root, "notes/decisions.jsonl").read_text())
    assert not {"worktree", "head", "uncommitted"} & line.keys(), "it goes to people with other work trees"
    assert sorted(decisions(pool)) == ["a's", "a's later", "for all"]
    assert decisions(other) == ["a's"]


def test_a_decision_that_was_made_elsewhere_can_be_made_here(tree: Worktree, tmp_path: Path) -> None:
    every = Pools(Criteria(), System())
    main = Worktree(os.path.dirname(tree.common), tree.common)
    pool, other = (
        opened(each, tmp_path, every, folder=tmp_path / "state/main", worktree=each) for each in (tree, main)
    )
    for root in (tree.root, main.root):
        Path(root, "new.py").write_text("new\n")
    assert pool.graft([draft("same", files_touched=("new.py",))]).grafted == 1
    other.refresh()
    assert other.graft([draft("same", files_touched=("new.py",))]).grafted == 1
    assert other.graft([draft("same", files_touched=("new.py",))]).duplicates == 1
    pool.refresh()
    assert decisions(pool) == decisions(other) == ["same"]


def test_a_failure_marks_no_decision_of_another_work_tree(tree: Worktree, tmp_path: Path) -> None:
    every = Pools(Criteria(), System())
    main = Worktree(os.path.dirname(tree.common), tree.common)
    pool, other = (
        opened(each, tmp_path, every, folder=tmp_path / "state/main", worktree=each) for each in (tree, main)
    )
    Path(tree.root, "new.py").write_text("new\n")
    [there] = pool.graft([draft("made there", files_touched=("new.py",))]).ids
    other.refresh()
    failed = other.graft([draft(f"{there} failed here", outcome="failure")])
    assert failed.warnings == (
        (0, f"it names {there}, which shows in other work trees only, so that isn't marked"),
    )
    pool.refresh()
    assert [each.marks for each in pool.list()[0] if each.id == there] == [()]
    assert pool.graft([draft(f"{there} failed there", outcome="failure")]).warnings == ()
    assert [mark.kind for each in pool.list()[0] if each.id == there for mark in each.marks] == ["failure"]


def test_work_trees_are_read_again_when_one_comes_moves_or_goes(tree: Worktree) -> None:
    read: list[str] = []

    class Watched(System):
        def read(self, path: str, limit: int | None = None) -> tuple[bytes, os.stat_result]:
            read.append(path)
            return super().read(path, limit)

    main = os.path.dirname(tree.common)
    view = WorktreeView(Worktree(main, tree.common), Watched())

    def living() -> list[str]:
        found = [os.path.basename(each.root) for each in view.living().values()]
        read.clear()
        assert [os.path.basename(each.root) for each in view.living().values()] == found
        assert not read
        return found

    assert living() == ["main", "a"]
    git(Path(main), "worktree", "add", "-q", "--detach", "../b")
    assert living() == ["main", "a", "b"]
    git(Path(main), "worktree", "move", "../b", "../c")
    assert living() == ["main", "a", "c"]
    Path(tree.root).rename(f"{tree.root}_away")
    assert living() == ["main", "c"]
    Path(f"{tree.root}_away").rename(tree.root)
    assert living() == ["main", "a", "c"]
    git(Path(main), "worktree", "remove", "../c")
    assert living() == ["main", "a"]
