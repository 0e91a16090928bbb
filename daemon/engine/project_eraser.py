"""Forgets a project: removes all that the state folder holds of it, and nothing of other projects.

What the state folder holds by content, for all projects, stays: shortened texts, lists of tools, and
embeddings of contents that are gone from the project or that others have too. So does the project itself.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial

from msgspec import Struct

from ..context.service import ScopeService, ScopeTable
from ..core.errors import FovealError, NotFound, StateError
from ..core.quarantine import MARK
from ..core.state_folder import BACKUPS
from ..core.storage import DatabaseError
from ..core.system import System
from ..core.work import Work
from ..embedding.service import EmbedderClient
from ..memory.records import POOL_FILE
from ..memory.service import Pool
from ..project.records import DERIVED, RECORD, REST
from ..project.service import removed_work_trees
from ..rules.service import Items, ItemStore
from ..sessions.service import Deliveries, Sessions, Timeline
from ..workspace.service import OpenProjects

log = logging.getLogger(__name__)

POOL_PREFIX = POOL_FILE.partition(".")[0]
"""What the names of all files of a pool begin with."""

REMOVED_TREES_S = 600.0
"""Seconds between two looks for work trees that git has removed, which read a small file for each project."""


class ForgottenProject(Struct, frozen=True):
    """A forgotten project, and what was removed of it, by name: numbers of things, and bytes of its index.

    `problem` says what could not be removed, `kept` what other work trees of the repository have too, or they
    are empty.
    """

    root: str
    removed: Mapping[str, int]
    problem: str = ""
    kept: str = ""


class ProjectEraser:
    """Forgets projects. On the event loop only; blocking work runs in threads."""

    def __init__(
        self,
        state_dir: str,
        projects: OpenProjects,
        scopes: ScopeTable,
        scoping: ScopeService,
        sessions: Sessions,
        deliveries: Deliveries,
        timeline: Timeline,
        semantics: EmbedderClient,
        items: Items,
        work: Work,
        system: System,
    ) -> None:
        self._state_dir = state_dir
        self._projects = projects
        self._scopes = scopes
        self._scoping = scoping
        self._sessions = sessions
        self._deliveries = deliveries
        self._timeline = timeline
        self._semantics = semantics
        self._items = items
        self._work = work
        self._system = system
        self.pause: Callable[[Callable[[str], Awaitable[bool]]], AbstractAsyncContextManager[None]] = _at_once
        """Entered while a project is forgotten, with what tells its folders: nothing is grafted meanwhile."""

    async def forget(self, root: str, *, dry_run: bool) -> ForgottenProject:
        """Remove all that is kept of a project; with `dry_run` only count it, quickly, without embeddings.

        Whoever opens the project meanwhile waits, and gets an empty one. What can't be removed is named in
        `problem`, and the rest is removed. Raises `NotFound` if nothing is known of it.
        """
        problems: list[str] = []
        folder = self._projects.folder_of(root)
        if dry_run:
            _, _, counts, kept = await self._found(root, problems)
            _refuse_unknown(root, counts)
            return ForgottenProject(root, counts, "; ".join(problems), kept)
        # First, since the graft that runs may be waiting for the project.
        async with self.pause(partial(self._projects.is_in, root)), self._projects.closed_meanwhile(root):
            home, others, counts, kept = await self._found(root, problems)
            counts["embeddings"] = await self._forget_embeddings(root, folder, problems)
            remove = partial(_remove, folder, home, keeps_pool=others)
            for what, removal in (
                ("scopes", partial(self._scoping.forget_project, root)),
                ("sessions", partial(self._sessions.forget_project, root)),
                ("contexts, requests and timelines", partial(self._timeline.forget_project, root)),
                ("trusted files", partial(self._projects.forget_trust, root)),
                ("approved tool servers", partial(self._items.forget_project, root)),
                ("index, items and decisions", partial(self._work.in_writer, remove)),
            ):
                try:
                    await removal()
                except (FovealError, DatabaseError, OSError) as error:
                    problems.append(
                        f"its {what} could not be removed ({error}); mend that, then forget it again"
                    )
        if not problems:
            # Only now: where a full disk kept what was deleted in the files, forgetting again takes it out.
            _refuse_unknown(root, counts)
        if aside := await asyncio.to_thread(_aside_in, self._state_dir):
            problems.append(
                f"what was set aside earlier may tell of it and stays: {aside}; see: foveal doctor --deep"
            )
        return ForgottenProject(root, counts, "; ".join(problems), kept)

    async def run(self) -> None:
        """Forget the work trees that git has removed, now and then."""
        while True:
            await self.forget_removed_trees()
            await asyncio.sleep(REMOVED_TREES_S)

    async def forget_removed_trees(self) -> None:
        """Remove the scopes and the indexes of work trees that git has removed; decisions and items stay, and
        what was sent, which ages as usual. What can't be removed now is removed the next time."""
        find = partial(removed_work_trees, self._state_dir, self._system)
        for root in await self._work.in_builder(find):
            async with self._projects.closed_meanwhile(root):
                remove = partial(_remove_derived, root, self._projects.folder_of(root))
                try:
                    if self._scopes.of_project(root):
                        await self._scoping.forget_project(root)
                    if (left := await self._work.in_writer(remove)) is not None:
                        kept = f"; kept: {', '.join(left)}" if left else ""
                        log.info("git has removed the work tree %s: its index is removed%s", root, kept)
                except (FovealError, DatabaseError, OSError) as error:
                    log.warning("the index of %s, which git has removed, stays for now: %s", root, error)

    async def _found(self, root: str, problems: list[str]) -> tuple[str, bool, dict[str, int], str]:
        """Return the folder of a project's pool, whether other projects have it too, what is kept of the
        project, counted, and what stays in words; add to the problems what can't be counted."""
        home, others = await self._projects.family_of(root)
        kept = await self._work.in_writer(partial(_kept, home, others, self._system))
        folder = self._projects.folder_of(root)
        count = partial(_in_folders, folder, home, self._system, keeps_pool=bool(others))
        requests = contexts = events = trusted = 0
        try:
            requests, contexts, events = await self._deliveries.counts_of(root)
        except StateError as error:
            problems.append(f"its requests, contexts and timelines can't be counted ({error})")
        try:
            trusted = len((await self._projects.trust_of(root))[1].digests)
        except StateError as error:
            problems.append(f"its trusted files can't be counted ({error})")
        counts = {
            **await self._work.in_writer(count),
            "contexts": contexts,
            "requests": requests,
            "sessions": len((await self._sessions.list(root)).sessions),
            "scopes": len(self._scopes.of_project(root)),
            "trusted": trusted,
            "events": events,
        }
        return home, bool(others), counts, kept

    async def _forget_embeddings(self, root: str, folder: str, problems: list[str]) -> int:
        """Remove the embeddings that only a project uses, and return their number."""
        others = await self._projects.other_folders(root)
        try:
            return await self._semantics.forget(root, folder, others)
        except FovealError as error:
            problems.append(f"its embeddings stay until they are the longest unused ones ({error})")
            return 0


