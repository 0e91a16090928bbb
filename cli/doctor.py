"""Owns the doctor's round: state folder, daemon and log, beside what the machine has; changes nothing."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from .. import __version__
from ..ipc.client import Client
from ..ipc.errors import RpcError
from ..ipc.paths import (
    PathError,
    check_socket,
    daemon_file,
    default_socket,
    find_socket,
    lock_file,
    log_file,
    read_daemon_info,
    state_folder,
)
from ..ipc.protocol import ProtocolError
from . import terminal
from .check import Check
from .command import Settings
from .logs import log_files
from .machine import (
    check_dependencies,
    check_disk,
    check_git,
    check_open_files,
    check_python,
    check_watches,
)
from .process import lock_is_held

CONNECT_TIMEOUT_S = 2.0
LOG_READ_BYTES = 4_000_000


def checks(
    settings: Settings,
    check_version: Callable[[str], Check],
    check_config: Callable[[Sequence[str]], Iterable[Check]],
) -> Iterator[Check]:
    """Yield all checks. Handed in are those that need the daemon's own code.

    `check_version` gets the state folder, `check_config` the roots of the open projects.
    """
    yield check_python()
    yield check_dependencies()
    yield check_git()
    answer: dict[str, Any] = {}
    try:
        state = state_folder(settings.environ)
    except PathError as error:
        yield Check("state folder", "wrong", str(error))
        return
    yield from check_state(state, check_version)
    yield from check_daemon(settings, state, answer)
    settings_checks = list(check_config([str(project["root"]) for project in answer.get("projects", ())]))
    if answer:
        yield from _problems(answer, tuple(check.text for check in settings_checks))
    yield from settings_checks
    yield from check_watches(answer)
    yield check_open_files()
    yield check_disk(state)
    yield check_log(state)


def ask(path: str) -> dict[str, Any]:
    """Return what the daemon that listens on a socket says of itself."""
    with Client.connect(path, CONNECT_TIMEOUT_S) as client:
        status: dict[str, Any] = client.call("Status", timeout=CONNECT_TIMEOUT_S)
    return status


def check_state(state: str, check_version: Callable[[str], Check]) -> Iterator[Check]:
    """Look at the state folder: that it is one, whose it is, who may enter, which version it has."""
    shown = terminal.short_path(state)
    try:
        status = os.lstat(state)
    except FileNotFoundError:
        yield Check("state folder", "ok", f"no state folder yet; the first start makes {shown}")
        return
    except OSError as error:
        yield Check("state folder", "wrong", f"{shown}: {error.strerror}")
        return
    if not stat.S_ISDIR(status.st_mode):
        yield Check(
            "state folder", "wrong", f"{shown} is no folder", f"mv {_quote(state)} {_quote(state)}.old"
        )
    elif status.st_uid != os.geteuid():
        yield Check(
            "state folder",
            "wrong",
            f"{shown} belongs to the user id {status.st_uid}, you are {os.geteuid()}",
            f"sudo chown -R {os.geteuid()} {_quote(state)}",
        )
    elif status.st_mode & 0o077:
        yield Check("state folder", "wrong", f"{shown} is open to other users", f"chmod 700 {_quote(state)}")
    elif not os.access(state, os.R_OK | os.W_OK | os.X_OK):
        yield Check("state folder", "wrong", f"{shown} can't be written", f"chmod 700 {_quote(state)}")
    else:
        yield Check("state folder", "ok", f"state folder {shown}")
        if os.path.exists(os.path.join(state, "version.json")):
            yield check_version(state)


def check_daemon(settings: Settings, state: str, answer: dict[str, Any]) -> Iterator[Check]:
    """Look at socket, lock and daemon.json, and whether who listens answers in our version.

    What the daemon says of itself is put into `answer`.
    """
    try:
        path = find_socket(settings.socket, settings.environ).path
        check_socket(path)
    except PathError as error:
        yield Check("socket", "wrong", str(error))
        return
    except FileNotFoundError:
        yield _absent(path, state)
        return
    try:
        status = ask(path)
    except ConnectionRefusedError:
        yield _stale(path, state)
        return
    except (RpcError, OSError, ProtocolError) as error:
        yield Check("daemon", "wrong", f"the daemon on {path} doesn't answer: {error}", "foveal restart")
        return
    answer.update(status)
    pid, version = status["pid"], status["version"]
    if version != __version__:
        text = f"the daemon (pid {pid}) is foveal {version}, this program is {__version__}"
        yield Check("daemon", "wrong", text, "foveal restart")
    else:
        yield Check("daemon", "ok", f"the daemon answers (pid {pid}) on {terminal.short_path(path)}")
    yield from _other_socket(settings, path, pid, state)


def check_log(state: str) -> Check:
    """Count the errors that the daemon logged within the last day."""
    since = (datetime.now() - timedelta(days=1)).strftime("%Y-%m-%d %H:%M:%S")  # noqa: DTZ005 - as the log has it
    errors = []
    for path in log_files(log_file(state)):
        errors += [line for line in _tail_lines(path) if _ERROR.match(line) and line[:19] >= since]
    if not errors:
        return Check("log", "ok", "no errors in the log of the last day")
    text = f"{terminal.count(len(errors), 'error')} in the log of the last day, the latest: {errors[-1]}"
    return Check("log", "warning", text, "foveal logs")


_ERROR = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d+ (ERROR|CRITICAL) ")


def _absent(path: str, state: str) -> Check:
    """Judge that there is no socket: nobody runs, unless the lock is held."""
    if lock_is_held(state):
        text = f"a daemon holds the lock in {terminal.short_path(state)}, and its socket {path} is gone"
        return Check("daemon", "wrong", text, "foveal restart")
    if os.path.exists(daemon_file(state)):
        text = "no daemon runs; the last one was killed, and the next start cleans up after it"
        return Check("daemon", "warning", text, "foveal up")
    return Check("daemon", "ok", "no daemon runs; any command that needs one starts it")


def _stale(path: str, state: str) -> Check:
    if lock_is_held(state):
        text = f"a daemon holds the lock in {terminal.short_path(state)}, and nobody listens on {path}"
        return Check("daemon", "wrong", text, "foveal restart")
    text = f"{path} is stale: its daemon was killed; the next start replaces it"
    return Check("socket", "warning", text, "foveal up")


def _problems(status: dict[str, Any], said: tuple[str, ...]) -> Iterator[Check]:
    """Say what the daemon says of itself and of its projects, but for what was `said` already."""
    for text in status["degraded"]:
        if not str(text).startswith(said):
            yield Check("daemon", "warning", str(text))
    for project in status["projects"]:
        for text in project["degraded"]:
            yield Check("project", "warning", f"{terminal.short_path(str(project['root']))}: {text}")


def _other_socket(settings: Settings, path: str, pid: int, state: str) -> Iterator[Check]:
    """Look whether daemon.json and the default socket belong to the daemon that answers."""
    if settings.named_socket:
        return
    info = read_daemon_info(state)
    if info is None:
        text = f"daemon.json is missing or damaged, other shells may not find the daemon (pid {pid})"
        yield Check("daemon.json", "wrong", text, "foveal restart")
    elif info.pid != pid:
        text = f"daemon.json names the pid {info.pid}, but {pid} answers: the daemon has another state folder"
        yield Check("daemon.json", "wrong", text, "foveal down && foveal up")
    elif path != default_socket(settings.environ):
        yield Check("socket", "ok", "found by daemon.json: the daemon was started with another environment")
    if not os.path.exists(lock_file(state)):
        yield Check("lock", "wrong", "the lock's file was removed while the daemon runs", "foveal restart")


def _tail_lines(path: str) -> list[str]:
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - LOG_READ_BYTES))
        return file.read().decode("utf-8", "replace").splitlines()


def _quote(path: str) -> str:
    import shlex

    return shlex.quote(path)
