"""git answers about a repository, and a hostile repository gets nothing run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from foveal.daemon.core.system import System
from foveal.daemon.project import commits, git
from foveal.daemon.project.scan import Scanner

pytestmark = pytest.mark.usefixtures("user")


@pytest.fixture(autouse=True)
def _repository(root: Path) -> None:
    run(root, "init", "-q", "-b", "main")


def run(root: Path, *arguments: str, time: int = 1_700_000_000) -> str:
    environment = os.environ | {"GIT_COMMITTER_DATE": f"@{time} +0000", "GIT_AUTHOR_DATE": f"@{time} +0000"}
    identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=root, check=True, capture_output=True, text=True, env=environment
    )
    return done.stdout.strip()


def commit(root: Path, time: int, **files: str) -> str:
    for name, text in files.items():
        (root / name).write_text(text)
    run(root, "add", "-A")
    run(root, "commit", "-qm", "change", time=time)
    return run(root, "rev-parse", "HEAD")


def test_a_broken_git_folder_never_leads_to_a_parent(root: Path) -> None:
    for content in (None, "", "gitdir: /nowhere\n", "garbage"):
        inner = root / f"inner{content and len(content)}"
        inner.mkdir()
        if content is None:
            (inner / ".git").mkdir()
        else:
            (inner / ".git").write_text(content)
        assert not git.is_repository(str(inner))
        assert git.problem(str(inner))
        with pytest.raises(git.GitError):
            git.tracked_files(str(inner))


def test_git_is_not_looked_up_in_the_repository(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "git").write_text("#!/bin/sh\ntouch was-run\n")
    (root / "git").chmod(0o755)
    monkeypatch.chdir(root)
    monkeypatch.setenv("PATH", ".")
    assert "relative path" in git.problem(str(root))
    assert not (root / "was-run").exists()


def test_inherited_variables_steer_nothing(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a").write_text("x")
    run(root, "add", "a")
    monkeypatch.setenv("GIT_DIR", str(tmp_path))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    monkeypatch.setenv("GIT_TRACE", str(tmp_path / "trace"))
    assert git.tracked_files(str(root)) == ["a"]
    assert not (tmp_path / "trace").exists()


def test_ignored(root: Path) -> None:
    (root / ".gitignore").write_text("*.log\n!keep.log\nfolder/\n")
    (root / "folder").mkdir()
    (root / "link").symlink_to("folder")
    odd = os.fsdecode(b"\xff.log")
    asked = ["a.log", "keep.log", "a.py", "folder", ":x.log", odd]
    assert git.ignored(str(root), asked) == {"a.log", "folder", ":x.log", odd}
    assert git.ignored(str(root), []) == git.ignored(str(root), ["a.py"]) == set()
    many = [f"d{number}/{'x' * 200}.{'log' if number % 2 else 'py'}" for number in range(5000)]
    assert git.ignored(str(root), many) == set(many[1::2])
    with pytest.raises(git.GitError, match="symbolic link"):
        git.ignored(str(root), ["link/x"])


def put_program(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a program named git before the real one."""
    program = folder / "bin" / "git"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.parametrize("script", ["while :; do echo x; sleep 0.05; done", "exec >&- 2>&-; sleep 9"])
