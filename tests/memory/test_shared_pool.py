"""Which paths of a repository a pool may have, and that no symlink leads it elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from foveal.daemon.core.errors import StateError
from foveal.daemon.memory.shared_pool import guard_of, shared_problem


@pytest.mark.parametrize(
    ("path", "is_taken"),
    [
        ("decisions.jsonl", True),
        (".foveal/experiences.jsonl", True),
        ("docs/größe.jsonl", True),
        ("/etc/decisions.jsonl", False),
        ("../decisions.jsonl", False),
        ("a/../../decisions.jsonl", False),
        ("a//decisions.jsonl", False),
        ("a\0.jsonl", False),
        (".git/decisions.jsonl", False),
        ("a/.GIT/decisions.jsonl", False),
        ("src/main.py", False),
        ("decisions.jsonl/", False),
        ("a/.jsonl", False),
    ],
)
def test_which_paths_are_taken(path: str, *, is_taken: bool) -> None:
    assert (shared_problem(path, trusted=True) == "") is is_taken
    assert "foveal trust" in shared_problem(path, trusted=False)


def test_no_symlink_leads_out_of_the_project(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "root-outside"
    for folder in (root / "inside", root / ".git", outside):
        folder.mkdir(parents=True)
    (root / "out").symlink_to(outside)
    (root / "in").symlink_to("inside")
    (root / "hidden").symlink_to(".git")
    (tmp_path / "link").symlink_to("root")

    def check(path: str, problem: str = "", root: Path = root) -> None:
        guard = guard_of(str(root), path)
        if not problem:
            guard()
            return
        with pytest.raises(StateError, match=problem):
            guard()

    check("x.jsonl")
    check("inside/x.jsonl")
    check("new/deep/x.jsonl")
    check("in/x.jsonl")
    check("x.jsonl", root=tmp_path / "link")
    check("out/x.jsonl", "leads out of the project")
    check("out/deep/x.jsonl", "leads out of the project")
    check("hidden/x.jsonl", r"lies in \.git")
