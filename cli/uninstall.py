"""The command `foveal uninstall`: takes foveal out of all settings, and its state away."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import click

from .. import __version__
from ..hooks.hosts.host import Host, Level, SettingsPlace
from ..hooks.install.errors import InstallError
from ..hooks.install.host_files import INSTALLABLE, host_files, registered_program
from ..hooks.install.plan import (
    Change,
    HostFiles,
    apply,
    copies_left,
    plan_uninstall,
    remove_copies,
)
from ..ipc.paths import config_file, config_folder, state_folder
from . import terminal
from .command import (
    CALL_TIMEOUT_S,
    Command,
    Settings,
    check_json_can_ask,
    dry_run_option,
    is_inside,
    json_option,
    settings_of,
    try_connect,
    yes_option,
)
from .errors import FAILED, CliError
from .hooks import explained, running_program, settings_place, summarize
from .setup import action_map, lines_changed, nothing

DELETE_S = 5.0
"""Maximum seconds to delete the state folder while processes of the daemon are still ending."""

UNINSTALL_EXAMPLES = (
    "foveal uninstall             # shows what goes, and asks",
    "foveal uninstall --dry-run",
    "foveal uninstall --yes --state --purge   # everything, without asking",
)


@dataclass(slots=True)
class Registered:
    """A host at a level in whose files foveal stands, or that can't be read (`problem`)."""

    host: Host
    level: Level
    place: SettingsPlace
    files: HostFiles
    changes: tuple[Change, ...] = ()
    problem: str = ""


@click.command(
    "uninstall", cls=Command, short_help="Take foveal out of this machine again.", examples=UNINSTALL_EXAMPLES
)
@click.option("--state", is_flag=True, help="Delete the state folder too: indexes, sessions, decisions.")
@click.option("--purge", is_flag=True, help="Delete the kept copies of earlier settings as well.")
@yes_option
@dry_run_option
@json_option
@click.pass_context
def uninstall_command(
    context: click.Context, state: bool, purge: bool, yes: bool, dry_run: bool, as_json: bool
) -> None:
    """Take out what 'foveal init' and 'foveal hooks install' registered, in your settings and in those of all
    projects that foveal knows, and stop the daemon.

    The settings are as they were before, to the byte if nobody else changed them meanwhile. The state folder
    is deleted only with --state, or if you say so.
    """
    settings = settings_of(context)
    asks = not (yes or dry_run)
    check_json_can_ask(context, as_json=as_json, asks=asks)
    say = nothing if as_json else terminal.say
    with explained():
        place, program = settings_place(context, None), running_program(context)
    folder = state_folder(settings.environ)
    roots = [place.root, *(root for root in _known_roots(settings) if root != place.root)]
    found = list(_registered(place, program, roots))
    for line in _describe_registered(found, folder, state=state):
        say(line)
    terminal.flush()
    changes = [change for one in found for change in one.changes]
    if (
        asks
        and changes
        and not click.confirm(f"Take foveal out of {_files(changes)}?", default=True, err=True)
    ):
        terminal.note("nothing was changed")
        context.exit(FAILED)
    if asks and not state and os.path.isdir(folder):
        state = click.confirm(f"Also delete {_shown_state(folder)}?", default=False, err=True)
    stopped, copies = None, []
    if not dry_run:
        copies = _take_out(found, program, say, purge=purge)
        stopped = _stop(settings, say)
        if state:
            _delete_state(folder, place.home)
            say(f"deleted: {terminal.short_path(folder)}")
    if as_json:
        report = {
            "changed": not dry_run,
            "changes": [
                {"host": one.host.name, "level": one.level, **action_map(change)}
                for one in found
                for change in one.changes
            ],
            "problems": [one.problem for one in found if one.problem],
            "copies_left": copies,
            "stopped_pid": stopped,
            "state": folder,
            "state_deleted": state and not dry_run,
        }
        terminal.say_json(report)
    elif dry_run:
        terminal.say("nothing was changed: --dry-run only shows it")
    else:
        _say_what_stays(settings, folder, program, copies)
    if any(one.problem for one in found):
        context.exit(FAILED)


