"""What git knows of commits, asked of real repositories: files, reverts, what is lost, what was made here."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from foveal.daemon.core.system import System
from foveal.daemon.project import commits
from foveal.daemon.project.git import GitError

from tests.conftest import git, write_files


@pytest.fixture(autouse=True)
def _repository(root: Path) -> None:
    git(root, "init", "-q", "-b", "main")


def commit(root: Path, message: str = "change", **files: str) -> str:
    write_files(root, {f"{name}.py": text for name, text in files.items()})
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", message)
    return git(root, "rev-parse", "HEAD").strip()


def test_the_latest_commits(root: Path) -> None:
    assert commits.latest_commits(str(root)) == ()
    first = commit(root, a="1", b="1")
    write_files(root, {"odd \n näme.py": "x", "deep/er/c.py": "x"})
    second = commit(root, b="2")
    git(root, "checkout", "-q", "-b", "side", first)
    side = commit(root, c="1")
    git(root, "checkout", "-q", "main")
    git(root, "merge", "-q", "--no-edit", "side")
    found = {one.id: one for one in commits.latest_commits(str(root))}
    merge = commits.latest_commits(str(root), 1)[0]
    assert next(iter(found)) == merge.id
    assert (merge.parents, merge.files) == ((second, side), ())
    assert (found[first].parents, found[first].files) == ((), ("a.py", "b.py"))
    assert set(found[second].files) == {"b.py", "deep/er/c.py", "odd \n näme.py"}
    assert found[second].parents == (first,)
    assert found[second].author.endswith(" test@example.org")
    assert found[second].time >= found[first].time > 1_600_000_000
    with pytest.raises(GitError):
        commits.latest_commits(str(root.parent))


def test_reverts(root: Path) -> None:
    first = commit(root, a="1")
    second = commit(root, a="2")
    assert commits.reverts(str(root)) == commits.Reverts(frozenset(), frozenset())
    git(root, "revert", "--no-edit", second)
    assert commits.reverts(str(root)).undone == {second}
    git(root, "revert", "--no-edit", "HEAD")
    found = commits.reverts(str(root))
    assert second in found.restored
    assert not {first, second} & found.undone


def test_reverts_that_only_quote_a_subject_or_undo_a_merge(root: Path) -> None:
    """As the web pages of code hosts write them: without an id, with the number of the request."""

    def says(message: str) -> str:
        git(root, "commit", "-q", "--allow-empty", "-m", message)
        return git(root, "rev-parse", "HEAD").strip()

    commit(root, a="1")
    added, other = says("Add a cart (#12)"), says("Add a cart")
    reverting = says('Revert "Add a cart (#12)" (#13)')
    found = commits.reverts(str(root))
    assert found.undone == found.by[reverting] == {added}
    says(f'Revert "{"Revert " + chr(34) + "Add a cart (#12)" + chr(34) + " (#13)"}" (#14)')
    found = commits.reverts(str(root))
    assert found.undone == {reverting}
    assert added in found.restored
    says('Revert "Never there"')
    assert commits.reverts(str(root)).undone == {reverting}
    base = git(root, "rev-parse", "--abbrev-ref", "HEAD").strip()
    git(root, "checkout", "-q", "-b", "side")
    on_side = {commit(root, b="1"), commit(root, b="2")}
    git(root, "checkout", "-q", base)
    git(root, "merge", "-q", "--no-ff", "-m", "Merge side", "side")
    merge = git(root, "rev-parse", "HEAD").strip()
    git(root, "revert", "--no-edit", "-m", "1", "HEAD")
    assert commits.reverts(str(root)).undone == {reverting, merge, *on_side}
    undone = commits.reverts(str(root)).undone
    assert other not in undone
    unknown = "0123456789" * 4
    for named, parent in (
        (merge, unknown),
        (unknown, merge),
        (other, added),
        (merge, added),
    ):
        says(f"Fix a typo\n\nThis reverts commit {named}, reversing\nchanges made to {parent}.")
        assert commits.reverts(str(root)).undone <= undone | {unknown, other}


def test_lost_and_former_commits(root: Path) -> None:
    system = System()
    first, second = commit(root, a="1"), commit(root, a="2", b="2")
    assert commits.lost_commits(str(root), [first, second]) == ()
    git(root, "branch", "kept")
    git(root, "reset", "-q", "--hard", "HEAD~1")
    assert commits.lost_commits(str(root), [first, second]) == (), "a branch leads to it"
    git(root, "branch", "-q", "-D", "kept")
    [lost] = commits.lost_commits(str(root), [second, first, "f" * 40, "abc", "--all"])
    assert (lost.id, lost.files) == (second, ("a.py", "b.py"))
    assert commits.is_as_before(str(root), system, lost, lost.files)
    (root / "b.py").write_text("2")
    assert not commits.is_as_before(str(root), system, lost, lost.files), "it is still there"
    assert commits.is_as_before(str(root), system, lost, ["a.py"])
    (root / "a.py").unlink()
    os.symlink("b.py", root / "a.py")
    assert not commits.is_as_before(str(root), system, lost, ["a.py"])
    assert commits.lost_commits(str(root), []) == ()


def test_commits_made_here_and_fetched(root: Path, tmp_path: Path) -> None:
    first = commit(root, a="1")
    copy = tmp_path / "copy"
    git(root, "clone", "-q", str(root), str(copy))
    theirs = commit(root, a="2")
    git(copy, "pull", "-q")
    ours = commit(copy, b="1")
    git(copy, "revert", "--no-edit", theirs)
    reverting = git(copy, "rev-parse", "HEAD").strip()
    made = commits.made_here(str(copy), System())
    assert list(made)[-2:] == [ours, reverting]
    assert first not in made
    assert theirs not in made
    (copy / ".git" / "logs" / "HEAD").unlink()
    assert not commits.made_here(str(copy), System())
    assert not commits.made_here(str(tmp_path), System())
