"""Starting, finding and stopping the daemon's process; a signal goes to no other process."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import socket
import struct
import sys
import time
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from ..ipc.client import Client, ensure_daemon
from ..ipc.errors import RpcError
from ..ipc.paths import check_socket, find_socket, lock_file, read_daemon_info, start_lock_file, state_folder
from .connection import START_TIMEOUT_S
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
        if settings.named_socket or not lock_is_held(state_folder(settings.environ)):
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
            f"a process holds the lock in {state} but doesn't listen, and may not be the daemon",
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


class Process:
    """A process, held by a pidfd where the system has them, so that its id can't be reused."""

    def __init__(self, pid: int) -> None:
        """Hold a running process. Raises `ProcessLookupError` for one that is gone."""
        self.pid = pid
        self._descriptor: int | None = None
        if hasattr(os, "pidfd_open"):
            # Kernels before 5.3 and some sandboxes refuse; there the id has to do.
            with contextlib.suppress(OSError):
                self._descriptor = os.pidfd_open(pid)
        if self._descriptor is None:
            os.kill(pid, 0)

    def has_ended(self, wait_s: float) -> bool:
        """Wait at most `wait_s` seconds for its end; return whether it ended."""
        if self._descriptor is not None:
            poll = select.poll()
            poll.register(self._descriptor, select.POLLIN)
            return bool(poll.poll(wait_s * 1000))
        deadline = time.monotonic() + wait_s
        while _exists(self.pid):
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(POLL_S, left))
        return True

    def terminate(self) -> None:
        """Send SIGTERM; nothing happens if it has ended meanwhile."""
        with contextlib.suppress(ProcessLookupError):
            if self._descriptor is not None and hasattr(signal, "pidfd_send_signal"):
                signal.pidfd_send_signal(self._descriptor, signal.SIGTERM)
            else:
                os.kill(self.pid, signal.SIGTERM)

    def close(self) -> None:
        """Release the process."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def peer_pid(connection: socket.socket) -> int:
    """Return the id of the process that listens at the other end, 0 where the system doesn't tell."""
    if sys.platform == "darwin":
        return int(connection.getsockopt(_MACOS_SOL_LOCAL, _MACOS_LOCAL_PEERPID))
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("iII"))
    return int(struct.unpack("iII", credentials)[0])


def lock_is_held(state: str) -> bool:
    """Whether a daemon holds the lock of a state folder, or one is just being started there.

    The lock can only be examined by taking it, which would turn away a daemon that starts in that moment;
    so the clients' start lock is taken first.
    """
    with contextlib.ExitStack() as stack:
        try:
            stack.callback(os.close, _lock(start_lock_file(state)))
        except FileNotFoundError:
            pass  # no client has ever started a daemon here
        except BlockingIOError:
            return True
        return _is_locked(lock_file(state))


def lock_holder(state: str) -> Process | None:
    """Return the daemon that holds the lock; None where that can't be proven.

    The lock names a pid, but after a crash that is the pid of a process that is gone, or of another one by
    now. On Linux the process must have the lock's file open, elsewhere daemon.json must name it too.
    """
    pid = _pid_in_lock(state)
    if not pid:
        return None
    try:
        process = Process(pid)
    except (ProcessLookupError, PermissionError):
        return None
    if _has_lock_open(pid, state) and _is_locked(lock_file(state)) and _pid_in_lock(state) == pid:
        return process
    process.close()
    return None


_PID_MAX = 2**31 - 1
_MACOS_SOL_LOCAL = 0
_MACOS_LOCAL_PEERPID = 2


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _lock(path: str) -> int:
    """Return a descriptor that holds a file's lock. Raises `BlockingIOError` where another holds it."""
    descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _is_locked(path: str) -> bool:
    try:
        os.close(_lock(path))
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def _pid_in_lock(state: str) -> int:
    """Return the pid that the lock's file names, 0 where it names none."""
    try:
        with open(lock_file(state), "rb") as file:
            pid = int(file.read(32))
    except (FileNotFoundError, ValueError):
        return 0
    return pid if 0 < pid <= _PID_MAX else 0  # a negative one would mean a group of processes


def _has_lock_open(pid: int, state: str) -> bool:
    if not sys.platform.startswith("linux"):
        info = read_daemon_info(state)
        return info is not None and info.pid == pid
    wanted = os.stat(lock_file(state))
    folder = f"/proc/{pid}/fd"
    try:
        names = os.listdir(folder)
    except OSError:
        return False
    for name in names:
        with contextlib.suppress(OSError):  # closed meanwhile
            if os.path.samestat(os.stat(f"{folder}/{name}"), wanted):
                return True
    return False
