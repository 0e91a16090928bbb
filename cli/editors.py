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
def editors_command() -> None:
    """Find the plugins for Neovim and VS Code, which are part of this package."""


@editors_command.command("path", cls=Command, short_help="Print the folder of a plugin, or of all.")
@click.argument("editor", type=click.Choice(PLUGINS), required=False)
@json_option
def path_command(editor: str | None, as_json: bool) -> None:
    """Print the folder of an editor's plugin, without one the folder that has all of them.

    It is the one of the foveal that runs, wherever that is installed, and changes with it.
    """
    missing = [name for name in PLUGINS if not (FOLDER / name).is_dir()]
    if missing:
        raise CliError(f"{FOLDER} has no {missing[0]}", "install foveal again: its files are not complete")
    if as_json:
        terminal.say_json({"folder": str(FOLDER), **{name: str(FOLDER / name) for name in PLUGINS}})
    else:
        terminal.say(str(FOLDER / editor if editor else FOLDER))
