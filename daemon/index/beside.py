"""Owns a process beside the indexer that does a part of its work: its start, what crosses, its end.

Reading and linking are most of what a first index takes, and the interpreter's lock lets one thread of a
process do it at a time. Such a process writes nothing, and ends when the indexer does.
"""

from __future__ import annotations

import errno
import os
import pickle
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue

from ..core.pipe import LENGTH, encode
from ..core.resources import process_state
from .suspects import HANG_S

__all__ = ["Beside", "Empty", "MakeBeside", "available_cores"]


SILENT_MAX_S = 2 * HANG_S
"""An answer takes milliseconds; a file that hangs such a process ends it after `HANG_S`."""

STOPPED_MAX_S = 6.0
"""The same for a process that was stopped, which no alarm of its own ends."""


def available_cores() -> int:
    """Return how many cores this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Beside:
    """A process that runs a module of ours. Raises `OSError` where it can't be started.

    The first message to it is `opening`. One that says nothing for `SILENT_MAX_S` while it is waited for is
    killed, one that was stopped after `STOPPED_MAX_S`. For one thread.
    """

    def __init__(self, module: str, opening: object) -> None:
        self._socket, theirs = socket.socketpair()
        try:
            with theirs:
                self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and modules
                    [sys.executable, "-m", module, str(theirs.fileno())],
                    pass_fds=(theirs.fileno(),),
                    stdin=subprocess.DEVNULL,
                    cwd="/",
                    env={**os.environ, "PYTHONSAFEPATH": "1"},
                )
        except BaseException:
            self._socket.close()
            raise
        self._arrived: SimpleQueue[bytes | None] = SimpleQueue()
        # Else the process would wait with each answer for as long as the indexer writes.
        self._thread = threading.Thread(target=self._receive, name=module, daemon=True)
        try:
            self._thread.start()
        except RuntimeError as error:  # no thread can be started now
            self._process.kill()
            self._process.wait()
            self._socket.close()
            raise OSError(errno.EAGAIN, f"{module} has no thread to hear it: {error}") from error
        self._heard = time.monotonic()
        self.send(opening)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def send(self, message: object) -> None:
        """Send a message; to a process that has ended nothing, which is seen where its answers are taken."""
        self._heard = time.monotonic()
        with suppress(OSError):
            self._socket.sendall(encode(message))

    def take(self, seconds: float) -> object | None:
        """Return its next answer, None when it ended. Raises `Empty` when none comes for so long."""
        try:
            data = self._arrived.get(timeout=seconds) if seconds > 0 else self._arrived.get_nowait()
        except Empty:
            silent = time.monotonic() - self._heard
            if silent > SILENT_MAX_S or (silent > STOPPED_MAX_S and self._is_stopped()):
                self._process.kill()  # it was stopped, or waits for a disk: its own alarm doesn't reach it
            raise
        self._heard = time.monotonic()
        return None if data is None else pickle.loads(data)  # noqa: S301 - from our own child

    def close(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        self._process.wait()
        self._thread.join()  # its stream ends with the process
        self._socket.close()

    def _is_stopped(self) -> bool:
        state = process_state(self.pid)
        return state is not None and state.stopped

    def _receive(self) -> None:
        with suppress(OSError), self._socket.makefile("rb") as stream:
            while len(header := stream.read(LENGTH.size)) == LENGTH.size:
                (length,) = LENGTH.unpack(header)
                data = stream.read(length)
                if len(data) < length:
                    break
                self._arrived.put(data)
        self._arrived.put(None)


MakeBeside = Callable[[str, object], Beside]
"""Starts a process beside the indexer, as `Beside` does."""
