"""The command `foveal completion`: what a shell runs to complete commands."""

from __future__ import annotations

import click

from .command import Run, command
from .options import argument

SHELLS = ("bash", "zsh", "fish")


@command("Print a shell's completion.", argument("shell", type=click.Choice(SHELLS)))
def completion_command(run: Run) -> None:
    """Print what SHELL runs to complete foveal's commands, options and values with the Tab key.

    For example:

        eval "$(foveal completion bash)"                                # in ~/.bashrc
        eval "$(foveal completion zsh)"                                 # in ~/.zshrc, after compinit
        foveal completion fish > ~/.config/fish/completions/foveal.fish
    """
    from click.shell_completion import ShellComplete, get_completion_class

    from .app import foveal

    found = get_completion_class(run.shell)
    assert found is not None
    # The class for bash would run bash to learn its version.
    script = ShellComplete.source(found(foveal, {}, "foveal", "_FOVEAL_COMPLETE"))
    run.show({"shell": run.shell, "script": script}, [script.rstrip("\n")])
