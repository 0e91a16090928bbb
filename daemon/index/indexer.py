"""One project in the indexer process: its requests and the watcher's events, both served ahead of bulk work.

Runs on the process's one working thread. Changes are announced after they are committed.
"""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from typing import TypeVar

from ..core.errors import FovealError
from ..core.system import System
from ..project.records import RootGone
from ..project.service import Watcher
from .crash_guard import Alarm
from .linking import LinkNeeds
from .messages import Event, OpenProject, Refreshed
from .project_index import STEP_S, BulkWork, ProjectIndex
from .side_process import StartSideProcess

READ_NOW = 64
"""Maximum number of changed files read at once. If more change, bulk work reads them, so that the names of
all files are recorded first."""

SYNC_FILES = 512
"""Maximum number of files that `sync` reads while its caller waits."""

FIRST_FILES = 500
"""Maximum number of files that are read ahead of others because links that a question is about depend on
them."""

FIRST_S = 10.0
"""Seconds after which no more files are read and linked ahead of others for one question."""

PATIENT_MAX = 16
"""Maximum number of patient requests that wait; those whose askers have given up are among them."""

PATIENT_STEPS = 12
"""Number of steps of a patient request after which events and bulk work get a step: half a second, for which
side processes have work."""

WORD_STEPS = 40
"""Maximum number of steps in which the bytes of unread files are searched for words: 1.6 seconds, for some
40,000 files, sources first."""

T = TypeVar("T")
Steps = Generator[None, None, T]
"""Work in steps that ends with a result; other projects may work between the steps."""

Answer = Callable[[Refreshed | None, str], None]
"""A function that receives the result of a request, or None and the reason why it failed."""

SYNC_LEXING_S = 1.0
"""Maximum seconds that `sync` writes changes into the lexical index, enough for some thousand chunks."""

SYNC_LINKING_S = 1.0
"""Maximum seconds that `sync` links changed files and the files linked through them, some hundred files."""


