"""The command `foveal editors`: where the editors' plugins lie. Needs no daemon."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from . import terminal
from .command import Command, CommandGroup, json_option
from .errors import CliError

FOLDER: Final = Path(__file__).resolve().parent.parent / "hooks" / "editors"

PLUGINS: Final = ("neovim", "vscode")

EXAMPLES = (
    "foveal editors path neovim",
    'ln -s "$(foveal editors path neovim)" ~/.local/share/nvim/site/pack/foveal/start/foveal',
)


@click.group(
    "editors", cls=CommandGroup, short_help="Show where the editors' plugins lie.", examples=EXAMPLES
)
@json_option
@click.pass_context
def editors_command(context: click.Context, as_json: bool) -> None:
    """Find the plugins for Neovim and VS Code, which are part of this package."""
    if as_json and context.invoked_subcommand is None:
        terminal.say_json(_folders())


@editors_command.command("path", cls=Command, short_help="Print the folder of a plugin, or of all.")
@click.argument("editor", type=click.Choice(PLUGINS), required=False)
@json_option
def path_command(editor: str | None, as_json: bool) -> None:
    """Print the folder of an editor's plugin, without one the folder that has all of them.

    It is the one of the foveal that runs, wherever that is installed, and changes with it.
    """
    folders = _folders()
    if as_json:
        terminal.say_json(folders)
    else:
        terminal.say(folders[editor or "folder"])


def _folders() -> dict[str, str]:
    """Return the folder of each plugin, and the one that has all. Raises `CliError` if one is missing."""
    missing = [name for name in PLUGINS if not (FOLDER / name).is_dir()]
    if missing:
        raise CliError(f"{FOLDER} has no {missing[0]}", "install foveal again: its files are not complete")
    return {"folder": str(FOLDER), **{name: str(FOLDER / name) for name in PLUGINS}}
