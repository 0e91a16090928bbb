"""Which work trees belong to a repository, and what a moved or cloned one is recognised by."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from foveal.daemon.core.system import System
from foveal.daemon.project import family, roots
from foveal.daemon.project.family import identity_of, plain_address, worktree_of, worktrees
from foveal.daemon.project.roots import ProjectRecord, known_projects, write_record

from tests.conftest import git

SYSTEM = System()


def repository(root: Path) -> Path:
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    git(root, "commit", "-q", "--allow-empty", "-m", "first")
    return root


def test_both_sides_name_each_other(tmp_path: Path) -> None:
    folder = tmp_path.resolve()
    main = repository(folder / "main")
    git(main, "worktree", "add", "-q", "../a", "-b", "a")
    common = str(main / ".git")
    linked = worktree_of(str(folder / "a"), SYSTEM)
    assert linked is not None
    assert (linked.common, linked.name, linked.home) == (common, "a", str(main))
    home = worktree_of(str(main), SYSTEM)
    assert home is not None
    assert (home.name, home.made, home.home) == ("", "", str(main))
    assert worktrees(common, SYSTEM) == (home, linked)
    git(main, "worktree", "move", "../a", "../b")
    moved = worktree_of(str(folder / "b"), SYSTEM)
    assert moved is not None
    assert (moved.name, moved.made) == (linked.name, linked.made)
    for name, marker in (("copied", common + "/worktrees/a"), ("claimed", common)):
        (folder / name).mkdir()
        (folder / name / ".git").write_text(f"gitdir: {marker}\n")
        assert worktree_of(str(folder / name), SYSTEM) is None, "only its own word"
    (folder / "led").mkdir()
    (folder / "led/.git").symlink_to(common)
    assert worktree_of(str(folder / "led"), SYSTEM) is None
    shutil.rmtree(folder / "b")
    assert worktrees(common, SYSTEM) == (home,)
    assert worktree_of(str(folder), SYSTEM) is None


def test_a_bare_repository_has_linked_work_trees_only(tmp_path: Path) -> None:
    folder = tmp_path.resolve()
    repository(folder / "first")
    git(folder, "clone", "-q", "--bare", "first", "bare.git")
    git(folder / "bare.git", "worktree", "add", "-q", "../a", "main")
    found = worktree_of(str(folder / "a"), SYSTEM)
    assert found is not None
    assert (found.home, found.name) == (str(folder / "bare.git"), "a")
    assert worktrees(found.common, SYSTEM) == (found,)


def test_a_clone_has_the_identity_of_its_origin(tmp_path: Path) -> None:
    folder = tmp_path.resolve()
    main = repository(folder / "main")
    first = git(main, "rev-parse", "HEAD").strip()
    assert identity_of(str(main), SYSTEM) == (first, "")
    git(main, "commit", "-q", "--allow-empty", "-m", "second")
    git(main, "remote", "add", "origin", "https://ann:se@cret@Example.org/shop.git?token=secret")
    assert identity_of(str(main), SYSTEM) == (first, "example.org/shop")
    git(folder, "clone", "-q", "--depth", "1", f"file://{main}", "shallow")
    assert identity_of(str(folder / "shallow"), SYSTEM) == ("", "")
    assert identity_of(str(folder), SYSTEM) == ("", "")


def test_of_very_many_work_trees_only_some_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of the others is known all the same."""
    folder = tmp_path.resolve()
    main = repository(folder / "main")
    for name in "abc":
        git(main, "worktree", "add", "-q", "--detach", f"../{name}")
    read: list[str] = []

    class Watched(System):
        def read(self, path: str, limit: int | None = None) -> tuple[bytes, os.stat_result]:
            read.append(path)
            return super().read(path, limit)

    monkeypatch.setattr(family, "WORKTREES_MAX", 2)
    assert [each.name for each in worktrees(f"{main}/.git", Watched())] == ["", "a", "b"]
    assert not [path for path in read if "/worktrees/c/" in path]
    last = worktree_of(str(folder / "c"), Watched())
    assert last is not None
    assert last.name == "c"
    assert read.count(f"{main}/.git/worktrees/a/gitdir") == 1, "the others aren't read for it"


def test_addresses_without_credentials() -> None:
    for url, expected in (
        ("https://example.org/a/b.git", "example.org/a/b"),
        ("https://token@EXAMPLE.org/a/b/", "example.org/a/b"),
        ("ssh://git@example.org:2222/a/b.git", "example.org/a/b"),
        ("git@example.org:a/b.git", "example.org/a/b"),
        ("https://user:pass@example.org", "example.org"),
        ("/srv/git@home/b.git", "/srv/git@home/b"),
        ("../b", "../b"),
    ):
        assert plain_address(url) == expected


def test_a_record_keeps_the_last_answers_and_no_former_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    main = repository(tmp_path.resolve() / "main")
    git(main, "worktree", "add", "-q", "--detach", "../a")
    linked, state = main.parent / "a", tmp_path / "state"
    folder = state / "projects/a"
    folder.mkdir(parents=True)

    def record() -> ProjectRecord:
        [found] = known_projects(str(state), SYSTEM)
        return found

    monkeypatch.setattr(roots, "ANSWERED_MAX", 2)
    for answer in ("/z", "/y", "/z", "/a"):
        write_record(str(linked), str(folder), SYSTEM, answered=answer)
    assert record().answered == ("/z", "/a")
    assert record().repository == f"{main}/.git"
    shutil.rmtree(linked)
    write_record(str(linked), str(folder), SYSTEM, home=str(main))
    assert record().repository == f"{main}/.git", "it may be on a drive that isn't mounted"
    linked.mkdir()
    write_record(str(linked), str(folder), SYSTEM, home="")
    assert record().repository == ""
