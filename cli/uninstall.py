"""The command `foveal uninstall`: takes foveal out of all settings, and its state away."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import click

from ..hooks.hosts.host import Host, Level, SettingsPlace
from ..hooks.install.errors import InstallError
from ..hooks.install.host_files import INSTALLABLE
from ..hooks.install.plan import Change, HostFiles, apply, copies_left, plan_uninstall, remove_copies
from ..ipc.paths import GRAMMARS, cache_folder, config_file, config_folder, state_folder
from . import terminal
from .command import Remark, Run, command
from .errors import CliError
from .hooks import PURGE
from .hosts import action_map, explained, files_of, lines_changed, running_program, settings_place, summarize
from .options import DRY_RUN, YES, flag
from .process import STOP_TIMEOUT_S, OtherDaemon, find_daemon, is_ours, stop_daemon
from .progress import call
from .settings import is_inside
from .terminal import styled
from .text import clean, count, short_path

DELETE_S = 5.0
"""Maximum seconds to delete the state folder while processes of the daemon are still ending."""


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


@command(
    "Take foveal out of this machine again.",
    flag("--state", "Delete the state folder too: indexes, sessions, decisions; and unpacked grammars."),
    PURGE,
    YES,
    DRY_RUN,
)
def uninstall_command(run: Run) -> None:
    """Take out what 'foveal init' and 'foveal hooks install' registered, in your settings and in those of all
    projects that foveal knows, and stop the daemon.

    The settings are as they were before, to the byte if nobody else changed them meanwhile. The state folder
    is deleted only with --state, or if you say so.

    For example:

        foveal uninstall             # shows what goes, and asks
        foveal uninstall --dry-run
        foveal uninstall --yes --state --purge   # everything, without asking
    """
    state = run.state
    asks = not (run.yes or run.dry_run)
    run.check_can_ask(asks=asks)
    with explained():
        place, program = settings_place(run, None), running_program(run)
    folder = state_folder(run.settings.environ)
    if state:
        _check_state(folder, place.home)  # before anything is changed
    roots = [place.root, *(root for root in _known_roots(run) if root != place.root)]
    found = list(_registered(place, program, roots))
    for line in _describe_registered(found, folder, state=state, purge=run.purge):
        run.say(line)
    question = _question(found, purge=run.purge)
    if asks and question:
        run.confirm(question, "nothing was changed", default=True)
    terminal.flush()
    if asks and not state and os.path.isdir(folder):
        state = click.confirm(f"Also delete {_shown_state(folder)}?", default=False, err=True)
        if state:
            _check_state(folder, place.home)
    done = _report(found, folder)
    if not run.dry_run:
        _take_out(run, found, program, done)
        try:
            done["stopped_pid"] = pid = stop_daemon(run.settings, STOP_TIMEOUT_S)
            if pid is not None:
                run.say(f"stopped the daemon{f' (pid {pid})' if pid else ''}")
        except OtherDaemon as error:
            run.say(clean(error.message))
        if state:
            _delete_state(run, folder, done)
            shutil.rmtree(os.path.join(cache_folder(run.settings.environ), GRAMMARS), ignore_errors=True)
    run.show(done, _what_stays(run, folder, program, done))
    if done["problems"]:
        run.fail()


def _question(found: Sequence[Registered], *, purge: bool) -> str:
    """Return what is asked before anything is changed, "" if there is nothing to change."""
    changes = [change for one in found for change in one.changes]
    copies = {copy for one in found for copy in one.copies} if purge and not changes else ()
    if copies:
        return f"Delete kept copies of earlier settings ({len(copies):,})?"
    return f"Take foveal out of {count(len(changes), 'file')}?" if changes else ""


def _report(found: Sequence[Registered], folder: str) -> dict[str, Any]:
    """Return what is to be done, for programs; what is done is put in."""
    return {
        "changed": False,
        "changes": [
            {"host": one.host.name, "level": one.level, **action_map(change)}
            for one in found
            for change in one.changes
        ],
        "problems": [one.problem for one in found if one.problem],
        "copies_left": [copy for one in found for copy in one.copies],
        "copies_deleted": [],
        "stopped_pid": None,
        "state": folder,
        "state_deleted": False,
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
                files = files_of(host, level, where, program)
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
        yield styled(f"{one.host.title}, {one.level}", bold=True)
        if one.problem:
            yield f"  ✗ {clean(one.problem)}"
        for change in one.changes:
            yield f"  {summarize(change)} ({lines_changed(change)})"
        for copy in one.copies if purge else ():
            yield f"  delete the copy {short_path(copy)}"
    if not any(one.changes or one.problem for one in found):
        yield "foveal is registered nowhere"
    if state and os.path.isdir(folder):
        yield styled("State", bold=True)
        yield f"  delete {_shown_state(folder)}"


def _take_out(run: Run, found: Sequence[Registered], program: str, done: dict[str, Any]) -> None:
    """Apply the changes, host by host; one that can't be changed keeps no other from it. With --purge delete
    the copies of earlier settings too, else note them."""
    left: dict[str, None] = {}
    for host in (host for host in found if not host.problem):
        try:
            files = files_of(host.host, host.level, host.place, program)
            changes = plan_uninstall(files)
            apply(changes)
            copies = copies_left(files)
            if run.purge:
                remove_copies(copies)
                done["copies_deleted"] += copies
            else:
                left.update(dict.fromkeys(copies))
        except (InstallError, OSError) as error:
            done["problems"].append(str(error))
            run.say(f"  ✗ {clean(str(error))}")
            continue
        done["changed"] = done["changed"] or bool(changes or (run.purge and copies))
        for change in changes:
            run.say(f"done: {summarize(change)}")
        for copy in copies if run.purge else ():
            run.say(f"deleted: {short_path(copy)}")
    done["copies_left"] = list(left)


def _known_roots(run: Run) -> list[str]:
    """Return the roots of the projects that foveal knows and that are there: from the daemon if one runs
    for this state folder, else from the folder."""
    roots: list[str] | None = None
    if daemon := find_daemon(run.settings):
        with daemon.client as client:
            if run.settings.named_socket or is_ours(run.settings, daemon.pid):
                reply = call(client, "ListProjects")
                roots = [project["root"] for project in (*reply["projects"], *reply["closed"])]
    if roots is None:
        from ..daemon.core.system import System
        from ..daemon.project.service import known_roots

        roots = known_roots(state_folder(run.settings.environ), System())
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


def _delete_state(run: Run, folder: str, done: dict[str, Any]) -> None:
    """Delete the state folder, if there is one."""
    deadline = time.monotonic() + DELETE_S
    while os.path.lexists(folder):
        try:
            shutil.rmtree(folder)
            done["state_deleted"] = done["changed"] = True
        except OSError as error:  # a process of the daemon that is just ending wrote another file
            if time.monotonic() > deadline:
                done["problems"].append(f"{error.filename}: {error.strerror}")
                run.say(f"  ✗ {clean(done['problems'][-1])}")
                return
            time.sleep(0.1)
    shown = short_path(folder)
    run.say(f"deleted: {shown}" if done["state_deleted"] else f"there is no state folder at {shown}")


def _shown_state(folder: str) -> str:
    return f"the state folder {short_path(folder)} (indexes, sessions, decisions, log)"


def _what_stays(run: Run, folder: str, program: str, done: dict[str, Any]) -> Iterator[str]:
    """Yield what is left, and what removes it."""
    if run.dry_run:
        yield "nothing was changed: --dry-run only shows it"
        return
    for copy in done["copies_left"]:
        yield Remark(f"a copy of earlier settings is kept (--purge deletes it): {short_path(copy)}")
    if os.path.isdir(folder):
        yield Remark(f"kept: {short_path(folder)}; --state deletes it")
    own = config_file(config_folder(run.settings.environ))
    if os.path.exists(own):
        yield Remark(f"kept, because you wrote it: {short_path(own)}")
    yield Remark(f"to remove the program itself ({short_path(program)}): pip uninstall foveal")
