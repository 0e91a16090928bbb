"""Waiting for an index: the progress bar, and the events of the daemon that move it."""

from __future__ import annotations

import os
import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from ..ipc.client import Client
from . import terminal
from .connection import CALL_TIMEOUT_S
from .embedding import other_reasons
from .errors import CliError
from .settings import is_inside
from .text import clean, count, end_of_path, short_path

LOOK_S = 1.0
"""Seconds without an event before the state is asked for, because events may be lost."""

ENDED = frozenset({"ready", "degraded"})


def call(client: Client, method: str, **params: Any) -> dict[str, Any]:
    """Call a method on a connection that is open."""
    return dict(client.call(method, params, CALL_TIMEOUT_S))


def open_and_wait(client: Client, **place: str) -> tuple[str, str]:
    """Open a project by its `path` or by a folder in it (`cwd`) and wait until it is indexed; returns its
    root, and a line that says so.

    The connection is subscribed to its events from then on. Raises `CliError` if it can't be indexed.
    """
    return _wait(client, "OpenProject", place)


def reindex_and_wait(client: Client, path: str, *, full: bool) -> str:
    """Ask for a new scan of a project and wait until it is indexed; returns a line that says so.

    Raises `CliError` if it can't be indexed.
    """
    return _wait(client, "ReindexProject", {"path": path, "full": full})[1]


def wait_until_known(client: Client, cwd: str, at_most_s: float) -> None:
    """Open the project that a folder belongs to, and wait at most some seconds until it was read once. A
    project with an index from before needs no wait."""
    deadline = time.monotonic() + at_most_s
    project = call(client, "OpenProject", cwd=cwd)
    if _is_known(project):
        return
    call(client, "Subscribe", topics=["index.progress"])
    project = project_status(client, project["root"])
    with Bar("scanning") as bar:
        while not _is_known(project) and (left := deadline - time.monotonic()) > 0:
            _show(bar, project)
            news = next_news(client, project["root"], min(left, LOOK_S))
            project |= news or project_status(client, project["root"])


def warn_if_wide(root: str) -> None:
    """Warn of a project that holds the whole home folder, or all of the disk."""
    home = os.path.realpath(os.path.expanduser("~"))
    if is_inside(home, root):
        terminal.warn(
            f"{clean(root)} is indexed as one project, with everything in it; to stop, run:"
            f" foveal close {clean(root)}"
        )


def next_news(client: Client, root: str, wait_s: float = LOOK_S) -> dict[str, Any] | None:
    """Wait on a subscribed connection for the next event about a project or the model; return its data.

    These are parts of what Status tells of a project, or `{model: {phase, fraction}}`. None when nothing
    came in time or events were lost: then `project_status` knows. Raises `CliError` when the daemon ends.
    """
    deadline = time.monotonic() + wait_s
    while (left := deadline - time.monotonic()) > 0:
        try:
            event = next(client.events(left), None)
        except TimeoutError:
            return None
        if event is None:
            raise CliError("the daemon stopped while it was indexing", "foveal logs")
        if event["topic"] == "lost":
            return None
        data = event["data"]
        if event["topic"] == "index.progress" and ("model" in data or data["project"] == root):
            return dict(data)
    return None


def project_status(client: Client, root: str) -> dict[str, Any]:
    """Return a project as Status describes it. Raises `CliError` for one that isn't open any more."""
    for project in call(client, "ListProjects")["projects"]:
        if project["root"] == root:
            return dict(project)
    raise CliError(f"{root} was closed while it was being indexed", f"foveal open {root}")


def _wait(client: Client, method: str, params: dict[str, Any]) -> tuple[str, str]:
    started = time.monotonic()
    call(client, "Subscribe", topics=["index.progress"])
    with Bar("scanning") as bar:
        project = call(client, method, **params)
        root = project["root"]
        if method == "OpenProject":
            warn_if_wide(root)
        _show(bar, project)
        while project["state"] not in ENDED:
            news = next_news(client, root)
            # An event on the embedding or the model has no state: it changes nothing here.
            project = project_status(client, root) if news is None else {**project, **news}
            _show(bar, project)
        project = project_status(client, root)
    shown = short_path(root)
    if project["state"] == "degraded":
        raise CliError(f"{shown} can't be indexed: {'; '.join(project['degraded'])}", "foveal logs")
    for reason in other_reasons(project):
        terminal.warn(reason)
    counted = f"{count(project['files'], 'file')}, {count(project['symbols'], 'symbol')}"
    return root, f"ready: {shown} ({counted}) in {time.monotonic() - started:.1f} s"


def _is_known(project: dict[str, Any]) -> bool:
    """Whether the index of a project holds all of it, as it is or as it was before the daemon started."""
    return project["state"] in ENDED or (project["files"] > 0 and not project["files_pending"])


def _show(bar: Bar, project: dict[str, Any]) -> None:
    """Show how far a project is, as Status describes it."""
    files = project["files"]
    bar.show(
        project["state"],
        files - project["files_pending"],
        None if project["state"] == "scanning" else files,
        path=project["root"],
    )


if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class Bar:
    """A progress bar, shown on a terminal only, while the `with` lasts. `what` is its first label."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._progress: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        if terminal.is_terminal(sys.stderr):
            self._progress = _rich_progress()
            self._task = self._progress.add_task(self._what, total=None, counted="", note="")
            self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._progress is not None:
            self._progress.stop()

    def show(
        self, what: str, done: int = 0, total: int | None = None, note: str = "", path: str = ""
    ) -> None:
        """Show what is done, at which path, and how far it is. Without a total the bar only moves.

        All stands on one line: where there is no room, the path loses its beginning, or goes.
        """
        if self._progress is None or self._task is None:
            return
        counted = "" if total is None else f"{done:,}/{total:,}"
        taken = sum(map(len, (what, counted, note))) + BAR_WIDTH + AROUND_BAR
        left = self._progress.console.width - taken
        where = end_of_path(short_path(path), left) if left >= terminal.NARROW else ""
        self._progress.update(
            self._task,
            description=f"{clean(what)} {where}".rstrip(),
            total=None if total is None else max(total, 1),
            completed=done,
            counted=counted,
            note=note,
        )


BAR_WIDTH = 12
AROUND_BAR = 16
"""Characters of a line beside its texts and the bar: the spinner, the time, and what is between columns."""


def _rich_progress() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.table import Column

    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True)),
        BarColumn(BAR_WIDTH),
        TextColumn("{task.fields[counted]}", markup=False, style="progress.download"),
        TextColumn("{task.fields[note]}", markup=False),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