def _registered(place: SettingsPlace, program: str, roots: Sequence[str]) -> Iterator[Registered]:
    """Yield the hosts in whose files foveal stands: the user's, and those of each project."""
    seen: set[str] = set()
    places: list[tuple[Level, SettingsPlace]] = [("user", place)]
    places += [("project", SettingsPlace(place.home, root, place.environ)) for root in roots]
    for level, where in places:
        for host in INSTALLABLE:
            try:
                files = host_files(host, level, where, registered_program(program, host, level), __version__)
            except InstallError:  # it has no files there, as git outside of a repository
                continue
            problem = ""
            changes: tuple[Change, ...] = ()
            try:
                changes = plan_uninstall(files)
            except InstallError as error:
                problem = str(error)
            except OSError as error:
                problem = f"{error.filename}: {error.strerror}"
            fresh = tuple(change for change in changes if change.found.place not in seen)
            seen.update(change.found.place for change in fresh)
            if fresh or (problem and problem not in seen):
                seen.add(problem)
                yield Registered(host, level, where, files, fresh, problem)


def _describe_registered(found: Sequence[Registered], folder: str, *, state: bool) -> Iterator[str]:
    """Yield the lines about what goes."""
    for one in found:
        yield terminal.styled(f"{one.host.title}, {one.level}", bold=True)
        if one.problem:
            yield f"  ✗ {terminal.clean(one.problem)}"
        for change in one.changes:
            yield f"  {summarize(change)} ({lines_changed(change)})"
    if not found:
        yield "foveal is registered nowhere"
    if state and os.path.isdir(folder):
        yield terminal.styled("State", bold=True)
        yield f"  delete {_shown_state(folder)}"


def _take_out(found: Sequence[Registered], program: str, say: Any, *, purge: bool) -> list[str]:
    """Apply the changes, host by host, and return the copies of earlier settings that are left."""
    left: dict[str, None] = {}
    for one in found:
        if one.problem:
            continue
        own = registered_program(program, one.host, one.level)
        with explained():
            files = host_files(one.host, one.level, one.place, own, __version__)
            changes = plan_uninstall(files)
            apply(changes)
            copies = copies_left(files)
            if purge:
                remove_copies(copies)
            else:
                left.update(dict.fromkeys(copies))
        for change in changes:
            say(f"done: {summarize(change)}")
    return list(left)


def _stop(settings: Settings, say: Any) -> int | None:
    from .process import STOP_TIMEOUT_S, stop_daemon

    pid = stop_daemon(settings, STOP_TIMEOUT_S)
    if pid is not None:
        say(f"stopped the daemon{f' (pid {pid})' if pid else ''}")
    return pid


def _known_roots(settings: Settings) -> list[str]:
    """Return the roots of the projects that foveal knows and that are there: from the daemon if one runs,
    else from its state folder."""
    client = try_connect(settings)
    if client is not None:
        with client:
            reply = client.call("ListProjects", timeout=CALL_TIMEOUT_S)
        roots = [project["root"] for project in (*reply["projects"], *reply["closed"])]
    else:
        from .daemon_commands import roots_on_disk

        roots = roots_on_disk(settings)
    return [root for root in roots if os.path.isdir(root)]


def _delete_state(folder: str, home: str) -> None:
    """Delete the state folder. Raises `CliError` for a folder that is more than that."""
    mode = os.lstat(folder).st_mode
    is_ours = os.path.isfile(os.path.join(folder, "version.json"))
    if not stat.S_ISDIR(mode) or not is_ours or is_inside(os.path.realpath(home), os.path.realpath(folder)):
        raise CliError(
            f"{folder} doesn't look like foveal's state folder, so it isn't deleted", "delete it by hand"
        )
    deadline = time.monotonic() + DELETE_S
    while True:
        try:
            shutil.rmtree(folder)
            return
        except OSError:  # a process of the daemon that is just ending wrote another file
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def _shown_state(folder: str) -> str:
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):  # the daemon removed it meanwhile
                total += os.lstat(os.path.join(parent, name)).st_size
    what = "indexes, sessions, decisions, log"
    return f"the state folder {terminal.short_path(folder)} ({terminal.size(total)}: {what})"


def _files(changes: Sequence[Change]) -> str:
    return terminal.count(len(changes), "file")


def _say_what_stays(settings: Settings, folder: str, program: str, copies: Sequence[str]) -> None:
    terminal.flush()
    for copy in copies:
        terminal.note(f"a copy of earlier settings is kept (--purge deletes it): {terminal.short_path(copy)}")
    if os.path.isdir(folder):
        terminal.note(f"kept: {terminal.short_path(folder)}; --state deletes it")
    own = config_file(config_folder(settings.environ))
    if os.path.exists(own):
        terminal.note(f"kept, because you wrote it: {terminal.short_path(own)}")
    terminal.note(f"to remove the program itself ({terminal.short_path(program)}): pip uninstall foveal")
