"""Waits for the index within an answer's deadline: for names, words, changed files, or the whole tree."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar
from weakref import WeakKeyDictionary

from ..core.errors import FovealError
from ..core.work import Deadline, SharedWork, Work
from ..index.records import RefreshFiles
from ..project.service import Tree
from .indexer_client import IndexerClient
from .project import Project

log = logging.getLogger(__name__)
T = TypeVar("T")

NAMES_WAIT_S = 5.0
REFRESH_WAIT_S = 2.0
SYNC_WAIT_S = 5.0
"""Maximum seconds to wait for the names of a new project, until changed files are read again, and until the
tree is compared with the disk."""

NEW_S = 10.0
"""Seconds after a project was opened during which answers wait until all its files are read, if their
deadlines allow it."""

FEW_FILES = 400
"""Maximum number of unread files for which answers wait: two cores read them in four seconds. In a larger
project the files that a question needs are read first, see `SearchService`."""

SEARCH_SHARE, SEARCH_S = 0.35, 1.0
"""Share of the time to a deadline that is reserved for the search after waiting for a new project, and its
maximum in seconds: a search by words takes 20 to 100 ms beside a busy indexer, ten times that on an
overloaded machine."""


def deadline_of(project: Project, deadline_ms: int | None) -> Deadline:
    """Return the caller's deadline, or else the default from the settings."""
    limit = project.config.context.deadline_ms if deadline_ms is None else deadline_ms
    return Deadline(asyncio.get_running_loop().time() + limit / 1000)


class TreeFreshness:
    """Waits for the indexer before an answer, within a deadline; after it, answers use the current index."""

    def __init__(self, work: Work, indexing: IndexerClient) -> None:
        self._indexing = indexing
        self._rounds = SharedWork[tuple[Project, int], Tree | None](work)
        self._begun: WeakKeyDictionary[Project, int] = WeakKeyDictionary()
        """The number of the comparison of each tree that began last."""
        self._turns: WeakKeyDictionary[Project, asyncio.Lock] = WeakKeyDictionary()

    async def wait_named(self, project: Project, deadline: Deadline) -> None:
        """Wait until a new project's names are known."""
        if not project.index_state.named:
            await _wait_until(project, before_search(deadline), lambda: project.index_state.named)

    async def wait_searchable(self, project: Project, deadline: Deadline) -> None:
        """Wait until a new project's names are known and all its files are read and searchable by words.

        Returns once the names are known if the project has been open for more than `NEW_S`, or has more
        unread files than `FEW_FILES`.
        """
        await self.wait_named(project, deadline)
        state = project.index_state
        new_s = state.opened_at + NEW_S - asyncio.get_running_loop().time()
        if not state.searchable and new_s > 0 and project.tree.pending <= FEW_FILES:
            await _wait_until(project, before_search(deadline), lambda: state.searchable, new_s)

    async def refresh(
        self, project: Project, paths: Sequence[str], deadline: Deadline, *, words: bool = False
    ) -> bool:
        """Let the indexer read files again; return False if that took too long or failed.

        With `words`, also wait until the files can be found by their words, which takes longer.
        """
        if not paths:
            return True
        command = RefreshFiles(project.root, tuple(paths), words)
        refreshed = await _in_time(self._indexing.ask(command), deadline, REFRESH_WAIT_S)
        return refreshed is not None and refreshed.complete

    async def sync(self, project: Project, deadline: Deadline) -> Tree | None:
        """Let the indexer index every change on the disk; return the new tree, None if that took too long.

        The project may have a later tree when the caller continues, but that tree may be incomplete: in the
        middle of a move the old name is gone and the new one isn't there yet.
        """
        await _wait_until(project, deadline, lambda: project.state != "scanning")
        tree = await _in_time(self._shared_sync(project), deadline, SYNC_WAIT_S)
        return None if project.state == "scanning" else tree

    async def _shared_sync(self, project: Project) -> Tree | None:
        """Join the next comparison of the tree; one that began before the request may miss changes."""
        number = self._begun.get(project, 0) + 1
        begin = partial(self._sync_round, project, number)
        return await self._rounds.run((project, number), begin, f"sync {project.root}")

    async def _sync_round(self, project: Project, number: int) -> Tree | None:
        """Sync once for all requests that arrived while the round before was running."""
        async with self._turns.setdefault(project, asyncio.Lock()):
            self._begun[project] = number
            return await self._indexing.sync(project)


def before_search(deadline: Deadline) -> Deadline:
    """Return the time at which a wait for a new project ends, so that time is left for the search."""
    left_s = deadline.left(NEW_S)
    return Deadline(deadline.at - min(left_s * SEARCH_SHARE, SEARCH_S))


async def _wait_until(
    project: Project, deadline: Deadline, known: Callable[[], bool], most: float = NAMES_WAIT_S
) -> None:
    if known():
        return  # nearly always; no timer is needed then
    try:
        async with asyncio.timeout(deadline.left(most)):
            while not known() and not project.index_state.indexer_problem:
                await project.index_state.wait_changed()
    except TimeoutError:
        return  # the context is built from what is known, and says so


async def _in_time(work: Awaitable[T | None], deadline: Deadline, most: float) -> T | None:
    """Wait for the indexer within the deadline; return None if it doesn't answer in time, or fails.

    A failure isn't raised: the answer is made without it and says so in `degraded`.
    """
    try:
        async with asyncio.timeout(deadline.left(most)):
            return await work
    except TimeoutError:
        return None
    except FovealError as error:
        log.info("the indexer could not do what a request needed: %s", error)
        return None
