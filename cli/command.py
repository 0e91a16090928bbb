"""What a command is: which method it calls, its parameters, and the lines that a person reads of the reply.

`show_command` and `list_command` declare those that ask one method and print its reply; `command` declares
one that does more with its `Run`. All take --json, --cwd and --socket, and print JSON from one place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import click

from . import terminal
from .connection import CALL_TIMEOUT_S, connect, connect_running
from .errors import FAILED, hint_if_unknown
from .group import Command, help_of
from .options import JSON
from .settings import current_folder, locate, settings_of
from .table import Column, table

Reply = Mapping[str, Any]


class Run:
    """One run of a command. Its options are attributes, by the wire's names."""

    def __init__(self, context: click.Context, options: dict[str, Any]) -> None:
        self.context = context
        self.settings = settings_of(context)
        self.options = options
        self.as_json: bool = options.pop("as_json", False)

    def __getattr__(self, name: str) -> Any:
        """Return an option's value."""
        try:
            return self.options[name]
        except KeyError as error:
            raise AttributeError(name) from error

    @property
    def folder(self) -> str:
        """The folder that the command is about."""
        return self.options.get("cwd") or current_folder()

    @property
    def params(self) -> dict[str, Any]:
        """The options as parameters of a method; `cwd` is the folder, or none with --all."""
        params = dict(self.options)
        if "cwd" in params:
            params["cwd"] = None if params.pop("everywhere", False) else self.folder
        return params

    def without(self, *names: str) -> dict[str, Any]:
        """Return `params` without those of these names."""
        return {name: value for name, value in self.params.items() if name not in names}

    def locate(self, path: str) -> str:
        """Return a path as the daemon takes it, seen from --cwd and from the current folder."""
        named = self.options.get("cwd")
        return locate(path, [self.folder] if named is None else [named, current_folder()])

    def ask(self, method: str, hint: str = "", *, start: bool = True, **params: Any) -> dict[str, Any]:
        """Call a method of the daemon, which is started if none runs and `start` says so.

        Parameters that are None, or an option of many values that wasn't given, are left out. `hint` is what
        to run for a `not_found`.
        """
        with (connect if start else connect_running)(self.settings) as client, hint_if_unknown(hint):
            reply: dict[str, Any] = client.call(method, given(params), CALL_TIMEOUT_S)
        return reply

    def say(self, line: str = "") -> None:
        """Write a line for a person; with --json nothing."""
        if not self.as_json:
            terminal.say(line)

    def show(self, reply: Any, lines: Iterable[str] = ()) -> None:
        """Write a reply as JSON for programs, or the lines for a person: notes and warnings among them go to
        the standard error."""
        if self.as_json:
            terminal.say_json(reply)
            return
        for line in lines:
            if isinstance(line, Remark):
                terminal.flush()
                line.complain(line)
            else:
                terminal.say(line)

    def confirm(self, question: str, refused: str, *, default: bool = False) -> None:
        """Ask a yes-or-no question; after a no, say what wasn't done and end with exit status 1."""
        terminal.flush()
        if not click.confirm(question, default=default, err=True):
            terminal.note(refused)
            self.fail()

    def check_can_ask(self, *, asks: bool) -> None:
        """Raise `UsageError` if a command with --json has to ask, and `CliError` if nobody can answer."""
        if self.as_json and asks:
            raise self.usage("--json needs --yes or --dry-run, because it can't ask")
        terminal.check_can_ask(asks=asks)

    def usage(self, message: str) -> click.UsageError:
        """Return the error for options that don't go together."""
        return click.UsageError(message, self.context)

    def fail(self) -> None:
        """End the command with exit status 1."""
        self.context.exit(FAILED)


