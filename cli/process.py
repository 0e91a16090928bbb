"""Starting, finding and stopping the daemon's process."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import time
from dataclasses import dataclass

from ..ipc.client import Client, ensure_daemon, lock_holder
from ..ipc.errors import RpcError
from ..ipc.listener import read_peer_pid
from ..ipc.paths import check_socket, find_socket, read_daemon_info, state_folder
from .connection import START_TIMEOUT_S, try_connect
from .errors import CliError
from .settings import Settings

POLL_S = 0.02
"""Seconds between two checks where the system has no notification."""

STOP_TIMEOUT_S = 15.0
"""Seconds for a shutdown; the daemon's own deadlines are 5 s for requests and 5 s for its indexer."""

SIGNAL_TIMEOUT_S = 5.0
"""Seconds for the daemon to end after SIGTERM."""

PING_TIMEOUT_S = 2.0
SETTLE_S = 2.0
"""Maximum seconds in which a starting or stopping daemon holds the lock without a socket."""


@dataclass(frozen=True, slots=True)
class RunningDaemon:
    """A daemon that answers: its connection, socket, process id and version."""

    client: Client
    socket: str
    pid: int
    version: str


class OtherDaemon(CliError):
    """The daemon on the default socket serves another state folder, so it isn't stopped."""


def is_ours(settings: Settings, pid: int) -> bool:
    """Whether a daemon serves this state folder: homes without XDG_RUNTIME_DIR share the default socket."""
    state = state_folder(settings.environ)
    info = read_daemon_info(state)
    return pid == lock_holder(state) or (info is not None and info.pid == pid)


def find_daemon(settings: Settings) -> RunningDaemon | None:
    """Connect to the daemon that runs and ask who it is; None where none runs.

    Raises `RpcError` with the code `timeout` for one that doesn't answer.
    """
    if (client := try_connect(settings)) is None:
        return None
    return _identified(client, find_socket(settings.socket, settings.environ).path)


def start_daemon(settings: Settings, at: str | None = None) -> RunningDaemon:
    """Start a daemon where none runs, on the socket `at` if one is given, and connect to it.

    Raises `DaemonUnavailable`, `PathError`, and `CliError` if another daemon serves the state folder already.
    """
    path = at or settings.named_socket
    if path is None:
        client = ensure_daemon(None, settings.environ, START_TIMEOUT_S)
        return _identified(client, find_socket(None, settings.environ).path)
    environ = {name: value for name, value in settings.environ.items() if name != "FOVEAL_SOCKET"}
    command = [sys.executable, "-m", "foveal", "--socket", path, "up", "--foreground"]
    client = ensure_daemon(None, environ, START_TIMEOUT_S, command)
    daemon = _identified(client, find_socket(None, environ).path)
    if daemon.socket != path:
        client.close()
        raise CliError(
            f"a daemon (pid {daemon.pid}) runs already, on {daemon.socket}",
            "one daemon is enough: foveal status",
        )
    return daemon


def stop_daemon(settings: Settings, timeout_s: float) -> int | None:
    """Stop the daemon and wait for its end; returns its pid, or None where none runs.

    It is asked first and gets SIGTERM after `timeout_s`. Raises `CliError` with its pid if it stays,
    `OtherDaemon` if no socket was named and it serves another state folder.
    """
    path = find_socket(settings.socket, settings.environ).path
    settled = time.monotonic() + SETTLE_S
    while (connection := _connect(path)) is None:
        holder = 0 if settings.named_socket else lock_holder(state_folder(settings.environ))
        if not holder:
            return None
        if time.monotonic() > settled:  # its socket was removed, or it hangs
            _check_ours(holder)
            _wait_ended(holder, 0)
            return holder
        time.sleep(POLL_S)
        path = find_socket(None, settings.environ).path
    pid = read_peer_pid(connection)
    if pid and not settings.named_socket and not is_ours(settings, pid):
        connection.close()
        raise OtherDaemon(
            f"the daemon on {path} (pid {pid}) belongs to another state folder; left alone",
            f"to stop it all the same: foveal down --socket {path}",
        )
    deadline = time.monotonic() + timeout_s
    with Client(connection) as client:
        try:
            client.call("Shutdown", timeout=timeout_s)
        except ConnectionError:
            pass  # it was stopping already
        except RpcError as error:
            if not pid:
                raise CliError(f"the daemon on {path} doesn't stop: {error.message}") from error
    if pid:  # a process that can't be seen from here has none
        _wait_ended(pid, deadline - time.monotonic())
    return pid


def _check_ours(holder: int) -> None:
    """Raise `CliError` if the number is another program's here: a container's daemon may share the folder."""
    try:
        with open(f"/proc/{holder}/cmdline", "rb") as file:
            command = file.read()
    except OSError:  # gone, or a system without /proc
        return
    if b"foveal" not in command:
        raise CliError(
            f"the daemon of this state folder isn't seen from here (its process id there: {holder})",
            "stop it where it runs, such as in its container",
        )


def _identified(client: Client, path: str) -> RunningDaemon:
    try:
        reply = client.call("Ping", timeout=PING_TIMEOUT_S)
    except BaseException:
        client.close()
        raise
    return RunningDaemon(client, path, reply["pid"], reply["version"])


def _connect(path: str) -> socket.socket | None:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(PING_TIMEOUT_S)
    try:
        check_socket(path)
        connection.connect(path)
    except BaseException as error:
        connection.close()
        if isinstance(error, FileNotFoundError | ConnectionRefusedError):
            return None
        raise
    return connection


def _wait_ended(pid: int, wait_s: float) -> None:
    """Wait for the end of a daemon, which gets SIGTERM when the time is up. Raises `CliError` if it stays."""
    if _has_ended(pid, wait_s):
        return
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    if not _has_ended(pid, SIGNAL_TIMEOUT_S):
        raise CliError(f"the daemon (pid {pid}) didn't stop, not even after SIGTERM", f"kill -9 {pid}")


def _has_ended(pid: int, wait_s: float) -> bool:
    """Wait at most `wait_s` seconds for the end of a process; return whether it ended."""
    deadline = time.monotonic() + wait_s
    while not _is_gone(pid):
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_S)
    return True


def _is_gone(pid: int) -> bool:
    """Whether a process has ended; on Linux also if nobody has asked for its exit code yet."""
    try:
        os.kill(pid, 0)
        with open(f"/proc/{pid}/stat", "rb") as file:
            return b") Z " in file.read()
    except ProcessLookupError:
        return True
    except OSError:
        return False
