"""The settings of hosts as the command line finds, plans, shows and changes them."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from ..hooks.hosts.host import Host, Level, SettingsPlace
from ..hooks.install.errors import InstallError
from ..hooks.install.host_files import INSTALLABLE, host_files, project_root, registered_program
from ..hooks.install.plan import Change, HostFiles, others_scripts
from ..hooks.install.program import find_program
from ..ipc.version import __version__
from .command import Run
from .errors import CliError
from .settings import current_folder
from .terminal import styled
from .text import clean_lines, short_path

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


HOST_NAMES = [host.name for host in INSTALLABLE]


HOST_CHOICE = click.Choice([*HOST_NAMES, *(alias for host in INSTALLABLE for alias in host.aliases)])


@contextmanager
def explained() -> Iterator[None]:
    """Turn what the installer refuses into what a person sees."""
    try:
        yield
    except InstallError as error:
        raise CliError(str(error), error.hint) from error


def settings_place(run: Run, cwd: str | None) -> SettingsPlace:
    """Return where settings lie: the home, the project's root, the environment. Raises `InstallError`."""
    environ = run.settings.environ
    home = environ.get("HOME", "")
    if not os.path.isabs(home):
        raise InstallError(
            "HOME is not an absolute path, so your settings can't be found", "set HOME to your home folder"
        )
    return SettingsPlace(home, project_root(os.path.realpath(cwd or current_folder())), environ)


def running_program(run: Run) -> str:
    """Return the path of the foveal that runs. Raises `InstallError`."""
    return find_program(sys.argv[0], sys.executable, run.settings.environ)


def files_of(
    host: Host,
    level: Level,
    place: SettingsPlace,
    program: str,
    *,
    line: bool = False,
    calls_server: bool | None = None,
) -> HostFiles:
    """Return the files in which foveal is registered with a host at a level. Raises `InstallError`."""
    return host_files(
        host,
        level,
        place,
        registered_program(program, host, level),
        __version__,
        line=line,
        calls_server=calls_server,
    )


def describe_change(change: Change) -> Iterator[str]:
    """Yield the unified diff of a change, coloured on a terminal."""
    path = short_path(change.target.path)
    before = "/dev/null" if change.found.data is None else path
    diff = list(plain_diff(change, before, "/dev/null" if change.after is None else path))
    for number, line in enumerate(diff):
        shown = clean_lines(line.rstrip("\r"))
        colour = _COLOURS.get(shown[:1])
        style = {"bold": True} if number < 2 else {"fg": colour} if colour else {}
        yield styled(shown, **style)
    if change.found.place != change.target.path and change.found.data is not None:
        yield f"(written to {short_path(change.found.place)})"


def left_alone(files: HostFiles) -> list[str]:
    """Return a line for each script of the user's that has the place of one of ours."""
    return [
        f"{short_path(path)} isn't foveal's, so it stays: no hook there" for path in others_scripts(files)
    ]


def summarize(change: Change) -> str:
    """Return a change in a word and its path."""
    verb = "remove" if change.after is None else "create" if change.found.data is None else "change"
    return f"{verb} {short_path(change.target.path)}"


def plain_diff(change: Change, before: str = "", after: str = "") -> Iterator[str]:
    """Yield the unified diff of a change as it is, of files with these names."""
    old, new = (
        data.decode(errors="replace").split("\n") if data else []
        for data in (change.found.data, change.after)
    )
    path = change.target.path
    yield from difflib.unified_diff(old, new, before or path, after or path, lineterm="")


def lines_changed(change: Change) -> str:
    """Return how many lines a change adds and removes."""
    diff = [line[:1] for line in list(plain_diff(change))[2:]]
    added, removed = diff.count("+"), diff.count("-")
    parts = [f"{amount:,} {what}" for amount, what in ((added, "added"), (removed, "removed")) if amount]
    return f"lines: {', '.join(parts)}"


def action_map(change: Change) -> dict[str, str]:
    """Return a change for programs, in a word."""
    return {"path": change.target.path, "action": summarize(change).partition(" ")[0]}
