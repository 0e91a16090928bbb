"""The command `foveal uninstall`: takes foveal out of all settings, and its state away."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import click

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
from ..ipc.version import __version__
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
    """A host at a level: what takes foveal out of its files, and the copies beside them; or why they can't be
    used (`problem`)."""

    host: Host
    level: Level
    place: SettingsPlace
    files: HostFiles
    changes: tuple[Change, ...] = ()
    copies: tuple[str, ...] = ()
    problem: str = ""


@dataclass(slots=True)
class Done:
    """What an uninstall has done, and what it could not do."""

    taken_out: bool = False
    copies_left: list[str] = field(default_factory=list)
    copies_deleted: list[str] = field(default_factory=list)
    stopped_pid: int | None = None
    state_deleted: bool = False
    problems: list[str] = field(default_factory=list)

    @property
    def changed(self) -> bool:
        """Whether anything is other than before."""
        return self.taken_out or bool(self.copies_deleted) or self.state_deleted


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
    if state:
        _check_state(folder, place.home)  # before anything is changed
    roots = [place.root, *(root for root in _known_roots(settings) if root != place.root)]
    found = list(_registered(place, program, roots))
    for line in _describe_registered(found, folder, state=state, purge=purge):
        say(line)
    terminal.flush()
    question = _question(found, purge=purge)
    if asks and question and not click.confirm(question, default=True, err=True):
        terminal.note("nothing was changed")
        context.exit(FAILED)
    if asks and not state and os.path.isdir(folder):
        state = click.confirm(f"Also delete {_shown_state(folder)}?", default=False, err=True)
        if state:
            _check_state(folder, place.home)
    done = Done(problems=[one.problem for one in found if one.problem])
    if not dry_run:
        _take_out(found, program, done, say, purge=purge)
        done.stopped_pid = _stop(settings, say)
        if state:
            _delete_state(folder, done, say)
    if as_json:
        terminal.say_json(_report(found, done, folder, dry_run=dry_run))
    elif dry_run:
        terminal.say("nothing was changed: --dry-run only shows it")
    else:
        _say_what_stays(settings, folder, program, done.copies_left)
    if done.problems:
        context.exit(FAILED)


def _question(found: Sequence[Registered], *, purge: bool) -> str:
    """Return what is asked before anything is changed, "" if there is nothing to change."""
    changes = [change for one in found for change in one.changes]
    copies = {copy for one in found for copy in one.copies}
    if changes:
        return f"Take foveal out of {terminal.count(len(changes), 'file')}?"
    if purge and copies:
        what = "the kept copy" if len(copies) == 1 else f"{len(copies):,} kept copies"
        return f"Delete {what} of earlier settings?"
    return ""


def _report(found: Sequence[Registered], done: Done, folder: str, *, dry_run: bool) -> dict[str, Any]:
    """Return what was done, or would be, for programs."""
    return {
        "changed": done.changed,
        "changes": [
            {"host": one.host.name, "level": one.level, **action_map(change)}
            for one in found
            for change in one.changes
        ],
        "problems": done.problems,
        "copies_left": [copy for one in found for copy in one.copies] if dry_run else done.copies_left,
        "copies_deleted": done.copies_deleted,
        "stopped_pid": done.stopped_pid,
        "state": folder,
        "state_deleted": done.state_deleted,
    }


def _registered(place: SettingsPlace, program: str, roots: Sequence[str]) -> Iterator[Registered]:
    """Yield the hosts in whose files foveal stands or beside whose files copies lie: the user's, and those
    of each project."""
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
            copies: tuple[str, ...] = ()
            try:
                copies = copies_left(files)
                changes = plan_uninstall(files)
            except InstallError as error:
                problem = str(error)
            except OSError as error:
                problem = f"{error.filename}: {error.strerror}"
            fresh = tuple(change for change in changes if change.found.place not in seen)
            kept = tuple(copy for copy in copies if copy not in seen)
            seen.update(kept, (change.found.place for change in fresh))
            if fresh or kept or (problem and problem not in seen):
                seen.add(problem)
                yield Registered(host, level, where, files, fresh, kept, problem)


def _describe_registered(
    found: Sequence[Registered], folder: str, *, state: bool, purge: bool
) -> Iterator[str]:
    """Yield the lines about what goes."""
    shown = [one for one in found if one.changes or one.problem or (purge and one.copies)]
    for one in shown:
        yield terminal.styled(f"{one.host.title}, {one.level}", bold=True)
        if one.problem:
            yield f"  ✗ {terminal.clean(one.problem)}"
        for change in one.changes:
            yield f"  {summarize(change)} ({lines_changed(change)})"
        for copy in one.copies if purge else ():
            yield f"  delete the copy {terminal.short_path(copy)}"
    if not any(one.changes or one.problem for one in found):
        yield "foveal is registered nowhere"
    if state and os.path.isdir(folder):
        yield terminal.styled("State", bold=True)
        yield f"  delete {_shown_state(folder)}"


def _take_out(found: Sequence[Registered], program: str, done: Done, say: Any, *, purge: bool) -> None:
    """Apply the changes, host by host; one that can't be changed keeps no other from it. With `purge` delete
    the copies of earlier settings too, else note them."""
    left: dict[str, None] = {}
    for one in found:
        if one.problem:
            continue
        own = registered_program(program, one.host, one.level)
        try:
            files = host_files(one.host, one.level, one.place, own, __version__)
            changes = plan_uninstall(files)
            apply(changes)
            copies = copies_left(files)
            if purge:
                remove_copies(copies)
                done.copies_deleted += copies
            else:
                left.update(dict.fromkeys(copies))
        except (InstallError, OSError) as error:
            done.problems.append(str(error))
            say(f"  ✗ {terminal.clean(str(error))}")
            continue
        done.taken_out = done.taken_out or bool(changes)
        for change in changes:
            say(f"done: {summarize(change)}")
        for copy in copies if purge else ():
            say(f"deleted: {terminal.short_path(copy)}")
    done.copies_left = list(left)


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


def _check_state(folder: str, home: str) -> None:
    """Raise `CliError` for a folder that is there, but is more than foveal's state folder."""
    if not os.path.lexists(folder):
        return
    is_ours = os.path.isfile(os.path.join(folder, "version.json")) and not os.path.islink(folder)
    if not is_ours or is_inside(os.path.realpath(home), os.path.realpath(folder)):
        raise CliError(
            f"{folder} doesn't look like foveal's state folder, so nothing was changed",
            "foveal uninstall, then delete it by hand",
        )


def _delete_state(folder: str, done: Done, say: Any) -> None:
    """Delete the state folder, if there is one."""
    deadline = time.monotonic() + DELETE_S
    while os.path.lexists(folder):
        try:
            shutil.rmtree(folder)
            done.state_deleted = True
        except OSError as error:  # a process of the daemon that is just ending wrote another file
            if time.monotonic() > deadline:
                done.problems.append(f"{error.filename}: {error.strerror}")
                say(f"  ✗ {terminal.clean(done.problems[-1])}")
                return
            time.sleep(0.1)
    shown = terminal.short_path(folder)
    say(f"deleted: {shown}" if done.state_deleted else f"there is no state folder at {shown}")


def _shown_state(folder: str) -> str:
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):  # the daemon removed it meanwhile
                total += os.lstat(os.path.join(parent, name)).st_size
    what = "indexes, sessions, decisions, log"
    return f"the state folder {terminal.short_path(folder)} ({terminal.size(total)}: {what})"


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
