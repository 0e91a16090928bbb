"""Owns that experiences know their commits: looks whenever HEAD or a pool is another, and marks what is due.

A hook of git says when to look and no more: what was missed while no daemon ran is found by the next look.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from functools import partial

from ..core.system import System
from ..core.work import Work
from ..project import commits, git
from ..project.project import Project
from .commit_rules import CommitHistory, Ruling, is_held, rulings
from .records import Known
from .service import Experiences

log = logging.getLogger(__name__)

NEWEST = 2_000
"""Maximum number of experiences of a pool looked at, the newest first; older ones stay as they are."""

HELD_MAX = 200
"""Maximum number of commits that aren't in the log looked for, those of the newest experiences."""


class CommitMarks:
    """The marks of all open projects. Every method belongs on the event loop."""

    def __init__(self, work: Work, experiences: Experiences, system: System) -> None:
        self._work = work
        self._experiences = experiences
        self._system = system
        self._turn = asyncio.Lock()
        self._seen: dict[str, tuple[str, int]] = {}
        """The commit and the pool's generation at the last look, by the project's root."""

    def look(self, project: Project) -> None:
        """Mark what is due, in the background."""
        self._work.start_unheard(self.mark(project), f"commits of {project.root}")

    async def mark(self, project: Project) -> tuple[str, ...]:
        """Give experiences their commits, and mark those whose commit was undone; returns their ids, durably.

        Does nothing where nothing is new since the last time.
        """
        async with self._turn:
            commit = await self._work.in_builder(partial(_commit_at, project.root, self._system))
            if not commit or self._seen.get(project.root) == (commit, project.pool.generation):
                return ()
            denials = self._system.denials
            try:
                due = await self._work.in_builder(partial(_due, project, self._system))
            except git.GitError as error:
                log.info("git says nothing of the commits of %s: %s", project.root, error)
                return ()
            marked = await self._experiences.annotate(project, due)
            if self._system.denials == denials:
                self._seen[project.root] = (commit, project.pool.generation)
            return marked


def _commit_at(root: str, system: System) -> str:
    found = git.head(root, system)
    return "" if found is None else found.commit


def _due(project: Project, system: System) -> tuple[Ruling, ...]:
    project.pool.refresh()
    experiences = project.pool.newest(NEWEST)
    if not experiences:
        return ()
    return tuple(rulings(experiences, _history(project.root, experiences, system)))


def _history(root: str, experiences: Iterable[Known], system: System) -> CommitHistory:
    log_of_head = commits.latest_commits(root)
    known = {one.id for one in log_of_head}
    held = dict.fromkeys(one.current.commit for one in experiences if is_held(one) and one.current.commit)
    elsewhere = [one for one in held if one not in known][:HELD_MAX]
    return CommitHistory(
        log_of_head,
        commits.made_here(root, system),
        commits.reverts(root),
        {one.id: one for one in commits.lost_commits(root, elsewhere)},
        partial(commits.is_as_before, root, system),
        partial(commits.is_same, root),
    )