def _refuse_unknown(root: str, counts: Mapping[str, int]) -> None:
    """Raise `NotFound` if nothing is kept of a project."""
    if not any(counts.values()):
        raise NotFound(f"nothing is known of {root}; to see what is: foveal projects")


@asynccontextmanager
async def _at_once(belongs: Callable[[str], Awaitable[bool]]) -> AsyncIterator[None]:
    """Wait for nothing."""
    yield


ASIDE_NAMED = 3
"""Maximum number of quarantined entries that a message names."""


def _aside_in(state: str) -> str:
    """Return the quarantined files of all projects, and the backups, in words; "" for none."""
    names = sorted(name for name in os.listdir(state) if MARK in name or name == BACKUPS)
    more = f" and {len(names) - ASIDE_NAMED} more" if len(names) > ASIDE_NAMED else ""
    return ", ".join(names[:ASIDE_NAMED]) + more


def _decisions_in(home: str, system: System) -> int:
    """Return how many decisions the pool in a folder has."""
    return Pool(os.path.join(home, POOL_FILE), system).statistics().experiences


def _kept(home: str, others: Sequence[str], system: System) -> str:
    """Return in words which decisions stay, since other projects have them too; "" for none."""
    decisions = 0
    with suppress(FovealError):
        decisions = _decisions_in(home, system) if others else 0
    more = f" and {len(others) - ASIDE_NAMED} more" if len(others) > ASIDE_NAMED else ""
    named = ", ".join(sorted(others)[:ASIDE_NAMED]) + more
    return f"{decisions} of the repository's decisions stay, for its other work trees: {named}" * bool(
        decisions
    )


def _in_folders(folder: str, home: str, system: System, *, keeps_pool: bool) -> dict[str, int]:
    """Count what lies in a project's folder, and the decisions in that of its family if they don't stay."""
    index_bytes = 0
    for above, _, names in os.walk(folder):
        for name in names:
            if keeps_pool and above == home and name.startswith(POOL_PREFIX):
                continue
            with suppress(OSError):  # the indexer removes files of its own
                index_bytes += os.path.getsize(os.path.join(above, name))
    items = decisions = 0
    if index_bytes:
        with suppress(FovealError):
            stored = ItemStore(os.path.join(folder, "items.json"), system).load()
            items = len(stored.drafts)
        with suppress(FovealError):
            decisions = 0 if keeps_pool else _decisions_in(home, system)
    return {"index_bytes": index_bytes, "items": items, "decisions": decisions, "feedback": 0}


def _remove_derived(root: str, folder: str) -> list[str] | None:
    """Remove an index with what belongs to it from a project's folder, and the folder if it then holds
    nothing of worth; return the names of what stays, None if nothing was to remove or the root is back."""
    names = sorted(os.listdir(folder))
    derived = [name for name in names if name.startswith(DERIVED)]
    left = [name for name in names if not name.startswith((*DERIVED, *REST))]
    if os.path.lexists(root) or (left and not derived):
        return None
    for path in (os.path.join(folder, name) for name in derived):
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)
    if not left:
        _remove(folder, folder, keeps_pool=False)
    return left


def _remove(folder: str, home: str, *, keeps_pool: bool) -> None:
    """Remove a project's folder, its record last: after a crash the project is still known. The pool of its
    family, in the folder `home`, goes or stays."""
    pool = [name for name in os.listdir(home) if name.startswith(POOL_PREFIX)] if os.path.isdir(home) else []
    if home != folder and not keeps_pool:
        for name in pool:
            os.unlink(os.path.join(home, name))
        with suppress(OSError):  # it is the folder of the main work tree, too
            os.rmdir(home)
    left = {RECORD, *(pool if keeps_pool and home == folder else ())}
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name in left:
                continue
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
            else:
                os.unlink(entry.path)
    if left == {RECORD}:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(folder, RECORD))
