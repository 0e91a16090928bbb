"""How long an answer waits for what isn't known yet: names, words, changed files, the whole tree."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from msgspec import Struct

from ..core.errors import FovealError
from ..core.work import Work
from ..index.indexing import Indexing
from ..index.messages import RefreshFiles
from .project import Project
from .tree import Tree

log = logging.getLogger(__name__)
T = TypeVar("T")

NAMES_WAIT_S = 5.0
REFRESH_WAIT_S = 2.0
SYNC_WAIT_S = 5.0
"""Maximum wait in seconds for the names of a new project, for files that changed to be read again, and for
the tree to be compared with the disk."""

NEW_S = 10.0
"""Seconds after its opening in which answers wait until a project was read whole, as long as their deadlines
allow. Two cores read some 100 files a second; answers about a larger project are incomplete until it is
read."""

SEARCH_SHARE, SEARCH_S = 0.35, 1.0
"""Share of the time to a deadline that is reserved for the search after waiting for a new project, and its
maximum in seconds: a search by words takes 20 to 100 ms beside a busy indexer, ten times that on an
overloaded machine."""


class Deadline(Struct, frozen=True):
    """When an answer must be there, in seconds on the event loop's clock."""

    at: float

    def left(self, most: float) -> float:
        """Return the seconds left, at most `most` and at least 0."""
        return max(min(self.at - asyncio.get_running_loop().time(), most), 0)


def deadline_of(project: Project, deadline_ms: int | None) -> Deadline:
    """Return the caller's deadline, else that of the settings."""
    limit = project.config.context.deadline_ms if deadline_ms is None else deadline_ms
    return Deadline(asyncio.get_running_loop().time() + limit / 1000)


class TreeFreshness:
    """Waits for the indexer before an answer, within a deadline; after it, answers use what is known."""

    def __init__(self, work: Work, indexing: Indexing) -> None:
        self._work = work
        self._indexing = indexing
        self._syncs: dict[Project, list[asyncio.Future[Tree | None]]] = {}

    async def wait_named(self, project: Project, deadline: Deadline) -> None:
        """Wait until a new project's names are known."""
        if not project.index_state.named:
            await _wait_until(project, _before_search(deadline), lambda: project.index_state.named)

    async def wait_searchable(self, project: Project, deadline: Deadline) -> None:
        """Wait until a new project's names are known and it was read whole, words and all.

        Returns at once if the project has been open for more than `NEW_S`.
        """
        await self.wait_named(project, deadline)
        state = project.index_state
        new_s = state.opened_at + NEW_S - asyncio.get_running_loop().time()
        if not state.searchable and new_s > 0:
            await _wait_until(project, _before_search(deadline), lambda: state.searchable, new_s)

    async def refresh(
        self, project: Project, paths: Sequence[str], deadline: Deadline, *, words: bool = False
    ) -> bool:
        """Have files read again, as long as there is time; False if they weren't.

        With `words`, also wait until the files can be found by their words, which takes longer.
        """
        if not paths:
            return True
        command = RefreshFiles(project.root, tuple(paths), words)
        refreshed = await _in_time(self._indexing.ask(command), deadline, REFRESH_WAIT_S)
        return refreshed is not None and refreshed.complete

    async def sync(self, project: Project, deadline: Deadline) -> Tree | None:
        """Have every change on the disk indexed; returns the tree with them, None if that took too long.

        The project may have a later tree when the caller continues, but nothing proves that one: in the
        middle of a move, one name is gone and the other isn't there yet.
        """
        await _wait_until(project, deadline, lambda: project.state != "scanning")
        tree = await _in_time(self._shared_sync(project), deadline, SYNC_WAIT_S)
        return None if project.state == "scanning" else tree

    async def _shared_sync(self, project: Project) -> Tree | None:
        """Join the next comparison of the tree: one that began before the request proves nothing for it."""
        waiting = self._syncs.get(project)
        future: asyncio.Future[Tree | None] = asyncio.get_running_loop().create_future()
        if waiting is None:
            self._syncs[project] = []
            self._work.start_unheard(self._sync_rounds(project, future), f"sync {project.root}")
        else:
            waiting.append(future)
        return await future

    async def _sync_rounds(self, project: Project, first: asyncio.Future[Tree | None]) -> None:
        """Sync for one request, then once for all requests that came meanwhile, until none came."""
        waiters = [first]
        try:
            while waiters:
                try:
                    tree = await self._indexing.sync(project)
                except FovealError as error:
                    for waiter in waiters:
                        if not waiter.done():
                            waiter.set_exception(error)
                else:
                    for waiter in waiters:
                        if not waiter.done():
                            waiter.set_result(tree)
                waiters, self._syncs[project] = self._syncs[project], []
        finally:  # however this ended, nobody waits for it any longer
            for waiter in (*waiters, *self._syncs.pop(project)):
                if not waiter.done():
                    waiter.set_result(None)


def _before_search(deadline: Deadline) -> Deadline:
    """Return when a wait for a new project ends, so that time is left to search it."""
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
    """Wait for the indexer within the deadline; None where it didn't answer in time, or failed.

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
