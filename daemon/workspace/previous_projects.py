"""Recognises projects that were moved or cloned by their repository, and asks whether to take over their
decisions.

Nothing is taken over without a person's answer: a clone may be of somebody else's work.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shlex
from contextlib import suppress
from functools import partial

from msgspec import Struct, structs

from ..core.errors import FovealError, NotFound
from ..core.system import System
from ..core.work import Work
from ..memory.records import POOL_FILE
from ..memory.service import Pool, join
from ..project.records import ProjectRecord
from ..project.service import git, identity_of, known_projects, project_folder, write_record
from .project import Project

log = logging.getLogger(__name__)


class PreviousProject(Struct, frozen=True):
    """A project of the same repository: its folder, its decisions, and whether that folder is gone."""

    home: str
    decisions: int
    is_moved: bool

    @property
    def question(self) -> str:
        """What a person is asked."""
        kind = "the project that was at" if self.is_moved else "a clone of the project at"
        amount = f"{self.decisions:,} decision{'s' * (self.decisions != 1)}"
        return (
            f"this looks like {kind} {self.home} ({amount}); to take them over, run: foveal decisions adopt "
            f"{shlex.quote(self.home)}; to be asked no more, add --never"
        )


class PreviousProjects:
    """Finds previous projects once for each opened one. On the event loop only."""

    def __init__(self, state_dir: str, work: Work, system: System) -> None:
        self._state_dir = state_dir
        self._work = work
        self._system = system
        self._turn = asyncio.Lock()

    async def question(self, project: Project) -> str:
        """Return what to ask of a project, "" for nothing. Finds it out at the first call."""
        if project.question is None:
            found = await self._find(project)
            project.question = found[0].question if found else ""
        return project.question

    def question_nowait(self, project: Project) -> str:
        """Return what to ask of a project as far as that is known, and have it found out for later."""
        if project.question is None:
            self._work.start_background(self.question(project), f"recognise {project.root}")
        return project.question or ""

    async def answer(self, project: Project, path: str, *, takes: bool) -> tuple[str, int]:
        """Take over the decisions of a previous project, or never ask of it again; returns its folder and the
        number of new decisions. Those of a moved project move, those of a clone are copied.

        Raises `NotFound` for a project of another repository or without decisions, and what pools raise.
        """
        found = {previous.home: previous for previous in await self._find(project, asks_again=True)}
        previous = found.get(path.rstrip("/"))
        if previous is None:
            raise NotFound(f"no project of this repository with decisions is known at {path!r:.300}")
        added = 0
        if takes:
            source = os.path.join(project_folder(self._state_dir, previous.home), POOL_FILE)
            move = partial(join, source, project.pool, "", self._system, keeps=not previous.is_moved)
            added = await self._work.in_writer(move)
        await self._work.in_writer(partial(self._note_answer, project, previous.home))
        project.question = None
        return previous.home, added

    async def _find(self, project: Project, *, asks_again: bool = False) -> list[PreviousProject]:
        async with self._turn:  # git may take long in a large repository, so not in a thread of the builders
            return await asyncio.to_thread(self._like, project, asks_again)

    def _like(self, project: Project, asks_again: bool) -> list[PreviousProject]:
        own, records = self._own(project)
        homes = {record.home or record.root for record in records if _is_like(record, own)}
        found = []
        for home in sorted(homes - {own.home or own.root} - (set() if asks_again else set(own.answered))):
            is_moved, decisions = not os.path.isdir(home), 0
            path = os.path.join(project_folder(self._state_dir, home), POOL_FILE)
            with suppress(FovealError):
                decisions = Pool(path, self._system).statistics().experiences if os.path.exists(path) else 0
            if decisions and (is_moved or own.remote):
                found.append(PreviousProject(home, decisions, is_moved))
        return found

    def _own(self, project: Project) -> tuple[ProjectRecord, list[ProjectRecord]]:
        """Return a project's record with what its repository is recognised by, and all records."""
        known = known_projects(self._state_dir, self._system)
        own = next((one for one in known if one.root == project.root), ProjectRecord(project.root))
        if project.pool.view is not None and not own.first_commit:
            try:
                first, remote = identity_of(project.root, self._system)
            except git.GitError as error:
                log.info("git says nothing of the repository of %s: %s", project.root, error)
            else:
                own = structs.replace(own, first_commit=first, remote=remote)
                write_record(project.root, project.folder, self._system, first_commit=first, remote=remote)
        return own, known

    def _note_answer(self, project: Project, home: str) -> None:
        own, _ = self._own(project)
        answered = tuple(sorted({*own.answered, home}))
        write_record(project.root, project.folder, self._system, answered=answered)


def _is_like(record: ProjectRecord, own: ProjectRecord) -> bool:
    """Whether a record is of the same repository."""
    of = record.first_commit, record.remote
    return bool(own.first_commit) and of == (own.first_commit, own.remote)
