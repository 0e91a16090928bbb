"""Owns the daemon's process as seen from outside: which one it is, its end, a signal to it and no other."""

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
from types import TracebackType
from typing import Self

from ..ipc.paths import lock_file, read_daemon_info, start_lock_file

POLL_S = 0.02
"""Between two looks where the system can't wake us."""


class Process:
    """One process, held so that its id can't come to mean another: by a pidfd where the system has them."""

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
        """Wait at most so many seconds for its end; whether it came."""
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
        """Let go of the process."""
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