def test_a_git_that_does_not_end_is_ended_and_not_asked_again(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    put_program(tmp_path, f"echo asked >> {tmp_path}/calls\n{script}", monkeypatch)
    monkeypatch.setattr(git, "LONGEST_S", 0.3)
    assert "did not answer for 0.3 s" in git.problem(str(root))
    assert "did not answer a moment ago" in git.problem(str(root))
    assert (tmp_path / "calls").read_text() == "asked\n"


def test_what_left_the_group_of_git_is_not_waited_for(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It holds git's pipes open until it is ended here.
    put_program(tmp_path, f"setsid sleep 9 & echo $! > {tmp_path}/pid", monkeypatch)
    monkeypatch.setattr(git, "LONGEST_S", 0.3)
    assert "did not answer" in git.problem(str(root))
    holder = psutil.Process(int((tmp_path / "pid").read_text()))
    assert holder.status() != psutil.STATUS_ZOMBIE
    holder.kill()


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a/../../x"])
def test_paths_outside_are_not_believed(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    put_program(tmp_path, f"printf 'a.py\\000{path}\\000'", monkeypatch)
    with pytest.raises(git.GitError, match="isn't what git prints"):
        git.tracked_files(str(root))


GARBAGE = r"printf '\377\376\000garbage\000\001x \000\n\001\002true\000'"
INSIDE = 'case "$*" in *rev-parse*) echo true; exit;; esac; '
"""Answers the question whether this is a work tree, so that all others are asked."""


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (GARBAGE, "isn't what git prints"),
        (INSIDE + GARBAGE, "isn't what git prints"),
        (INSIDE + r"printf '/etc/passwd\000../../x\000'", "isn't what git prints"),
        (INSIDE + r"yes garbage | tr '\n' '\000'", "isn't what git prints"),
        (INSIDE + "cat /dev/zero", "isn't what git prints"),
        ("yes", "isn't what git prints"),
        ("echo 'kein Arbeitsverzeichnis'", "a git folder without a work tree"),
        ("exit 0", "a git folder without a work tree"),
        ("kill -SEGV $$", "git ended with status -11"),
        ("echo 'fatal: schlecht' >&2; exit 128", "schlecht"),
        (None, "git is not installed"),
    ],
)
def test_a_tree_is_listed_whatever_git_prints(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str | None, said: str
) -> None:
    commit(root, 1_000, **{"a.py": "x", ".gitignore": "*.log\n"})
    (root / "secret.log").write_text("x")
    monkeypatch.setattr(git, "OUTPUT_BYTES", 1 << 20)
    monkeypatch.setattr(git, "LONGEST_S", 3)
    if script is None:
        monkeypatch.setenv("PATH", "/nowhere")
    else:
        put_program(tmp_path, script, monkeypatch)
    scanner = Scanner(str(root), System())
    assert {record.path for batch in scanner.full() for record in batch} == {"a.py", ".gitignore"}
    assert said in scanner.statistics().git_problem


def test_change_counts(root: Path) -> None:
    assert git.change_counts(git.history(str(root), 500)) == {}
    commit(root, 1_000, a="1", b="1")
    commit(root, 2_000, a="2", **{"new\nline": "1"})
    commit(root, 3_000, **{f"f{number}": "1" for number in range(git.LARGE_COMMIT_FILES + 1)})
    commit(root, 4_000, b="2")
    run(root, "mv", "a", "c")
    commit(root, 5_000)
    assert git.change_counts(git.history(str(root), 500)) == {
        "a": (3, 5_000),
        "b": (2, 4_000),
        "c": (1, 5_000),
        "new\nline": (1, 2_000),
    }
    assert git.change_counts(git.history(str(root), 2)) == {"a": (1, 5_000), "b": (1, 4_000), "c": (1, 5_000)}


def test_latest_commits(root: Path) -> None:
    assert git.latest_commits(str(root), 3) == ()
    for number, subject in enumerate(["One", "Two\n\nbody", "T" * 300]):
        commit(root, 1_700_000_000 + number, **{f"f{number}": subject})
        run(root, "commit", "--amend", "-q", "-m", subject)
    found = git.latest_commits(str(root), 2)
    assert [one.line.partition(" ")[2][:3] for one in found] == ["TTT", "Two"]
    assert len(found[0].line) == git.SUBJECT_CHARACTERS
    assert [one.paths for one in found] == [("f2",), ("f1",)]


def test_latest_commits_name_what_they_changed(root: Path) -> None:
    commit(root, 1_000, a="1", größe="1")
    commit(root, 2_000, **{f"many{number}": "1" for number in range(git.LARGE_COMMIT_FILES + 5)})
    run(root, "checkout", "-q", "-b", "side")
    commit(root, 3_000, b="1")
    run(root, "mv", "b", "c")
    run(root, "commit", "-q", "-m", "move")
    run(root, "checkout", "-q", "main")
    run(root, "merge", "-q", "--no-ff", "-m", "merge", "side")
    run(root, "commit", "-q", "--allow-empty", "-m", "nothing")
    run(root, "config", "log.showRoot", "false")
    nothing, merge, *_, many, first = git.latest_commits(str(root), 9)
    assert (nothing.paths, merge.paths) == ((), ("c",))
    assert many.paths is not None
    assert len(many.paths) == git.LARGE_COMMIT_FILES
    assert first.paths == ("a", "größe")
    run(root, "update-index", "--add", "--cacheinfo", f"160000,{run(root, 'rev-parse', 'HEAD')},sub")
    run(root, "commit", "-q", "-m", "sub")
    run(root, "config", "diff.ignoreSubmodules", "all")
    assert git.latest_commits(str(root), 1)[0].paths == ("sub",)
    run(root, "reset", "-q", "--hard", "HEAD~1")
    for path in (root / ".git/objects").glob("??/*"):  # a clone without its trees has the commits
        if run(root, "cat-file", "-t", path.parent.name + path.name).strip() == "tree":
            path.chmod(0o600)
            path.unlink()
    assert [(one.line, one.paths) for one in git.latest_commits(str(root), 1)] == [(nothing.line, None)]


def test_latest_commits_of_a_shallow_clone_end_with_one_of_unknown_files(root: Path, tmp_path: Path) -> None:
    for number, name in enumerate("abcd"):
        commit(root, 1_000 + number, **{name: "1"})
    run(root, "clone", "-q", "--depth", "2", f"file://{root}", str(tmp_path / "shallow"))
    assert [one.paths for one in git.latest_commits(str(tmp_path / "shallow"), 3)] == [("d",), None]
    run(tmp_path / "shallow", "worktree", "add", "-q", str(tmp_path / "linked"))
    assert [one.paths for one in git.latest_commits(str(tmp_path / "linked"), 3)] == [("d",), None]


def test_head(root: Path, tmp_path: Path) -> None:
    assert git.head(str(root)) == git.Head("main", "")
    first = commit(root, 1_000, a="1")
    assert git.head(str(root)) == git.Head("main", first)
    run(root, "checkout", "-q", "-b", "feature/x")
    second = commit(root, 2_000, a="2")
    assert git.head(str(root)) == git.Head("feature/x", second)
    run(root, "pack-refs", "--all")
    assert git.head(str(root)) == git.Head("feature/x", second)
    run(root, "checkout", "-q", "--detach", first)
    assert git.head(str(root)) == git.Head("", first)
    run(root, "worktree", "add", "-q", str(tmp_path / "tree"), "main")
    assert git.head(str(tmp_path / "tree")) == git.Head("main", first)
    assert git.is_linked_worktree(str(tmp_path / "tree"))
    assert not git.is_linked_worktree(str(root))
    assert git.common_folder(str(root)) == git.common_folder(str(tmp_path / "tree")) == str(root / ".git")
    assert git.work_trees(str(root / ".git")) == [str(root), str(tmp_path / "tree")]
    shutil.rmtree(tmp_path / "tree")
    assert git.work_trees(str(root / ".git"))[1:] == [str(tmp_path / "tree")], "until git prunes it"
    run(root, "worktree", "prune")
    assert git.work_trees(str(root / ".git")) == [str(root)]
    run(root, "clone", "-q", str(root), str(tmp_path / "clone"))
    assert git.common_folder(str(tmp_path / "clone")) == str(tmp_path / "clone" / ".git")
    assert git.common_folder(str(tmp_path)) is None
    assert git.head(str(tmp_path)) is None


@pytest.mark.parametrize(
    "text", ["", "garbage", "ref: ../../secret", "ref: refs/../../../secret", "ref: /etc/passwd"]
)
def test_a_head_that_lies(root: Path, text: str) -> None:
    (root / ".git/HEAD").write_text(text)
    (root.parent / "secret").write_text("0" * 40)
    assert git.head(str(root)) is None


def test_a_reference_that_is_no_commit_is_not_passed_on(root: Path) -> None:
    (root / ".git/refs/heads/main").write_text("something else\n")
    assert git.head(str(root)) == git.Head("main", "")
    (root / ".git/HEAD").unlink()
    os.mkfifo(root / ".git/HEAD")
    assert git.head(str(root)) is None


def test_a_hostile_repository_runs_nothing(root: Path, tmp_path: Path) -> None:
    """Each of these settings makes a careless git run a program or leave the folder."""
    commit(root, 1_000, a="1", b="2")
    marker, elsewhere = tmp_path / "was-run", tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "secret").write_text("x")
    program = tmp_path / "program"
    program.write_text(f"#!{sys.executable}\nopen({str(marker)!r}, 'a').write('run')\n")
    program.chmod(0o755)
    for hook in ("post-index-change", "reference-transaction", "fsmonitor-watchman", "post-checkout"):
        (root / ".git/hooks").mkdir(exist_ok=True)
        (root / ".git/hooks" / hook).symlink_to(program)
    signed = run(root, "cat-file", "commit", "HEAD").replace(
        "\n\n", "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n", 1
    )
    (tmp_path / "commit").write_text(signed + "\n")
    run(root, "update-ref", "HEAD", run(root, "hash-object", "-t", "commit", "-w", str(tmp_path / "commit")))
    settings = {
        "core.fsmonitor": program,
        "core.worktree": elsewhere,
        "core.pager": program,
        "pager.log": program,
        "core.sshCommand": program,
        "core.alternateRefsCommand": program,
        "core.untrackedCache": "true",
        "diff.external": program,
        "diff.evil.textconv": program,
        "diff.evil.command": program,
        "filter.evil.clean": program,
        "filter.evil.process": program,
        "gpg.program": program,
        "log.showSignature": "true",
        "log.follow": "true",
        "uploadpack.packObjectsHook": program,
        "remote.origin.url": f"ext::{program}",
        "remote.origin.promisor": "true",
        "remote.origin.uploadpack": program,
        "protocol.ext.allow": "always",
        "extensions.partialClone": "origin",
        "alias.ls-files": f"!{program}",
    }
    run(root, "config", "core.repositoryFormatVersion", "1")
    for name, value in settings.items():
        run(root, "config", name, str(value))
    (root / ".gitattributes").write_text("* diff=evil filter=evil\n")
    (root / "a").write_text("changed")
    careless = ["git", "-c", f"core.worktree={root}", "log", "-1"]
    subprocess.run(careless, cwd=root, capture_output=True, check=False)
    assert marker.exists(), "the trap itself must work"
    marker.unlink()
    assert git.is_repository(str(root))
    assert set(git.tracked_files(str(root))) == {"a", "b"}
    assert set(git.tracked_ignored_files(str(root))) == set()
    assert git.ignored(str(root), ["a", "secret"]) == set()
    assert git.change_counts(git.history(str(root), 500)) == {"a": (1, 1_000), "b": (1, 1_000)}
    assert git.head(str(root)) is not None
    git.control_files(str(root))
    [latest] = commits.latest_commits(str(root), 1)
    commits.reverts(str(root))
    commits.lost_commits(str(root), [latest.id])
    commits.is_as_before(str(root), System(), latest, latest.files)
    assert not marker.exists()