class ProjectIndexer:
    """One project in the indexer process.

    `announce` sends an event. `wake` says, from any thread, that `step` has something to do: requests,
    changes that the watcher saw, or bulk work. `alarm` ends the process if a file takes too long.
    `make_watcher` is called like `Watcher`. Without `start_side_process` no side process reads or links.
    """

    def __init__(
        self,
        command: OpenProject,
        system: System,
        announce: Callable[[Event], None],
        wake: Callable[[], None],
        *,
        alarm: Alarm | None = None,
        make_watcher: Callable[..., Watcher] = Watcher,
        start_side_process: StartSideProcess | None = None,
    ) -> None:
        self._root = command.root
        self._index = ProjectIndex(
            command,
            system,
            announce,
            wake,
            alarm,
            make_watcher,
            start_side_process,
        )
        self._files = self._index.files
        self._changes = self._index.changes
        self._bulk = BulkWork(self._index)
        self._asked: deque[tuple[Steps[Refreshed], Answer, bool]] = deque()
        self._patient_steps = 0
        self._heard_last = False
        """Whether the last step took events; the next one does bulk work then, even if events never stop."""

    @property
    def generation(self) -> int:
        """The generation of the last commit."""
        return self._index.store.generation

    def close(self) -> None:
        """Stop watching and close the index; open requests are answered with an error."""
        while self._asked:
            steps, answer, _ = self._asked.popleft()
            steps.close()
            answer(None, f"{self._root} was closed")
        self._index.close()

    def abandon(self) -> None:
        """Note that this process is about to end through no file's fault. May be called from any thread."""
        self._index.suspects.abandon()

    def patience(self) -> float | None:
        """Return the seconds until `step` has something to do, 0 if it has now, None if only an event or a
        request can give it work."""
        return 0.0 if self._asked or self._hears() else self._bulk.patience()

    def step(self) -> None:
        """Do one step of a request; without requests, alternate between events and bulk work."""
        if self._asked and not self._is_bulk_due():
            self._step_asked()
        elif self._hears() and not (self._heard_last and self._bulk.patience() == 0.0):
            self._heard_last = True
            self._take_batch()
        else:
            self._heard_last = False
            self._bulk.step()

    def ask(self, steps: Steps[Refreshed], answer: Answer, *, patient: bool = False) -> None:
        """Queue a request to be done in steps and answered.

        The steps of a `patient` request, which may take seconds, take turns with other requests, events and
        bulk work. If many of them wait already, it isn't done.
        """
        if patient and sum(one[2] for one in self._asked) >= PATIENT_MAX:
            steps.close()
            answer(Refreshed(self.generation, complete=False), "")
        else:
            self._asked.append((steps, answer, patient))

    def refresh(self, paths: Sequence[str], *, words: bool = False) -> Refreshed:
        """Do all steps of a refresh."""
        return _all_of(self.refresh_in_steps(paths, words=words))

    def sync(self) -> Refreshed:
        """Do all steps of a sync."""
        return _all_of(self.sync_in_steps())

    def refresh_in_steps(self, paths: Sequence[str], *, words: bool = False) -> Steps[Refreshed]:
        """Examine a few files on the disk and read them now, ahead of everything else.

        With `words` they are also written into the lexical index at once.
        """
        self._changes.examine([os.path.join(self._root, path) for path in paths])
        wanted = dict.fromkeys(paths)
        while waiting := [path for path in wanted if path in self._files.unread]:
            self._index.reading.read(waiting, STEP_S)
            yield
        if words:
            with self._index.suspects.work():
                self._index.lexical_indexer.write_now(
                    paths
                )  # earlier reads may not be in the lexical index yet
        self._bulk.begin()  # the files that refer to them are linked later
        return Refreshed(self.generation, complete=True)

    def link_first_in_steps(
        self, names: Collection[str], words: Collection[str] = (), *, heirs: bool = False
    ) -> Steps[Refreshed]:
        """Read and link the files that mention or define some names before all other files, with `heirs`
        also the names of subclasses; if there are none, read the files that fit some words best.

        The links of these files are complete, because unread files on which they depend are read too.
        """
        if self._changes.is_listing or not self._changes.is_named:
            return Refreshed(self.generation, complete=False)
        stands, complete = False, True
        level, done = set(names), set(names)
        deadline = self._index.system.monotonic() + FIRST_S
        while level and complete:
            bears, complete = yield from self._link_named(level)
            stands = stands or bears
            level = self._index.linking.heirs_of(level) - done if heirs else set()
            done |= level
            complete = complete and not (level and self._index.system.monotonic() > deadline)
        if words and not stands:
            best, complete = yield from self._search_unread((), words, WORD_STEPS)
            yield from self._read_first(best)
            while self._write_words(STEP_S):  # also files that were read before and aren't written yet
                yield
        return Refreshed(self.generation, complete=complete)

    def sync_in_steps(self) -> Steps[Refreshed]:
        """Index every change that is on the disk now."""
        if self._index.progress.state in {"scanning", "degraded"} or self._changes.is_listing:
            return Refreshed(self.generation, complete=False)
        changed, settled = yield from self._notice()
        if self._index.progress.state == "degraded":  # the root was lost meanwhile
            return Refreshed(self.generation, complete=False)
        unread = self._files.unread
        if len(unread) <= SYNC_FILES:
            changed = list(unread)  # includes changes that the watcher saw earlier
        wanted = [path for path in changed if path in unread][:SYNC_FILES]
        while waiting := [path for path in wanted if path in unread]:
            self._index.reading.read(waiting, STEP_S)
            yield
        lexing = yield from self._repeat(self._write_words, SYNC_LEXING_S)
        linking = yield from self._repeat(self._bulk.link, SYNC_LINKING_S)
        self._bulk.read_later()
        settled = settled and not self._changes.sweep_due
        return Refreshed(self.generation, complete=settled and not unread and not lexing and not linking)

    def rebuild_lexical(self) -> None:
        """Rebuild the lexical index from the store, because a reader found it damaged."""
        self._index.lexical_indexer.repair()
        self._index.progress.report()  # the lexical index is empty until it is rebuilt
        self._bulk.read_later()

    def reindex(self, *, full: bool) -> None:
        """Scan all names again; with `full` read all contents again too."""
        if full:
            self._bulk.read_again()
            self._index.lexical_indexer.rebuild()
        self._bulk.begin_again()

    def _is_bulk_due(self) -> bool:
        """Whether it is the turn of events or bulk work, though a patient request waits."""
        self._patient_steps = self._patient_steps + 1 if self._asked[0][2] else 0
        if self._patient_steps <= PATIENT_STEPS:
            return False
        self._patient_steps = 0
        return self._hears() or self._bulk.patience() == 0.0

    def _search_unread(
        self, names: Collection[str], words: Collection[str], most: float = math.inf
    ) -> Steps[tuple[list[str], bool]]:
        """Return the unread files that have one of the names, or fit the words best, and whether these are
        all. Files that may kill the process aren't among them. The search ends after `most` steps."""
        search = self._index.search(self._files.unread if names or words else (), names, words)
        steps = 0
        while (left := search.step(STEP_S)) and steps < most:
            steps += 1
            yield
        found = [path for path in search.found() if path in self._files.unread]
        safe = self._unread_among(found)
        return safe, not left and not search.is_cut and len(safe) == len(found)

    def _link_named(self, names: Collection[str]) -> Steps[tuple[bool, bool]]:
        """Read and link the files that mention or define some names; return whether there are any, and
        whether none of them waits any more."""
        wanted, complete = yield from self._search_unread(names, ())
        yield from self._read_first(wanted)
        found: set[int] = set()
        linked = bool(self._files.unread)  # other links of a file may have been of interest
        for ids in self._index.linking.mentioning(names, linked=linked):
            found |= ids
            yield
        stands = bool(wanted or found)
        complete &= yield from self._read_needed(found, names)
        while self._bulk.link_first(found, STEP_S):
            yield
        return stands, complete

    def _unread_among(self, paths: Iterable[str]) -> list[str]:
        """Return the unread files among `paths`, without those that may kill the process."""
        suspects = self._index.suspects
        return [path for path in paths if path in self._files.unread and path not in suspects]

    def _read_first(self, paths: Sequence[str]) -> Steps[None]:
        """Read the unread files among `paths` before all others."""
        while waiting := [path for path in paths if path in self._files.unread]:
            self._index.reading.step(STEP_S, waiting)
            yield

    def _read_needed(self, found: set[int], names: Collection[str]) -> Steps[bool]:
        """Read the unread files on which links that concern `names` in the files `found` depend.

        Files with the bases of classes are added to `found`. Returns False if too many files are needed.
        """
        room = FIRST_FILES
        deadline = self._index.system.monotonic() + FIRST_S
        examined = sorted(found)
        while examined:
            needs: dict[int, LinkNeeds] = {}
            left = examined
            while left:
                known = self._bulk.link_needs(left, names)
                needs |= known
                left = [each for each in left if each not in known] if known else []  # the rest were removed
                yield
            wanted = dict.fromkeys(
                path for each in needs.values() for path in self._unread_among(each.consulted)
            )
            bases = {base for each in needs.values() for base in each.bases} - found
            room -= len(wanted) + len(bases)
            if room < 0 or self._index.system.monotonic() > deadline:
                return False
            yield from self._read_first(list(wanted))
            again = (number for number, each in needs.items() if each.consulted & wanted.keys())
            examined = [*again, *sorted(bases)]
            found |= bases
        return True

    def _step_asked(self) -> None:
        steps, answer, patient = self._asked[0]
        try:
            next(steps)
            if patient:
                self._asked.rotate(-1)
        except StopIteration as end:
            self._asked.popleft()
            answer(end.value, "")
        except (FovealError, OSError) as error:
            self._asked.popleft()
            answer(None, str(error))

    def _write_words(self, seconds: float) -> bool:
        with self._index.suspects.work():
            return self._index.lexical_indexer.step(seconds)

    def _repeat(self, work: Callable[[float], bool], seconds: float) -> Steps[bool]:
        """Repeat `work` in steps for up to `seconds`, until it returns False because nothing is left."""
        deadline = self._index.system.monotonic() + seconds
        while more := work(min(STEP_S, seconds)):
            if self._index.system.monotonic() > deadline:
                break
            yield
        return more

    def _notice(self) -> Steps[tuple[list[str], bool]]:
        """Record the changes on the disk up to now; return the changed paths, and whether these are all."""
        try:
            return (yield from self._changes.sweep_until_quiet())
        except RootGone as error:
            self._bulk.lose_root(error)
            return [], False

    def _hears(self) -> bool:
        return self._index.watch.has_batch and not self._changes.is_listing

    def _take_batch(self) -> None:
        """Record the changes that the watcher saw, and read the files now if they are few."""
        batch = self._index.watch.next_batch()
        if batch is None:
            return
        try:
            self._changes.take(batch)
            if len(self._files.unread) <= READ_NOW:
                self._index.reading.read(list(self._files.unread), STEP_S)
            self._bulk.read_later()
        except RootGone as error:
            self._bulk.lose_root(error)


def _all_of(steps: Steps[T]) -> T:
    while True:
        try:
            next(steps)
        except StopIteration as end:
            value: T = end.value
            return value