def given(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters without those that weren't given: None, or an option of many values without any."""
    return {name: value for name, value in params.items() if value not in (None, ())}


class Remark(str):
    """A line for the standard error."""

    __slots__ = ()
    complain = staticmethod(terminal.note)


class Warned(Remark):
    """A warning among the lines of a reply."""

    __slots__ = ()
    complain = staticmethod(terminal.warn)


def warnings(reply: Reply) -> Iterable[str]:
    """Return the warnings of a reply, if it has any, for the end of its lines."""
    return map(Warned, reply.get("warnings", ()))


def degraded(reply: Reply) -> Iterable[str]:
    """Return why a reply is poorer than it could be, for the end of its lines."""
    return (Remark(f"degraded: {reason}") for reason in reply["degraded"])


Work = Callable[[Run], None]
Lines = Callable[[Any, Run], Iterable[str]]


def command(
    short: str, *params: click.Parameter, group: click.Group | None = None, **extra: Any
) -> Callable[[Work], Command]:
    """Declare a command; its name is the first word of the function's, its help is the docstring."""

    def declare(work: Work) -> Command:
        def run(**options: Any) -> None:
            work(Run(click.get_current_context(), options))

        name = work.__name__.partition("_")[0]
        made = Command(
            name, params=[*params, JSON], callback=run, help=help_of(work), short_help=short, **extra
        )
        if group is not None:
            group.add_command(made)
        return made

    return declare


def show_command(
    method: str,
    short: str,
    *params: click.Parameter,
    hint: str = "",
    start: bool = True,
    sends: Callable[[Run], Mapping[str, Any]] = lambda run: run.params,
    fails: Callable[[Reply], bool] = lambda reply: False,
    instead: Callable[[Run], bool] = lambda run: False,
    check: Callable[[Reply, Run], None] = lambda reply, run: None,
    **extra: Any,
) -> Callable[[Lines], Command]:
    """Declare a command that calls a method and prints its reply; the function returns the lines.

    The method gets the command's options, or what `sends` makes of them. The command ends with 1 where the
    reply `fails`. `instead` returns whether it did something else, as some options say.
    `check` raises for a reply that is a failure.
    """

    def declare(lines: Lines) -> Command:
        def work(run: Run) -> None:
            if instead(run):
                return
            reply = run.ask(method, hint, start=start, **sends(run))
            check(reply, run)
            run.show(reply, lines(reply, run))
            if fails(reply):
                run.fail()

        work.__name__, work.__doc__ = lines.__name__, lines.__doc__
        return command(short, *params, **extra)(work)

    return declare


def list_command(
    method: str,
    short: str,
    *params: click.Parameter,
    rows: str,
    columns: Callable[[Run], Sequence[Column]] | Sequence[Column],
    nothing: Callable[[Run], str] | str,
    most: int = 0,
    sends: Callable[[Run], Mapping[str, Any]] = lambda run: run.params,
    **extra: Any,
) -> Callable[[Callable[[], None]], Command]:
    """Declare a command that calls a method and prints a list of its reply as a table.

    `rows` is the list's name in the reply. With `most`, the highest --limit, it says that a list was cut.
    """

    def wanted(run: Run) -> Mapping[str, Any]:
        return dict(sends(run)) | (
            {"limit": run.limit if run.as_json else min(run.limit + 1, most)} if most else {}
        )

    def lines(reply: Reply, run: Run) -> Iterable[str]:
        found = reply[rows]
        shown = found[: run.limit] if most else found
        if shown:
            yield table(columns(run) if callable(columns) else columns, shown)
        else:
            yield nothing(run) if callable(nothing) else nothing
        if most and (len(found) > run.limit or len(found) == most):
            rest = "; --limit shows more" if run.limit < most else ", the most of a list"
            yield Remark(f"only the latest {run.limit:,}{rest}")
        yield from warnings(reply)

    def declare(named: Callable[[], None]) -> Command:
        lines.__name__, lines.__doc__ = named.__name__, named.__doc__
        return show_command(method, short, *params, sends=wanted, **extra)(lines)

    return declare
