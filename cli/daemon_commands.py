"""The commands `foveal up`, `down`, `restart` and `doctor`; only they import the daemon."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import click

from ..ipc.client import Client
from ..ipc.paths import config_file, config_folder, find_socket, lock_file, state_folder
from ..ipc.version import __version__
from . import terminal
from .check import Check, ok, to_map, to_text, warning, wrong
from .command import Run, command
from .errors import CliError
from .options import FOLDER, argument, flag, option
from .process import STOP_TIMEOUT_S, RunningDaemon, find_daemon, start_daemon, stop_daemon
from .progress import call, open_and_wait, project_status
from .settings import Settings, absolute
from .status import OTHER_VERSION
from .text import clean, count, short_path

if TYPE_CHECKING:
    from ..daemon.app.records import Finding

TIMEOUT = click.Option(
    ["--timeout"],
    type=click.FloatRange(min=0),
    default=STOP_TIMEOUT_S,
    show_default=True,
    metavar="SECONDS",
    help="How long the daemon may take to stop before it gets SIGTERM.",
)


@command(
    "Start the daemon, and index a project.",
    flag("--foreground", "Run the daemon in this process until Ctrl-C or SIGTERM."),
    flag("--wait", "Also wait until all of PROJECT can be searched by meaning."),
    argument("project", required=False, type=FOLDER),
    option("--cwd", "DIR", "The same as PROJECT.", type=FOLDER),
)
def up_command(run: Run) -> None:
    """Start the daemon. With PROJECT, index it and wait until that is done; without it nothing is indexed.

    Search by meaning takes longer: the daemon prepares it in the background. With --foreground it logs to
    the terminal, or to the log file if the output is no terminal.

    For example:

        foveal up .
        foveal up . --wait            # also until all can be found by meaning
    """
    project = run.project if run.cwd is None else os.path.join(run.cwd, run.project or "")
    if run.foreground:
        if project is not None or run.as_json:
            raise run.usage("--foreground only runs the daemon: it takes no PROJECT, no --json")
        _run_here(run.settings)
        return
    if run.wait and project is None:
        raise run.usage("--wait needs the PROJECT to wait for")
    daemon = find_daemon(run.settings)
    started = daemon is None
    if daemon is None:
        daemon = start_daemon(run.settings)
        run.say(_started(daemon))
    else:
        run.say(f"foveal {daemon.version} runs already (pid {daemon.pid}) on {clean(daemon.socket)}")
        if daemon.version != __version__:
            terminal.warn(OTHER_VERSION)
    terminal.flush()
    found = None
    with daemon.client as client:
        if project is not None:
            found = _index(run, client, absolute(project))
        elif not run.as_json and not call(client, "ListProjects")["projects"]:
            terminal.note("nothing is indexed: no project is open; to index this folder, run: foveal up .")
    run.show({"started": started, **_about(daemon), "project": found})


@command("Stop the daemon.", TIMEOUT)
def down_command(run: Run) -> None:
    """Stop the daemon and wait for its end."""
    pid = stop_daemon(run.settings, run.timeout)
    line = "no daemon runs" if pid is None else f"stopped the daemon{f' (pid {pid})' if pid else ''}"
    run.show({"stopped": pid is not None, "pid": pid or None}, [line])


@command("Stop the daemon and start it again.", TIMEOUT)
def restart_command(run: Run) -> None:
    """Stop the daemon if it runs, and start it on the same socket."""
    place = find_socket(run.settings.socket, run.settings.environ).path
    pid = stop_daemon(run.settings, run.timeout)
    if pid:
        run.say(f"stopped the daemon (pid {pid})")
        terminal.flush()
    daemon = start_daemon(run.settings, None if pid is None else place)
    daemon.client.close()
    run.show({"stopped_pid": pid or None, **_about(daemon)}, [_started(daemon)])


def _started(daemon: RunningDaemon) -> str:
    return f"started foveal {daemon.version} (pid {daemon.pid}) on {clean(daemon.socket)}"


def _about(daemon: RunningDaemon) -> dict[str, Any]:
    return {"version": daemon.version, "pid": daemon.pid, "socket": daemon.socket}


@command(
    "Say what is wrong, and what to run.",
    flag("-v --verbose", "Also name the dependencies."),
    flag("--deep", "Also read every file of the state folder."),
    flag("--repair", "With --deep: move damaged files out of the way. No daemon may run."),
)
def doctor_command(run: Run) -> None:
    """Say what is wrong with this installation, and what to run.

    Exits with 1 if something is wrong (✗). foveal works in spite of a warning (!).
    --repair renames damaged files and never removes one: the daemon rebuilds them, or starts without them.

    For example:

        foveal doctor
        foveal doctor --deep -v
        foveal down && foveal doctor --deep --repair
    """
    from .doctor import checks

    if run.repair and not run.deep:
        raise run.usage("--repair needs --deep, which finds the damaged files")
    usual = checks(run.settings, _check_state_version, lambda roots: _check_config(run.settings, roots))
    found = []
    for check in chain(usual, _check_files(run.settings, repair=run.repair) if run.deep else ()):
        found.append(check)
        run.say(to_text(check, verbose=run.verbose))
        terminal.flush()
    problems, warnings = (sum(check.level == level for check in found) for level in ("wrong", "warning"))
    summary = f"{count(problems, 'problem')}, {count(warnings, 'warning')}"
    report = {"ok": not problems, "checks": [to_map(check) for check in found]}
    run.show(report, [summary if problems or warnings else "everything is fine"])
    if problems:
        run.fail()


def _index(run: Run, client: Client, path: str) -> dict[str, Any]:
    """Open a project and wait until it is indexed, or until its chunks are embedded too; return it."""
    from .embed import background_remark, wait_for_vectors

    root, ready = open_and_wait(client, path=path)
    run.say(ready)
    terminal.flush()
    if run.wait:
        run.say(wait_for_vectors(client, root))
    elif remark := background_remark(client, root):
        terminal.note(remark)
    return project_status(client, root)


def _run_here(settings: Settings) -> None:
    """Run the daemon in this process. Raises `CliError` if it can't start."""
    import gc

    from ..ipc.paths import keep_temporary_files

    gc.disable()  # what is imported stays; `serve` enables it when clients come
    keep_temporary_files(os.environ)
    from ..daemon.app.records import UNABLE_TO_START
    from ..daemon.app.service import prepare, serve

    try:
        serve(prepare(settings.socket, settings.environ, log_to_file=not terminal.is_terminal(sys.stdout)))
    except UNABLE_TO_START as error:
        raise CliError(str(error)) from error


