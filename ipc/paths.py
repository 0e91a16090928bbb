"""The paths of socket, lock, daemon.json, log and config, and their permissions; imports only the stdlib.

`environ` is passed in, never read here.
"""

from __future__ import annotations

import os
import stat
import sys

from .record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping
    from typing import Any, Final

SOCKET_NAME: Final = "foveal.sock"
HTTP_SOCKET_NAME: Final = "foveal-http.sock"

MAX_SOCKET_BYTES: Final = 100
"""Maximum bytes of a socket's path: it fits into 108 bytes on Linux and 104 on macOS, with the final zero;
100 suits both."""

MAX_INFO_BYTES: Final = 64 * 1024
"""Maximum bytes of daemon.json; it takes about 300."""


class PathError(Exception):
    """A path that can't be used. The message says why and gives the command that repairs it."""


class NotASocket(PathError):
    """Something other than a socket is in the socket's place."""


class SocketChoice(Record):
    """The socket to connect to. `explicit`: the user named it, so no daemon is started for it."""

    __slots__ = ("explicit", "path")

    def __init__(self, path: str, explicit: bool) -> None:
        self.path = path
        self.explicit = explicit


class DaemonInfo(Record):
    """The content of daemon.json: the running daemon, or the last one if it was killed.

    `start_time` is ISO 8601 UTC, `version` foveal's, `protocol` the wire's; the sockets are paths.
    """

    __slots__ = ("http_socket", "pid", "protocol", "socket", "start_time", "version")

    def __init__(
        self, pid: int, start_time: str, socket: str, http_socket: str, version: str, protocol: int
    ) -> None:
        self.pid = pid
        self.start_time = start_time
        self.socket = socket
        self.http_socket = http_socket
        self.version = version
        self.protocol = protocol


def find_socket(explicit: str | None, environ: Mapping[str, str]) -> SocketChoice:
    """Return the socket for a client: the explicit one, else the running daemon's, else the default.

    daemon.json comes before the default, so that shells with and without XDG_RUNTIME_DIR find the same
    daemon; it counts only while its socket exists. Raises `PathError` for an explicit path that is too long.
    """
    named = explicit or environ.get("FOVEAL_SOCKET")
    if named:
        return SocketChoice(check_length(os.path.abspath(named)), explicit=True)
    info = read_daemon_info(state_folder(environ))
    if info is not None and os.path.lexists(info.socket):
        return SocketChoice(info.socket, explicit=False)
    return SocketChoice(default_socket(environ), explicit=False)


def daemon_socket(explicit: str | None, environ: Mapping[str, str]) -> str:
    """Return the socket for a daemon to listen on: the explicit one, else the default."""
    named = explicit or environ.get("FOVEAL_SOCKET")
    return check_length(os.path.abspath(named)) if named else default_socket(environ)


def default_socket(environ: Mapping[str, str]) -> str:
    """Return `$XDG_RUNTIME_DIR/foveal/foveal.sock`, else the socket in a private folder in the temporary
    folder.

    XDG_RUNTIME_DIR counts only as the specification requires, absolute and the user's own: after `su` it is
    often another user's. A folder too deep for a socket's path is skipped.
    """
    runtime = environ.get("XDG_RUNTIME_DIR", "")
    if _is_own_folder(runtime) and _fits(os.path.join(runtime, "foveal")):
        return os.path.join(runtime, "foveal", SOCKET_NAME)
    private = f"foveal-{os.geteuid()}"
    temporary = environ.get("TMPDIR", "")
    if os.path.isabs(temporary) and os.path.isdir(temporary) and _fits(os.path.join(temporary, private)):
        return os.path.join(temporary, private, SOCKET_NAME)
    return os.path.join("/tmp", private, SOCKET_NAME)  # noqa: S108 - private_folder refuses a squatter's


def http_socket(socket: str) -> str:
    """Return the HTTP socket next to a socket. Raises `PathError` if its path is too long."""
    return check_length(os.path.join(os.path.dirname(socket), HTTP_SOCKET_NAME))


def check_length(socket: str) -> str:
    """Return a socket's path, or raise `PathError` if the system can't bind it."""
    size = len(os.fsencode(socket))
    if size > MAX_SOCKET_BYTES:
        raise PathError(
            f"the socket path {socket} takes {size} bytes, and a socket's path may take {MAX_SOCKET_BYTES}; "
            "give a shorter one with --socket or FOVEAL_SOCKET"
        )
    return socket


def state_folder(environ: Mapping[str, str]) -> str:
    """Return `$FOVEAL_STATE_DIR`, else the user's state folder as platformdirs gives it."""
    own = environ.get("FOVEAL_STATE_DIR")
    return os.path.abspath(own) if own else _user_folder(environ, "XDG_STATE_HOME", ".local/state")


def keep_temporary_files(environ: MutableMapping[str, str]) -> None:
    """Let SQLite write what it sorts or rewrites into the state folder, in this process and its children;
    else texts of projects would lie in /var/tmp. SQLite reads it once, when it is imported."""
    try:
        environ["SQLITE_TMPDIR"] = state_folder(environ)
    except PathError:
        return  # there is no state folder: the daemon won't start, and says why


def config_folder(environ: Mapping[str, str]) -> str:
    """Return `$FOVEAL_CONFIG_DIR`, else the user's config folder as platformdirs gives it."""
    own = environ.get("FOVEAL_CONFIG_DIR")
    return os.path.abspath(own) if own else _user_folder(environ, "XDG_CONFIG_HOME", ".config")


GRAMMARS = "grammars"
"""The folder of unpacked grammars in the cache folder."""


def cache_folder(environ: Mapping[str, str]) -> str:
    """Return the user's folder for what can be made again at any time."""
    default = "Library/Caches" if sys.platform == "darwin" else ".cache"
    return _user_folder(environ, "XDG_CACHE_HOME", default)


