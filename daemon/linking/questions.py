"""The questions that linking a file asks: memoized answers, limits on nesting, and a budget of steps.

A question may lead back to itself, because imports and hierarchies can be cyclic. While a question is open,
its answer is assumed to be empty, and answers that depend on this assumption are tentative. If its answer
turns out to be empty, the assumption was right and the tentative answers become final. So each question of a
cycle is answered once, however its members import each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple, TypeVar

QUESTION_STEPS: Final = 10
"""Steps charged for a question. A step is a lookup in a file, 0.2 µs."""

INTERFACE_STEPS: Final = 200
"""Steps charged to the file for the first use of an interface, which may have to be read from the index."""

IMPORT_STEPS: Final = 20
"""Steps charged to the file for the first resolution of an import."""

STEPS_MAX: Final = 20_000
"""Maximum number of steps for a reference; ordinary references take ten to a thousand. A name from a wildcard
takes a step for each file that is searched before its own."""

FILE_STEPS_MIN: Final = 500_000
REFERENCE_STEPS: Final = 200
FILE_STEPS_MAX: Final = 5_000_000
"""Maximum number of steps for all references of a file, about a second: `FILE_STEPS_MIN` and
`REFERENCE_STEPS` for each reference, up to `FILE_STEPS_MAX`. The limit depends on the file alone, so it gets
the same links whatever else is linked with it."""

DEPTH_MAX: Final = 24
"""Maximum number of hops between files or types; real re-exports stay below ten."""

OPEN_MAX: Final = 32
"""Maximum number of nested questions. Each takes up to 20 of Python's 1,000 frames."""

Question = tuple[str, ...]
Answer = TypeVar("Answer")

_NOTHING_OPEN: Final = 1 << 30
_CUT: Final = -1


class _Tentative(NamedTuple):
    """An answer that depends on an open question, by its number, or on a limit reached at a depth."""

    answer: Any
    rests_on: int
    depth: int


class Questions:
    """The questions of one file with `references` references, and their answers.

    `cut` counts the references that reached their limit, `steps` the steps of all; `exhausted` says that the
    file reached its own limit.
    """

    def __init__(self, references: int) -> None:
        self.cut = 0
        self.known: dict[Question, Any] = {}
        """The final answers."""
        self._open: dict[Question, int] = {}
        self._tentative: dict[Question, _Tentative] = {}
        self._order: list[Question] = []
        """The tentative answers, oldest first."""
        self._rests_on = _NOTHING_OPEN
        """The outermost open question on which the current answer depends."""
        self._file_steps = min(FILE_STEPS_MIN + REFERENCE_STEPS * references, FILE_STEPS_MAX)
        self._left_in_file = self._file_steps
        self._left = self._limit = STEPS_MAX
        self._was_cut = False

    @property
    def steps(self) -> int:
        """The number of steps taken so far."""
        return self._file_steps - self._left_in_file + self._limit - self._left

    @property
    def exhausted(self) -> bool:
        """Return whether the file reached its own limit, so that its last references were not followed."""
        return self.steps >= self._file_steps

    def begin(self) -> None:
        """Start the next reference, which has its own limit."""
        self._left_in_file -= self._limit - self._left
        self._left = self._limit = max(0, min(STEPS_MAX, self._left_in_file))
        self._was_cut = False
        self._open.clear()  # nothing is open, unless an error ended the previous reference
        if self._order:
            self._forget(0)
        self._rests_on = _NOTHING_OPEN

    def charge(self, steps: int) -> None:
        """Charge steps to the file, not to the reference."""
        self._left_in_file -= steps

    def spend(self, steps: int = 1) -> bool:
        """Charge steps to the reference; return whether any are left."""
        if self._left > steps:
            self._left -= steps
            return True
        self._left = 0
        self.meet_bound()
        return False

    def is_too_deep(self, depth: int) -> bool:
        """Return whether a depth, or the number of open questions, exceeds its limit."""
        if depth <= DEPTH_MAX and len(self._open) < OPEN_MAX:
            return False
        self.meet_bound()
        return True

    def meet_bound(self) -> None:
        """Record that a reference wasn't followed to its end: its target may exist all the same."""
        self._rests_on = _CUT
        if not self._was_cut:
            self._was_cut = True
            self.cut += 1

    def once(self, question: Question, depth: int, find: Callable[[], Answer], unknown: Answer) -> Answer:
        """Return the cached answer, or compute it; return `unknown` while the question is open."""
        known: Answer | None = self.known.get(question)
        if known is not None:
            return known
        at = self._open.get(question)
        if at is not None:
            self._rests_on = min(self._rests_on, at)
            return unknown
        kept = self._tentative.get(question)
        if kept is not None and (kept.rests_on != _CUT or kept.depth <= depth):
            self._rests_on = min(self._rests_on, kept.rests_on)
            held: Answer = kept.answer
            return held
        if self.is_too_deep(depth) or not self.spend(QUESTION_STEPS):
            return unknown
        at, mark = len(self._open), len(self._order)
        outer, self._rests_on = self._rests_on, _NOTHING_OPEN
        self._open[question] = at
        found = find()
        del self._open[question]
        rests_on = self._rests_on
        if rests_on >= at or at == 0:
            self.known[question] = found
            if rests_on >= at and found == unknown:
                self._keep(mark)  # the assumption was right
            else:
                self._forget(mark)
            self._rests_on = outer
            return found
        self._lower(mark, rests_on)
        self._tentative[question] = _Tentative(found, rests_on, depth)
        self._order.append(question)
        self._rests_on = min(outer, rests_on)
        return found

    def _lower(self, mark: int, rests_on: int) -> None:
        """Make the newer tentative answers depend on the same open question as the answer they contributed
        to."""
        for question in self._order[mark:]:
            kept = self._tentative.get(question)
            if kept is not None and kept.rests_on > rests_on:
                self._tentative[question] = kept._replace(rests_on=rests_on)

    def _keep(self, mark: int) -> None:
        """Make the newer tentative answers final."""
        for question in self._order[mark:]:
            kept = self._tentative.pop(question, None)
            if kept is not None:
                self.known[question] = kept.answer
        del self._order[mark:]

    def _forget(self, mark: int) -> None:
        for question in self._order[mark:]:
            self._tentative.pop(question, None)
        del self._order[mark:]


class Wildcards:
    """The files whose names a file's wildcard imports bring in, in order of discovery, without duplicates.
    Lazy: they are found on demand, while steps are left. `targets` returns the wildcard targets of a file,
    `passes_on` whether the names are re-exported."""

    def __init__(
        self,
        path: str,
        targets: Callable[[str], Iterator[str]],
        spend: Callable[[], bool],
        *,
        passes_on: bool,
    ) -> None:
        self._found: list[str] = []
        self._seen = {path}
        self._targets = targets
        self._spend = spend
        self._passes_on = passes_on
        self._waiting = [targets(path)]

    def __iter__(self) -> Iterator[str]:
        at = 0
        while at < len(self._found) or self._extend():
            yield self._found[at]
            at += 1

    def _extend(self) -> bool:
        """Find the next file; return whether there is one."""
        while self._waiting and self._spend():
            path = next(self._waiting[-1], None)
            if path is None:
                self._waiting.pop()
            elif path not in self._seen:
                self._seen.add(path)
                self._found.append(path)
                if self._passes_on:
                    self._waiting.append(self._targets(path))
                return True
        return False
