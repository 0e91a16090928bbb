"""The options and arguments of commands, declared in a line: what is typed, what it takes, what it is for.

The name of a parameter is the wire's field that it becomes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import click

from .settings import absolute, settings_of

FOLDER = click.Path(exists=False)
"""A folder, for the completion of shells; whether there is one is checked when the option is read."""


def flag(names: str, help: str, **more: Any) -> click.Option:  # noqa: A002 - click's own name
    """Return an option that is given or not."""
    return click.Option(names.split(), is_flag=True, help=help, **more)


def option(names: str, metavar: str, help: str, **more: Any) -> click.Option:  # noqa: A002 - click's own name
    """Return an option that takes a text."""
    return click.Option(names.split(), metavar=metavar, help=help, **more)


def choice(names: str, choices: Sequence[str], help: str, **more: Any) -> click.Option:  # noqa: A002 - click's own name
    """Return an option that takes one of some words."""
    return click.Option(names.split(), type=click.Choice(choices), help=help, **more)


def number(
    names: str,
    low: int,
    high: int | None,
    help: str,  # noqa: A002 - click's own name
    metavar: str | None = "N",
    **more: Any,
) -> click.Option:
    """Return an option that takes a whole number within bounds."""
    return click.Option(names.split(), type=click.IntRange(low, high), metavar=metavar, help=help, **more)


def score(names: str, low: float, high: float, help: str) -> click.Option:  # noqa: A002 - click's own name
    """Return an option that takes a score."""
    return click.Option(names.split(), metavar="S", type=click.FloatRange(low, high), help=help)


def limit(low: int, high: int, what: str) -> click.Option:
    """Return the option that limits a list, which has 20 entries without it."""
    help_text = f"Maximum number of {what}."
    return number("--limit", low, high, help_text, None, default=20, show_default=True)


def argument(name: str, metavar: str | None = None, **more: Any) -> click.Argument:
    """Return an argument."""
    return click.Argument([name], metavar=metavar, **more)


def time_option(names: str, help: str) -> click.Option:  # noqa: A002 - click's own name
    """Return an option that takes a time, which becomes one in ISO 8601 UTC."""
    return option(names, "TIME", help, callback=moment)


def moment(context: click.Context, parameter: click.Parameter, written: str | None) -> str | None:
    """Return a day or a time (local without a zone), or a span before now, in ISO 8601 UTC.

    Raises `click.BadParameter`.
    """
    if written is None:
        return None
    span = re.fullmatch(rf"(\d{{1,6}})\s*({'|'.join(_UNITS)})", written.strip())
    try:
        if span:
            found = datetime.now(UTC) - timedelta(**{_UNITS[span[2]]: int(span[1])})
        else:
            found = datetime.fromisoformat(written.strip())
        return found.astimezone(UTC).isoformat().replace("+00:00", "Z")
    except (ValueError, OverflowError) as error:
        raise click.BadParameter(
            f"{written} is no time: write 2026-01-31, 2026-01-31T12:00 or 2026-01-31T12:00Z,"
            " or a span such as 30min, 3h, 2d, 1w",
            context,
            parameter,
        ) from error


_UNITS = {"min": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def absolute_folder(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Return a folder's absolute path. Raises `click.BadParameter` for what is none."""
    if value is None:
        return None
    folder = absolute(value)
    if not os.path.isdir(folder):
        raise click.BadParameter(f"{value} is not a folder", context, parameter)
    return folder


def _remember_folder(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    if folder := absolute_folder(context, parameter, value):
        settings_of(context).folder = folder


def _remember_socket(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    if value is None:
        return
    if not value:
        raise click.BadParameter("the path is empty", context, parameter)
    settings_of(context).socket = value


JSON = flag("--json as_json", "Print JSON for programs.")
CWD = option(
    "--cwd", "DIR", "A folder of the project [default: this one].", type=FOLDER, callback=absolute_folder
)
ALL = (CWD, flag("--all everywhere", "Of all projects, not only of this one."))
YES = flag("--yes -y", "Don't ask.")
DRY_RUN = flag("--dry-run", "Show what would change, and change nothing.")
QUIET = flag("-q --quiet", "No remarks on the standard error.")
SINCE = time_option("--since", "Only from this time on: 2026-01-31, 2026-01-31T12:00, 2d.")
UNTIL = time_option("--until --before until", "Only before this time.")
SOCKET = option(
    "--socket",
    "PATH",
    "The daemon's socket. If you name one, no daemon is started.",
    expose_value=False,
    callback=_remember_socket,
)
HERE = option(
    "--cwd",
    "DIR",
    "Run as if started in this folder.",
    type=FOLDER,
    expose_value=False,
    callback=_remember_folder,
)
"""The --cwd of commands that are about no project: it takes the place of the current folder."""
