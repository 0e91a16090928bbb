"""Owns the wait for an index: the progress bar on a terminal, and the spinner of a slow request."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from ..ipc.client import Client
from ..ipc.paths import PathError, find_socket
from . import terminal
from .command import Settings
from .connect import CALL_TIMEOUT_S
from .errors import CliError

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

LOOK_S = 1.0
"""After so long without an event the state is asked for: events of a slow reader may be lost."""

PATIENCE_S = 0.4
"""A request that takes longer gets a spinner; one that doesn't would only flicker."""

ENDED = frozenset({"ready", "degraded"})


class IndexingBar:
    """A progress bar on the standard error; on anything but a terminal it shows nothing."""

    def __init__(self) -> None:
        self._progress: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        if terminal.is_terminal(sys.stderr):
            self._progress = _rich_progress()
            self._task = self._progress.add_task("scanning", total=None)
            self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._progress is not None:
            self._progress.stop()

    def show(self, project: dict[str, Any]) -> None:
        """Show how far a project is, as Status or an `index.progress` event describes it."""
        if self._progress is None or self._task is None:
            return
        files, pending = int(project["files"]), int(project["files_pending"])
        scanning = project["state"] == "scanning"
        self._progress.update(
            self._task,
            description=f"{project['state']} {terminal.short_path(_root(project))}",
            total=None if scanning else max(files, 1),
            completed=files - pending,
        )


def open_and_wait(client: Client, path: str) -> str:
    """Open a project and wait until it is indexed; returns a line that says so.

    Raises `CliError` if it can't be indexed.
    """
    return _wait(client, "OpenProject", {"path": path})


def reindex_and_wait(client: Client, path: str, *, full: bool) -> str:
    """Have a project scanned again and wait until it is indexed; returns and raises as `open_and_wait`."""
    return _wait(client, "ReindexProject", {"path": path, "full": full})


@contextmanager
def spinner(settings: Settings, cwd: str) -> Iterator[None]:
    """Show on a terminal what the daemon is indexing if what is done in this context takes long."""
    if not terminal.is_terminal(sys.stderr):
        yield
        return
    done = Event()
    thread = Thread(target=_spin, args=(settings, os.path.realpath(cwd), done), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join(LOOK_S)


def _wait(client: Client, method: str, params: dict[str, Any]) -> str:
    started = time.monotonic()
    client.call("Subscribe", {"topics": ["index.progress"]}, CALL_TIMEOUT_S)
    with IndexingBar() as bar:
        project = client.call(method, params, CALL_TIMEOUT_S)
        bar.show(project)
        root = project["root"]
        while project["state"] not in ENDED:
            project = _next_state(client, root)
            bar.show(project)
        project = _status(client, root)
    shown = terminal.short_path(root)
    if project["state"] == "degraded":
        raise CliError(f"{shown} can't be indexed: {'; '.join(project['degraded'])}", "foveal logs")
    for reason in project["degraded"]:
        terminal.warn(reason)
    counted = f"{terminal.count(project['files'], 'file')}, {terminal.count(project['symbols'], 'symbol')}"
    return f"ready: {shown} ({counted}) in {time.monotonic() - started:.1f} s"


def _next_state(client: Client, root: str) -> dict[str, Any]:
    """Wait for the next event about a project; ask after a while without one."""
    deadline = time.monotonic() + LOOK_S
    while (left := deadline - time.monotonic()) > 0:
        try:
            event = next(client.events(left), None)
        except TimeoutError:
            break
        if event is None:
            raise CliError("the daemon ended while it was indexing", "foveal logs")
        if event["topic"] == "index.progress" and event["data"]["project"] == root:
            return dict(event["data"])
    return _status(client, root)


def _status(client: Client, root: str) -> dict[str, Any]:
    for project in client.call("Status", timeout=CALL_TIMEOUT_S)["projects"]:
        if project["root"] == root:
            return dict(project)
    raise CliError(f"{root} was closed while it was being indexed", f"foveal open {root}")


def _spin(settings: Settings, cwd: str, done: Event) -> None:
    """Show the progress of the project that `cwd` belongs to until `done`; silent where that is unknown."""
    if done.wait(PATIENCE_S):
        return
    try:
        path = find_socket(settings.socket, settings.environ).path
        with Client.connect(path, LOOK_S) as client, IndexingBar() as bar:
            while not done.is_set():
                for project in client.call("Status", timeout=CALL_TIMEOUT_S)["projects"]:
                    if f"{cwd}/".startswith(f"{project['root'].rstrip('/')}/"):
                        bar.show(project)
                done.wait(0.1)
    except (OSError, PathError, CliError):
        return  # the request itself meets the same error and says so


def _rich_progress() -> Progress:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
    )

    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )


def _root(project: dict[str, Any]) -> str:
    return str(project.get("root") or project["project"])
