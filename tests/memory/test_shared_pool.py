"""Which paths of a repository a pool may have, and that no symlink leads it elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from foveal.daemon.core.errors import StateError
from foveal.daemon.memory.shared_pool import guard_of, shared_problem


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("decisions.jsonl", ""),
        (".foveal/experiences.jsonl", ""),
        ("docs/größe.jsonl", ""),
        ("/etc/decisions.jsonl", "a plain path"),
        ("../decisions.jsonl", "must lie in the project"),
        ("a/../../decisions.jsonl", "a plain path"),
        ("./decisions.jsonl", "a plain path"),
        ("a//decisions.jsonl", "a plain path"),
        ("a\\decisions.jsonl", "a plain path"),
        ("a\0.jsonl", "a plain path"),
        (".git/decisions.jsonl", "not in .git"),
        ("a/.GIT/decisions.jsonl", "not in .git"),
        ("src/main.py", "must be named"),
        ("decisions.jsonl/", "a plain path"),
        (".jsonl", "must be named"),
        ("a/.jsonl", "must be named"),
    ],
)
def test_which_paths_are_taken(path: str, problem: str) -> None:
    found = shared_problem(path, trusted=True)
    assert (problem in found) if problem else (found == "")
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
