"""The commands `foveal up`, `down`, `restart`, `doctor` and `dashboard`; only they import the daemon."""

from __future__ import annotations

import os
import sys
import webbrowser
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from ..ipc.client import Client
from ..ipc.paths import config_file, config_folder
from ..ipc.version import __version__
from . import terminal
from .command import (
    CALL_TIMEOUT_S,
    FOLDER,
    Command,
    Settings,
    absolute,
    ask,
    connect,
    json_option,
    settings_of,
)
from .errors import FAILED, CliError
from .process import STOP_TIMEOUT_S, RunningDaemon, find_daemon, start_daemon, stop_daemon

if TYPE_CHECKING:
    from ..daemon.app.state_check import Finding
    from .terminal import Check


_timeout_option = click.option(
    "--timeout",
    type=click.FloatRange(min=0),
    default=STOP_TIMEOUT_S,
    show_default=True,
    metavar="SECONDS",
    help="How long the daemon may take to stop before it gets SIGTERM.",
)


@click.command("up", cls=Command, short_help="Start the daemon, and index a project.")
@click.option("--foreground", is_flag=True, help="Run the daemon in this process until Ctrl-C or SIGTERM.")
@click.option("--wait", is_flag=True, help="Also wait until all of PROJECT can be searched by meaning.")
@click.argument("project", required=False, type=FOLDER)
@click.option("--cwd", metavar="DIR", type=FOLDER, help="The same as PROJECT.")
@json_option
@click.pass_context
def up_command(
    context: click.Context, foreground: bool, wait: bool, project: str | None, cwd: str | None, as_json: bool
) -> None:
    """Start the daemon. With PROJECT, index it and wait until that is done; without it nothing is indexed.

    Search by meaning takes longer: the daemon prepares it in the background. With --foreground it logs to
    the terminal, or to the log file if the output is no terminal.
    """
    settings = settings_of(context)
    if cwd is not None:
        project = os.path.join(cwd, project or "")
    if foreground:
        if project is not None or as_json:
            raise click.UsageError(
                "--foreground only runs the daemon: it takes no PROJECT, no --json", context
            )
        _run_here(settings)
        return
    if wait and project is None:
        raise click.UsageError("--wait needs the PROJECT to wait for", context)
    say = (lambda line: None) if as_json else terminal.say
    daemon = find_daemon(settings)
    started = daemon is None
    if daemon is None:
        daemon = start_daemon(settings)
        say(f"started foveal {daemon.version} (pid {daemon.pid}) on {terminal.clean(daemon.socket)}")
    else:
        place = terminal.clean(daemon.socket)
        say(f"foveal {daemon.version} runs already (pid {daemon.pid}) on {place}")
        if daemon.version != __version__:
            terminal.warn(
                f"the daemon has another version than this program ({__version__}); run: foveal restart"
            )
    terminal.flush()
    found = None
    with daemon.client as client:
        if project is not None:
            found = _index(client, absolute(project), say, wait=wait)
        elif not as_json and not client.call("ListProjects", timeout=CALL_TIMEOUT_S)["projects"]:
            terminal.note("nothing is indexed: no project is open; to index this folder, run: foveal up .")
    if as_json:
        terminal.say_json({"started": started, **_about(daemon), "project": found})


@click.command("down", cls=Command, short_help="Stop the daemon.")
@_timeout_option
@json_option
@click.pass_context
def down_command(context: click.Context, timeout: float, as_json: bool) -> None:
    """Stop the daemon and wait for its end."""
    pid = stop_daemon(settings_of(context), timeout)
    line = "no daemon runs" if pid is None else f"stopped the daemon{f' (pid {pid})' if pid else ''}"
    terminal.say_reply({"stopped": pid is not None, "pid": pid or None}, as_json, line)


@click.command("restart", cls=Command, short_help="Stop the daemon and start it again.")
@_timeout_option
@json_option
@click.pass_context
def restart_command(context: click.Context, timeout: float, as_json: bool) -> None:
    """Stop the daemon if it runs, and start it on the same socket."""
    from ..ipc.paths import find_socket

    settings = settings_of(context)
    place = find_socket(settings.socket, settings.environ).path
    pid = stop_daemon(settings, timeout)
    if pid and not as_json:
        terminal.say(f"stopped the daemon (pid {pid})")
        terminal.flush()
    daemon = start_daemon(settings, None if pid is None else place)
    daemon.client.close()
    line = f"started foveal {daemon.version} (pid {daemon.pid}) on {terminal.clean(daemon.socket)}"
    terminal.say_reply({"stopped_pid": pid or None, **_about(daemon)}, as_json, line)


def _about(daemon: RunningDaemon) -> dict[str, Any]:
    return {"version": daemon.version, "pid": daemon.pid, "socket": daemon.socket}