def test_nothing_is_fetched_for_missing_objects(root: Path, tmp_path: Path) -> None:
    commit(root, 1_000, a="1")
    commit(root, 2_000, a="2")
    marker = tmp_path / "was-run"
    run(root, "config", "core.repositoryFormatVersion", "1")
    run(root, "config", "extensions.partialClone", "origin")
    run(root, "config", "remote.origin.promisor", "true")
    run(root, "config", "remote.origin.url", f"ext::touch {marker}")
    run(root, "config", "protocol.ext.allow", "always")
    tree = run(root, "rev-parse", "HEAD^{tree}")
    (root / ".git/objects" / tree[:2] / tree[2:]).unlink()
    with pytest.raises(git.GitError):
        git.change_counts(git.history(str(root), 500))
    assert not marker.exists()
    subprocess.run(["git", "log", "--name-only"], cwd=root, capture_output=True, check=False)
    assert marker.exists(), "the trap itself must work"


def test_no_file_or_process_is_left_behind(root: Path) -> None:
    commit(root, 1_000, a="1", b="1")
    before, children = open_files(), child_processes()
    git.tracked_files(str(root))
    git.ignored(str(root), ["a"])
    git.change_counts(git.history(str(root), 500))
    with pytest.raises(git.GitError):
        git.tracked_files(str(root / ".git"))
    assert open_files() == before
    assert child_processes() == children


def open_files() -> set[str]:
    return set(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else set()


def child_processes() -> set[str]:
    """Return the ids of this process's children, ended ones too: a daemon of other tests may be among them."""
    found = set()
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # a process of others that just ended
            if status.read_text(encoding="utf-8").rpartition(") ")[2].split()[1] == str(os.getpid()):
                found.add(status.parent.name)
    return found
