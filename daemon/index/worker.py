"""Owns the indexer process: its queue with a lane for edits ahead of bulk work, and the pipe to the daemon.

One process for all projects of a daemon. It ends when the pipe ends, so it never outlives its daemon.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable

from ..errors import FovealError
from ..pipe import ChildPipe, Envelope, Reply, Stop
from ..storage import DatabaseError
from ..system import System
from .beside import Beside, MakeBeside, available_cores
from .indexer import ProjectIndexer
from .messages import (
    CloseProject,
    Event,
    OpenProject,
    RebuildLexical,
    Refreshed,
    RefreshFiles,
    Reindex,
    SyncTree,
)
from .suspects import Alarm, set_alarm
from .world import YOUNG_OBJECTS

NICE = 5
"""Enough for the scheduler to prefer the daemon's short bursts to bulk work on a busy machine."""


class WorkQueue:
    """Thunks in lanes: requests first, then what the watcher saw, and bulk work when both are empty."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._lanes: tuple[deque[Callable[[], None]], ...] = (deque(), deque())

    def put(self, lane: int, work: Callable[[], None]) -> None:
        """Add work: lane 0 for requests, 1 for events. From any thread."""
        with self._condition:
            self._lanes[lane].append(work)
            self._condition.notify()

    def take(self, timeout: float | None) -> Callable[[], None] | None:
        """Return the next thunk, or None after `timeout` seconds (0: at once, None: wait for good)."""
        with self._condition:
            self._condition.wait_for(lambda: any(self._lanes), timeout)
            return next((lane.popleft() for lane in self._lanes if lane), None)


class Worker:
    """The loop of the indexer process. `send` takes a reply or an event to the daemon, `alarm` ends the
    process if a file takes too long, `make_beside` starts others that read and link beside it."""

    def __init__(
        self,
        system: System,
        queue: WorkQueue,
        send: Callable[[Reply | Event], None],
        alarm: Alarm | None = None,
        make_beside: MakeBeside | None = None,
    ) -> None:
        self.projects: dict[str, ProjectIndexer] = {}
        self._system = system
        self._queue = queue
        self._send = send
        self._alarm = alarm
        self._make_beside = make_beside
        self._stopping = False

    def run(self) -> None:
        """Serve until a `Stop` command; then every index is closed."""
        try:
            while not self._stopping:
                work = self._queue.take(self._patience())
                if work is not None:
                    work()
                else:
                    self._bulk_step()
        finally:
            for project in self.projects.values():
                project.close()

    def submit(self, envelope: Envelope) -> None:
        """Queue a command. From any thread."""
        self._queue.put(0, lambda: self._answer(envelope))

    def abandon(self) -> None:
        """Take note that this process is about to end for no fault of any file. From any thread."""
        for project in tuple(self.projects.values()):
            project.abandon()

    def _patience(self) -> float | None:
        """Return how long to wait for work: not at all while there is bulk work, else until a timer."""
        waits = [project.patience() for project in self.projects.values()]
        return min((wait for wait in waits if wait is not None), default=None)

    def _bulk_step(self) -> None:
        for project in tuple(self.projects.values()):
            project.step()
            # Fair among projects: each gets one step, then the lanes are looked at again.

    def _answer(self, envelope: Envelope) -> None:
        try:
            value = self._execute(envelope.command)
        except (FovealError, OSError) as error:
            self._send(Reply(envelope.number, None, str(error)))
        else:
            self._send(Reply(envelope.number, value))

    def _execute(self, command: object) -> Refreshed | None:
        match command:
            case OpenProject():
                return self._open(command)
            case CloseProject(root):
                project = self.projects.pop(root, None)
                if project is not None:
                    project.close()
            case RefreshFiles(root, paths, words):
                return self._project(root).refresh(paths, words=words)
            case SyncTree(root):
                return self._project(root).sync()
            case Reindex(root, full):
                self._project(root).reindex(full=full)
            case RebuildLexical(root):
                self._project(root).rebuild_lexical()
            case Stop():
                self._stopping = True
        return None

    def _open(self, command: OpenProject) -> Refreshed:
        old = self.projects.pop(command.root, None)
        if old is not None:
            old.close()
        try:
            project = ProjectIndexer(
                command,
                self._system,
                self._send,
                lambda work: self._queue.put(1, work),
                alarm=self._alarm,
                make_beside=self._make_beside,
            )
        except (DatabaseError, OSError) as error:
            # Of one project only; a process that died of it would take the others along, again and again.
            raise FovealError(f"the index in {command.folder} can't be opened: {error}") from error
        self.projects[command.root] = project
        return Refreshed(project.generation, complete=False)

    def _project(self, root: str) -> ProjectIndexer:
        project = self.projects.get(root)
        if project is None:
            raise FovealError(f"{root} is not open in the indexer")
        return project


def main(system: System | None = None, alarm: Alarm = set_alarm) -> None:
    """Serve on the socket whose descriptor is the one argument."""
    with contextlib.suppress(OSError):
        os.nice(NICE)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # the alarm ends the process, whatever the parent did
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
    pipe = ChildPipe(int(sys.argv[1]))
    # With one processor another process would only take turns with this one.
    make_beside = Beside if available_cores() > 1 else None
    worker = Worker(system or System(), WorkQueue(), pipe.send, alarm, make_beside)
    pipe.listen(worker.submit, worker.abandon)
    gc.set_threshold(YOUNG_OBJECTS)
    gc.freeze()  # modules and tables are never garbage: collections of parse results stay short
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        worker.run()
    pipe.close()


if __name__ == "__main__":
    main()
