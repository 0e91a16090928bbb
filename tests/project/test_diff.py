"""The texts that a span of commits or the work tree changes, from real repositories, which run nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from foveal.daemon.core.errors import InvalidRequest, NotFound
from foveal.daemon.core.system import Stamp, System
from foveal.daemon.privacy.policy import Policy
from foveal.daemon.project import diff
from foveal.daemon.project import git as git_runner
from foveal.daemon.project.diff import Diff, read_diff
from foveal.daemon.project.tree import FileRecord, Tree

from tests.conftest import git, write_files

OLD = "def old():\n    pass\n"
NEW = "def new():\n    pass\n"


@pytest.fixture
def repository(user: Path, root: Path) -> Path:
    write_files(root, {"a.py": OLD, "b.py": OLD, "secret/c.py": OLD, "notes.dat": "x", "lf.py": OLD})
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "Begin")
    return root


def changed(
    root: Path,
    span: str = "",
    policy: Policy = Policy(),  # noqa: B008 - it is frozen
    max_bytes: int = 1_000_000,
) -> Diff:
    files = [
        os.path.relpath(os.path.join(folder, name), root)
        for folder, _, names in os.walk(root)
        for name in names
        if ".git" not in folder
    ]
    records = {path: FileRecord(path, Stamp(0, 0, 0, 0)) for path in files if not policy.denies(path)}
    return read_diff(span, Tree(str(root), 1, records), policy, max_bytes, System())


def texts(found: Diff) -> dict[str, tuple[str, str]]:
    return {file.path: (file.before, file.after) for file in found.files}


def test_work_tree_against_its_last_commit(repository: Path) -> None:
    assert texts(changed(repository)) == {}
    write_files(
        repository, {"a.py": NEW, "new.py": NEW, "notes.dat": "y", "lf.py": OLD.replace("\n", "\r\n")}
    )
    os.remove(repository / "b.py")
    os.utime(repository / "secret/c.py")
    found = changed(repository)
    assert texts(found) == {"a.py": (OLD, NEW), "b.py": (OLD, ""), "new.py": ("", NEW)}
    assert (found.before, found.after, found.more) == ("HEAD", "work tree", 0)
    git(repository, "add", "-A")
    assert texts(changed(repository)) == texts(found), "what is staged counts too"


def test_spans_of_commits(repository: Path) -> None:
    git(repository, "checkout", "-q", "-b", "side")
    write_files(repository, {"a.py": NEW})
    git(repository, "commit", "-qam", "Side")
    git(repository, "checkout", "-q", "main")
    write_files(repository, {"b.py": NEW})
    git(repository, "commit", "-qam", "Main")
    assert texts(changed(repository, "HEAD~1")) == {"b.py": (OLD, NEW)}
    assert texts(changed(repository, "main..side")) == {"a.py": (OLD, NEW), "b.py": (NEW, OLD)}
    assert texts(changed(repository, "main...side")) == {"a.py": (OLD, NEW)}
    assert texts(changed(repository, "side..")) == {"a.py": (NEW, OLD), "b.py": (OLD, NEW)}
    assert (changed(repository, "main...side").before, changed(repository, "..side").before) == (
        "main...",
        "HEAD",
    )


@pytest.mark.parametrize("span", ["nothing", "main..nothing", "--output=x", "a\nb", "x" * 500])
def test_unknown_spans_are_refused(repository: Path, span: str) -> None:
    with pytest.raises(InvalidRequest, match="range"):
        changed(repository, span)
    assert not (repository / "x").exists()


def test_folder_without_commits(root: Path) -> None:
    write_files(root, {"a.py": OLD})
    with pytest.raises(NotFound, match="not a git repository"):
        changed(root)
    git(root, "init", "-q")
    assert texts(changed(root)) == {"a.py": ("", OLD)}


def test_hidden_files_and_those_of_a_sparse_checkout_are_left_out(repository: Path) -> None:
    write_files(repository, {"secret/c.py": NEW})
    denied = Policy(deny_paths=("secret/**",))
    assert texts(changed(repository, policy=denied)) == {}
    os.rename(repository / "secret/c.py", repository.parent / "c.py")
    assert texts(changed(repository, policy=denied)) == {}
    os.rename(repository.parent / "c.py", repository / "secret/c.py")
    git(repository, "update-index", "--skip-worktree", "a.py")
    os.remove(repository / "a.py")
    assert list(texts(changed(repository))) == ["secret/c.py"]


def test_repository_runs_no_filter(repository: Path, tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    command = f"touch {marker}; cat"
    for name in ("filter.f.clean", "filter.f.smudge", "diff.f.textconv", "diff.f.command"):
        git(repository, "config", name, command)
    write_files(repository, {".gitattributes": "*.py filter=f diff=f\n", "a.py": NEW})
    assert texts(changed(repository)) == {"a.py": (OLD, NEW)}
    assert texts(changed(repository, "HEAD..HEAD")) == {}
    assert not marker.exists()


def test_number_of_files_is_bounded(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diff, "FILES_MAX", 1)
    write_files(repository, {"a.py": NEW, "b.py": NEW})
    found = changed(repository)
    assert (list(texts(found)), found.more) == (["a.py"], 1)


def test_large_files_are_counted(repository: Path) -> None:
    large = "x = 1\n" * 100
    write_files(repository, {"a.py": large})
    git(repository, "commit", "-qam", "Grow")
    write_files(repository, {"a.py": NEW, "b.py": large, "lf.py": NEW})
    found = changed(repository, max_bytes=len(large) - 1)
    assert (texts(found), found.more) == ({"lf.py": (OLD, NEW)}, 2)
    git(repository, "commit", "-qam", "Shrink")
    found = changed(repository, "HEAD~1..HEAD", max_bytes=len(large) - 1)
    assert (texts(found), found.more) == ({"lf.py": (OLD, NEW)}, 2)


def test_blobs_are_read_in_parts(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git_runner, "OUTPUT_BYTES", 1_000)
    monkeypatch.setattr(diff, "BYTES_AT_ONCE", 600)
    many = {f"{name}.py": f"{name} = 1\n" + "x = 1\n" * 50 for name in "abcd"}
    write_files(repository, many)
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "Grow")
    assert {path: text for path, (_, text) in texts(changed(repository, "HEAD~1..HEAD")).items()} == many


def test_what_is_new_is_left_out_first(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diff, "FILES_MAX", 2)
    write_files(repository, {"0.py": NEW, "lf.py": NEW})
    os.remove(repository / "b.py")
    found = changed(repository)
    assert (list(texts(found)), found.more) == (["b.py", "lf.py"], 1)


def test_submodules_and_symlinks_are_left_out(repository: Path) -> None:
    commit = git(repository, "rev-parse", "HEAD").strip()
    git(repository, "update-index", "--add", "--cacheinfo", f"160000,{commit},module")
    os.symlink("a.py", repository / "link.py")
    git(repository, "add", "link.py")
    git(repository, "commit", "-qm", "Link")
    write_files(
        repository, {"module/deep/m.py": NEW, "nested/n.py": NEW, "nested/.git": "gitdir: x\n", "z.py": NEW}
    )
    os.symlink("a.py", repository / "fresh.py")
    found = changed(repository)
    assert (texts(found), found.more) == ({"z.py": ("", NEW)}, 0)


def test_paths_that_are_not_utf8_are_counted(repository: Path) -> None:
    name = os.fsdecode(b"\xff.py")
    try:
        write_files(repository, {name: OLD, "é.py": OLD})
    except OSError:
        pytest.skip("the file system takes UTF-8 names only")
    found = changed(repository)
    assert (texts(found), found.more) == ({"é.py": ("", OLD)}, 1)
