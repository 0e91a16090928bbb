"""The pipe between the daemon and a child process, and the child's end of it.

Messages are pickled: both ends are this program, in one version, started by the same user.
"""

from __future__ import annotations

import contextlib
import logging
import os
import pickle
import signal
import socket
import struct
import threading
from collections.abc import Callable
from io import BufferedReader

from msgspec import Struct

log = logging.getLogger(__name__)

DEBUG = "FOVEAL_DEBUG"
"""The variable that, if it isn't empty, keeps child processes alive that don't answer, such as one in which a
debugger waits at a breakpoint."""

LENGTH = struct.Struct("<Q")
"""Each message on the pipe is its length in bytes, then its pickle."""


class Envelope(Struct, frozen=True):
    """A command, and the number that its reply will carry."""

    number: int
    command: object


class Reply(Struct, frozen=True):
    """The reply to a command: a value, or the message of the error that it raised."""

    number: int
    value: object
    error: str = ""


class Stop(Struct, frozen=True):
    """Finish and end the process; it replies first."""


class Heartbeat(Struct, frozen=True):
    """A heartbeat: sent to a child, and returned by a thread that does nothing else."""


def encode(message: object) -> bytes:
    """Return a message as it crosses the pipe."""
    data = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    return LENGTH.pack(len(data)) + data


class ChildPipe:
    """The child's end. `send` may be called from any thread."""

    def __init__(self, descriptor: int) -> None:
        # Ctrl-C on a terminal reaches the whole process group; the daemon decides when this process ends.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self._socket = socket.socket(fileno=descriptor)
        self._sending = threading.Lock()

    def send(self, message: object) -> None:
        """Send a reply or an event. Raises `BrokenPipeError` or `ConnectionResetError` without a daemon."""
        data = encode(message)
        with self._sending:
            self._socket.sendall(data)

    def listen(self, submit: Callable[[Envelope], None], at_end: Callable[[], None] = lambda: None) -> None:
        """Pass each command to `submit`, on a separate thread.

        When the pipe is closed, `at_end` is called, which must not wait for anything, and the process exits.
        """
        threading.Thread(target=self._receive, args=(submit, at_end), name="commands", daemon=True).start()

    def close(self) -> None:
        """Close the pipe, which also ends the listening thread."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _receive(self, submit: Callable[[Envelope], None], at_end: Callable[[], None]) -> None:
        """Read commands until the daemon has ended, then exit at once.

        That is safe at any point because of SQLite's log, and unfinished work would be useless.
        """
        try:
            with contextlib.suppress(OSError), self._socket.makefile("rb") as stream:
                while (data := _read_message(stream)) is not None:
                    message = pickle.loads(data)  # noqa: S301 - from our own parent
                    if isinstance(message, Heartbeat):
                        self.send(message)
                    else:
                        submit(message)
            at_end()
        except Exception:
            log.exception("a command can't be understood: has foveal been updated while its daemon runs?")
            os._exit(1)  # the daemon starts a new process, and answers without it until then
        os._exit(0)


def _read_message(stream: BufferedReader) -> bytes | None:
    """Return the next message, None at the end. A daemon that is killed may leave part of a message."""
    header = stream.read(LENGTH.size)
    if len(header) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(header)
    data = stream.read(length)
    return data if len(data) == length else None
