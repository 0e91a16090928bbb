"""Groups of commands with their help and --socket, and paths as a person writes them."""

from __future__ import annotations

from pathlib import Path

import pytest
from foveal.cli.command import Run, command
from foveal.cli.group import group
from foveal.cli.settings import locate

SEEN: list[str | None] = []


@group("Change things.")
def things() -> None:
    """Change things."""


@command("List things.", group=things)
def list_things(run: Run) -> None:
    """List all things."""
    SEEN.append(run.settings.socket)


def run(*arguments: str) -> None:
    things.main(list(arguments), prog_name="foveal things", standalone_mode=False)


def test_the_socket_before_and_behind_the_command() -> None:
    SEEN.clear()
    run("--socket", "/run/a", "list")
    run("list", "--socket", "/run/b")
    run("list")
    assert SEEN == ["/run/a", "/run/b", None]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "src" / "app" / "[id]").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    for name in ("README.md", "src/auth.py", "src/app/[id]/page.ts", "src/odd#name.py", "other/only.py"):
        (tmp_path / name).write_text("")
    (tmp_path / "src" / "dangling").symlink_to("nowhere")
    return tmp_path


def test_paths_as_a_person_writes_them(root: Path) -> None:
    source = str(root / "src")

    def check(given: str, expected: str, *more: Path) -> None:
        assert locate(given, [source, *map(str, more)]) == expected

    for there in (
        "auth.py",
        "auth.py#Session.login",
        "odd#name.py",
        "app",
        ".",
        "dangling",
        "..",
        "./gone.py",
    ):
        check(there, f"{source}/{there}")
    for glob in ("*.py", "**/*.ts", "app/*.ts", "app/[id]/page.ts", "../README.md", "../gone.py"):
        check(glob, f"{source}/{glob}")
    # Not in this folder: the daemon takes it from the root.
    for other in ("", "#Session", "...", "/etc/hosts", "odd#name.py#f", "README.md", "src/auth.py", "src/*.py",
                  "src/auth.py#Session", "gone.py", "missing/*.ts"):  # fmt: skip
        check(other, other)
    check("auth.py", f"{source}/auth.py", root / "other")
    check("only.py", f"{root}/other/only.py", root / "other")
