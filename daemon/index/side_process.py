"""Side processes, which read or link files for the indexer: both ends of the socket to them.

Reading and linking take most of the time of a first index, and the interpreter lock lets only one thread of a
process work at a time. A side process writes nothing, and ends when the indexer does.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from queue import Empty, SimpleQueue
from typing import Any, Final, Generic, Protocol, TypeVar

from ..core.pipe import LENGTH, ChildPipe, encode
from .crash_guard import HANG_S, set_alarm

log = logging.getLogger(__name__)

Key = TypeVar("Key")
Given = TypeVar("Given")

STARTS_MAX: Final = 3
"""Maximum starts of a side process during one run of bulk work; after that the indexer works alone."""

SILENT_MAX_S = 2 * HANG_S
"""Seconds without an answer after which a side process is killed. An answer takes milliseconds, and a file
that hangs the process makes its alarm end it after `HANG_S`."""

Work = Callable[[Any, Any], object]
"""A function that takes the context of a request and one of its pieces, and returns the answer."""


class Opening(Protocol):
    """The first message to a side process: the parameters of its work, and how to start it."""

    def begin(self) -> Work:
        """Return the function that answers requests. Called in the side process."""


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class SideProcess:
    """A process that answers requests. Raises `OSError` if it can't be started.

    The process is killed if no answer comes for `SILENT_MAX_S`. Not thread-safe.
    """

    def __init__(self, opening: Opening) -> None:
        self._socket, theirs = socket.socketpair()
        try:
            with theirs:
                self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                    [sys.executable, "-m", MODULE, str(theirs.fileno())],
                    pass_fds=(theirs.fileno(),),
                    stdin=subprocess.DEVNULL,
                    cwd="/",
                    env={**os.environ, "PYTHONSAFEPATH": "1"},
                )
        except BaseException:
            self._socket.close()
            raise
        self._arrived: SimpleQueue[bytes | None] = SimpleQueue()
        # A thread receives the answers, or else the process would have to wait while the indexer writes.
        self._thread = threading.Thread(target=self._receive, name="side-process", daemon=True)
        self._thread.start()
        self._heard = time.monotonic()
        self._send(opening)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def ask(self, context: object, pieces: Sequence[object]) -> None:
        """Ask for an answer to each piece. If the process has ended, this does nothing, and `take` returns
        None."""
        self._send((context, pieces))

    def take(self, seconds: float) -> object | None:
        """Return the next answer, None if the process has ended. Raises `Empty` if none comes in time."""
        try:
            data = self._arrived.get(timeout=seconds) if seconds > 0 else self._arrived.get_nowait()
        except Empty:
            if time.monotonic() - self._heard > SILENT_MAX_S:
                self._process.kill()  # it is stopped or waits for a disk, so its alarm can't end it
            raise
        self._heard = time.monotonic()
        return None if data is None else pickle.loads(data)  # noqa: S301 - from our own child

    def close(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._process.wait()
        self._thread.join()  # its stream ends with the process
        self._socket.close()

    def _send(self, message: object) -> None:
        self._heard = time.monotonic()
        with contextlib.suppress(OSError):
            self._socket.sendall(encode(message))

    def _receive(self) -> None:
        with contextlib.suppress(OSError), self._socket.makefile("rb") as stream:
            while len(header := stream.read(LENGTH.size)) == LENGTH.size:
                (length,) = LENGTH.unpack(header)
                data = stream.read(length)
                if len(data) < length:
                    break
                self._arrived.put(data)
        self._arrived.put(None)


StartSideProcess = Callable[[Opening], SideProcess]
"""A function that starts a side process, such as `SideProcess`."""


class WorkAhead(Generic[Key, Given]):
    """The pieces of work that a side process was given and has not answered, on the indexer's thread.

    The process starts with the first request, and gets at most `most` pieces at a time. `culprit` is the
    piece on which it died; the caller takes and clears it.
    """

    def __init__(self, start: StartSideProcess, opening: Opening, most: int) -> None:
        self.culprit: Key | None = None
        self._start = start
        self._opening = opening
        self._most = most
        self._starts = 0
        self._process: SideProcess | None = None
        self._away: dict[Key, Given] = {}

    def __contains__(self, key: object) -> bool:
        """Whether the process has a piece and hasn't answered it."""
        return key in self._away

    def __len__(self) -> int:
        """Return the number of pieces without an answer."""
        return len(self._away)

    @property
    def runs(self) -> bool:
        """Whether the process was started."""
        return self._process is not None

    @property
    def room(self) -> int:
        """The number of further pieces that the process accepts now; 0 if it has ended too often."""
        if self._process is None and self._starts >= STARTS_MAX:
            return 0
        return self._most - len(self._away)

    def close(self) -> None:
        """End the process; its unanswered pieces are dropped."""
        if self._process is not None:
            self._process.close()
            self._process = None
        self._away.clear()

    def _ask(self, context: object, pieces: Sequence[object], given: Mapping[Key, Given]) -> None:
        """Ask for pieces with one message; do nothing if no process can be started."""
        if self._process is None:
            self._starts += 1
            try:
                self._process = self._start(self._opening)
            except OSError as error:  # no memory, processes or descriptors left
                log.warning("no process can be started for %s: %s", type(self).__name__, error)
                return
        self._away.update(given)
        self._process.ask(context, pieces)

    def _receive(self, seconds: float) -> object | None:
        """Return the next answer, waiting up to `seconds`; None if none came or the process has ended."""
        if self._process is None or not self._away:
            return None
        try:
            answer = self._process.take(seconds)
        except Empty:
            return None
        if answer is None:
            self.culprit = next(iter(self._away))
            log.warning("the process of %s ended while it was at %s", type(self).__name__, self.culprit)
            self.close()
        return answer


MODULE: Final = "foveal.daemon.index.side_process"


def main() -> None:
    """Answer requests in order on the socket whose descriptor is the only argument, each piece by itself.

    The process ends with its socket, or if a piece takes longer than `HANG_S`.
    """
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # the alarm must work even if the parent ignored it
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
    pipe = ChildPipe(int(sys.argv[1]))
    messages: SimpleQueue[Any] = SimpleQueue()
    pipe.listen(messages.put)
    work: Work = messages.get().begin()
    gc.freeze()
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        while True:
            context, pieces = messages.get()
            for piece in pieces:
                set_alarm(HANG_S)
                answer = work(context, piece)
                set_alarm(0.0)
                pipe.send(answer)


if __name__ == "__main__":
    main()