def _check_files(settings: Settings, *, repair: bool) -> Iterator[Check]:
    """Read all files of the state folder, and with `repair` move damaged ones out of the way."""
    from contextlib import ExitStack

    from ..daemon.app.service import check_state_files
    from ..daemon.core.errors import StateError
    from ..daemon.core.state_folder import StateLock
    from ..daemon.core.system import System

    state = state_folder(settings.environ)
    if not os.path.isdir(state):
        return
    whole = 0
    with ExitStack() as stack:
        if repair:
            try:
                stack.callback(StateLock.take(lock_file(state)).release)
            except StateError as error:
                yield wrong("files", f"nothing can be repaired while the daemon runs: {error}", "foveal down")
                repair = False
        for finding in check_state_files(state, System()):
            whole += finding.condition == "whole"
            yield from _file_checks(state, finding, repair=repair)
    yield ok("files", f"{count(whole, 'file')} of the state folder read without damage")


def _file_checks(state: str, finding: Finding, *, repair: bool) -> Iterator[Check]:
    """Yield the checks of one file, and with `repair` move it out of the way if it is damaged."""
    from ..daemon.app.service import repair as quarantine
    from ..daemon.core.system import System

    text = f"{finding.path} {finding.text}"
    if finding.condition in {"aside", "unknown"}:
        yield warning("file", text)
    elif finding.condition == "unreadable":
        yield wrong("file", text)
    elif finding.condition == "damaged" and finding.mends_itself:
        text += "; the next start of the daemon repairs it and keeps the damaged part"
        yield warning("file", text)
    elif finding.condition == "damaged":
        after = "the daemon rebuilds it" if finding.derived else "its content is missing until you restore it"
        if not repair:
            yield wrong("file", text, "foveal down && foveal doctor --deep --repair")
            return
        try:
            kept = quarantine(state, finding, System())
        except OSError as error:
            yield wrong("file", f"{text}; it can't be renamed: {error.strerror}")
        else:
            yield warning("file", f"{text}; kept as {kept}, {after}")


def _check_state_version(state: str) -> Check:
    """Check that this program understands the state folder, which has a version mark."""
    from ..daemon.core.errors import StateError
    from ..daemon.core.state_folder import check_version
    from ..daemon.core.system import System

    try:
        mark = check_version(state, System())
    except StateError as error:
        return wrong("state version", str(error))
    if mark is not None and mark.problem:
        return warning("state version", f"{mark.problem}; the next start repairs it", "foveal restart")
    return ok("state version", "the state folder's version is known")


def _check_config(settings: Settings, roots: Sequence[str]) -> Iterator[Check]:
    """Read the user's configuration and that of the projects which are open."""
    from ..daemon.config.files import load_project_config, load_user_config
    from ..daemon.config.settings import UserConfig
    from ..daemon.core.errors import ConfigError
    from ..daemon.core.system import System

    system = System()
    user = UserConfig()
    path = config_file(config_folder(settings.environ))
    fix = "correct the file; docs/settings.md lists the keys"
    try:
        loaded = load_user_config(path, system)
        user = loaded.config
        yield from (warning("config", text) for text in loaded.warnings)
        what = f"{short_path(path)} is valid" if loaded.stamp else "no config.toml: the defaults apply"
        yield ok("config", what)
    except ConfigError as error:
        yield wrong("config", str(error), fix)
    for root in roots:
        try:
            yield from (warning("config", text) for text in load_project_config(root, user, system).warnings)
        except ConfigError as error:
            yield wrong("config", str(error), fix)
