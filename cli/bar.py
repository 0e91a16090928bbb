"""Owns the progress bar on the standard error; knows no daemon and nothing of what is waited for."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING, Self

from . import terminal

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class Bar:
    """A progress bar for as long as the context lasts; on anything but a terminal it shows nothing.

    `what` is said until something is shown.
    """

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

    def show(self, what: str, done: int = 0, total: int | None = None, note: str = "") -> None:
        """Show what is done and how far it is. Without a total the bar only moves."""
        if self._progress is None or self._task is None:
            return
        counted = "" if total is None else f"{done:,}/{total:,}"
        self._progress.update(
            self._task,
            description=terminal.clean(what),
            total=None if total is None else max(total, 1),
            completed=done,
            counted=counted,
            note=note,
        )


def _rich_progress() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[counted]}", markup=False, style="progress.download"),
        TextColumn("{task.fields[note]}", markup=False),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
