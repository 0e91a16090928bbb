"""The indexer process: serves requests first, then gives all projects fair turns for bulk work.

One process serves all projects of a daemon. It ends with its pipe to the daemon, so it never outlives it.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable

from msgspec.structs import replace

from ..core.errors import FovealError
from ..core.pipe import ChildPipe, Envelope, Reply, Stop
from ..core.storage import DatabaseError, may_pass, named
from ..core.system import System
from ..languages.shared.language import language_of
from ..languages.shared.parse import parse_source
from ..languages.shared.records import Symbol
from .crash_guard import Alarm, set_alarm
from .indexer import ProjectIndexer
from .linker_view import YOUNG_OBJECTS
from .messages import (
    ActiveProject,
    CloseProject,
    Event,
    LinkFirst,
    OpenProject,
    Parsed,
    ParseTexts,
    ProjectProgress,
    RebuildLexical,
    Refreshed,
    RefreshFiles,
    Reindex,
    SyncTree,
    TreeDelta,
)
from .side_process import SideProcess, StartSideProcess, available_cores
from .store import check_index

log = logging.getLogger(__name__)

FAILURES_MAX = 3
FAILURES_S = 900.0
"""Maximum number of unexpected errors of a project within `FAILURES_S` seconds. After that many its index is
rebuilt, and after one more the project is closed. A file that causes them is skipped after two, see
crash_guard.py."""

RETRY_S = 5.0
"""Seconds until a project is opened again after a temporary error of its index, such as a full disk."""

NICE = 5
"""The niceness of the indexer process, enough for the scheduler to prefer the daemon's short bursts of work
on a busy machine."""


HANDICAP_TURNS = 750
"""Number of turns that other projects get before a project's first turn, half a minute of work, for each
recent death of the indexer at work on that project."""


class WorkQueue:
    """A queue of requests, which also wakes the worker when a project has something to do."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._requests: deque[Callable[[], None]] = deque()
        self._woken = False

    def put(self, work: Callable[[], None]) -> None:
        """Add a request. From any thread."""
        with self._condition:
            self._requests.append(work)
            self._condition.notify()

    def wake(self) -> None:
        """Say that a project has something to do. From any thread."""
        with self._condition:
            self._woken = True
            self._condition.notify()

    def take(self, timeout: float | None) -> Callable[[], None] | None:
        """Return the next request, or None when a project has something to do or `timeout` seconds have
        passed (0: don't wait, None: no limit)."""
        with self._condition:
            self._condition.wait_for(lambda: self._requests or self._woken, timeout)
            self._woken = False
            return self._requests.popleft() if self._requests else None


