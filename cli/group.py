"""Commands and groups of them as click knows them: their help, their common options, their errors."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from inspect import cleandoc
from typing import Any

import click

from . import terminal
from .errors import explain
from .options import HERE, SOCKET

ALL_COMMANDS = "foveal.all_commands"
"""The key of a context's `meta` under which the help is told to list all commands."""


class Command(click.Command):
    """A command that also accepts --socket and --cwd after its name, and turns foreseeable errors into
    `CliError`. `argument_hint` is the hint for too many arguments."""

    def __init__(self, *args: Any, argument_hint: str = "", **extra: Any) -> None:
        super().__init__(*args, **extra)
        self.argument_hint = argument_hint

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the command's own parameters, then --cwd, --socket and --help."""
        has_cwd = any(parameter.name == "cwd" for parameter in self.params)
        return [
            *self.params,
            *(() if has_cwd else (HERE,)),
            SOCKET,
            *filter(None, [self.get_help_option(ctx)]),
        ]

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; errors that a person can fix become `CliError`."""
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt as error:  # click would end the line in pipes and logs too
            if terminal.is_terminal(sys.stderr):
                terminal.end_line()
            raise click.Abort from error
        except Exception as error:
            explained = explain(error)
            if explained is None:
                raise
            raise explained from error


class UnknownCommand(click.UsageError):
    """An unknown command; `hint` is what to run instead."""

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
        lists = "foveal help --all" if path == "foveal" else f"{path} --help"
        return f"did you mean {path} {near[0]}?" if near else f"{lists} lists the commands"


class CommandGroup(click.Group):
    """A group of commands, as in `foveal items list`. Without a command it prints its help."""

    def __init__(self, *args: Any, **extra: Any) -> None:
        super().__init__(*args, **{"no_args_is_help": False, "invoke_without_command": True, **extra})

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return --socket and --help."""
        return [*self.params, SOCKET, *filter(None, [self.get_help_option(ctx)])]

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order in which they were added, not by the alphabet."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is meant. Raises `UnknownCommand`; a shell that completes isn't told."""
        known = self.list_commands(ctx)
        if args and args[0] not in known and not args[0].startswith("-") and not ctx.resilient_parsing:
            raise UnknownCommand(args[0], ctx, known)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was named, or print the help."""
        result = super().invoke(ctx)
        if ctx.invoked_subcommand is None and not ctx.params.get("as_json"):
            terminal.say(ctx.get_help())
        return result


def label_of(argument: click.Parameter) -> str:
    """Return the name of an argument as the help has it, without the marks for what may be left out."""
    return (argument.metavar or argument.name or "").strip("[].").upper()


def help_of(documented: Any) -> str:
    """Return a docstring as a help, whose indented paragraphs, such as examples, keep their lines."""
    return cleandoc(documented.__doc__ or "").replace("\n\n    ", "\n\n\b\n    ")


def group(
    short: str, cls: type[CommandGroup] = CommandGroup, **extra: Any
) -> Callable[[Callable[..., None]], CommandGroup]:
    """Declare a group; its name is the first word of the function's, its help is the docstring."""

    def declare(function: Callable[..., None]) -> CommandGroup:
        name = function.__name__.partition("_")[0]
        return cls(name, help=help_of(function), short_help=short, callback=function, **extra)

    return declare
