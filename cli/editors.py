"""The command `foveal editors`: where the editors' plugins lie."""

from __future__ import annotations

from pathlib import Path

import click

from . import terminal
from .command import Run, command
from .group import group
from .options import JSON, argument

PLUGIN_FOLDER = Path(__file__).resolve().parent.parent / "hooks" / "editors"
PLUGINS = ("neovim", "vscode")


@group("Show where the editors' plugins lie.", params=[JSON])
def editors_command(as_json: bool) -> None:
    """Find the plugins for Neovim and VS Code, which are part of this package.

    For example:

        foveal editors path neovim
        ln -s "$(foveal editors path neovim)" ~/.local/share/nvim/site/pack/foveal/start/foveal
    """
    if as_json and click.get_current_context().invoked_subcommand is None:
        terminal.say_json(_folders())


@command(
    "Print the folder of a plugin, or of all.",
    argument("editor", type=click.Choice(PLUGINS), required=False),
    group=editors_command,
)
def path(run: Run) -> None:
    """Print the folder of an editor's plugin, without one the folder that has all of them.

    It is the one of the foveal that runs, wherever that is installed, and changes with it.
    """
    folders = _folders()
    run.show(folders, [folders[run.editor or "folder"]])


def _folders() -> dict[str, str]:
    """Return the folder of each plugin, and the one that has all."""
    return {"folder": str(PLUGIN_FOLDER), **{name: str(PLUGIN_FOLDER / name) for name in PLUGINS}}
