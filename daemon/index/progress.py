"""Owns how far the index of one project is: its state and what is wrong with it, told when it changes."""

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
    """Something that can be worse than it should be."""

    @property
    def problem(self) -> str:
        """Say what is wrong, or nothing."""


class Progress:
    """How far one project is, on the indexer's working thread; `announce` hears of it.

    `known` and `unread` are its files and those of them that wait to be read, `parts` those whose problems
    are told beside the scanner's and the watch's; all of them live. `state` may be set without being told.
    `reasons` are other things that are wrong, by what they are about.
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
        """Whether what was read can be found by its words; may be set without being told."""
        self._root = root
        self._announce = announce
        self._known = known
        self._unread = unread
        self._scanner = scanner
        self._watch = watch
        self._linking = linking
        self._parts = parts
        self._statistics: ScanStatistics | None = None
        """What the scanner left out, until it looks again: to count it in each step took a tenth of the
        time."""
        self._reported: ProjectProgress | None = None

    def become(self, state: ProjectState) -> None:
        """Set the state, and say so."""
        self.state = state
        self.report()

    def count_again(self) -> None:
        """Count what the scanner left out when it is told next: it has looked again."""
        self._statistics = None

    def report(self) -> None:
        """Say how far the index is, if that changed since it was last said."""
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
