"""Groups of commands with their help and --socket, and paths as a person writes them."""

from __future__ import annotations

from pathlib import Path

import pytest
from foveal.cli.command import Run, command
from foveal.cli.group import CommandGroup, UnknownCommand
from foveal.cli.settings import locate

SEEN: list[str | None] = []


things = CommandGroup("things", help="Change things.", examples=["foveal things list"])


@command("List things.", group=things)
def list_things(run: Run) -> None:
    """List all things."""
    SEEN.append(run.settings.socket)


@command("Delete a thing.", group=things)
def delete(run: Run) -> None:
    """Delete one thing."""


def run(*arguments: str) -> None:
    things.main(list(arguments), prog_name="foveal things", standalone_mode=False)


def test_without_a_command_it_explains_itself(capsys: pytest.CaptureFixture[str]) -> None:
    run()
    bare = capsys.readouterr().out
    assert bare.startswith("Usage: foveal things [OPTIONS] [COMMAND] [ARGS]...")
    assert bare.index("  list    List things.") < bare.index("  delete  Delete a thing.")
    assert "--socket PATH" in bare
    assert bare.endswith("Examples:\n  foveal things list\n")
    run("--help")
    assert capsys.readouterr().out == bare


def test_the_socket_before_and_behind_the_command() -> None:
    SEEN.clear()
    run("--socket", "/run/a", "list")
    run("list", "--socket", "/run/b")
    run("list")
    assert SEEN == ["/run/a", "/run/b", None]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("lst", "did you mean foveal things list?"),
        ("remove-all", "foveal things --help lists the commands"),
    ],
)
def test_an_unknown_command(name: str, hint: str) -> None:
    with pytest.raises(UnknownCommand, match="there is no command") as raised:
        run(name)
    assert raised.value.hint == hint


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
