"""The checks of `foveal doctor`: machine, state folder, daemon and log; they change nothing."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from ..ipc.client import Client, lock_holder
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
from ..ipc.version import __version__
from .check import Check, ok, warning, wrong
from .logs import log_files
from .process import is_ours
from .settings import Settings
from .text import count, short_path, size

CONNECT_TIMEOUT_S = 2.0
LOG_READ_BYTES = 4_000_000


def checks(
    settings: Settings,
    check_version: Callable[[str], Check],
    check_config: Callable[[Sequence[str]], Iterable[Check]],
) -> Iterator[Check]:
    """Yield all checks. The arguments are the checks that need the daemon's own code.

    `check_version` gets the state folder, `check_config` the roots of the open projects.
    """
    yield check_python()
    yield check_dependencies()
    yield check_git()
    answer: dict[str, Any] = {}
    try:
        state = state_folder(settings.environ)
    except PathError as error:
        yield wrong("state folder", str(error))
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
    """Check the state folder: that it is a folder, its owner, its permissions, its version."""
    shown = short_path(state)
    try:
        status = os.lstat(state)
    except FileNotFoundError:
        yield ok("state folder", f"no state folder yet; the first start makes {shown}")
        return
    except OSError as error:
        yield wrong("state folder", f"{shown}: {error.strerror}")
        return
    if not stat.S_ISDIR(status.st_mode):
        yield wrong("state folder", f"{shown} is no folder", f"mv {_quote(state)} {_quote(state)}.old")
    elif status.st_uid != os.geteuid():
        yield wrong(
            "state folder",
            f"{shown} belongs to the user id {status.st_uid}, you are {os.geteuid()}",
            f"sudo chown -R {os.geteuid()} {_quote(state)}",
        )
    elif status.st_mode & 0o077:
        yield wrong("state folder", f"{shown} is open to other users", f"chmod 700 {_quote(state)}")
    elif not os.access(state, os.R_OK | os.W_OK | os.X_OK):
        yield wrong("state folder", f"{shown} can't be written", f"chmod 700 {_quote(state)}")
    else:
        yield ok("state folder", f"state folder {shown}")
        if os.path.exists(os.path.join(state, "version.json")):
            yield check_version(state)


def check_daemon(settings: Settings, state: str, answer: dict[str, Any]) -> Iterator[Check]:
    """Check socket, lock and daemon.json, and whether the listening daemon has this program's version.

    What the daemon says of itself is put into `answer`.
    """
    try:
        path = find_socket(settings.socket, settings.environ).path
        check_socket(path)
    except PathError as error:
        yield wrong("socket", str(error))
        return
    except FileNotFoundError:
        yield _silent(path, state, is_there=False)
        return
    try:
        status = ask(path)
    except ConnectionRefusedError:
        yield _silent(path, state, is_there=True)
        return
    except (RpcError, OSError, ProtocolError) as error:
        yield wrong("daemon", f"the daemon on {path} doesn't answer: {error}", "foveal restart")
        return
    answer.update(status)
    pid, version = status["pid"], status["version"]
    if version != __version__:
        text = f"the daemon (pid {pid}) is foveal {version}, this program is {__version__}"
        yield wrong("daemon", text, "foveal restart")
    else:
        yield ok("daemon", f"the daemon answers (pid {pid}) on {short_path(path)}")
    yield from _other_socket(settings, path, pid, state)


def check_log(state: str) -> Check:
    """Count the errors that the daemon logged within the last day."""
    since = (datetime.now() - timedelta(days=1)).strftime("%Y-%m-%d %H:%M:%S")  # noqa: DTZ005 - as the log has it
    errors = []
    for path in log_files(log_file(state)):
        errors += [line for line in _tail_lines(path) if _ERROR.match(line) and line[:19] >= since]
    if not errors:
        return ok("log", "no errors in the log of the last day")
    text = f"{count(len(errors), 'error')} in the log of the last day, the latest: {errors[-1]}"
    return warning("log", text, "foveal logs")


_ERROR = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d+ (ERROR|CRITICAL) ")


def _silent(path: str, state: str, *, is_there: bool) -> Check:
    """Report a socket that is missing or that nobody listens on: no daemon runs, unless the lock is held."""
    if lock_holder(state):
        how = f"nobody listens on {path}" if is_there else f"its socket {path} is gone"
        return wrong("daemon", f"a daemon holds the lock in {short_path(state)}, and {how}", "foveal restart")
    if is_there:
        text = f"{path} is stale: its daemon was killed; the next start replaces it"
        return warning("socket", text, "foveal up")
    if os.path.exists(daemon_file(state)):
        text = "no daemon runs; the last one was killed, and the next start cleans up after it"
        return warning("daemon", text, "foveal up")
    return ok("daemon", "no daemon runs; any command that needs one starts it")


def _problems(status: dict[str, Any], said: tuple[str, ...]) -> Iterator[Check]:
    """Report what the daemon says is wrong with itself and its projects, except the texts in `said`."""
    for text in status["degraded"]:
        if not str(text).startswith(said):
            yield warning("daemon", str(text))
    for project in status["projects"]:
        for text in filter(None, (*project["degraded"], project.get("question"))):
            yield warning("project", f"{short_path(str(project['root']))}: {text}")


def _other_socket(settings: Settings, path: str, pid: int, state: str) -> Iterator[Check]:
    """Look whether daemon.json and the default socket belong to the daemon that answers."""
    if settings.named_socket:
        return
    info = read_daemon_info(state)
    if not is_ours(settings, pid):
        text = f"the daemon on {short_path(path)} (pid {pid}) belongs to another state folder"
        yield wrong("daemon", text, f"foveal down --socket {_quote(path)} && foveal up")
        return
    if info is None:
        text = f"daemon.json is missing or damaged, other shells may not find the daemon (pid {pid})"
        yield wrong("daemon.json", text, "foveal restart")
    elif info.pid != pid:
        text = f"daemon.json names the pid {info.pid}, but {pid} answers"
        yield wrong("daemon.json", text, "foveal down && foveal up")
    elif path != default_socket(settings.environ):
        yield ok("socket", "found by daemon.json: the daemon was started with another environment")
    if not os.path.exists(lock_file(state)):
        yield wrong("lock", "the lock's file was removed while the daemon runs", "foveal restart")


def _tail_lines(path: str) -> list[str]:
    with open(path, "rb") as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(0, end - LOG_READ_BYTES))
        return file.read().decode("utf-8", "replace").splitlines()


def _quote(path: str) -> str:
    import shlex

    return shlex.quote(path)


MIN_WATCHES = 65_536
"""Folders that may be watched, of all programs together; a large project has some 10,000 folders."""

WANTED_WATCHES = 524_288
"""What editors that watch whole trees recommend; one that is used takes 1 KB of the kernel's memory."""

