"""The indexing progress of a project, as the indexer reports it to the daemon."""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from ..index.messages import ProjectProgress
from ..privacy.policy import NO_POLICY, Policy
from ..project.tree import ProjectState, Tree


class IndexState:
    """The indexer's last report of one project, and a way to wait for the next. On the event loop only."""

    def __init__(self, tree: Tree) -> None:
        self.progress: ProjectProgress | None = None
        self.indexer_problem = ""
        """Why the indexer doesn't serve the project."""
        self.damage = ""
        """Why the index is being checked and rebuilt, or ""."""
        self.lock = asyncio.Lock()
        """Held while the indexer opens the project."""
        self.opened_at = asyncio.get_running_loop().time()
        """On the event loop's clock, in seconds."""
        self._warm = bool(tree.files)
        self._searchable = self._warm and not tree.pending
        self._activity_known = self._warm
        self._changed = asyncio.Event()

    @property
    def state(self) -> ProjectState:
        """The progress of indexing. A known project serves while it is compared with the disk."""
        if self.progress is None or (self.indexer_problem and self.progress.state == "ready"):
            return "scanning"  # without an indexer, changes aren't noticed
        # Without the history the hot files aren't known, so a context would change a moment later.
        if self.progress.state == "ready" and not self._activity_known:
            return "indexing"
        return self.progress.state

    @property
    def named(self) -> bool:
        """Whether all names are known, from this scan or from an earlier one."""
        return self.state != "scanning" or self._warm

    @property
    def searchable(self) -> bool:
        """Whether all files were searchable by words at some time since the index was made.

        Also True if no more files will be read, because the root or the indexer is missing.
        """
        return self._searchable or self.state == "degraded"

    @property
    def problems(self) -> tuple[str, ...]:
        """Return the problems of the index that the daemon found, in words."""
        return tuple(filter(None, (self.indexer_problem, self.damage)))

    @property
    def degraded(self) -> tuple[str, ...]:
        """Return the problems that the indexer reports, in words."""
        return () if self.progress is None else self.progress.degraded

    def unread(self, tree: Tree) -> str:
        """Return which part of the project isn't indexed yet, for the gaps of an answer; "" if none."""
        count = len(tree.files)
        if self.state == "scanning" and not self._warm:
            return f"the project is still being scanned: {count:,} files are known so far"
        if tree.pending:
            unread = f"{tree.pending:,} of {count:,} files are not indexed yet"
            return f"{unread}: their definitions and imports are not known"
        if not self.searchable:
            return "the words of the files read last are not indexed yet: a prompt may find too little"
        return ""

    def unsettled(self, tree: Tree, policy: Policy = NO_POLICY) -> str:
        """Return why an answer from the index may be incomplete, in words for an agent; "" if it isn't."""
        state = "scanning" if self.progress is None else self.progress.state
        if state == "ready" and self._searchable and not tree.pending:
            return ""  # the usual case for a cached answer
        unread = self.unread(tree)
        if not unread and state not in {"scanning", "indexing"}:
            return ""
        if policy.deny_paths:
            return "the project is not fully indexed yet"  # not every agent may know the number of files
        if unread:
            return unread
        if state == "scanning":
            return "the project is being compared with the disk: what changed lately may be missing"
        return "what changed lately is still being indexed and may be missing"

    def set_progress(self, progress: ProjectProgress) -> None:
        """Replace what the indexer reports."""
        self.progress = progress
        self._warm |= progress.state != "scanning"
        self._searchable |= progress.words
        self.wake()

    def expect_scan(self) -> None:
        """Treat the project as not yet compared with the disk: earlier reports are from a former opening."""
        if self.progress is not None:
            self.set_progress(replace(self.progress, state="scanning", watch="off"))

    def forget(self) -> None:
        """Treat the project as unknown until it is scanned again, because other files belong to it now."""
        self.progress = None
        self._warm = self._searchable = False

    def note_activity(self) -> None:
        """Note that the history of edits and commits is known."""
        self._activity_known = True
        self.wake()

    def set_indexer_problem(self, problem: str) -> None:
        """Set why the indexer doesn't serve the project; "" means that it does."""
        self.indexer_problem = problem
        self.wake()

    def wake(self) -> None:
        """Wake all tasks that wait for a change."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def wait_changed(self) -> None:
        """Wait until the indexer reports anything about the project, or its end is noticed."""
        await self._changed.wait()
