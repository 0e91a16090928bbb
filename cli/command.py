"""What all commands share: options, groups of commands, the connection to the daemon, paths."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import click

from ..ipc.client import Client, ensure_daemon, lock_holder
from ..ipc.paths import find_socket, state_folder
from ..ipc.protocol import MAX_FRAME_BYTES
from . import terminal
from .errors import NO_DAEMON, CliError, explain, hint_if_unknown

F = TypeVar("F", bound=Callable[..., Any])

FOLDER = click.Path(exists=False)
"""A folder, for the completion of shells; whether there is one is checked when the option is read."""


@dataclass(slots=True)
class Settings:
    """The settings of one run: the socket and the folder that the user named, and the environment, read
    once."""

    socket: str | None = None
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    folder: str | None = None

    @property
    def named_socket(self) -> str | None:
        """The socket that the user named by option or variable, absolute; None where the default applies."""
        named = self.socket or self.environ.get("FOVEAL_SOCKET")
        return os.path.abspath(named) if named else None


class Command(click.Command):
    """A command that also accepts --socket and --cwd after its name, and turns foreseeable errors into
    `CliError`.

    The help shows `examples`; `argument_hint` is the hint for too many arguments.
    """

    def __init__(
        self, *args: Any, examples: Sequence[str] = (), argument_hint: str = "", **extra: Any
    ) -> None:
        super().__init__(*args, **extra)
        self.examples = examples
        self.argument_hint = argument_hint

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the command's own parameters, then --cwd, --socket and --help."""
        own = super().get_params(ctx)
        help_option = self.get_help_option(ctx)
        has_cwd = any(option.name == "cwd" for option in own)
        return [
            *(option for option in own if option is not help_option),
            *(() if has_cwd else (_folder_option(),)),
            socket_option(),
            *filter(None, [help_option]),
        ]

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples."""
        write_examples(formatter, self.examples)
        super().format_epilog(ctx, formatter)

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
            explained = explain(error, typed_names(ctx))
            if explained is None:
                raise
            raise explained from error


FIELDS = {
    "agent": ("agent_id", "agent_name"),
    "entries": ("items",),
    "files": ("files_touched",),
    "focus": ("focus_paths",),
    "kind": ("type",),
    "nodes": ("node_ids",),
    "project": ("path", "cwd"),
    "question": ("query",),
    "scope": ("scope_id",),
    "server": ("server_name",),
    "session": ("session_id",),
    "session_ids": ("session_id",),
    "tool": ("name",),
    "why": ("rationale",),
}
"""The wire's fields of parameters that have another name."""


def typed_names(context: click.Context) -> dict[str, str]:
    """Return the names of the running command's options and arguments as a person types them, by the wire's
    fields."""
    names = {}
    for parameter in context.command.get_params(context):
        shown = max(parameter.opts, key=len) if isinstance(parameter, click.Option) else label_of(parameter)
        name = parameter.name or ""
        names.update(dict.fromkeys((name, *FIELDS.get(name, ())), shown))
    return names


def label_of(argument: click.Parameter) -> str:
    """Return the name of an argument as the help has it, without the marks for what may be left out."""
    return (argument.metavar or argument.name or "").strip("[].").upper()


def write_examples(formatter: click.HelpFormatter, examples: Sequence[str]) -> None:
    """Write command lines as a section of a help, each on a line of its own."""
    if examples:
        with formatter.section("Examples"):
            for example in examples:
                formatter.write(f"{'':>{formatter.current_indent}}{example}\n")


def socket_option() -> click.Option:
    """Return the option that names the daemon's socket."""
    return click.Option(
        ["--socket"],
        metavar="PATH",
        expose_value=False,
        callback=_remember_socket,
        help="The daemon's socket. If you name one, no daemon is started.",
    )


def _folder_option() -> click.Option:
    """Return the option that takes the place of the current folder."""
    return click.Option(
        ["--cwd"],
        metavar="DIR",
        type=FOLDER,
        expose_value=False,
        callback=_remember_folder,
        help="Run as if started in this folder.",
    )


