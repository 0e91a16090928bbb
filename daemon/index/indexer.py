"""Owns what the indexer is asked of one project and what the watcher told it: each done ahead of bulk work.

Runs in the indexer process, on its one working thread. What a commit changed is announced after it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from ..project.scan_results import RootGone
from ..project.watcher import Batch, Watcher
from ..system import System
from .beside import MakeBeside
from .bulk_work import BulkWork
from .messages import Event, OpenProject, Refreshed
from .project_index import ProjectIndex
from .suspects import Alarm

READ_NOW = 64
"""So many changed files are read in one go; more become bulk work, so that names are known first."""

SYNC_FILES = 512
"""The same for `sync`, whose caller waits for the contents."""

SYNC_LEXING_S = 1.0
"""How long `sync` may write what changed into the lexical index: some thousands of chunks."""

SYNC_LINKING_S = 1.0
"""The same for linking what changed, and what was linked through it: some hundred files."""

COOKIE_FILES = 10_000
"""Above so many files a sync trusts the watcher and its cookie; below, a sweep is as fast (30 ms for
6,809 files)."""


class ProjectIndexer:
    """One project in the indexer process. `announce` sends an event, `enqueue` adds work from any thread,
    `alarm` ends the process if a file takes too long, `make_watcher` is called as `Watcher` is, `make_beside`
    as `Beside` is; without it no other process reads or links."""

    def __init__(
        self,
        command: OpenProject,
        system: System,
        announce: Callable[[Event], None],
        enqueue: Callable[[Callable[[], None]], None],
        *,
        alarm: Alarm | None = None,
        make_watcher: Callable[..., Watcher] = Watcher,
        make_beside: MakeBeside | None = None,
    ) -> None:
        self._root = command.root
        self._index = ProjectIndex(
            command,
            system,
            announce,
            lambda: enqueue(self._take_batches),
            alarm,
            make_watcher,
            make_beside,
        )
        self._files = self._index.files
        self._changes = self._index.changes
        self._bulk = BulkWork(self._index)

    @property
    def generation(self) -> int:
        """The generation of the last commit."""
        return self._index.store.generation

    def close(self) -> None:
        """Stop watching and close the index."""
        self._index.close()

    def abandon(self) -> None:
        """Let no file be blamed for the end of this process, which comes now. From any thread."""
        self._index.suspects.abandon()

    def patience(self) -> float | None:
        """Return in how many seconds `step` has something to do; 0 while there is bulk work."""
        return self._bulk.patience()

    def step(self) -> None:
        """Do one step of bulk work, or the periodic sweep when its time has come."""
        self._bulk.step()

    def refresh(self, paths: Sequence[str], *, words: bool = False) -> Refreshed:
        """Examine a few files on the disk and read them now, ahead of everything else; with their `words`
        where they must be found by them at once."""
        self._changes.examine([os.path.join(self._root, path) for path in paths])
        self._index.reading.read([path for path in dict.fromkeys(paths) if path in self._files.unread])
        if words:
            with self._index.suspects.work():
                self._index.lexing.write_now(paths)  # words of what was read before may have been put off
        self._bulk.begin()  # who refers to them is linked behind this
        return Refreshed(self.generation, complete=True)

    def sync(self) -> Refreshed:
        """Bring in every change that is on the disk now."""
        if self._index.progress.state in {"scanning", "degraded"}:
            return Refreshed(self.generation, complete=False)
        changed, settled = self._notice()
        unread = self._files.unread
        if len(unread) <= SYNC_FILES:
            changed = list(unread)  # with what the watcher saw before
        self._index.reading.read([path for path in changed if path in unread][:SYNC_FILES])
        with self._index.suspects.work():
            lexing = self._index.lexing.step(SYNC_LEXING_S)
        linking = self._bulk.link(SYNC_LINKING_S)
        self._bulk.read_later()
        return Refreshed(self.generation, complete=settled and not unread and not lexing and not linking)

    def rebuild_lexical(self) -> None:
        """Fill the lexical index anew from the store: somebody found it damaged."""
        self._index.lexing.repair()
        self._index.progress.report()  # that it is empty for now
        self._bulk.read_later()

    def reindex(self, *, full: bool) -> None:
        """Scan all names again; with `full` read all contents again too."""
        if full:
            self._bulk.read_again()
            self._index.lexing.rebuild()
        self._bulk.begin_again()

    def _notice(self) -> tuple[list[str], bool]:
        """Take in what changed on the disk up to now; returns which files, and whether that is all."""
        watch = self._index.watch
        if len(self._files.known) > COOKIE_FILES and watch.native and watch.caught_up():
            self._take_batches()  # the cookie came after them
            # The root may have been lost with them.
            return list(self._files.unread), self._index.progress.state != "degraded"
        return self._changes.sweep_until_quiet()

    def _take_batches(self) -> None:
        while (batch := self._index.watch.next_batch()) is not None:
            try:
                self._take_batch(batch)
            except RootGone as error:
                self._bulk.lose_root(error)

    def _take_batch(self, batch: Batch) -> None:
        self._changes.take(batch)
        if len(self._files.unread) <= READ_NOW:
            self._index.reading.read(list(self._files.unread))
        self._bulk.read_later()
