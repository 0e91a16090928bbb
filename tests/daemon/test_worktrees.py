"""Decisions in the work trees of one repository: before and after commit, merge, rebase and removal, with a real
daemon and real git."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from foveal.daemon.project.service import project_folder
from foveal.ipc import errors as codes

from tests.conftest import DaemonProcess, git, write_files


class Trees:
    """A repository with linked work trees beside it, and what a daemon says of their decisions."""

    def __init__(self, folder: Path, daemon: DaemonProcess) -> None:
        self.daemon = daemon
        self.main = write_files(
            folder / "shop", {"README.md": "# Shop\n", "src/auth.py": "def login(): ...\n"}
        )
        git(self.main, "init", "-q", "-b", "main")
        self.commit(self.main, "first")

    def add(self, name: str) -> Path:
        root = self.main.parent / name
        git(self.main, "worktree", "add", "-q", str(root), "-b", name)
        return root

    def commit(self, root: Path, message: str) -> None:
        git(root, "add", "-A")
        git(root, "commit", "-q", "-m", message)

    def decide(self, root: Path, decision: str, *files: str, **more: Any) -> str:
        experience = {"decision": decision, "agent_id": "ann", "session_id": root.name, **more}
        reply = self.daemon.call(
            "GraftExperience", cwd=str(root), experience={**experience, "files_touched": files}
        )
        assert reply["grafted"] == 1, reply
        [experience_id] = reply["experience_ids"]
        assert isinstance(experience_id, str)
        return experience_id

    def change(self, root: Path, decision: str, path: str, text: str = "# changed\n") -> str:
        """Change a file in a work tree, and decide that."""
        write_files(root, {path: text})
        return self.decide(root, decision, path)

    def listed(self, root: Path, **more: Any) -> set[str]:
        reply = self.daemon.call("ListExperiences", cwd=str(root), **more)
        return {each["decision"] for each in reply["experiences"]}

    def context(self, root: Path) -> str:
        reply = self.daemon.call("GetContext", cwd=str(root), focus_paths=["src"], fresh="tree")
        return str(reply["context"])

    def shows(self, root: Path, *decisions: str) -> bool:
        """Whether exactly these decisions are listed, and in the next context."""
        listed, text = self.listed(root), self.context(root)
        everywhere = self.listed(root, all_worktrees=True)
        assert listed <= everywhere
        assert {each for each in everywhere if each in text} == listed, text
        return listed == set(decisions)


@pytest.fixture
def trees(shared_daemon: DaemonProcess, tmp_path: Path) -> Trees:
    return Trees(tmp_path.resolve(), shared_daemon)


def test_decisions_follow_their_commits(trees: Trees) -> None:
    a, b = trees.add("a"), trees.add("b")
    trees.change(a, "Tokens end", "src/tokens.py")
    trees.decide(a, "Ann reviews", "src/auth.py")  # with nothing changed: it belongs to what is checked out
    assert trees.shows(a, "Tokens end", "Ann reviews")
    assert trees.shows(b, "Ann reviews")
    assert trees.shows(trees.main, "Ann reviews")
    trees.commit(a, "tokens")
    assert trees.shows(trees.main, "Ann reviews"), "committed, but elsewhere"
    git(trees.main, "merge", "-q", "a")
    assert trees.shows(trees.main, "Tokens end", "Ann reviews")
    assert trees.shows(b, "Ann reviews")
    trees.change(b, "Carts expire", "src/cart.py")
    trees.commit(b, "cart")
    git(b, "rebase", "-q", "main")
    assert trees.shows(b, "Carts expire", "Tokens end", "Ann reviews")
    assert trees.shows(trees.main, "Tokens end", "Ann reviews")
    git(trees.main, "merge", "-q", "--ff-only", "b")
    assert "Carts expire" in trees.context(trees.main), "nobody listed them before"
    assert trees.shows(trees.main, "Carts expire", "Tokens end", "Ann reviews")


def test_decisions_come_by_a_rebased_or_squashed_merge(trees: Trees) -> None:
    a, b = trees.add("a"), trees.add("b")
    trees.change(a, "Tokens end", "src/tokens.py")
    trees.commit(a, "tokens")
    trees.change(b, "Carts expire", "src/cart.py")
    trees.commit(b, "cart")
    assert trees.shows(a, "Tokens end")
    assert trees.shows(trees.main)
    write_files(trees.main, {"README.md": "# The shop\n"})
    trees.commit(trees.main, "readme")
    git(trees.main, "cherry-pick", "a")  # as a forge does that rebases and merges
    assert trees.shows(trees.main, "Tokens end")
    git(trees.main, "merge", "-q", "--squash", "b")
    trees.commit(trees.main, "all of b")
    assert trees.shows(trees.main, "Tokens end", "Carts expire")
    for name in ("a", "b"):
        git(trees.main, "worktree", "remove", str(trees.main.parent / name))
        git(trees.main, "branch", "-q", "-D", name)
    assert trees.shows(trees.main, "Tokens end", "Carts expire")


def test_a_removed_work_tree_leaves_what_was_committed(trees: Trees) -> None:
    a = trees.add("a")
    trees.change(a, "Tokens end", "src/tokens.py")
    trees.commit(a, "tokens")  # nobody looks before it is merged, and removed
    git(trees.main, "merge", "-q", "a")
    trees.change(a, "Carts expire", "src/cart.py")
    git(trees.main, "worktree", "remove", "--force", str(a))
    assert trees.shows(trees.main, "Tokens end")
    reply = trees.daemon.call("ListExperiences", cwd=str(trees.main), all_worktrees=True)
    assert {each["decision"]: each["worktree"] for each in reply["experiences"]} == {
        "Tokens end": {"name": "a", "state": "gone"},
        "Carts expire": {"name": "a", "state": "gone"},
    }
    assert trees.daemon.call("ListExperiences", cwd=str(trees.main))["elsewhere"] == 1
    b = trees.add("b")
    trees.change(b, "Only in b", "src/only_b.py")
    pruned = trees.daemon.call("PruneExperiences", cwd=str(trees.main), irrelevant=True, dry_run=True)
    assert [each["decision"] for each in pruned["experiences"]] == ["Carts expire"], (
        "its file is in no work tree"
    )
    git(trees.main, "branch", "-q", "-D", "a")
    again = trees.add("a")
    assert trees.shows(again, "Tokens end"), "the new one of the same name isn't the one that made the other"


def test_another_work_tree_undoes_nothing(trees: Trees) -> None:
    a = trees.add("a")
    trees.change(a, "Tokens end", "src/tokens.py")
    trees.commit(a, "tokens")
    git(a, "switch", "-q", "--detach")
    assert trees.shows(a, "Tokens end")
    write_files(a, {"src/tokens.py": "# better\n"})
    git(a, "add", "-A")
    git(a, "commit", "-q", "--amend", "-m", "tokens again")
    git(trees.main, "branch", "-q", "-D", "a")  # only the detached HEAD has it now

    def outcomes(root: Path) -> list[object]:
        reply = trees.daemon.call("ListExperiences", cwd=str(root), all_worktrees=True)
        return [each.get("outcome") for each in reply["experiences"]]

    for root in (trees.main, a, trees.main):
        assert outcomes(root) == [None]
    assert trees.shows(a, "Tokens end")
    git(trees.main, "merge", "-q", git(a, "rev-parse", "HEAD").strip())
    assert trees.shows(trees.main, "Tokens end")
    git(trees.main, "revert", "--no-edit", "HEAD")
    for root in (trees.main, a, trees.main, a):
        assert outcomes(root) == [{"kind": "reverted"}], "one judge, no mark in turns"


def test_work_trees_write_one_pool(trees: Trees) -> None:
    a = trees.add("a")
    mine = trees.decide(trees.main, "Use WAL", "src/auth.py")
    assert trees.shows(a, "Use WAL")
    trees.decide(a, "Use ints for money", "src/auth.py")
    assert trees.shows(trees.main, "Use WAL", "Use ints for money")
    assert "Use WAL" in trees.context(a)
    trees.daemon.call("DeleteExperience", cwd=str(trees.main), experience_id=mine)
    assert "Use WAL" not in trees.context(a), "cached before"
    pools = [
        path
        for path in trees.daemon.state.glob("projects/*/experiences.jsonl")
        if b"WAL" in path.read_bytes()
    ]
    assert len(pools) == 1
    other = shutil.copytree(trees.main, trees.main.parent / "stranger")
    shutil.rmtree(other / ".git")
    (other / ".git").write_text(f"gitdir: {trees.main}/.git/worktrees/a\n")
    assert trees.listed(other) == set(), "a folder alone doesn't say where it belongs"


def test_forgetting_a_work_tree_keeps_what_others_have(trees: Trees) -> None:
    a, b = trees.add("a"), trees.add("b")
    trees.daemon.open_ready(trees.main)
    assert trees.listed(b) == set()
    trees.daemon.call("ForgetProject", path=str(b))
    folder = Path(project_folder(str(trees.daemon.state), str(trees.main)))
    assert {"index.sqlite", "project.json"} <= set(os.listdir(folder)), (
        "the folder of the pool is the main one's"
    )
    trees.decide(trees.main, "Use WAL", "src/auth.py")
    trees.change(a, "Forget zebras", "src/tokens.py")
    assert trees.listed(a) == {"Use WAL", "Forget zebras"}

    def forget(root: Path, **more: Any) -> tuple[int, str]:
        reply = trees.daemon.call("ForgetProject", path=str(root), **more)
        return reply["removed"]["decisions"], reply["kept"]

    kept = f"2 of the repository's decisions stay, for its other work trees: {a}"
    assert forget(trees.main, dry_run=True) == (0, kept)
    assert forget(trees.main) == (0, kept)
    assert trees.daemon.error("ForgetProject", path=str(trees.main)).code == codes.NOT_FOUND
    assert trees.listed(a) == {"Use WAL", "Forget zebras"}
    assert forget(a, dry_run=True) == (2, "")
    assert forget(a) == (2, "")
    for path in trees.daemon.state.glob("projects/*/*"):
        assert b"Forget zebras" not in (path.read_bytes() if path.is_file() else b""), path
    assert trees.listed(trees.main, all_worktrees=True) == set()


def test_a_moved_or_cloned_project_is_asked_about(trees: Trees, tmp_path: Path) -> None:
    git(trees.main, "remote", "add", "origin", "https://ann:secret@example.org/shop.git")
    trees.decide(trees.main, "Use WAL", "src/auth.py")
    call, root = trees.daemon.call, tmp_path.resolve()
    assert "question" not in call("ListExperiences", cwd=str(trees.main))
    clone = shutil.copytree(trees.main, root / "clone")
    question = call("ListExperiences", cwd=str(clone))["question"]
    assert question.startswith(
        f"this looks like a clone of the project at {trees.main} (1 decision); to take"
    )
    assert question == call("Status", cwd=str(clone))["projects"][0]["question"]
    assert "question" not in call("ListExperiences", cwd=str(clone), agent_name="sam")
    write_files(trees.add("strict"), {"foveal.toml": '[agents.sam]\ndeny_paths = ["src/"]\n'})
    trees.listed(trees.main.parent / "strict")
    call("CloseProject", path=str(trees.main.parent / "strict"))
    for more in ({}, {"never": True}):
        error = trees.daemon.error(
            "AdoptExperiences", cwd=str(clone), path=str(trees.main), agent_name="sam", **more
        )
        assert error.code == codes.PERMISSION_DENIED
    assert trees.listed(clone) == set()
    reply = call("AdoptExperiences", cwd=str(clone), path=str(trees.main), never=True)
    assert reply == {"root": str(clone), "path": str(trees.main), "adopted": 0}
    git(clone, "worktree", "prune")
    git(clone, "worktree", "add", "-q", "../linked", "-b", "linked")
    for one in (clone, root / "linked"):
        assert "question" not in call("ListExperiences", cwd=str(one)), "answered for all its work trees"
    assert call("AdoptExperiences", cwd=str(clone), path=str(trees.main))["adopted"] == 1
    assert trees.listed(clone) == trees.listed(trees.main) == {"Use WAL"}
    call("CloseProject", path=str(trees.main))
    moved = trees.main.rename(root / "moved")
    question = call("ListExperiences", cwd=str(moved))["question"]
    assert question.startswith(f"this looks like a clone of the project at {clone} (1 decision)")
    assert call("AdoptExperiences", cwd=str(moved), path=str(trees.main))["adopted"] == 1
    assert call("AdoptExperiences", cwd=str(moved), path=str(clone), never=True)["adopted"] == 0
    assert trees.listed(moved) == {"Use WAL"}
    assert "question" not in call("ListExperiences", cwd=str(moved))
    error = trees.daemon.error("AdoptExperiences", cwd=str(moved), path=str(trees.main))
    assert error.code == codes.NOT_FOUND, "they are here now"
    for path in trees.daemon.state.glob("projects/*/project.json"):
        assert "secret" not in path.read_text()


def test_an_agent_learns_nothing_that_shows_in_another_work_tree_only(trees: Trees) -> None:
    """The policy of that may hide it, whatever the one here says."""
    write_files(trees.main, {"foveal.toml": '[agents.sam]\ndeny_paths = ["src/"]\n'})
    a, call = trees.add("a"), trees.daemon.call
    hidden = trees.change(trees.main, "Forget zebras", "src/tokens.py")
    trees.decide(a, "Use WAL", "README.md")
    deleted = trees.change(trees.main, "Forget tapirs", "src/tokens.py")
    call("DeleteExperience", cwd=str(trees.main), experience_id=deleted)
    sam = {"cwd": str(a), "agent_name": "sam"}
    reply = call("ListExperiences", **sam, all_worktrees=True)
    assert ([each["decision"] for each in reply["experiences"]], reply["elsewhere"]) == (["Use WAL"], 0)
    assert call("ListExperiences", **sam, deleted=True, all_worktrees=True)["total"] == 0
    for method, more in (
        ("GetExperience", {}),
        ("UpdateExperience", {"rationale": "x"}),
        ("DeleteExperience", {}),
        ("RestoreExperience", {}),
    ):
        for experience_id in (hidden, deleted):
            error = trees.daemon.error(method, **sam, experience_id=experience_id, **more)
            assert error.code == codes.NOT_FOUND, method
    assert trees.listed(a, all_worktrees=True) == {"Use WAL", "Forget zebras"}
    assert call("ListExperiences", cwd=str(a))["elsewhere"] == 1