@click.command("doctor", cls=Command, short_help="Say what is wrong, and what to run.")
@click.option("--deep", is_flag=True, help="Also read every file of the state folder.")
@click.option(
    "--repair", is_flag=True, help="With --deep: move damaged files out of the way. No daemon may run."
)
@json_option
@click.pass_context
def doctor_command(context: click.Context, deep: bool, repair: bool, as_json: bool) -> None:
    """Say what is wrong with this installation, and what to run.

    Exits with 1 if something is wrong (✗). foveal works in spite of a warning (!).
    --repair renames damaged files and never removes one: the daemon rebuilds them, or starts without them.
    """
    from itertools import chain

    from .doctor import checks
    from .terminal import to_map, to_text

    settings = settings_of(context)
    if repair and not deep:
        raise click.UsageError("--repair needs --deep, which finds the damaged files", context)
    found = []
    usual = checks(settings, _check_state_version, lambda roots: _check_config(settings, roots))
    for check in chain(usual, _check_files(settings, repair=repair) if deep else ()):
        found.append(check)
        if not as_json:
            terminal.say(to_text(check))
            terminal.flush()
    wrong, warnings = (sum(check.level == level for check in found) for level in ("wrong", "warning"))
    if as_json:
        terminal.say_json({"ok": not wrong, "checks": [to_map(check) for check in found]})
    elif wrong or warnings:
        terminal.say(f"{terminal.count(wrong, 'problem')}, {terminal.count(warnings, 'warning')}")
    else:
        terminal.say("everything is fine")
    if wrong:
        context.exit(FAILED)


def _index(client: Client, path: str, say: Callable[[str], None], *, wait: bool) -> dict[str, Any]:
    """Open a project and wait until it is indexed, or until its chunks are embedded too; return it."""
    from .progress import open_and_wait, project_status
    from .projects import background_remark, wait_for_vectors

    root, ready = open_and_wait(client, path)
    say(ready)
    terminal.flush()
    if wait:
        say(wait_for_vectors(client, root))
    elif remark := background_remark(client, root):
        terminal.note(remark)
    return project_status(client, root)


def _run_here(settings: Settings) -> None:
    """Run the daemon in this process. Raises `CliError` if it can't start."""
    import gc

    from ..ipc.paths import keep_temporary_files

    gc.disable()  # what is imported stays; `serve` enables it when clients come
    keep_temporary_files(os.environ)
    from ..daemon.app.server import UNABLE_TO_START, prepare, serve

    try:
        serve(prepare(settings.socket, settings.environ, log_to_file=not terminal.is_terminal(sys.stdout)))
    except UNABLE_TO_START as error:
        raise CliError(str(error)) from error


def _check_files(settings: Settings, *, repair: bool) -> Iterator[Check]:
    """Read all files of the state folder, and with `repair` move damaged ones out of the way."""
    import os
    from contextlib import ExitStack

    from ..daemon.app.state_check import check_state_files
    from ..daemon.core.errors import StateError
    from ..daemon.core.state_folder import StateLock
    from ..daemon.core.system import System
    from ..ipc.paths import lock_file, state_folder
    from .terminal import Check

    state = state_folder(settings.environ)
    if not os.path.isdir(state):
        return
    whole = 0
    with ExitStack() as stack:
        if repair:
            try:
                stack.callback(StateLock.take(lock_file(state)).release)
            except StateError as error:
                yield Check(
                    "files", "wrong", f"nothing can be repaired while the daemon runs: {error}", "foveal down"
                )
                repair = False
        for finding in check_state_files(state, System()):
            whole += finding.condition == "whole"
            yield from _file_checks(state, finding, repair=repair)
    yield Check("files", "ok", f"{terminal.count(whole, 'file')} of the state folder read without damage")


def _file_checks(state: str, finding: Finding, *, repair: bool) -> Iterator[Check]:
    """Yield the checks of one file, and with `repair` move it out of the way if it is damaged."""
    from ..daemon.app.state_check import repair as quarantine
    from ..daemon.core.system import System
    from .terminal import Check

    text = f"{finding.path} {finding.text}"
    if finding.condition in {"aside", "unknown"}:
        yield Check("file", "warning", text)
    elif finding.condition == "unreadable":
        yield Check("file", "wrong", text)
    elif finding.condition == "damaged" and finding.mends_itself:
        yield Check(
            "file", "warning", f"{text}; the next start of the daemon repairs it and keeps the damaged part"
        )
    elif finding.condition == "damaged":
        after = "the daemon rebuilds it" if finding.derived else "its content is missing until you restore it"
        if not repair:
            yield Check("file", "wrong", text, "foveal down && foveal doctor --deep --repair")
            return
        try:
            kept = quarantine(state, finding, System())
        except OSError as error:
            yield Check("file", "wrong", f"{text}; it can't be renamed: {error.strerror}")
        else:
            yield Check("file", "warning", f"{text}; kept as {kept}, {after}")


def roots_on_disk(settings: Settings) -> list[str]:
    """Return the roots of the projects that have a folder in the state folder."""
    from ..daemon.core.system import System
    from ..daemon.project.roots import known_roots
    from ..ipc.paths import state_folder

    return known_roots(state_folder(settings.environ), System())