MIN_OPEN_FILES = 1_024
"""A connection takes one file, an open project about ten."""

DISK_WRONG_BYTES = 50_000_000
DISK_WARNING_BYTES = 500_000_000
"""A project of 7,000 files has an index of some 30 MB."""


def check_python() -> Check:
    """Look at the interpreter's version."""
    version = ".".join(map(str, sys.version_info[:3]))
    return ok("python", f"foveal {__version__} on Python {version} ({sys.executable})")


def check_dependencies() -> Check:
    """Look for every package that foveal needs, by what is installed."""
    from importlib import metadata

    try:
        wanted = metadata.requires("foveal") or []
    except metadata.PackageNotFoundError as error:
        return warning("dependencies", f"foveal isn't installed as a package: {error}")
    versions, missing = [], []
    for requirement in sorted(one for one in wanted if "extra ==" not in one):
        name = re.split(r"[^\w.-]", requirement, maxsplit=1)[0]
        try:
            versions.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            missing.append(name)
    if missing:
        text = f"dependencies that are missing: {', '.join(missing)}"
        return wrong("dependencies", text, "install foveal anew, in a fresh virtual environment")
    return ok("dependencies", f"all {len(versions)} dependencies are installed", ", ".join(versions))


def check_git() -> Check:
    """Look for git, which gives ignore rules and history."""
    import subprocess

    git = shutil.which("git")
    if git is None:
        text = "git is missing: ignore rules are read without it, and no file counts as often changed"
        return warning("git", text, "install git")
    try:
        done = subprocess.run([git, "--version"], capture_output=True, text=True, check=True, timeout=10)  # noqa: S603 - found on the user's PATH
    except (OSError, subprocess.SubprocessError) as error:
        return wrong("git", f"{git} doesn't run: {error}", "install git anew")
    return ok("git", done.stdout.strip())


def check_open_files() -> Check:
    """Look at how many files a process may open; the daemon raises its own limit as far as it may."""
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY:
        return ok("open files", "any number of files can be open")
    if hard < MIN_OPEN_FILES:
        fix = f"raise the hard limit: ulimit -Hn {MIN_OPEN_FILES * 4}"
        return warning("open files", f"only {hard:,} files can be open at once", fix)
    return ok("open files", f"{hard:,} files can be open at once")


def check_disk(state: str) -> Check:
    """Look at the space that is left where the state lies."""
    folder = state
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    free = shutil.disk_usage(folder).free
    text = f"{size(free)} free in {short_path(folder)}"
    if free < DISK_WRONG_BYTES:
        return wrong("disk", f"only {text}", "free some space, or set FOVEAL_STATE_DIR to another disk")
    if free < DISK_WARNING_BYTES:
        return warning("disk", f"only {text}")
    return ok("disk", text)


def check_watches(status: Mapping[str, Any]) -> Iterator[Check]:
    """Compare the system's watches with what the open projects take (Linux), and look for lost ones.

    `status` is the daemon's own, empty where none answers.
    """
    unwatched = [project for project in status.get("projects", []) if project["watch"] == "polling"]
    limit = _read_number("/proc/sys/fs/inotify/max_user_watches")
    fix = f"sudo sysctl -w fs.inotify.max_user_watches={WANTED_WATCHES}" if limit < WANTED_WATCHES else ""
    for project in unwatched:
        reasons = "; ".join(project["degraded"]) or "the system gives no watches"
        text = f"{short_path(project['root'])} is polled for changes: {reasons}"
        yield warning("watches", text, fix and f"{fix} && foveal restart")
    if not limit:
        return
    used = sum(_watches_of(pid) for pid in (status.get("pid"), status.get("indexer_pid")) if pid)
    taken = f", {used:,} taken by the open projects" if status else ""
    text = f"{limit:,} folders can be watched{taken}"
    if limit < MIN_WATCHES or used > limit * 0.8:
        yield warning("watches", f"only {text}; large projects would be polled", fix)
    else:
        yield ok("watches", text)


def _watches_of(pid: int) -> int:
    """Count the inotify watches of a process, 0 where the system doesn't tell."""
    found = 0
    with contextlib.suppress(OSError):
        for name in os.listdir(f"/proc/{pid}/fdinfo"):
            # A descriptor may be closed meanwhile.
            with contextlib.suppress(OSError), open(f"/proc/{pid}/fdinfo/{name}", "rb") as file:
                found += sum(line.startswith(b"inotify ") for line in file)
    return found


def _read_number(path: str) -> int:
    try:
        with open(path, "rb") as file:
            return int(file.read())
    except (OSError, ValueError):
        return 0
