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
    """A project of the same repository: its folder, its decisions, whether that folder is gone, and whether a
    person said already what happens with them."""

    home: str
    decisions: int
    is_moved: bool
    is_answered: bool

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
    """Finds previous projects, and keeps what to ask until another project is opened. On the event loop
    only."""

    def __init__(self, state_dir: str, work: Work, system: System) -> None:
        self._state_dir = state_dir
        self._work = work
        self._system = system
        self._turn = asyncio.Lock()
        self._questions: dict[str, str] = {}
        """What to ask, "" for nothing, by the home of the family."""

    def opened(self, project: Project) -> None:
        """Note by what an opened project is recognised later, and find out in the background what to ask."""
        self._questions.clear()
        self._work.start_background(self.question(project), f"recognise {project.root}")

    async def question(self, project: Project) -> str:
        """Return what to ask of a project, "" for nothing."""
        home = project.pool.home or project.root
        if home not in self._questions:
            found = await self._find(project)
            self._questions[home] = next((one.question for one in found if not one.is_answered), "")
        return self._questions[home]

    def question_nowait(self, project: Project) -> str:
        """Return what to ask of a project as far as that is known."""
        return self._questions.get(project.pool.home or project.root, "")

    async def answer(self, project: Project, path: str, *, takes: bool) -> tuple[str, int]:
        """Take over the decisions of a previous project, or never ask of it again; returns its folder and the
        number of new decisions. Those of a moved project move, those of a clone are copied.

        Raises `NotFound` for a project of another repository or without decisions, and what pools raise.
        """
        home, added = await asyncio.to_thread(os.path.realpath, path), 0
        previous = next((each for each in await self._find(project) if each.home == home), None)
        if previous is None:
            raise NotFound(f"no project of this repository with decisions is known at {home!r:.300}")
        if takes:
            source = os.path.join(project_folder(self._state_dir, home), POOL_FILE)
            move = partial(join, source, project.pool, "", self._system, keeps=not previous.is_moved)
            added = await self._work.in_writer(move)
        answer = partial(write_record, project.root, project.folder, self._system, answered=home)
        await self._work.in_writer(answer)
        self._questions.clear()
        return home, added

    async def _find(self, project: Project) -> list[PreviousProject]:
        async with self._turn:  # git may take long in a large repository, so not in a thread of the builders
            return await asyncio.to_thread(self._like, project)

    def _like(self, project: Project) -> list[PreviousProject]:
        known = known_projects(self._state_dir, self._system)
        own = next((one for one in known if one.root == project.root), ProjectRecord(project.root))
        if project.pool.home and not own.first_commit:
            try:
                first, remote = identity_of(project.root, self._system)
            except git.GitError as error:
                log.info("git says nothing of the repository of %s: %s", project.root, error)
            else:
                own = structs.replace(own, first_commit=first, remote=remote)
                write_record(project.root, project.folder, self._system, first_commit=first, remote=remote)
        identity, own_home, found = (own.first_commit, own.remote), own.home or own.root, []
        answered = {home for record in known if record.home == own.home for home in record.answered}
        homes = {each.home or each.root for each in known if (each.first_commit, each.remote) == identity}
        for home in sorted(homes - {own_home}) if own.first_commit else ():
            is_moved, decisions = not os.path.isdir(home), 0
            path = os.path.join(project_folder(self._state_dir, home), POOL_FILE)
            with suppress(FovealError):
                decisions = Pool(path, self._system).statistics().experiences if os.path.exists(path) else 0
            if decisions and (is_moved or own.remote):
                found.append(PreviousProject(home, decisions, is_moved, home in answered))
        return found
