"""The commands `foveal help` and `foveal version`: what there is to run, and what runs."""

from __future__ import annotations

import platform
import subprocess
import sys

import click

from ..ipc.errors import RpcError
from ..ipc.version import __version__
from . import terminal
from .app import PROGRAMS
from .command import Run, command
from .errors import CliError
from .group import ALL_COMMANDS
from .options import argument, flag
from .process import find_daemon
from .status import OTHER_VERSION
from .text import clean


@command(
    "Show all commands, or the help of one.",
    argument("names", "[COMMAND]...", nargs=-1),
    flag("--all show_all", "All commands, by task, instead of those that people need first."),
)
def help_command(run: Run) -> None:
    """Show the commands that people need first, all of them by task (--all), or the help of COMMAND.

    For example:

        foveal help --all
        foveal help items put
    """
    context = run.context.find_root()
    if len(run.names) == 1 and any(run.names[0] in programs for programs in PROGRAMS.values()):
        # It isn't imported here: it has an entry of its own, as small as can be.
        asked = [sys.executable, "-m", "foveal", run.names[0], "--help"]
        told = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.rstrip()  # noqa: S603 - ours
        run.show({"help": told}, [told])
        return
    for name in run.names:
        if not isinstance(context.command, click.Group):
            raise run.usage(f"{context.command_path} has no commands of its own")
        _, found, _ = context.command.resolve_command(context, [name])
        assert found is not None
        context = click.Context(found, context, name)
    context.meta[ALL_COMMANDS] = run.show_all or run.as_json
    text = context.get_help()
    run.show({"help": text}, [text])


@command("Show the versions of this program and of the daemon.")
def version_command(run: Run) -> None:
    """Show the version of this program and, if one runs, of the daemon. Starts no daemon."""
    running = None
    try:
        if daemon := find_daemon(run.settings):
            daemon.client.close()
            running = {"version": daemon.version, "pid": daemon.pid, "socket": daemon.socket}
        said = f"daemon {daemon.version} (pid {daemon.pid})" if daemon else "no daemon runs"
    except (RpcError, CliError, OSError) as error:  # the program's own version is known all the same
        said = f"the daemon doesn't answer: {error}"
    python = platform.python_version()
    lines = [f"foveal {__version__} (Python {python})", clean(said)]
    run.show({"version": __version__, "python": python, "daemon": running}, lines)
    if running and running["version"] != __version__:
        terminal.warn(OTHER_VERSION)
