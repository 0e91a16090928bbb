"""The command line as a whole: the list of commands, their help, and how a run ends."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any, NoReturn

import click

from ..ipc.errors import INTERNAL
from ..ipc.version import __version__
from . import terminal
from .errors import FAILED, INTERRUPTED, OK, OUTPUT_CLOSED, USAGE, CliError, OutputFailed
from .group import ALL_COMMANDS, Command, CommandGroup, UnknownCommand, help_of, label_of
from .settings import Settings

FIRST = (
    *("init", "context", "query", "changes", "last"),
    *("decide", "dashboard", "status", "doctor", "uninstall"),
)
"""The commands that people need first, which the help lists; the others come with `foveal help --all`."""

SECTIONS = {
    "Set up, and take out again": {
        name: name for name in ("init", "hooks", "editors", "completion", "uninstall")
    },
    "Ask about the code": {name: name for name in ("context", "query", "node", "changes")},
    "See what agents got": {
        "last": "last",
        **dict.fromkeys(("contexts", "why"), "contexts"),
        **{name: name for name in ("requests", "usage", "dashboard")},
    },
    "Say what agents get": {
        **{name: name for name in ("decide", "decisions", "items", "tools", "sessions")},
        **dict.fromkeys(("scopes", "expand", "contract", "release"), "scopes"),
    },
    "Choose projects": {
        **dict.fromkeys(("open", "close", "projects", "reindex"), "projects"),
        **{name: name for name in ("embed", "watch", "trust")},
        "forget": "projects",
    },
    "Run the daemon": {
        **dict.fromkeys(("up", "down", "restart"), "daemon_commands"),
        **{name: name for name in ("status", "logs", "metrics")},
        "doctor": "daemon_commands",
        **dict.fromkeys(("version", "help"), "about"),
    },
    "Serve agents and editors": {},
}
"""The commands by task, each with the module that is imported when the command runs."""

PROGRAMS = {
    "Serve agents and editors": {
        "hook": "Answer one event of an agent; agents run it by themselves.",
        "statusline": "Say in one line what a session got; Claude Code runs it.",
        "mcp": "Serve the Model Context Protocol on the standard streams.",
        "lsp": "Serve the Language Server Protocol on the standard streams.",
    }
}
"""Programs that `__main__` runs without importing this module, by task."""

MODULES = {name: module for commands in SECTIONS.values() for name, module in commands.items()}

SPELLINGS = {
    **{
        frozenset((name, option)): ("help", option)
        for name in ("--help", "-h")
        for option in ("--all", "--json")
    },
    **{frozenset((name, "--json")): ("version", "--json") for name in ("--version", "-V")},
}
"""Options that stand for a command with an option."""


class App(CommandGroup):
    """The group of all commands. Imports a command when it is called; every outcome becomes an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands in the order of the help."""
        return list(MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        module = MODULES.get(cmd_name)
        if module is None:
            return None
        command = getattr(import_module(f".{module}", __package__), f"{cmd_name}_command")
        assert isinstance(command, Command | CommandGroup)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the named command. Raises `UsageError` for one that must come first, or is unknown."""
        if args and any(args[0] in names for names in PROGRAMS.values()) and not ctx.resilient_parsing:
            raise click.UsageError(f"{args[0]} must come first: foveal {args[0]} [OPTIONS]", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands that people need first, or where all are asked for, those of each task."""
        sections = SECTIONS if ctx.meta.get(ALL_COMMANDS) else {"Commands": FIRST}
        for title, names in sections.items():
            rows = []
            for name in names:
                command = self.get_command(ctx, name)
                assert command is not None
                rows.append((name, command.get_short_help_str(limit=70)))
            rows += PROGRAMS.get(title, {}).items()
            with formatter.section(title):
                formatter.write_dl(rows)
        if sections is not SECTIONS:
            total = len(MODULES) + sum(map(len, PROGRAMS.values()))
            formatter.write_paragraph()
            formatter.write_text(f"All {total} commands, by task: foveal help --all")

    def main(self, *args: Any, **extra: Any) -> NoReturn:
        """Run the command line and exit: 0 when all went well, 1 when it failed, 2 for wrong usage."""
        terminal.prepare_streams()
        extra["standalone_mode"] = False
        given = list(args[0] if args else extra.pop("args", None) or sys.argv[1:])
        given = list(SPELLINGS.get(frozenset(given), given))
        as_json = "--json" in given[: given.index("--") if "--" in given else None]
        try:
            code = _run(lambda: super(App, self).main(given, *args[1:], **extra), as_json=as_json)
            terminal.flush()
        except OutputFailed as error:
            terminal.drop_output()
            code = FAILED if str(error) else OUTPUT_CLOSED
            if str(error):
                terminal.show_error(str(error))
        sys.exit(code)


def _run(work: Any, *, as_json: bool) -> int:
    try:
        result = work()
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except click.ClickException as error:
        return _fail(error, as_json=as_json)
    except OutputFailed:
        raise
    except Exception as error:
        if as_json:  # the trace goes to the standard error, and a program reads an error here too
            terminal.say_json_error(f"a bug of foveal: {error!r}", "foveal logs", INTERNAL)
            terminal.flush()
        raise
    return result if isinstance(result, int) else OK


def _fail(error: click.ClickException, *, as_json: bool) -> int:
    """Say what failed, with --json to the program too; returns the exit code."""
    message, hint, code = error.format_message(), "", "failed"
    if isinstance(error, CliError):
        hint, code = error.hint, error.code
    elif isinstance(error, click.UsageError):
        message, hint, code = _usage_message(error), _usage_hint(error), "usage"
    hint = "" if hint in message else hint  # which says what to run already
    if as_json:
        terminal.say_json_error(message, hint, code)
        terminal.flush()
    terminal.show_error(message, hint)
    return USAGE if isinstance(error, click.UsageError) else error.exit_code


def _usage_message(error: click.UsageError) -> str:
    if isinstance(error, click.BadParameter) and isinstance(error.param, click.Argument):
        error.param_hint = f"'{label_of(error.param)}'"  # click's own has the choices, or brackets
    message = error.format_message().rstrip(".")
    if isinstance(error, click.MissingParameter) and error.ctx:  # the first may be the one that is missing
        given = {param: error.ctx.params.get(param.name or "") for param in error.ctx.command.params}
        taken = [
            f"{label_of(param)} is {value!r:.80}" for param, value in given.items() if _is_taken(param, value)
        ]
        message += f"; {', '.join(taken)}" if taken else ""
    return message[:1].lower() + message[1:]


def _is_taken(param: click.Parameter, value: object) -> bool:
    return isinstance(param, click.Argument) and isinstance(value, str)


def _usage_hint(error: click.UsageError) -> str:
    if isinstance(error, UnknownCommand):
        return error.hint
    command = error.ctx.command if error.ctx else None
    if isinstance(command, Command) and command.argument_hint and "unexpected extra" in error.message:
        return command.argument_hint
    return f"{error.ctx.command_path if error.ctx else 'foveal'} --help"


@click.group(
    cls=App,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "-V", "--version", message="foveal %(version)s")
@click.pass_context
def foveal(context: click.Context) -> None:
    """Give coding agents the right context: sharp where they work, wide everywhere else.

    Commands start the daemon when they need it. It watches the projects that it was asked about.

    For example:

        foveal init                 # set it up: agents, this project, a first context
        foveal context "how do sessions expire?" --focus src/auth.py
        foveal query "where are sessions created?"
        foveal up .                 # start the daemon, wait until this project is indexed
        foveal decide "tokens expire after an hour" --file src/auth.py
        foveal status               # what the daemon is doing
        foveal doctor               # what is wrong, and what to run
    """
    context.ensure_object(Settings)


foveal.help = help_of(foveal)
