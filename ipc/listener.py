"""The listening socket: its path, its owner, the identity of its peers."""

from __future__ import annotations

import os
import resource
import socket
import stat
import struct
import sys

from .paths import check_length, private_folder


class SocketInUse(Exception):
    """Another process listens on the socket. `pid` is its process id where the system tells it, else 0."""

    def __init__(self, path: str, pid: int) -> None:
        super().__init__(
            f"a daemon{f' (pid {pid})' if pid else ''} already listens on {path}; stop it with: foveal down"
        )
        self.pid = pid


def bind(path: str) -> socket.socket:
    """Return a socket bound to a path, in a private folder, created with mode 0600; `Server.start` listens on
    it.

    The caller holds the daemon's lock. A stale socket there is replaced. Raises `SocketInUse` if somebody
    listens on it (a daemon with another state folder), `PathError` for an unsafe folder or a path that is too
    long, `FileExistsError` if it is anything but a socket.
    """
    check_length(path)
    private_folder(os.path.dirname(os.path.abspath(path)))
    _remove_stale(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _bind_private(listener, path)
    except BaseException:
        listener.close()
        raise
    return listener


def path_mark(path: str) -> tuple[int, int] | None:
    """Return an identity of the file at a path, which another file in its place doesn't share; None if there
    is no file."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def remove_socket(path: str) -> None:
    """Remove the path of a socket, and nothing but a socket. The caller holds the daemon's lock."""
    try:
        if stat.S_ISSOCK(os.lstat(path).st_mode):
            os.unlink(path)
    except FileNotFoundError:
        return


def raise_file_limit() -> int:
    """Raise the limit of open files as far as the system allows, and return it: each connection takes a
    file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = hard
    if sys.platform == "darwin":
        wanted = min(hard, _MACOS_OPEN_MAX) if hard != resource.RLIM_INFINITY else _MACOS_OPEN_MAX
    if soft != wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted


def read_peer_uid(peer: socket.socket) -> int:
    """Return the user id of the process that made the connection. Raises `OSError` if it is gone."""
    return _credentials(peer)[1]


def read_peer_pid(peer: socket.socket) -> int:
    """Return the process id of the connection's peer, 0 if it is in another namespace. Raises `OSError` if it
    is gone."""
    return _credentials(peer)[0]


def connection_limit() -> int:
    """Return the maximum number of connections that leaves the daemon enough files to open."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if soft == resource.RLIM_INFINITY:
        return _CONNECTIONS_MAX
    return max(_CONNECTIONS_MIN, min(soft - _FILES_RESERVED, _CONNECTIONS_MAX))


_CONNECTIONS_MAX = 10_000
_CONNECTIONS_MIN = 64
_FILES_RESERVED = 256
"""Number of open files reserved for other uses: a project with its indexes takes some twenty, a build ten."""

_MACOS_OPEN_MAX = 10240
"""macOS's OPEN_MAX: a higher soft limit is refused, whatever the hard limit (setrlimit(2))."""

_MACOS_SOL_LOCAL = 0
_MACOS_LOCAL_PEERCRED = 1
_MACOS_LOCAL_PEERPID = 2
_MACOS_XUCRED_BYTES = 76
"""Bytes of struct xucred of sys/ucred.h: a version, the uid, a count and 16 groups."""


def _credentials(peer: socket.socket) -> tuple[int, int]:
    """Return pid and uid of a socket's peer."""
    if sys.platform == "darwin":
        credentials = peer.getsockopt(_MACOS_SOL_LOCAL, _MACOS_LOCAL_PEERCRED, _MACOS_XUCRED_BYTES)
        pid = peer.getsockopt(_MACOS_SOL_LOCAL, _MACOS_LOCAL_PEERPID)
        return pid, struct.unpack_from("II", credentials)[1]
    credentials = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("iII"))
    pid, uid, _ = struct.unpack("iII", credentials)
    return pid, uid


def _bind_private(listener: socket.socket, path: str) -> None:
    """Bind a socket that only its owner may connect to, from its creation on."""
    if sys.platform == "linux":
        # The path gets the socket's own mode. A umask is shared by all threads: a folder that another thread
        # creates at that moment couldn't be entered.
        os.fchmod(listener.fileno(), 0o600)
        listener.bind(path)
        return
    mask = os.umask(0o177)
    try:
        listener.bind(path)
    finally:
        os.umask(mask)


def _remove_stale(path: str) -> None:
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(status.st_mode):
        raise FileExistsError(f"{path} is there and is no socket; move it away, or choose another --socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(path)
        except BlockingIOError:
            raise SocketInUse(path, 0) from None  # it listens, and its queue is full
        except ConnectionRefusedError:
            os.unlink(path)
            return
        raise SocketInUse(path, _credentials(probe)[0])