class Worker:
    """The main loop of the indexer process.

    `send` sends a reply or an event to the daemon. `alarm` ends the process if a file takes too long.
    `start_side_process` starts processes that read and link ahead. `at_work` is called with the root of the
    project whose turn begins, "" for none.
    """

    def __init__(
        self,
        system: System,
        queue: WorkQueue,
        send: Callable[[Reply | Event], None],
        alarm: Alarm | None = None,
        start_side_process: StartSideProcess | None = None,
        at_work: Callable[[str], None] = lambda _root: None,
    ) -> None:
        self.projects: dict[str, ProjectIndexer] = {}
        self._system = system
        self._queue = queue
        self._send = send
        self._alarm = alarm
        self._start_side_process = start_side_process
        self._tell_at_work = at_work
        self._at_work = ""
        self._turns: dict[str, int] = {}
        """The number of each project's latest turn; the project with the lowest has the next one."""
        self._turn = 0
        self._stopping = False
        self._commands: dict[str, OpenProject] = {}
        """The last open command of each project."""
        self._failures: dict[str, list[float]] = {}
        """Times of recent unexpected errors by project, on the monotonic clock."""
        self._retries: dict[str, float] = {}
        """Times at which projects that an error has closed are opened again, on the same clock."""

    def run(self) -> None:
        """Serve until a `Stop` command, then close every index."""
        try:
            while not self._stopping:
                patience = self._patience()
                if patience != 0.0:
                    self._begin("")
                work = self._queue.take(patience)
                if work is not None:
                    work()
                else:
                    self._give_turn()
        finally:
            for project in self.projects.values():
                with contextlib.suppress(Exception):  # close the other projects all the same
                    project.close()

    def submit(self, envelope: Envelope) -> None:
        """Queue a command. From any thread."""
        self._queue.put(lambda: self._answer(envelope))

    def abandon(self) -> None:
        """Note that this process is about to end through no file's fault. May be called from any thread."""
        for project in tuple(self.projects.values()):
            project.abandon()

    def _patience(self) -> float | None:
        """Return the seconds to wait for work: 0 while there is bulk work, else until the next timer."""
        waits = [project.patience() for project in self.projects.values()]
        now = self._system.monotonic()
        waits += [max(0.0, moment - now) for moment in self._retries.values()]
        return min((wait for wait in waits if wait is not None), default=None)

    def _give_turn(self) -> None:
        """Let one project do a step, or open a closed project again."""
        now = self._system.monotonic()
        if again := next((root for root, moment in self._retries.items() if moment <= now), ""):
            self._begin(again)
            with contextlib.suppress(FovealError):  # its former problem persists
                self._open_again(again)
            return
        due = [root for root, project in self.projects.items() if project.patience() == 0.0]
        if not due:
            return
        root = min(due, key=lambda each: self._turns.get(each, 0))
        self._turn += 1
        self._turns[root] = self._turn
        self._begin(root)
        self._run_for(root, self.projects[root].step)

    def _begin(self, root: str) -> None:
        """Report that work on a project begins, so that the daemon knows it if this process dies."""
        if root != self._at_work:
            self._at_work = root
            self._tell_at_work(root)

    def _run_for(self, root: str, work: Callable[[], None]) -> None:
        """Do work for one project, and catch its errors, so that they don't affect other projects."""
        try:
            work()
        except (BrokenPipeError, ConnectionResetError):
            raise  # the daemon is gone
        except Exception as error:  # noqa: BLE001 - whatever it is, it is one project's; `_take_error` logs it
            self._take_error(root, error)

    def _take_error(self, root: str, error: Exception) -> None:
        if may_pass(error):
            self._put_off(root, error)
        else:
            self._recover(root, error)

    def _put_off(self, root: str, error: Exception) -> None:
        """Close a project whose index can't be used for now, and open it again later."""
        log.warning("the work on %s has to wait: %s", root, named(error))
        failed = self.projects.pop(root, None)
        if failed is None or root not in self._commands:
            return
        with contextlib.suppress(Exception):
            failed.close()
        self._retries[root] = self._system.monotonic() + RETRY_S
        self._say_unindexed(root, f"its index can't be used for now ({named(error)}): it is tried again")

    def _open_again(self, root: str) -> None:
        """Open a project again if an error had closed it; raises `FovealError` as `_make` does."""
        self._retries.pop(root, None)
        command = self._commands.get(root)
        if command is None or root in self.projects:
            return
        self._make(command)
        self._say_replaced(root)

    def _say_unindexed(self, root: str, why: str) -> None:
        self._send(ProjectProgress(root, "degraded", "off", (f"it isn't indexed: {why}",), 0, 0, ()))

    def _say_replaced(self, root: str) -> None:
        self._send(TreeDelta(root, self.projects[root].generation, resync=True, replaced=True))

    def _recover(self, root: str, error: Exception) -> None:
        """Open a project again after an unexpected error.

        The index is rebuilt if it is damaged or such errors are frequent. If they occur even after that, the
        project stays closed.
        """
        log.error("the work on %s failed", root, exc_info=error)
        failed, command = self.projects.pop(root, None), self._commands.get(root)
        if failed is None or command is None:
            return
        with contextlib.suppress(Exception):  # after the error, its state may be inconsistent
            failed.close()
        now = self._system.monotonic()
        recent = [moment for moment in self._failures.get(root, ()) if now - moment < FAILURES_S]
        self._failures[root] = [*recent, now]
        try:
            if len(recent) >= FAILURES_MAX:
                raise FovealError(f"the index of {root} can't be kept ({named(error)}); see: foveal logs")
            self._make(replace(command, distrusted=self._damage(command, error)))
        except (FovealError, OSError) as problem:
            self._say_unindexed(root, str(problem))
        else:
            self._say_replaced(root)

    def _damage(self, command: OpenProject, error: Exception) -> str:
        """Return why an index can't be used, "" if no damage can be found."""
        if isinstance(error, DatabaseError) or len(self._failures[command.root]) == FAILURES_MAX:
            return named(error)
        try:
            check_index(command.folder)
        except DatabaseError as damage:
            return str(damage)
        return ""

    def _answer(self, envelope: Envelope) -> None:
        def answer(value: Refreshed | Parsed | None, error: str = "") -> None:
            self._send(Reply(envelope.number, value, error))

        command = envelope.command
        try:
            match command:
                case RefreshFiles(root, paths, words):
                    project = self._project(root)
                    project.ask(project.refresh_in_steps(paths, words=words), answer)
                case LinkFirst(root, names, words, heirs):
                    project = self._project(root)
                    steps = project.link_first_in_steps(names, words, heirs=heirs)
                    project.ask(steps, answer, patient=True)
                case SyncTree(root):
                    project = self._project(root)
                    project.ask(project.sync_in_steps(), answer)
                case _:
                    answer(self._execute(command))
        except (FovealError, OSError) as error:
            answer(None, str(error))
        except Exception as error:
            root = getattr(command, "root", "")
            if not root:
                raise
            self._take_error(root, error)
            answer(None, f"the work on {root} failed: {named(error)}")

    def _execute(self, command: object) -> Refreshed | Parsed | None:
        if isinstance(command, OpenProject | Reindex | RebuildLexical):
            self._begin(command.root)
        match command:
            case OpenProject():
                return self._open(command)
            case CloseProject(root):
                self._commands.pop(root, None)
                self._close(root)
            case Reindex(root, full):
                self._failures.pop(root, None)
                self._open_again(root)
                self._project(root).reindex(full=full)
            case RebuildLexical(root):
                self._project(root).rebuild_lexical()
            case ParseTexts(texts):
                return Parsed(tuple(_symbols_of(path, text.encode()) for path, text in texts))
            case Stop():
                self._stopping = True
        return None

    def _open(self, command: OpenProject) -> Refreshed:
        self._close(command.root)
        project = self._make(command)
        self._turns[command.root] = self._turn + HANDICAP_TURNS * command.deaths
        return Refreshed(project.generation, complete=False)

    def _make(self, command: OpenProject) -> ProjectIndexer:
        """Open a project's index, or replace it by a new one if opening it fails.

        Raises `FovealError` if neither is possible; after a temporary error it is tried again later.
        """
        self._commands[command.root] = replace(command, distrusted="")
        try:
            return self._try_to_make(command)
        except Exception as error:
            if may_pass(error):
                self._retries[command.root] = self._system.monotonic() + RETRY_S
            if may_pass(error) or command.distrusted:
                # Raised as `FovealError`, which affects one project; others would end the process.
                problem = f"the index in {command.folder} can't be opened: {named(error)}"
                raise FovealError(problem) from error
            return self._make(replace(command, distrusted=named(error)))

    def _try_to_make(self, command: OpenProject) -> ProjectIndexer:
        root = command.root
        self.projects[root] = ProjectIndexer(
            command,
            self._system,
            self._send,
            self._queue.wake,
            alarm=self._alarm,
            start_side_process=self._start_side_process,
        )
        return self.projects[root]

    def _close(self, root: str) -> None:
        project = self.projects.pop(root, None)
        self._retries.pop(root, None)
        if project is not None:
            project.close()

    def _project(self, root: str) -> ProjectIndexer:
        project = self.projects.get(root)
        if project is None:
            raise FovealError(f"{root} is not open in the indexer")
        return project


def _symbols_of(path: str, data: bytes) -> tuple[Symbol, ...]:
    return parse_source(data, language_of(path, data[:256]), path).symbols


def main(system: System | None = None, alarm: Alarm = set_alarm) -> None:
    """Serve on the socket whose descriptor is the only argument."""
    with contextlib.suppress(OSError):
        os.nice(NICE)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # the alarm must work even if the parent ignored it
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
    pipe = ChildPipe(int(sys.argv[1]))
    # On a single core a side process would only take turns with this process.
    start_side_process = SideProcess if available_cores() > 1 else None
    worker = Worker(
        system or System(),
        WorkQueue(),
        pipe.send,
        alarm,
        start_side_process,
        lambda root: pipe.send(ActiveProject(root)),
    )
    pipe.listen(worker.submit, worker.abandon)
    gc.set_threshold(YOUNG_OBJECTS)
    gc.freeze()  # modules and tables are never garbage; skipping them keeps collections short
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        worker.run()
    pipe.close()


if __name__ == "__main__":
    main()
