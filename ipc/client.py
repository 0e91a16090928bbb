"""The blocking client, and the start of a daemon if none runs; imports only stdlib and this folder.

A hook pays for every import here, so there is no asyncio, and subprocess is imported when a daemon is
started.
"""

from __future__ import annotations

import os
import socket
import time
from collections import deque
from errno import EACCES, EISDIR, ELOOP, ENXIO

from .errors import TIMEOUT, DaemonUnavailable, RpcError
from .paths import (
    NotASocket,
    check_socket,
    find_socket,
    lock_file,
    log_file,
    private_folder,
    read_daemon_info,
    start_lock_file,
    state_folder,
)
from .protocol import (
    PROTOCOL_VERSION,
    Decoder,
    Notification,
    Response,
    encode_request,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from subprocess import Popen
    from types import TracebackType
    from typing import Any, Final, Self

    from .protocol import Message

READ_BYTES: Final = 64 * 1024
"""Maximum bytes of a read: a usual reply of 30 KB at once, and below malloc's threshold for mmap."""

KEPT_EVENTS: Final = 1000
"""Maximum events buffered for `events` during a `call`; then the oldest are dropped and counted."""

MAX_MSGID: Final = 2**32 - 1
"""Maximum msgid, after which msgids start again: MessagePack-RPC gives them 32 bits."""


class EventBuffer:
    """The events that nobody read yet: at most `KEPT_EVENTS`, of which the oldest are dropped and counted."""

    def __init__(self) -> None:
        self._events: deque[dict[str, Any]] = deque()
        self._lost = 0

    def put(self, message: Message) -> bool:
        """Add a message if it is an event; return whether it is one."""
        if not isinstance(message, Notification) or message.method != "event":
            return False
        if len(self._events) == KEPT_EVENTS:
            self._events.popleft()
            self._lost += 1
        self._events.append(message.params)
        return True

    def take(self) -> dict[str, Any] | None:
        """Return the oldest event, None for none. Dropped events are announced as the daemon announces those
        that it dropped: `{"topic": "lost", "data": {"count": n}}`."""
        if self._lost:
            count, self._lost = self._lost, 0
            return {"topic": "lost", "data": {"count": count}}
        return self._events.popleft() if self._events else None


class Client:
    """A connection to the daemon, for one thread. Times are in seconds; None waits for ever.

    A connection that broke, or whose request couldn't be sent completely, is closed: later calls raise
    `ConnectionError`.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._socket: socket.socket | None = connection
        self._decoder = Decoder()
        self._msgid = 0
        self._events = EventBuffer()

    @classmethod
    def connect(cls, path: str, timeout: float | None = 5.0) -> Client:
        """Connect to a socket after checking that it and its folder belong to the user alone.

        Raises `FileNotFoundError` or `ConnectionRefusedError` if no daemon listens, `TimeoutError` if it
        doesn't accept in time, `PathError` if another user could be listening.
        """
        check_socket(path)
        deadline = _deadline(timeout)
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            _connect(connection, path, deadline)
        except BaseException:
            connection.close()
            raise
        return cls(connection)

    def call(self, method: str, params: Mapping[str, Any] | None = None, timeout: float | None = None) -> Any:
        """Send a request and return its result.

        Raises `RpcError` for an error reply, and with the code `timeout` if no reply came in time (the
        connection stays usable: a late reply is dropped); `ConnectionError` if the daemon is gone;
        `ProtocolError` if the peer isn't a daemon.
        """
        deadline = _deadline(timeout)
        self._msgid = msgid = self._msgid % MAX_MSGID + 1
        self._send(encode_request(msgid, method, params), deadline)
        try:
            while True:
                message = self._receive(deadline)
                if isinstance(message, Response) and message.msgid == msgid:
                    break
                self._events.put(message)
        except TimeoutError as error:
            raise RpcError(TIMEOUT, f"the daemon didn't answer {method} within {timeout} s") from error
        if message.error is not None:
            raise RpcError.from_map(message.error)
        return message.result

    def events(self, timeout: float | None = None) -> Iterator[dict[str, Any]]:
        """Yield the events after a Subscribe, until the daemon closes the connection.

        Raises `TimeoutError` if no event comes for `timeout` seconds.
        """
        while True:
            while (event := self._events.take()) is not None:
                yield event
            try:
                self._events.put(self._receive(_deadline(timeout)))
            except ConnectionError:
                return

    def close(self) -> None:
        """Close the connection; closing twice does nothing."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _send(self, frame: bytes, deadline: float | None) -> None:
        connection = self._connection()
        try:
            connection.settimeout(_remaining(deadline))
            connection.sendall(frame)
        except TimeoutError as error:
            self.close()  # half a frame may have been sent
            raise RpcError(TIMEOUT, "the daemon didn't read the request in time") from error
        except BaseException:
            self.close()
            raise

    def _receive(self, deadline: float | None) -> Message:
        connection = self._connection()
        while True:
            try:
                message = self._decoder.next_message()
                if message is not None:
                    return message
                connection.settimeout(_remaining(deadline))
                data = connection.recv(READ_BYTES)
                if not data:
                    raise ConnectionResetError("the daemon closed the connection")
            except TimeoutError:
                raise
            except Exception:
                self.close()
                raise
            self._decoder.feed(data)

    def _connection(self) -> socket.socket:
        if self._socket is None:
            raise ConnectionResetError("the connection to the daemon is closed")
        return self._socket


def ensure_daemon(
    explicit: str | None,
    environ: Mapping[str, str],
    timeout: float = 10.0,
    command: Sequence[str] | None = None,
) -> Client:
    """Connect to the user's daemon, starting it if none runs; wait for it at most `timeout` seconds.

    Of several concurrent callers, one starts it under `start.lock` and the others wait. `explicit` is a
    socket that the user named: for it (or `$FOVEAL_SOCKET`) no daemon is started. `command` starts a daemon
    in the foreground, by default `foveal up --foreground`. With a timeout of 0 it is started without waiting.
    Raises `DaemonUnavailable` with the reason and the end of the log, or `PathError`.
    """
    deadline = time.monotonic() + timeout
    client = _try_connect(explicit, environ, deadline)
    if client is not None:
        return client
    found = find_socket(explicit, environ)
    if found.explicit:
        first = "foveal down && " if lock_holder(state_folder(environ)) else ""
        raise DaemonUnavailable(
            f"no daemon listens on {found.path}; start one there: {first}foveal up --socket {found.path}"
        )
    return _start_or_wait(environ, deadline, command or _default_command())


def daemon_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for a daemon: its first client's, without project-specific variables.

    A daemon serves every project of the user; variables that git hooks, virtual environments and agents set
    for a project must not reach the others.
    """
    return {
        name: value
        for name, value in environ.items()
        if name not in _PROJECT_VARIABLES and not name.startswith(_PROJECT_PREFIXES)
    }


_PROJECT_VARIABLES: Final = frozenset(
    ("PWD", "OLDPWD", "INIT_CWD", "VIRTUAL_ENV", "VIRTUAL_ENV_PROMPT", "CLAUDE_PROJECT_DIR")
)
_PROJECT_PREFIXES: Final = ("GIT_", "DIRENV_", "npm_")

_FIRST_PAUSE_S: Final = 0.005
_LAST_PAUSE_S: Final = 0.02
"""Maximum seconds between two checks for the daemon's socket, after growing by half each time: a start takes
from 200 ms to seconds, a check 0.02 ms of CPU time."""

_CONNECT_S: Final = 0.1
"""Minimum seconds for a listening daemon to accept, even if less of the timeout is left."""

_LOG_TAIL_BYTES: Final = 2000


def _start_or_wait(environ: Mapping[str, str], deadline: float, command: Sequence[str]) -> Client:
    state = private_folder(state_folder(environ))
    log = log_file(state)
    lock = _open_lock(start_lock_file(state))
    child: Popen[bytes] | None = None
    log_start, pause = 0, _FIRST_PAUSE_S
    try:
        while True:
            holder = lock_holder(state)
            won = child is None and not holder and _try_lock(lock)
            client = _try_connect(
                None, environ, deadline
            )  # after the lock: its last holder may have succeeded
            if client is not None:
                return client
            if won:
                child, log_start = _spawn(command, environ, log)
            elif child is not None and child.poll() is not None and not _other_daemon(state, child.pid):
                raise DaemonUnavailable(
                    f"the daemon ended with status {child.returncode} as soon as it was started; "
                    f"try: foveal doctor{_tail(log, log_start)}"
                )
            left = deadline - time.monotonic()
            if left <= 0 and holder and child is None:
                path = find_socket(None, environ).path
                raise DaemonUnavailable(
                    f"a daemon (pid {holder}) runs and doesn't listen on {path}; it binds a socket that was "
                    "removed again within seconds: try again, or: foveal restart; "
                    f"log: {log}"
                )
            if left <= 0:
                raise DaemonUnavailable(
                    f"the daemon was started and doesn't answer yet; try again, or: foveal doctor; log: {log}"
                )
            time.sleep(min(pause, left))
            pause = min(pause * 1.5, _LAST_PAUSE_S)
    finally:
        os.close(lock)
        if child is not None and child.returncode is None:
            _disown(child)


def _spawn(command: Sequence[str], environ: Mapping[str, str], log: str) -> tuple[Popen[bytes], int]:
    """Start a daemon; return its process and the previous length of the log."""
    from subprocess import DEVNULL, Popen

    try:
        # Without O_NONBLOCK a pipe in its place would block for ever.
        output = os.open(
            log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600
        )
    except OSError:
        output = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)  # the daemon quarantines whatever is there
    try:
        child = Popen(  # noqa: S603 - the caller's command or our own, without a shell
            command,
            stdin=DEVNULL,
            stdout=output,
            stderr=output,
            cwd="/",
            env=daemon_environment(environ),
            close_fds=True,
            start_new_session=True,
        )
        return child, os.fstat(output).st_size
    except OSError as error:
        raise DaemonUnavailable(f"the daemon can't be started: {error}") from error
    finally:
        os.close(output)


def _disown(child: Popen[bytes]) -> None:
    """Let a daemon outlive this process, and reap it if this process lives longer."""
    from threading import Thread

    Thread(target=child.wait, name="foveal daemon's end", daemon=True).start()


def _default_command() -> list[str]:
    import sys

    return [sys.executable, "-m", "foveal", "up", "--foreground"]


def _try_connect(explicit: str | None, environ: Mapping[str, str], deadline: float) -> Client | None:
    """Connect to the socket that is found now; None if nobody listens there."""
    found = find_socket(explicit, environ)
    path = found.path
    try:
        client = Client.connect(path, max(deadline - time.monotonic(), _CONNECT_S))
    except (FileNotFoundError, ConnectionRefusedError):
        return None
    except NotASocket:
        if found.explicit:
            raise
        return None  # a starting daemon quarantines it
    except TimeoutError as error:
        raise DaemonUnavailable(
            f"the daemon at {path} accepts no connections; try: foveal restart"
        ) from error
    try:
        _check_protocol(path, environ)
    except DaemonUnavailable:
        client.close()
        raise
    return client


def _check_protocol(path: str, environ: Mapping[str, str]) -> None:
    """Raise `DaemonUnavailable` if daemon.json says that the daemon on a socket speaks another protocol."""
    info = read_daemon_info(state_folder(environ))
    if info is None or info.socket != path or info.protocol == PROTOCOL_VERSION:
        return
    if info.protocol > PROTOCOL_VERSION:
        advice = "update this program"
    else:
        advice = "end the older daemon, and a newer one is started: foveal restart"
    raise DaemonUnavailable(
        f"the daemon that runs is foveal {info.version} and speaks protocol {info.protocol}, this program "
        f"speaks {PROTOCOL_VERSION}: {advice}"
    )


def _open_lock(path: str) -> int:
    """Open the lock for starting a daemon; anything but a file in its place is quarantined by a rename.

    If two callers quarantine it at once, two daemons are started, and the daemon's own lock lets only one of
    them serve.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(path, flags, 0o600)
    except OSError as error:
        if error.errno not in (EISDIR, ELOOP, ENXIO, EACCES):  # the lock is valid, but not the file
            raise DaemonUnavailable(
                f"no daemon can be started: {path} can't be opened ({error.strerror}); mend that, or choose "
                "another place with FOVEAL_STATE_DIR"
            ) from error
        try:
            os.rename(path, f"{path}.damaged-{time.time_ns()}")
            return os.open(path, flags, 0o600)
        except OSError:
            raise DaemonUnavailable(
                f"{path} can't be opened ({error.strerror}); move it away, or see: foveal doctor"
            ) from error


def _try_lock(descriptor: int) -> bool:
    from fcntl import LOCK_EX, LOCK_NB, flock

    try:
        flock(descriptor, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        return False
    return True


def lock_holder(state: str) -> int:
    """Return the pid of the daemon that holds a state folder, 0 if none does.

    The lock is tried only if its recorded pid is alive, so that a starting daemon doesn't mistake this check
    for another daemon.
    """
    from fcntl import LOCK_NB, LOCK_SH, flock

    try:
        descriptor = os.open(lock_file(state), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return 0
    try:
        pid = int(os.read(descriptor, 32))
        os.kill(pid, 0)
        flock(descriptor, LOCK_SH | LOCK_NB)
    except BlockingIOError:
        return pid
    except (OSError, OverflowError, ValueError):
        return 0
    finally:
        os.close(descriptor)
    return 0


def _other_daemon(state: str, pid: int) -> bool:
    """Whether daemon.json names a living process other than `pid`: the winner of the daemon's lock."""
    info = read_daemon_info(state)
    if info is None or info.pid == pid:
        return False
    try:
        os.kill(info.pid, 0)
    except (OSError, OverflowError):
        return False
    return True


def _tail(log: str, start: int) -> str:
    """Return the last lines added to the log since `start`; empty if there are none."""
    try:
        with open(log, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(min(start, size), size - _LOG_TAIL_BYTES))
            text = file.read().decode(errors="replace").strip()
    except OSError:
        return ""
    return f"\n{text}" if text else ""


def _connect(connection: socket.socket, path: str, deadline: float | None) -> None:
    """Connect, waiting while the daemon's queue of new connections is full: Linux returns EAGAIN at once."""
    pause = 0.001
    while True:
        connection.settimeout(_remaining(deadline))
        try:
            return connection.connect(path)
        except BlockingIOError:
            left = _remaining(deadline)
        time.sleep(pause if left is None else min(pause, left))
        pause = min(pause * 2, 0.05)


def _deadline(timeout: float | None) -> float | None:
    return None if timeout is None else time.monotonic() + timeout


def _remaining(deadline: float | None) -> float | None:
    """Return the seconds left, never 0, which means non-blocking. Raises `TimeoutError` if none are left."""
    if deadline is None:
        return None
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("the time for this request is over")
    return left