def settings_of(context: click.Context) -> Settings:
    """Return the settings of this run."""
    return context.ensure_object(Settings)


def json_option(command: F) -> F:
    """Add --json, given to the function as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")(command)


def cwd_option(command: F) -> F:
    """Add --cwd, given to the function as `cwd`: absolute, or None for the current folder."""
    return click.option(
        "--cwd",
        metavar="DIR",
        type=FOLDER,
        callback=_absolute_folder,
        help="A folder of the project [default: this one].",
    )(command)


def all_option(command: F) -> F:
    """Add --cwd and --all, given to the function as `cwd` and `everywhere`."""
    command = click.option(
        "--all", "everywhere", is_flag=True, help="Of all projects, not only of this one."
    )(command)
    return cwd_option(command)


def list_options(command: F) -> F:
    """Add what commands have that list things of a project: --cwd, --all and --json."""
    return all_option(json_option(command))


def yes_option(command: F) -> F:
    """Add --yes, given to the function as `yes`."""
    return click.option("--yes", "-y", is_flag=True, help="Don't ask.")(command)


def dry_run_option(command: F) -> F:
    """Add --dry-run, given to the function as `dry_run`."""
    return click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")(
        command
    )


def check_json_can_ask(context: click.Context, *, as_json: bool, asks: bool) -> None:
    """Raise `UsageError` for --json of a command that is to ask, and `CliError` if nobody can answer."""
    if as_json and asks:
        raise click.UsageError("--json needs --yes or --dry-run, because it can't ask", context)
    terminal.check_can_ask(asks=asks)


def current_folder() -> str:
    """Return the folder that --cwd names in place of the current one, else that. Raises `CliError` where it
    is gone."""
    context = click.get_current_context(silent=True)
    if context is not None and (named := settings_of(context).folder):
        return named
    try:
        return os.getcwd()
    except FileNotFoundError as error:
        raise CliError("the current folder doesn't exist any more", "cd to a folder that exists") from error


def absolute(path: str) -> str:
    """Make a path absolute from the current folder; the daemon resolves symlinks and `..`."""
    return path if os.path.isabs(path) else os.path.join(current_folder(), path)


def _absolute_folder(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    if value is None:
        return None
    folder = absolute(value)
    if not os.path.isdir(folder):
        raise click.BadParameter(f"{value} is not a folder", context, option)
    return folder


def _remember_folder(context: click.Context, option: click.Parameter, value: str | None) -> None:
    folder = _absolute_folder(context, option, value)
    if folder is not None:
        settings_of(context).folder = folder


def _remember_socket(context: click.Context, option: click.Parameter, value: str | None) -> None:
    if value is None:
        return
    if not value:
        raise click.BadParameter("the path is empty", context, option)
    settings_of(context).socket = value


def read_text(what: str) -> str:
    """Return all of the standard input as text; bytes that are no UTF-8 are replaced.

    `what` names the text in the message of the `CliError` for an input that is closed or too large for a
    request.
    """
    if sys.stdin is None:
        raise CliError(f"the {what} - reads the standard input, which is closed")
    stream = getattr(sys.stdin, "buffer", None)
    data: bytes = b"" if stream is None else stream.read(MAX_FRAME_BYTES + 1)
    if len(data) > MAX_FRAME_BYTES:
        raise CliError(f"the {what} is larger than {MAX_FRAME_BYTES:,} bytes", "send the part that matters")
    return data.decode("utf-8", "replace")


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
        return f"did you mean {path} {near[0]}?" if near else f"{path} --help lists the commands"


class CommandGroup(click.Group):
    """A group of commands, as in `foveal items list`. Without a command it prints its help."""

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
        known = args and (args[0] in self.commands or args[0].startswith("-"))
        if args and not known and not ctx.resilient_parsing:
            raise UnknownCommand(args[0], ctx, self.commands)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was named, or print the help."""
        result = super().invoke(ctx)
        if ctx.invoked_subcommand is None and not ctx.params.get("as_json"):
            terminal.say(ctx.get_help())
        return result

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples."""
        write_examples(formatter, self.examples)


GLOB_CHARACTERS = frozenset("*?[{")


def locate(given: str, folders: Sequence[str]) -> str:
    """Return a path, glob or node id (`path#symbol`) as the daemon takes it.

    It becomes absolute when it exists below one of the folders, the first that has it, or when it begins
    with `./` or `../`. Of a glob the part before its first wildcard must exist. What exists nowhere stays as
    it is: the daemon takes it relative to the project's root.
    """
    if not given or os.path.isabs(given):
        return given
    if given.split("/", 1)[0] in {".", ".."}:
        return os.path.join(folders[0], given)
    for part in dict.fromkeys((given, given.partition("#")[0])):  # a file's own name may hold the mark
        for folder in folders:
            if part and os.path.lexists(os.path.join(folder, part)):
                return os.path.join(folder, given)
    fixed = _before_wildcard(given)
    if fixed is not None:
        for folder in folders:
            if os.path.isdir(os.path.join(folder, fixed)):
                return os.path.join(folder, given)
    return given


def _before_wildcard(given: str) -> str | None:
    """Return the folders of a glob above its first wildcard; None for what is no glob."""
    parts = given.split("/")
    for position, part in enumerate(parts):
        if not GLOB_CHARACTERS.isdisjoint(part):
            return "/".join(parts[:position])
    return None


def is_inside(folder: str, root: str) -> bool:
    """Whether a folder is a root or lies below it."""
    return f"{folder.rstrip('/')}/".startswith(f"{root.rstrip('/')}/")


def seen_from(folder: str, root: str, path: str) -> str:
    """Return a project's path as a person in a folder opens it: relative below the root or above it."""
    full = os.path.join(root, path)
    return os.path.relpath(full, folder) if is_inside(root, folder) or is_inside(folder, root) else full


