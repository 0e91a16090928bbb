"""A group of commands shows its help, names the nearest command for one it hasn't, and takes --socket."""

from __future__ import annotations

import click
import pytest
from foveal.cli.command import Command, CommandGroup, UnknownCommand, settings_of

SEEN: list[str | None] = []


@click.group("things", cls=CommandGroup, examples=["foveal things list"])
def things() -> None:
    """Change things."""


@things.command("list", cls=Command, short_help="List things.")
@click.pass_context
def list_command(context: click.Context) -> None:
    """List all things."""
    SEEN.append(settings_of(context).socket)


@things.command("delete", cls=Command, short_help="Delete a thing.")
def delete_command() -> None:
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
