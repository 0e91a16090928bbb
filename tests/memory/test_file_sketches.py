"""An experience says whether its files are what they were: from the disk, from git, and fresh when they return."""

from __future__ import annotations

import os
import resource
import subprocess
from pathlib import Path

from foveal.daemon.core.system import System
from foveal.daemon.memory.experience import Draft, Experience, checked
from foveal.daemon.memory.file_sketches import FileSketches

from tests.conftest import git, write_files

BODY = "".join(f"statement {number}\n" for number in range(60))
OTHER = "".join(f"another {number}\n" for number in range(60))


def experience(sketches: FileSketches, root: Path, *files: str, commit: str = "") -> Experience:
    draft = Draft("decided", "a", "s", files_touched=files, commit=commit)
    return checked(sketches.sketched(draft), "2026-01-01T00:00:00.000Z", str(root)).experience


def test_a_changed_file_makes_it_stale_and_the_same_text_fresh_again(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text(BODY)
    sketches = FileSketches(str(tmp_path), System())
    made = experience(sketches, tmp_path, str(file), "gone.py")
    assert [path for path, _ in made.sketches] == ["a.py"]
    assert sketches.staleness(made).reason == ""
    file.write_text(OTHER)
    assert sketches.staleness(made).reason == "a.py changed much since"
    file.unlink()
    assert sketches.staleness(made).reason == "a.py is gone"
    file.write_text(BODY)
    assert sketches.staleness(made).reason == ""


def test_only_files_of_the_project_have_sketches(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "outside.py").write_text(BODY)
    os.symlink(tmp_path / "outside.py", root / "link.py")
    os.mkfifo(root / "pipe")
    sketches = FileSketches(str(root), System())
    made = experience(sketches, root, "link.py", "../outside.py", "pipe", "a\0b", ".")
    assert made.sketches == ()
    assert sketches.staleness(made).reason == ""


def test_a_damaged_sketch_says_nothing(tmp_path: Path) -> None:
    sketches = FileSketches(str(tmp_path), System())
    made = Experience("x", "2026", "a", "s", "d", files_touched=("a.py",), sketches=(("a.py", "???"),))
    assert sketches.staleness(made).reason == ""


def test_a_failed_git_query_is_retried(tmp_path: Path) -> None:
    """Without descriptors git can't be started: that nothing was reverted isn't kept."""
    system = System()
    write_files(tmp_path, {"a.py": BODY})
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "a")
    commit = git(tmp_path, "rev-parse", "HEAD").strip()
    git(tmp_path, "revert", "--no-edit", commit)
    sketches = FileSketches(str(tmp_path), system)
    made = Experience("x", "2026", "a", "s", "d", commit=commit)
    former = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.open(os.devnull, os.O_RDONLY)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free + 2, former[1]))  # enough for one file after the other
    try:
        assert sketches.staleness(made).reason == ""
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, former)
    assert system.denials
    assert "revert" in sketches.staleness(made).reason


def test_a_reverted_commit_makes_it_stale(tmp_path: Path) -> None:
    def git(*arguments: str) -> str:
        identity = ["-c", "user.name=Sam", "-c", "user.email=sam@example.org"]
        done = subprocess.run(
            ["git", "-C", str(tmp_path), *identity, *arguments], check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    git("init", "-q")
    (tmp_path / "a.py").write_text(BODY)
    git("add", "-A")
    git("commit", "-qm", "one")
    (tmp_path / "b.py").write_text(BODY)
    git("add", "-A")
    git("commit", "-qm", "two")
    commit = git("rev-parse", "HEAD")
    sketches = FileSketches(str(tmp_path), System())
    made = experience(sketches, tmp_path, "a.py", commit=commit)
    assert sketches.staleness(made).reason == ""
    git("revert", "--no-edit", "HEAD")
    assert sketches.staleness(made).reason == f"its commit {commit[:8]} was reverted"
    git("revert", "--no-edit", "HEAD")
    assert sketches.staleness(made).reason == ""