START_TIMEOUT_S = 20.0
"""Maximum wait for a start in seconds: 0.3 s at rest, seconds on a busy machine or with cold disks."""

CALL_TIMEOUT_S = 60.0
"""Maximum wait for an answer in seconds; the slowest methods have deadlines of seconds."""


def connect(settings: Settings) -> Client:
    """Connect to the daemon, starting one if none runs and no socket was named."""
    return ensure_daemon(settings.socket, settings.environ, START_TIMEOUT_S)


def connect_running(settings: Settings) -> Client:
    """Connect to a daemon that runs. Raises `CliError` where none does."""
    client = try_connect(settings)
    if client is None and not settings.named_socket and lock_holder(state_folder(settings.environ)):
        client = connect(settings)  # its socket was removed, and is bound again within seconds
    if client is None:
        place = f" on {settings.named_socket}" if settings.named_socket else ""
        option = f" --socket {settings.named_socket}" if settings.socket else ""
        raise CliError(f"no daemon runs{place}", f"foveal up{option}", NO_DAEMON)
    return client


def ask(
    context: click.Context,
    method: str,
    params: Mapping[str, Any] | None = None,
    *,
    hint: str = "",
    start: bool = True,
) -> dict[str, Any]:
    """Call a method of the daemon, which is started if none runs and `start` says so.

    Parameters that are None, or an option of many values that wasn't given, are left out. `hint` is what to
    run for a `not_found`.
    """
    given = {name: value for name, value in (params or {}).items() if value not in (None, ())}
    connected = (connect if start else connect_running)(settings_of(context))
    with connected as client, hint_if_unknown(hint):
        reply: dict[str, Any] = client.call(method, given, CALL_TIMEOUT_S)
    return reply


def try_connect(settings: Settings) -> Client | None:
    """Connect to a daemon that runs; None where none does. Raises `CliError` for one that doesn't accept."""
    path = find_socket(settings.socket, settings.environ).path
    try:
        return Client.connect(path)
    except (FileNotFoundError, ConnectionRefusedError):
        return None
    except TimeoutError as error:
        raise CliError(
            f"the daemon at {path} doesn't accept connections: it may hang", "foveal restart", NO_DAEMON
        ) from error