def lock_file(state: str) -> str:
    """Return the file whose flock means that a daemon runs. It is never removed."""
    return os.path.join(state, "lock")


def start_lock_file(state: str) -> str:
    """Return the file whose flock a client holds while it starts a daemon. It is never removed."""
    return os.path.join(state, "start.lock")


def daemon_file(state: str) -> str:
    """Return the path of daemon.json."""
    return os.path.join(state, "daemon.json")


def log_file(state: str) -> str:
    """Return the path of the daemon's log."""
    return os.path.join(state, "foveal.log")


def config_file(config: str) -> str:
    """Return the path of the user's config.toml."""
    return os.path.join(config, "config.toml")


def private_folder(path: str) -> str:
    """Return a folder that only the user can enter: created with mode 0700, or an existing one.

    Raises `PathError` if the path is a symlink, not a folder, another user's, or open to others. Missing
    parents get mode 0700 too, as the XDG specification asks.
    """
    parent = os.path.dirname(path)
    if parent and not os.path.isdir(parent):
        private_folder(parent)
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        pass  # an existing folder is checked below, like a new one
    except OSError as error:
        raise PathError(f"the folder {path} can't be made: {error.strerror}") from error
    _check_folder(path)
    return path


def check_socket(path: str) -> None:
    """Check that a socket and its folder belong to the user alone, before anything is sent to its listener.

    Raises `FileNotFoundError` if there is none, `PathError` if another user could have created it or could
    use it.
    """
    check_length(path)
    status = os.lstat(path)
    _check_folder(os.path.dirname(path) or ".")
    if not stat.S_ISSOCK(status.st_mode):
        raise NotASocket(
            f"{path} is not a socket; choose another with --socket, or remove it: rm {_quote(path)}"
        )
    _check_owner(path, status)
    if status.st_mode & 0o077:
        raise PathError(f"{path} can be used by other users; mend it with: chmod 600 {_quote(path)}")


def read_daemon_info(state: str) -> DaemonInfo | None:
    """Return the content of daemon.json; None if it is missing, damaged, or not the user's own file."""
    from json import loads  # takes half as long as a hook's other imports; not needed for an explicit socket

    try:
        descriptor = os.open(daemon_file(state), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        own_file = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
        body = os.read(descriptor, MAX_INFO_BYTES) if own_file else b""
    finally:
        os.close(descriptor)
    try:
        return _to_info(loads(body))
    except (ValueError, RecursionError):
        return None


def write_daemon_info(state: str, info: DaemonInfo) -> None:
    """Replace daemon.json, created with mode 0600. The caller holds the daemon's lock. Raises `OSError`."""
    from json import dumps

    path = daemon_file(state)
    temporary = f"{path}.tmp"
    body = dumps({name: getattr(info, name) for name in DaemonInfo.__slots__}, indent=2).encode() + b"\n"
    if os.path.lexists(temporary):
        os.unlink(temporary)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with open(descriptor, "wb") as file:
        file.write(body)
        file.flush()
        os.fsync(descriptor)
    os.replace(temporary, path)


def remove_daemon_info(state: str) -> None:
    """Remove daemon.json if it exists. The caller holds the daemon's lock."""
    try:
        os.unlink(daemon_file(state))
    except FileNotFoundError:
        return


def _to_info(body: Any) -> DaemonInfo | None:
    if not isinstance(body, dict):
        return None
    fields: dict[str, Any] = {name: body.get(name) for name in DaemonInfo.__slots__}
    numbers = {"pid", "protocol"}
    if any(type(value) is not (int if name in numbers else str) for name, value in fields.items()):
        return None
    info = DaemonInfo(**fields)
    return info if info.pid > 0 and os.path.isabs(info.socket) and "\0" not in info.socket else None


def _user_folder(environ: Mapping[str, str], variable: str, default: str) -> str:
    base = environ.get(variable, "")
    if os.path.isabs(base):
        return os.path.join(base, "foveal")
    if sys.platform == "darwin" and not default.startswith("Library/"):
        default = "Library/Application Support"
    return os.path.join(_home(environ), default, "foveal")


def _home(environ: Mapping[str, str]) -> str:
    home = environ.get("HOME", "")
    if not os.path.isabs(home):
        import pwd

        try:
            home = pwd.getpwuid(os.getuid()).pw_dir
        except KeyError:
            home = ""
    if not os.path.isabs(home):
        raise PathError("the home folder is unknown; set HOME to an absolute path")
    return home.rstrip("/") or "/"


def _fits(folder: str) -> bool:
    return len(os.fsencode(os.path.join(folder, HTTP_SOCKET_NAME))) <= MAX_SOCKET_BYTES


def _is_own_folder(path: str) -> bool:
    if not os.path.isabs(path):
        return False
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()


def _check_folder(path: str) -> None:
    status = os.lstat(path)
    if not stat.S_ISDIR(status.st_mode):
        kind = "a symlink" if stat.S_ISLNK(status.st_mode) else "no folder"
        raise PathError(f"{path} is {kind} where a private folder must be; remove it with: rm {_quote(path)}")
    _check_owner(path, status)
    if status.st_mode & 0o077:
        raise PathError(f"the folder {path} is open to other users; mend it with: chmod 700 {_quote(path)}")


def _check_owner(path: str, status: os.stat_result) -> None:
    if status.st_uid != os.geteuid():
        raise PathError(
            f"{path} belongs to the user id {status.st_uid}, not to you ({os.geteuid()}); "
            "have its owner remove it, or choose another place with FOVEAL_SOCKET or FOVEAL_STATE_DIR"
        )


def _quote(path: str) -> str:
    import shlex  # imports re: only for a message

    return shlex.quote(path)
