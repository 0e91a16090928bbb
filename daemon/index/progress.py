"""The progress of one project's index: its state and its problems, reported when they change."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from typing import Protocol

from ..project.scan import Scanner
from ..project.scan_results import ScanStatistics
from ..project.tree import ProjectState
from .linking import Linking
from .messages import ProjectProgress
from .watching import ProjectWatch


class ProgressPart(Protocol):
    """A part of the index that may have a problem."""

    @property
    def problem(self) -> str:
        """Say what is wrong, or nothing."""


class Progress:
    """The progress of one project, on the indexer's working thread; `announce` receives reports.

    `known` are the project's files and `unread` those to be read; `parts` are reported with their problems
    beside the scanner and the watch; all are live. `state` may be set without a report. `reasons` are other
    problems by their subject.
    """

    def __init__(
        self,
        root: str,
        announce: Callable[[ProjectProgress], None],
        *,
        known: Sized,
        unread: Sized,
        scanner: Scanner,
        watch: ProjectWatch,
        linking: Linking,
        parts: Sequence[ProgressPart],
    ) -> None:
        self.state: ProjectState = "scanning"
        self.reasons: dict[str, str] = {}
        self.words = False
        """Whether the files read so far can be found by their words; may be set without a report."""
        self._root = root
        self._announce = announce
        self._known = known
        self._unread = unread
        self._scanner = scanner
        self._watch = watch
        self._linking = linking
        self._parts = parts
        self._statistics: ScanStatistics | None = None
        """What the scanner left out, until its next scan: counting in each step took a tenth of the time."""
        self._reported: ProjectProgress | None = None

    def become(self, state: ProjectState) -> None:
        """Set the state and report it."""
        self.state = state
        self.report()

    def count_again(self) -> None:
        """Count anew for the next report what the scanner left out, since it scanned again."""
        self._statistics = None

    def report(self) -> None:
        """Report the progress, if it changed since the last report."""
        if self._statistics is None:
            self._statistics = self._scanner.statistics()
        progress = ProjectProgress(
            root=self._root,
            state=self.state,
            watch=self._watch.mode,
            degraded=self._problems(self._statistics),
            total=len(self._known),
            pending=len(self._unread),
            unlinked=self._linking.waiting(),
            skipped=tuple(sorted(self._statistics.skipped_folders.items())),
            words=self.words and not self._unread,
        )
        if progress != self._reported:
            self._reported = progress
            self._announce(progress)

    def _problems(self, statistics: ScanStatistics) -> tuple[str, ...]:
        told = (*(part.problem for part in self._parts), self._watch.problem)
        scanned = (f"{path}: {problem}" for path, problem in sorted(statistics.problems.items()))
        return (*self.reasons.values(), *filter(None, told), *scanned)
