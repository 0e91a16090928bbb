"""Owns that experiences know their commits: looks whenever HEAD or a pool is another, and marks what is due.

A hook of git says when to look and no more: what was missed while no daemon ran is found by the next look.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from ..core.system import System
from ..core.work import Work
from ..project import commits, git
from ..project.commits import Commit, Reverts
from ..project.project import Project
from .edits import DueEdit, Edit, EditKind, PoolChanges, applied
from .experience import Experience
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


def _due(project: Project, system: System) -> tuple[DueEdit, ...]:
    project.pool.refresh()
    experiences = project.pool.newest(NEWEST)
    if not experiences:
        return ()
    return tuple(due_edits(experiences, _history(project.root, experiences, system)))


def _history(root: str, experiences: Iterable[Known], system: System) -> CommitHistory:
    log_of_head = commits.latest_commits(root)
    known = {commit.id for commit in log_of_head}
    held = dict.fromkeys(
        known.current.commit for known in experiences if is_held(known) and known.current.commit
    )
    elsewhere = [commit for commit in held if commit not in known][:HELD_MAX]
    return CommitHistory(
        log_of_head,
        commits.made_here(root, system),
        commits.reverts(root),
        {commit.id: commit for commit in commits.lost_commits(root, elsewhere)},
        partial(commits.is_as_before, root, system),
        partial(commits.is_same, root),
    )


class CommitHistory(Struct, frozen=True):
    """What git says of a project.

    `log` are the commits that are checked out, the latest first; `made_here` the ids of those that weren't
    fetched; `lost` the commits of experiences to which nothing leads any more, by id. `is_as_before` tells
    whether files on the disk are what they were before a commit, `is_same` whether two commits have one of
    some files in common to the byte.
    """

    log: tuple[Commit, ...]
    made_here: Collection[str]
    reverts: Reverts
    lost: Mapping[str, Commit]
    is_as_before: Callable[[Commit, Collection[str]], bool]
    is_same: Callable[[Commit, Commit, Collection[str]], bool]

    def holds(self, commit: str) -> bool:
        """Whether a commit is part of what is checked out, and no other one reverts it."""
        there = any(one.id.startswith(commit) for one in self.log) or _names(self.reverts.restored, commit)
        return there and not _names(self.reverts.undone, commit)

    def since(self, parents: Collection[str]) -> tuple[Commit, ...]:
        """Return what is checked out beside some commits and those that they follow, the last first.

        By descent, since the log goes by dates, which a rebase may keep and a clock may set wrong.
        """
        by_id = {commit.id: commit for commit in self.log}
        older: set[str] = set()
        ahead = list(parents)
        while ahead:
            one = by_id.get(ahead.pop())
            if one is not None and one.id not in older:
                older.add(one.id)
                ahead += one.parents
        return tuple(commit for commit in self.log if commit.id not in older)


def is_held(known: Known) -> bool:
    """Whether an experience was given the commit that holds it, by git or by a person.

    The commit with which it was kept is only the one that was checked out then.
    """
    return any(edit.changes.commit is not None for edit in known.edits)


def due_edits(experiences: Iterable[Known], history: CommitHistory) -> Iterator[DueEdit]:
    """Yield what is due: a commit for those that have none yet, and what became of those that have one."""
    holders = _Holders(history)
    for known in experiences:
        if is_held(known):
            found = _fate(known, history, holders)
        else:
            holder = holders.of(known.current)
            found = None if holder is None else ("update", PoolChanges(commit=holder.id))
        if found is not None:
            yield DueEdit(known.original.id, *found)


class _Holders:
    """Finds the commits that hold decisions, among those that were made here."""

    def __init__(self, history: CommitHistory) -> None:
        self._by_id = {commit.id: commit for commit in history.log}
        self._made = [commit for commit in reversed(history.log) if commit.id in history.made_here]

    def of(self, experience: Experience) -> Commit | None:
        """Return the commit that holds a decision: the first one after it, if they have a file in common.

        What was decided before the commit before it, or on top of another one, isn't of it.
        """
        if not experience.files_touched:
            return None
        at = int(datetime.fromisoformat(experience.timestamp).timestamp())  # git counts in seconds
        for commit in self._made:
            if commit.time >= at and self._follows(commit, experience, at):
                return commit if not set(experience.files_touched).isdisjoint(commit.files) else None
        return None

    def _follows(self, commit: Commit, experience: Experience, at: int) -> bool:
        before = commit.parents[0] if commit.parents else ""
        if experience.commit:
            return before.startswith(experience.commit)
        return not before or (before in self._by_id and self._by_id[before].time <= at)


def _fate(known: Known, history: CommitHistory, holders: _Holders) -> tuple[EditKind, PoolChanges] | None:
    """Return what became of an experience's commit: undone, back again, or lost."""
    experience, number = known.current, _last_mark(known.edits)
    commit = experience.commit
    if not commit:
        return None
    if number is not None:
        if not history.holds(commit) or _has_outcome(known.edits[number + 1 :]):
            return None  # it is as marked, or a person knows better
        before, _ = applied(known.original, known.edits[:number])
        return "update", PoolChanges(outcome=before.outcome, error=before.error, commit=commit)
    if experience.outcome == "reverted":
        return None
    if _names(history.reverts.undone, commit):
        return _undone(commit)
    lost = history.lost.get(commit)
    return None if lost is None else _fate_of_lost(known, lost, history, holders)


def _fate_of_lost(
    known: Known, lost: Commit, history: CommitHistory, holders: _Holders
) -> tuple[EditKind, PoolChanges] | None:
    """Return the commit that took the place of a lost one, or that it was undone; None where neither is sure.

    One that was amended or rebased has its author and his time still; of several that one author made in one
    second the one with the same content of a file, or else that shares a file, and without such the first,
    unless its files are as they were before it: then it was taken back. One that was taken back and made anew
    has the same files.
    """
    files = set(known.current.files_touched).intersection(lost.files) or set(lost.files)
    rewritten = [commit for commit in history.since(lost.parents) if commit.author == lost.author]
    sharing = [commit for commit in rewritten if not files.isdisjoint(commit.files)]
    again = next(iter(sharing), None)
    if len(sharing) > 1:
        again = next((commit for commit in sharing if history.is_same(lost, commit, files)), again)
    if again is None and not (files and history.is_as_before(lost, files)):
        again = next(iter(rewritten), None)
    if again is None:
        found = holders.of(replace(known.current, commit=known.original.commit))
        again = found if found is not None and history.is_same(lost, found, files) else None
    if again is not None:
        return "update", PoolChanges(commit=again.id)
    return _undone(lost.id) if files and history.is_as_before(lost, files) else None


def _undone(commit: str) -> tuple[EditKind, PoolChanges]:
    return "mark", PoolChanges(outcome="reverted", commit=commit)


def _last_mark(edits: tuple[Edit, ...]) -> int | None:
    """Return the number of the mark that git's last word is; None where git took it back, or never spoke."""
    told = [
        number
        for number, edit in enumerate(edits)
        if edit.changes.commit is not None and _has_outcome([edit])
    ]
    return told[-1] if told and edits[told[-1]].kind == "mark" else None


def _has_outcome(edits: Iterable[Edit]) -> bool:
    return any(edit.changes.outcome is not None for edit in edits)


def _names(ids: Collection[str], commit: str) -> bool:
    return any(identifier.startswith(commit) for identifier in ids)
