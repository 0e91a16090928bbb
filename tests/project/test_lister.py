"""The tree is what git lists, less what is no source, with each repository's own rules."""

from __future__ import annotations

import os
import shutil
import socket
from pathlib import Path

import pytest
from foveal.daemon.project.rules import ScanSettings

from tests.scan_cases import applied, full, git, listed, make, scanned, scanner_of

pytestmark = pytest.mark.usefixtures("user")


def test_in_git(root: Path, user: Path) -> None:
    git(root, "init", "-q")
    make(root, "a.py", "ignored.log", "tracked.log", "sub/b.py", "sub/c.tmp", "secret.txt", "cache/kept.py")
    make(root, "vendor/tracked.c", "dist/untracked.js", "cache/new.py", "globally.bak", "open.py", "empty/")
    (root / ".gitignore").write_text("*.log\n/cache/\n")
    (root / "sub/.gitignore").write_text("*.tmp\n")
    (root / ".git/info/exclude").write_text("secret.txt\n")
    (user / ".config/git").mkdir(parents=True)
    (user / ".config/git/ignore").write_text("*.bak\n")
    git(root, "add", "-f", "a.py", "tracked.log", "sub/b.py", "vendor/tracked.c", "cache/kept.py")
    expected = {".gitignore", "a.py", "tracked.log", "sub/.gitignore", "sub/b.py", "vendor/tracked.c"}
    assert listed(root) == expected | {"cache/kept.py", "open.py"}


def test_fovealignore_counts_for_tracked_files_too(root: Path) -> None:
    git(root, "init", "-q")
    make(root, "a.py", "fixtures/big.json", "sub/x.snap")
    (root / ".fovealignore").write_text("/fixtures/\n")
    (root / "sub/.fovealignore").write_text("*.snap\n")
    git(root, "add", ".")
    assert listed(root) == {".fovealignore", "a.py", "sub/.fovealignore"}
    assert "a.py" not in listed(root, ScanSettings(exclude=("a.*",)))


def test_a_skipped_name_above_the_root_does_not_count(tmp_path: Path) -> None:
    root = tmp_path.resolve() / "vendor/node_modules/app"
    make(root, "a.js")
    assert listed(root) == {"a.js"}


def test_repositories_inside_have_their_own_rules(root: Path, tmp_path: Path) -> None:
    library = tmp_path / "library"
    make(library, "lib.py", "x.log")
    (library / ".gitignore").write_text("*.o\n")
    git(library, "init", "-q")
    git(library, "add", ".")
    git(library, "commit", "-qm", "first")
    git(root, "init", "-q")
    (root / ".gitignore").write_text("*.log\n")
    git(root, "submodule", "--quiet", "add", str(library), "submodule")
    shutil.copytree(library, root / "embedded")
    make(root, "broken/.git", "broken/y.py", "broken/y.log", "submodule/new.o", "submodule/new.py", "top.log")
    assert listed(root) == {
        ".gitignore",
        ".gitmodules",
        *(f"submodule/{name}" for name in (".gitignore", "lib.py", "x.log", "new.py")),
        *(f"embedded/{name}" for name in (".gitignore", "lib.py", "x.log")),
        "broken/y.py",
    }


def test_repositories_in_a_plain_folder(root: Path) -> None:
    make(root, "one/a.py", "one/a.log", "notes.log")
    (root / ".gitignore").write_text("*.log\n")
    (root / "one/.gitignore").write_text("")
    git(root / "one", "init", "-q")
    assert listed(root) == {".gitignore", "one/.gitignore", "one/a.py", "one/a.log"}


def test_other_work_trees_are_copies(root: Path) -> None:
    git(root, "init", "-q")
    make(root, "a.py")
    git(root, "add", ".")
    git(root, "commit", "-qm", "first")
    git(root, "worktree", "add", "-q", "trees/fix")
    scanner, known = scanned(root)
    assert set(known) == {"a.py"}
    assert scanner.skipped_folders == {"trees/fix": "worktree"}
    git(root, "worktree", "remove", "trees/fix")
    make(root, "trees/fix/b.py")
    assert set(applied(known, scanner.sweep(known))) == {"a.py", "trees/fix/b.py"}


def test_a_git_that_hangs_is_given_up(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(root, "init", "-q")
    make(root, "a.py", "sub/b.py", "sub/b.log")
    (root / ".gitignore").write_text("*.log\n")
    os.mkfifo(root / "sub/.gitignore")
    monkeypatch.setattr("foveal.daemon.project.git.LONGEST_S", 0.2)
    scanner = scanner_of(root)
    assert set(full(scanner)) == {".gitignore", "a.py", "sub/.gitignore", "sub/b.py"}
    assert "did not answer" in scanner.statistics().git_problem
    assert scanner.statistics().problems == {"sub/.gitignore": "unreadable"}


def test_files_that_are_no_source(root: Path) -> None:
    make(root, "real/a.py", "empty", text="")
    (root / "to_file").symlink_to("real/a.py")
    (root / "to_folder").symlink_to("real")
    (root / "real/loop").symlink_to("..")
    (root / "broken").symlink_to("nowhere")
    (root / "outside").symlink_to("/etc/passwd")
    os.mkfifo(root / "pipe")
    (root / os.fsdecode(b"b\xff.py")).write_text("x")
    (root / os.fsdecode(b"folder\xfe")).mkdir()
    (root / os.fsdecode(b"folder\xfe") / "x").write_text("x")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(root / "socket"))
    scanner, known = scanned(root)
    assert {path: record.skipped for path, record in known.items()} == {
        "real/a.py": "",
        "empty": "",
        "to_file": "symlink",
        "to_folder": "symlink",
        "real/loop": "symlink",
        "broken": "symlink",
        "outside": "symlink",
        "pipe": "special",
        "socket": "special",
        "b\\xff.py": "not_utf8_name",
    }
    assert scanner.skipped_folders == {"folder\\xfe": "not_utf8_name"}
    assert not scanner.sweep(known)
    os.unlink(root / os.fsdecode(b"b\xff.py"))
    assert scanner.sweep(known).removed == ("b\\xff.py",)


def test_names_that_print_alike(root: Path) -> None:
    odd, plain = root / os.fsdecode(b"a\xff"), root / "a\\xff"
    odd.write_text("odd")
    scanner, known = scanned(root)
    assert known["a\\xff"].skipped == "not_utf8_name"
    plain.write_text("plain text")
    known = applied(known, scanner.sweep(known))
    assert (known["a\\xff"].skipped, known["a\\xff"].stamp.size) == ("", 10)
    plain.unlink()
    known = applied(known, scanner.sweep(known))
    assert (known["a\\xff"].skipped, known["a\\xff"].stamp.size) == ("not_utf8_name", 3)


def test_records(root: Path) -> None:
    make(root, "a.py", "b.unknown")
    records = full(scanner_of(root))
    status = os.stat(root / "a.py")
    stamp = records["a.py"].stamp
    assert (stamp.size, stamp.mtime_ns, stamp.inode) == (2, status.st_mtime_ns, status.st_ino)
    assert (records["a.py"].language, records["b.unknown"].language) == ("python", "")
    assert not records["a.py"].parsed
