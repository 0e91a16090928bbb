"""Times as a person types and reads them: local without a zone, in ISO 8601 UTC for the daemon."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import click

from . import terminal
from .command import F

_UNITS = {"min": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def moment(context: click.Context, option: click.Parameter, written: str | None) -> str | None:
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
            option,
        ) from error


def time_option(*names: str, help: str) -> Callable[[F], F]:  # noqa: A002 - click's own name
    """Add an option that takes a time, which the function gets in ISO 8601 UTC."""
    return click.option(*names, metavar="TIME", callback=moment, help=help)


def since_option(command: F) -> F:
    """Add --since."""
    return time_option("--since", help="Only from this time on: 2026-01-31, 2026-01-31T12:00, 2d.")(command)


def until_option(command: F) -> F:
    """Add --until, which once was --before."""
    return time_option("--until", "--before", "until", help="Only before this time.")(command)


def local_time(timestamp: str, form: str = "%Y-%m-%d %H:%M") -> str:
    """Return the wire's time as the user's clock shows it, to the minute or in another form; a text that is
    no time is returned unchanged."""
    try:
        return datetime.fromisoformat(timestamp).astimezone().strftime(form)
    except ValueError:
        return terminal.clean(timestamp)
