"""Forgets a project: removes all that the state folder holds of it, and nothing of other projects.

What the state folder holds by content, for all projects, stays: shortened texts, lists of tools, and
embeddings of contents that are gone from the project or that others have too. So does the project itself.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from functools import partial

from msgspec import Struct

from ..context.context_history import ContextHistory
from ..context.scopes import ScopeTable
from ..context.scoping import Scoping
from ..core.errors import FovealError, NotFound
from ..core.system import System
from ..core.work import Work
from ..embedding.semantics import Semantics
from ..memory.pool import Pool
from ..project.open_projects import OpenProjects
from ..project.roots import RECORD
from ..rules.item_store import ItemStore
from ..sessions.request_log_service import RequestLog
from ..sessions.service import Sessions
from ..sessions.timeline_service import Timeline

POOL_FILE = "experiences.jsonl"


class ForgottenProject(Struct, frozen=True):
    """A forgotten project, and what was removed of it, by name: numbers of things, and bytes of its index.

    `problem` says what could not be removed, or is empty.
    """

    root: str
    removed: Mapping[str, int]
    problem: str = ""


class Forgetting:
    """Forgets projects. On the event loop only; blocking work runs in threads."""

    def __init__(
        self,
        projects: OpenProjects,
        scopes: ScopeTable,
        scoping: Scoping,
        sessions: Sessions,
        requests: RequestLog,
        contexts: ContextHistory,
        timeline: Timeline,
        semantics: Semantics,
        work: Work,
        system: System,
    ) -> None:
        self._projects = projects
        self._scopes = scopes
        self._scoping = scoping
        self._sessions = sessions
        self._requests = requests
        self._contexts = contexts
        self._timeline = timeline
        self._semantics = semantics
        self._work = work
        self._system = system

    async def forget(self, root: str, *, dry_run: bool) -> ForgottenProject:
        """Remove all that is kept of a project; with `dry_run` only count it, quickly, without embeddings.

        Whoever opens the project meanwhile waits, and gets an empty one. Raises `NotFound` if nothing is
        known of it, `StateError` if the disk refuses.
        """
        if dry_run:
            return ForgottenProject(root, await self._counts(root))
        folder = self._projects.folder_of(root)
        async with self._projects.closed_meanwhile(root):
            counts = await self._counts(root)
            counts["embeddings"], problem = await self._forget_embeddings(root, folder)
            await self._scoping.forget_project(root)
            await self._sessions.forget_project(root)
            await self._contexts.forget_project(root)
            await self._timeline.forget_project(root)
            await self._projects.forget_trust(root)
            await self._work.in_writer(partial(_remove, folder))
        return ForgottenProject(root, counts, problem)

    async def _counts(self, root: str) -> dict[str, int]:
        """Count what is kept of a project. Raises `NotFound` if there is nothing."""
        folder = self._projects.folder_of(root)
        await self._contexts.write()
        requests, contexts = await self._requests.counts_of(root)
        _, trusted = await self._projects.trust_of(root)
        counts = {
            **await self._work.in_writer(partial(_in_folder, folder, self._system)),
            "contexts": contexts,
            "requests": requests,
            "sessions": len(await self._sessions.list(root)),
            "scopes": len(self._scopes.of_project(root)),
            "trusted": len(trusted.digests),
            "events": await self._timeline.count_of(root),
        }
        if not any(counts.values()):
            raise NotFound(f"nothing is known of {root}; to see what is: foveal projects")
        return counts

    async def _forget_embeddings(self, root: str, folder: str) -> tuple[int, str]:
        """Remove the embeddings that only a project uses; return their number and a problem or ""."""
        others = await self._projects.other_folders(root)
        try:
            return await self._semantics.forget(root, folder, others), ""
        except FovealError as error:
            return 0, f"its embeddings stay until they are the longest unused ones ({error})"


def _in_folder(folder: str, system: System) -> dict[str, int]:
    """Count what lies in a project's folder."""
    index_bytes = 0
    for above, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):  # the indexer removes files of its own
                index_bytes += os.path.getsize(os.path.join(above, name))
    items = decisions = feedback = 0
    if index_bytes:
        with suppress(FovealError):
            stored = ItemStore(os.path.join(folder, "items.json"), system).load()
            items = len(stored.drafts)
        with suppress(FovealError):
            decisions = Pool(os.path.join(folder, POOL_FILE), system).statistics().experiences
        with suppress(Exception):  # there is none, or it is damaged
            feedback = len(json.loads(system.read(os.path.join(folder, "feedback.json"))[0])["uses"])
    return {"index_bytes": index_bytes, "items": items, "decisions": decisions, "feedback": feedback}


def _remove(folder: str) -> None:
    """Remove a project's folder, its record last: after a crash the project is still known."""
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name == RECORD:
                continue
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
            else:
                os.unlink(entry.path)
    shutil.rmtree(folder, ignore_errors=True)
