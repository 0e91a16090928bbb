"""A path on the command line means what the user sees from their folder, else what the project's root has."""

from __future__ import annotations

from pathlib import Path

import pytest
from foveal.cli.command import locate


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "src" / "app" / "[id]").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    for name in ("README.md", "src/auth.py", "src/app/[id]/page.ts", "src/odd#name.py", "other/only.py"):
        (tmp_path / name).write_text("")
    (tmp_path / "src" / "dangling").symlink_to("nowhere")
    return tmp_path


def test_paths_from_a_folder_of_the_project(root: Path) -> None:
    source = root / "src"

    def check(given: str, expected: str) -> None:
        assert locate(given, [str(source)]) == expected

    check("auth.py", f"{source}/auth.py")
    check("auth.py#Session.login", f"{source}/auth.py#Session.login")
    check("odd#name.py", f"{source}/odd#name.py")
    check("odd#name.py#f", "odd#name.py#f")  # not told apart; the daemon takes it from the root
    check("app", f"{source}/app")
    check(".", f"{source}/.")
    check("dangling", f"{source}/dangling")
    check("/etc/hosts", "/etc/hosts")
    check("", "")
    check("#Session", "#Session")


def test_paths_that_only_the_root_has_stay_relative(root: Path) -> None:
    def check(given: str) -> None:
        assert locate(given, [str(root / "src")]) == given

    check("README.md")
    check("src/auth.py")
    check("src/auth.py#Session")
    check("src/*.py")
    check("gone.py")


def test_dots_always_mean_the_users_folder(root: Path) -> None:
    source = root / "src"

    def check(given: str, expected: str) -> None:
        assert locate(given, [str(source), str(root)]) == expected

    check("./gone.py", f"{source}/./gone.py")
    check("../README.md", f"{source}/../README.md")
    check("../gone.py", f"{source}/../gone.py")
    check("..", f"{source}/..")
    check("...", "...")


def test_globs_need_only_the_folders_before_the_wildcard(root: Path) -> None:
    source = root / "src"

    def check(given: str, expected: str) -> None:
        assert locate(given, [str(source)]) == expected

    check("*.py", f"{source}/*.py")
    check("**/*.ts", f"{source}/**/*.ts")
    check("app/*.ts", f"{source}/app/*.ts")
    check("app/[id]/page.ts", f"{source}/app/[id]/page.ts")
    check("missing/*.ts", "missing/*.ts")


def test_the_first_folder_that_has_it_wins(root: Path) -> None:
    folders = [str(root / "src"), str(root / "other")]
    assert locate("auth.py", folders) == f"{root}/src/auth.py"
    assert locate("only.py", folders) == f"{root}/other/only.py"
