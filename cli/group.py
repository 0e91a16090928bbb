"""Owns a group of commands on one kind of things, as in `foveal items list`, and commands nobody knows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import click

from . import terminal
from .command import socket_option, write_examples


class UnknownCommand(click.UsageError):
    """There is no command of that name; `hint` is what to run instead."""

    def __init__(self, name: str, context: click.Context, known: Collection[str]) -> None:
        super().__init__(f"there is no command {name!r}", context)
        self._name = name
        self._known = known

    @property
    def hint(self) -> str:
        """Name the nearest command, or the help where none is near."""
        import difflib

        path = self.ctx.command_path if self.ctx else "foveal"
        near = difflib.get_close_matches(self._name, self._known, 1)
        return f"did you mean {path} {near[0]}?" if near else f"{path} --help lists the commands"


class CommandGroup(click.Group):
    """Commands on one kind of things. Called without one it prints its help; takes --socket as they do."""

    def __init__(self, *args: Any, examples: Sequence[str] = (), **extra: Any) -> None:
        super().__init__(*args, **{"no_args_is_help": False, "invoke_without_command": True, **extra})
        self.examples = examples

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return --socket and --help."""
        return [*self.params, socket_option(), *filter(None, [self.get_help_option(ctx)])]

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order in which they were added, not by the alphabet."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is meant. Raises `UnknownCommand`."""
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            raise UnknownCommand(args[0], ctx, self.commands)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was named, or print the help."""
        result = super().invoke(ctx)
        if ctx.invoked_subcommand is None:
            terminal.say(ctx.get_help())
        return result

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples."""
        write_examples(formatter, self.examples)
