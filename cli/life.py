"""Owns starting and stopping the daemon: it is asked first, and a signal goes to nobody else."""

from __future__ import annotations

import os
import socket
import sys
import time
from dataclasses import dataclass

from ..ipc.client import Client, ensure_daemon
from ..ipc.errors import RpcError
from ..ipc.paths import check_socket, find_socket, state_folder
from .command import Settings
from .connect import START_TIMEOUT_S
from .errors import CliError
from .process import POLL_S, Process, lock_holder, lock_is_held, peer_pid

STOP_TIMEOUT_S = 15.0
"""The daemon's own deadline for a shutdown is 5 s, once for its requests and once for its indexer."""

SIGNAL_TIMEOUT_S = 5.0
"""How long a daemon that did not stop when it was asked may take after a SIGTERM."""

PING_TIMEOUT_S = 2.0
SETTLE_S = 2.0
"""A daemon that holds the lock without a socket is starting or stopping; both take less than this."""


@dataclass(frozen=True, slots=True)
class RunningDaemon:
    """A daemon that answers: its connection, its process and what it says of itself."""

    client: Client
    socket: str
    pid: int
    version: str


def find_daemon(settings: Settings) -> RunningDaemon | None:
    """Connect to the daemon that runs and ask who it is; None where none runs.

    Raises `RpcError` with the code `timeout` for one that doesn't answer.
    """
    path = find_socket(settings.socket, settings.environ).path
    try:
        client = Client.connect(path)
    except (FileNotFoundError, ConnectionRefusedError):
        return None
    return _identified(client, path)


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

    It is asked first and gets SIGTERM after `timeout_s`. Raises `CliError` with its pid if it stays.
    """
    path = find_socket(settings.socket, settings.environ).path
    settled = time.monotonic() + SETTLE_S
    while True:
        connection = _connect(path)
        if connection is not None:
            return _stop_listening(connection, path, timeout_s)
        if settings.named_socket or not _holds_lock(settings):
            return None
        if time.monotonic() > settled:
            return _stop_unreachable(settings)
        time.sleep(POLL_S)
        path = find_socket(None, settings.environ).path


def _identified(client: Client, path: str) -> RunningDaemon:
    try:
        reply = client.call("Ping", timeout=PING_TIMEOUT_S)
    except BaseException:
        client.close()
        raise
    return RunningDaemon(client, path, reply["pid"], reply["version"])


def _connect(path: str) -> socket.socket | None:
    try:
        check_socket(path)
    except FileNotFoundError:
        return None
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(PING_TIMEOUT_S)
    try:
        connection.connect(path)
    except (FileNotFoundError, ConnectionRefusedError):
        connection.close()
        return None
    except BaseException:
        connection.close()
        raise
    return connection


def _stop_listening(connection: socket.socket, path: str, timeout_s: float) -> int:
    """Stop the daemon at the other end, whose process the kernel names."""
    pid = peer_pid(connection)
    client = Client(connection)
    try:
        process = Process(pid) if pid else None
    except ProcessLookupError:
        client.close()
        return pid
    deadline = time.monotonic() + timeout_s
    with client:
        try:
            client.call("Shutdown", timeout=timeout_s)
        except ConnectionError:
            pass  # it was stopping already
        except RpcError as error:
            if process is None:
                raise CliError(f"the daemon on {path} doesn't stop: {error.message}") from error
    if process is None:
        _wait_socket_gone(path, deadline)
        return 0
    with process:
        _wait_ended(process, deadline)
    return pid


def _stop_unreachable(settings: Settings) -> int:
    """Stop the daemon that holds the lock and listens nowhere: its socket was removed, or it hangs."""
    state = state_folder(settings.environ)
    process = lock_holder(state)
    if process is None:
        if not lock_is_held(state):
            return 0
        raise CliError(
            f"a process holds the lock in {state}, doesn't listen, and can't be proven to be the daemon",
            f"find it with: fuser {os.path.join(state, 'lock')}",
        )
    with process:
        _wait_ended(process, time.monotonic())
        return process.pid


def _wait_ended(process: Process, deadline: float) -> None:
    if process.has_ended(max(deadline - time.monotonic(), 0)):
        return
    process.terminate()
    if not process.has_ended(SIGNAL_TIMEOUT_S):
        raise CliError(
            f"the daemon (pid {process.pid}) didn't stop, not even after SIGTERM", f"kill -9 {process.pid}"
        )


def _wait_socket_gone(path: str, deadline: float) -> None:
    while os.path.lexists(path):
        if time.monotonic() > deadline:
            raise CliError(f"the daemon on {path} didn't stop, and its process can't be seen from here")
        time.sleep(POLL_S)


def _holds_lock(settings: Settings) -> bool:
    return lock_is_held(state_folder(settings.environ))