def _check_state_version(state: str) -> Check:
    """Check that this program understands the state folder, which has a version mark."""
    from ..daemon.core.errors import StateError
    from ..daemon.core.state_folder import check_version
    from ..daemon.core.system import System
    from .terminal import Check

    try:
        mark = check_version(state, System())
    except StateError as error:
        return Check("state version", "wrong", str(error))
    if mark is not None and mark.problem:
        return Check(
            "state version", "warning", f"{mark.problem}; the next start repairs it", "foveal restart"
        )
    return Check("state version", "ok", "the state folder's version is known")


def _check_config(settings: Settings, roots: Sequence[str]) -> Iterator[Check]:
    """Read the user's configuration and that of the projects which are open."""
    from ..daemon.config.files import load_project_config, load_user_config
    from ..daemon.config.settings import UserConfig
    from ..daemon.core.errors import ConfigError
    from ..daemon.core.system import System
    from .terminal import Check

    system = System()
    user = UserConfig()
    path = config_file(config_folder(settings.environ))
    try:
        loaded = load_user_config(path, system)
        user = loaded.config
        yield from _config_warnings(loaded.warnings)
        what = (
            f"{terminal.short_path(path)} is valid" if loaded.stamp else "no config.toml: the defaults apply"
        )
        yield Check("config", "ok", what)
    except ConfigError as error:
        yield Check("config", "wrong", str(error), "correct the file; docs/settings.md lists the keys")
    for root in roots:
        try:
            yield from _config_warnings(load_project_config(root, user, system).warnings)
        except ConfigError as error:
            yield Check("config", "wrong", str(error), "correct the file; docs/settings.md lists the keys")


def _config_warnings(warnings: tuple[str, ...]) -> Iterator[Check]:
    from .terminal import Check

    for warning in warnings:
        yield Check("config", "warning", warning)


EXAMPLES = (
    "foveal dashboard               # opens the browser, signed in",
    "foveal dashboard --login-url   # the same as an address, for another browser",
    "foveal dashboard --sign-out    # signs out everybody",
)


@click.command("dashboard", cls=Command, short_help="Open the dashboard in the browser.", examples=EXAMPLES)
@click.option("--no-browser", is_flag=True, help="Only print the address, for a browser that is signed in.")
@click.option("--login-url", is_flag=True, help="Print an address that signs in one browser within a minute.")
@click.option("--sign-out", is_flag=True, help="Sign out every browser and program.")
@json_option
@click.pass_context
def dashboard_command(
    context: click.Context, no_browser: bool, login_url: bool, sign_out: bool, as_json: bool
) -> None:
    """Open the dashboard in the default browser and sign it in there.

    It shows what agents get, and why. It is served on 127.0.0.1 only, and nothing of it leaves this machine.
    A browser stays signed in for a week after its last use, also across restarts of the daemon.
    """
    if no_browser + login_url + sign_out > 1:
        raise click.UsageError("--no-browser, --login-url and --sign-out don't go together", context)
    if sign_out:
        _sign_out(context, as_json=as_json)
        return
    with connect(settings_of(context)) as client:
        found = client.call("OpenDashboard", {"login": not no_browser}, CALL_TIMEOUT_S)
    if found["remark"]:
        terminal.warn(found["remark"])
    if as_json:
        terminal.say_json({"address": found["address"], "url": found.get("url"), "token": found["token"]})
    elif no_browser:
        terminal.say(found["address"])
        terminal.note("to sign in a browser, open the address that this prints: foveal dashboard --login-url")
    elif login_url:
        terminal.say(found["url"])
    else:
        _open(found, settings_of(context).environ)


def _sign_out(context: click.Context, *, as_json: bool) -> None:
    reply = ask(context, "RevokeDashboard", {}, start=False)
    terminal.say_reply(
        reply, as_json, f"signed out: {terminal.count(reply['revoked'], 'browser')}, and all programs"
    )


def _open(found: Mapping[str, Any], environ: Mapping[str, str]) -> None:
    """Open a browser if this machine has a display, else say how to reach the page."""
    if environ.get("SSH_CONNECTION") or environ.get("SSH_TTY"):
        port = urlsplit(found["address"]).port
        terminal.say(found["url"])
        terminal.note(
            f"you are connected by SSH: where the browser is, run ssh -N -L {port}:127.0.0.1:{port} "
            "and this machine's name, then open the address there within a minute"
        )
    elif has_display(environ) and _browse(found["url"]):
        terminal.say(f"opened {found['address']} in the browser")
    else:
        terminal.say(found["url"])
        terminal.note("no browser can be opened here: open the address in a browser within a minute")


def has_display(environ: Mapping[str, str]) -> bool:
    """Whether a window can appear: elsewhere `webbrowser` may start a text browser in the terminal."""
    if sys.platform == "darwin" or environ.get("BROWSER"):
        return True
    return bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY") or environ.get("WSL_DISTRO_NAME"))


def _browse(url: str) -> bool:
    """Open an address, without the messages that a browser prints when it starts."""
    kept = os.dup(2)
    quiet = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(quiet, 2)
        return webbrowser.open(url)
    except (OSError, webbrowser.Error) as error:
        raise CliError(f"the browser can't be started: {error}", "foveal dashboard --login-url") from error
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(quiet)
