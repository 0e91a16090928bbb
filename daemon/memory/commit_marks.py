"""Links experiences to the commits that hold them, and marks those whose commit was undone.

Checked whenever HEAD or the pool changes. A git hook only triggers the check: commits made while no daemon
ran are found by the next one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime
from functools import partial

from msgspec import Struct

from ..core.system import System
from ..core.work import Work
from ..project import commits, git
from ..project.commits import Commit, Reverts
from .edits import DueEdit, Edit, EditKind, PoolChanges, applied
from .experience import Experience
from .experiences import Experiences, PoolOwner
from .pool_records import Known

log = logging.getLogger(__name__)

NEWEST = 2_000
"""Maximum number of experiences checked, the newest; older ones stay as they are."""

HELD_MAX = 200
"""Maximum number of commits outside the log that are looked up, those of the newest experiences."""


class CommitMarks:
    """Links and marks the experiences of all open projects. On the event loop only."""

    def __init__(self, work: Work, experiences: Experiences, system: System) -> None:
        self._work = work
        self._experiences = experiences
        self._system = system
        self._turn = asyncio.Lock()
        self._seen: dict[str, tuple[str, int]] = {}
        """The commit and the pool's generation at the last check, by the project's root."""

    def look(self, project: PoolOwner) -> None:
        """Check a project in the background."""
        self._work.start_background(self.mark(project), f"commits of {project.root}")

    async def mark(self, project: PoolOwner) -> tuple[str, ...]:
        """Link experiences to their commits, and mark those whose commit was undone; durable when it returns.

        Returns the ids of the changed experiences. Does nothing if nothing changed since the last check.
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


def _due(project: PoolOwner, system: System) -> tuple[DueEdit, ...]:
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
    )


class CommitHistory(Struct, frozen=True):
    """The commits of a project, from git.

    `log` are the commits that are checked out, the latest first; `made_here` the ids of those that weren't
    fetched; `lost` the unreachable commits of experiences, by id. `is_as_before` tells whether files on disk
    are as they were before a commit.
    """

    log: tuple[Commit, ...]
    made_here: Collection[str]
    reverts: Reverts
    lost: Mapping[str, Commit]
    is_as_before: Callable[[Commit, Collection[str]], bool]

    def holds(self, commit: str) -> bool:
        """Tell whether a commit is checked out and not reverted by another one."""
        there = any(held.id.startswith(commit) for held in self.log) or _names(self.reverts.restored, commit)
        return there and not _names(self.reverts.undone, commit)


def is_held(known: Known) -> bool:
    """Tell whether an experience was linked to the commit that holds it, by git or by a person.

    The commit that it was grafted with is only the one that was checked out then.
    """
    return any(edit.changes.commit is not None for edit in known.edits)


def due_edits(experiences: Iterable[Known], history: CommitHistory) -> Iterator[DueEdit]:
    """Yield the edits that are due: a commit for experiences without one, and changes of those whose commit
    was undone, restored or lost."""
    holders = _Holders(history)
    for known in experiences:
        if is_held(known):
            found = _fate(known, history)
        else:
            holder = holders.of(known.current)
            found = None if holder is None else ("update", PoolChanges(commit=holder.id))
        if found is not None:
            yield DueEdit(known.original.id, *found)


class _Holders:
    """Finds the commits that hold decisions, among the local ones."""

    def __init__(self, history: CommitHistory) -> None:
        self._by_id = {commit.id: commit for commit in history.log}
        self._made = [commit for commit in reversed(history.log) if commit.id in history.made_here]

    def of(self, experience: Experience) -> Commit | None:
        """Return the commit that holds a decision: the first commit after it, if they share a file.

        None for a decision that is older than the parent of that commit, or that names another parent.
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


def _fate(known: Known, history: CommitHistory) -> tuple[EditKind, PoolChanges] | None:
    """Return the edit for an experience whose commit was undone, restored or lost."""
    experience, number = known.current, _last_mark(known.edits)
    commit = experience.commit
    if not commit:
        return None
    if number is not None:
        if not history.holds(commit) or _has_outcome(known.edits[number + 1 :]):
            return None  # it is marked already, or a person set another outcome
        before, _ = applied(known.original, known.edits[:number])
        return "update", PoolChanges(outcome=before.outcome, error=before.error, commit=commit)
    if experience.outcome == "reverted":
        return None
    if _names(history.reverts.undone, commit):
        return _undone(commit)
    lost = history.lost.get(commit)
    return None if lost is None else _fate_of_lost(experience, lost, history)


def _fate_of_lost(
    experience: Experience, lost: Commit, history: CommitHistory
) -> tuple[EditKind, PoolChanges] | None:
    """Return the edit for an experience whose commit was lost: its new commit, or the mark that it was
    undone. None if neither is certain.

    An amended or rebased commit keeps its author and author time.
    """
    files = set(experience.files_touched).intersection(lost.files) or set(lost.files)
    for commit in history.log:
        if (
            commit.author == lost.author
            and commit.id not in lost.parents
            and not files.isdisjoint(commit.files)
        ):
            return "update", PoolChanges(commit=commit.id)
    return _undone(lost.id) if files and history.is_as_before(lost, files) else None


def _undone(commit: str) -> tuple[EditKind, PoolChanges]:
    return "mark", PoolChanges(outcome="reverted", commit=commit)


def _last_mark(edits: tuple[Edit, ...]) -> int | None:
    """Return the position of the last mark from git; None if there is none, or a later edit from git removed
    it."""
    from_git = [
        number
        for number, edit in enumerate(edits)
        if edit.changes.commit is not None and _has_outcome([edit])
    ]
    return from_git[-1] if from_git and edits[from_git[-1]].kind == "mark" else None


def _has_outcome(edits: Iterable[Edit]) -> bool:
    return any(edit.changes.outcome is not None for edit in edits)


def _names(ids: Collection[str], commit: str) -> bool:
    return any(identifier.startswith(commit) for identifier in ids)
