"""What keeps a path out of the tree is said with the rule that does, and agrees with what a scan lists."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from foveal.daemon.core.system import System
from foveal.daemon.project.lister import LeftOut, left_out
from foveal.daemon.project.rules import ScanSettings
from foveal.daemon.project.scan import Scanner

from tests.conftest import git, write_files

SETTINGS = ScanSettings(exclude=("*.gen.py", "/attic"))
FILES = {
    "src/app.py": "",
    "src/.gitignore": "\n!keep.log\n",
    "src/keep.log": "",
    "src/a.gen.py": "",
    ".gitignore": "# logs\n*.log\nbuilt/\n",
    ".fovealignore": "private/\n",
    "app.log": "",
    "built/deep/x.py": "",
    "private/x.py": "",
    "attic/x.py": "",
    "node_modules/a/i.js": "",
    "inner/mod.py": "",
    "inner/.gitignore": "mod.tmp\n",
    "inner/mod.tmp": "",
}
EXPECTED = {
    "app.log": LeftOut("app.log", "ignored", ".gitignore:2:*.log"),
    "built/deep/x.py": LeftOut("built", "ignored", ".gitignore:3:built/"),
    "private/x.py": LeftOut("private", "excluded", ".fovealignore"),
    "attic/x.py": LeftOut("attic", "excluded", "scan.exclude"),
    "src/a.gen.py": LeftOut("src/a.gen.py", "excluded", "scan.exclude"),
    "node_modules/a/i.js": LeftOut("node_modules", "vendored"),
    "src/vendor/lib.py": LeftOut("src/vendor", "vendored"),
    "inner/mod.tmp": LeftOut("inner/mod.tmp", "ignored", ".gitignore:1:mod.tmp"),
    "src/none.py": LeftOut("src/none.py", "missing"),
    "none/deep/x.py": LeftOut("none", "missing"),
    "src/app.py/x.py": LeftOut("src/app.py", "missing"),
    "link/app.py": LeftOut("link", "symlink"),
    "copy/src/app.py": LeftOut("copy", "worktree"),
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = write_files(tmp_path_factory.mktemp("left") / "p", FILES)
    (root / "link").symlink_to("src")
    for repository in (root / "inner", root):
        git(repository, "init", "-q")
        git(repository, "add", "-A")
        git(repository, "commit", "-qm", "first")
    git(root, "worktree", "add", "-q", str(root / "copy"))
    write_files(root, {"src/vendor/lib.py": ""})  # nothing in it is tracked
    return root


@pytest.mark.parametrize("path", EXPECTED)
def test_left_out_names_the_reason(root: Path, path: str) -> None:
    assert left_out(str(root), path, SETTINGS, System()) == EXPECTED[path]


def test_it_agrees_with_a_scan(root: Path) -> None:
    listed = {record.path for batch in Scanner(str(root), System(), SETTINGS).full() for record in batch}
    assert {"src/app.py", "src/keep.log", "inner/mod.py", "link"} <= listed
    assert not listed & EXPECTED.keys()
    for path in (*listed, "src", "inner"):
        assert left_out(str(root), path, SETTINGS, System()) == LeftOut(path, "")


def test_outside_of_git_its_ignore_files_are_read(tmp_path: Path) -> None:
    write_files(tmp_path, {".gitignore": "*.log\n", "a.log": "", "dist/x.js": "", "package.json": "{}"})
    assert left_out(str(tmp_path), "a.log", SETTINGS, System()) == LeftOut("a.log", "ignored", ".gitignore")
    assert left_out(str(tmp_path), "dist/x.js", SETTINGS, System()) == LeftOut("dist", "vendored")


def test_a_folder_that_cant_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(tmp_path, {"shut/x.py": ""})

    class Shut(System):
        @contextmanager
        def scandir(self, path: str) -> Iterator[Iterator[os.DirEntry[str]]]:
            if path.endswith("/shut"):
                raise PermissionError(path)
            with super().scandir(path) as entries:
                yield entries

    assert left_out(str(tmp_path), "shut/x.py", SETTINGS, Shut()) == LeftOut("shut/x.py", "unreadable")
