"""Links experiences to the commits that hold them, and marks those whose commit was undone.

Checked whenever HEAD or the pool changes. A git hook only triggers the check: commits made while no daemon
ran are found by the next one.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from ..core.errors import FovealError
from ..core.system import System
from ..core.work import Work
from ..project.records import Commit, Reverts, Worktree
from ..project.service import commits, git
from .edits import DueEdit, Edit, EditKind, PoolChanges, applied
from .experience import Experience
from .experiences import Experiences, PoolOwner
from .pool_records import Known

log = logging.getLogger(__name__)

NEWEST = 2_000
"""Maximum number of experiences checked, the newest; older ones stay as they are."""

HELD_MAX = 200
"""Maximum number of commits outside the log that are looked up, those of the newest experiences."""


LANDED_MAX = 20
"""Maximum number of commits whose files are compared with those of later commits at one check, the newest."""

_UNDOES = re.compile(r"\b(?:revert|undo|undid|roll(?:ed|ing)? ?back)", re.IGNORECASE)
"""What a decision to revert a commit says, in English: it is done by the revert, not undone."""

ROUNDS_MAX = 3
"""Maximum checks in a row: what is linked to its commit may be undone, or restored, already."""

AGAIN_S = 10.0
"""Seconds until git is asked again where it failed, unless another commit is checked out: each list of
decisions and each context would wait for it."""

LATER_MAX = 3
"""Maximum number of later commits that each of them is compared with."""


class CommitMarks:
    """Links and marks the experiences of all open projects. On the event loop only."""

    def __init__(self, work: Work, experiences: Experiences, system: System) -> None:
        self._work = work
        self._experiences = experiences
        self._system = system
        self._turns: dict[str, asyncio.Lock] = {}
        """Locks of the repositories."""
        self._seen: dict[tuple[str, bool | None], object] = {}
        """What the last check saw that changed nothing: of a project, the pool's generation and all HEADs; of
        a work tree with its own experiences or with others', its HEAD and the experiences' edits."""
        self._failed: dict[str, tuple[object, float]] = {}
        """Of a project, with which HEADs git failed, and until when it isn't asked again (monotonic)."""

    def look(self, project: PoolOwner) -> None:
        """Check a project in the background."""
        self._work.start_background(self.mark(project), f"commits of {project.root}")

    async def settle(self, project: PoolOwner) -> None:
        """Check a project before its experiences are read. Raises nothing of a pool: who reads it next hears
        of its trouble."""
        with suppress(FovealError):
            await self.mark(project)

    async def mark(self, project: PoolOwner) -> tuple[str, ...]:
        """Link experiences to their commits, and mark those whose commit was undone; durable when it returns.

        All work trees of the repository are looked at. Returns the ids of the changed experiences. Does
        nothing if nothing changed since the last check.
        """
        view = project.pool.view
        async with self._turns.setdefault(view.worktree.common if view else project.root, asyncio.Lock()):
            changed: dict[str, None] = {}
            for _ in range(ROUNDS_MAX):
                denials = self._system.denials
                due, seen = await self._work.in_builder(partial(self._due, project))
                marked = await self._experiences.annotate(project, due)
                changed |= dict.fromkeys(marked)
                if self._system.denials == denials:
                    self._seen |= seen
                if not marked:
                    break
            return tuple(changed)

    def _due(self, project: PoolOwner) -> tuple[list[DueEdit], Mapping[tuple[str, bool | None], object]]:
        """Return the edits that are due, and what was seen where none is."""
        pool, due = project.pool, list[DueEdit]()
        pool.refresh()
        living = {} if pool.view is None else pool.view.living()
        roots = dict.fromkeys((project.root, *(tree.root for tree in living.values())))
        heads = {root: git.head(root, self._system) for root in roots}
        failed, until = self._failed.get(project.root, (None, 0.0))
        if failed == heads and self._system.monotonic() < until:
            return due, {}
        of_all = pool.generation, tuple(heads.items()), tuple(living)
        if self._seen.get((project.root, None)) == of_all:
            return due, {}
        seen: dict[tuple[str, bool | None], object] = {(project.root, None): of_all}
        for (root, is_gone), experiences in _judged(project, living, pool.newest(NEWEST)).items():
            current = heads[root]
            key = current, [(known.original.id, len(known.edits)) for known in experiences]
            if current is None or not current.commit or self._seen.get((root, is_gone)) == key:
                continue
            seen[root, is_gone] = key
            try:
                history = _history(root, experiences, self._system)
                found = [*due_edits(experiences, history.without_work_tree() if is_gone else history)]
                if is_gone:
                    found += _landed(root, experiences, history, {edit.experience_id for edit in found})
            except git.GitError as error:
                if failed != heads:
                    log.info("git says nothing of the commits of %s: %s", root, error)
                failed = heads
                self._failed[project.root] = heads, self._system.monotonic() + AGAIN_S
                seen.clear()
                continue
            due += found
        return due, {} if due else seen


def _judged(
    project: PoolOwner, living: Mapping[str, Worktree], experiences: Sequence[Known]
) -> Mapping[tuple[str, bool], list[Known]]:
    """Return by which work tree each experience is judged: the root, and whether another one made it.

    One alone judges it, or two would mark and unmark it in turns. It is the one where it was made, until its
    commit is in the main one (of a bare repository, the first), or it is removed.
    """
    judged = dict[tuple[str, bool], list[Known]]()
    home = next(iter(living.values()), project).root  # the main one comes first
    held = {
        known.current.commit
        for known in experiences
        if known.original.worktree and not known.is_shared and is_held(known)
    }
    merged = frozenset[str]()
    with suppress(git.GitError):  # each is then judged where it was made
        merged = commits.reached_from_head(home, sorted(held - {""}))
    for known in experiences:
        tree = living.get(known.original.worktree)
        if not living or known.is_shared or known.current.commit in merged:
            judge = home, False
        elif tree is None:
            judge = home, True
        else:
            judge = tree.root, False
            if tree.root != home and is_held(known):
                judged.setdefault((home, True), []).append(known)
        judged.setdefault(judge, []).append(known)
    return judged


def _landed(
    root: str, experiences: Sequence[Known], history: CommitHistory, but: Collection[str]
) -> Iterator[DueEdit]:
    """Yield the links of experiences to the commits by which their own came into a work tree: rebased, or
    with others in one of the same content."""
    held: dict[str, list[str]] = {}
    for known in experiences:
        if is_held(known) and known.original.id not in but:
            held.setdefault(known.current.commit, []).append(known.original.id)
    names = [name for name in held if not any(commit.id.startswith(name) for commit in history.log)]
    touched = {known.original.id: known.current.files_touched for known in experiences}
    for number, commit in enumerate(commits.named_commits(root, names[:HELD_MAX])):
        ids = held[commit.id]
        files = {path for each in ids for path in touched[each]}.intersection(commit.files)
        files = files or set(commit.files)
        landed = history.rewritten(commit, files)
        if landed is None and number < LANDED_MAX and files:
            later = (one for one in history.log if one.time >= commit.time and files.issubset(one.files))
            same = partial(commits.have_same_files, root, commit.id, paths=files)
            landed = next((one for one in islice(later, LATER_MAX) if same(one.id)), None)
        if landed is not None:
            yield from (DueEdit(each, "update", PoolChanges(commit=landed.id)) for each in ids)


def _history(root: str, experiences: Iterable[Known], system: System) -> CommitHistory:
    log_of_head = commits.latest_commits(root)
    known = {commit.id for commit in log_of_head}
    made = commits.made_here(root, system)
    former = [commit for commit in made if commit not in known][-HELD_MAX:]
    if not any(known.current.files_touched and not is_held(known) for known in experiences):
        former = []
    held = dict.fromkeys(
        known.current.commit for known in experiences if is_held(known) and known.current.commit
    )
    elsewhere = [commit for commit in held if commit not in known][:HELD_MAX]
    return CommitHistory(
        log_of_head,
        made,
        commits.reverts(root),
        {commit.id: commit for commit in commits.lost_commits(root, elsewhere)},
        partial(commits.is_as_before, root, system),
        commits.named_commits(root, former),
    )


class CommitHistory(Struct, frozen=True):
    """The commits of a project, from git.

    `log` are the commits that are checked out, the latest first; `made_here` the ids of those that weren't
    fetched; `lost` the unreachable commits of experiences, by id. `is_as_before` tells whether files on disk
    are as they were before a commit. `former` are commits that were made here and aren't checked out any
    more.
    """

    log: tuple[Commit, ...]
    made_here: Collection[str]
    reverts: Reverts
    lost: Mapping[str, Commit]
    is_as_before: Callable[[Commit, Collection[str]], bool]
    former: tuple[Commit, ...] = ()

    def holds(self, commit: str) -> bool:
        """Tell whether a commit is checked out and not reverted by another one."""
        there = any(held.id.startswith(commit) for held in self.log) or _names(self.reverts.restored, commit)
        return there and not _names(self.reverts.undone, commit)

    def rewritten(self, commit: Commit, files: Collection[str]) -> Commit | None:
        """Return the commit that was made of another by amending, rebasing or picking it, if it is checked
        out: it keeps its author and author time."""
        for held in self.log:
            if (
                held.author == commit.author
                and held.id not in (*commit.parents, commit.id)
                and not set(files).isdisjoint(held.files)
            ):
                return held
        return None

    def without_work_tree(self) -> CommitHistory:
        """Return the history for experiences of another work tree: any commit may hold them, and what this
        one never had isn't undone here."""
        return replace(
            self, made_here={commit.id for commit in self.log}, is_as_before=lambda commit, files: False
        )


def is_held(known: Known) -> bool:
    """Tell whether an experience was linked to the commit that holds it, by git or by a person.

    The commit that it was grafted with is only the one that was checked out then.
    """
    return any(edit.changes.commit is not None for edit in known.edits)


def due_edits(experiences: Iterable[Known], history: CommitHistory) -> Iterator[DueEdit]:
    """Yield the edits that are due: a commit for experiences without one, and changes of those whose commit
    was undone, restored or lost."""
    holders, former = _Holders(history, history.log), _Holders(history, history.former)
    for known in experiences:
        if is_held(known):
            found = _fate(known, history)
        else:
            holder = holders.of(known.current)
            if holders.is_undone(known.current, holder):
                yield DueEdit(known.original.id, *_undone(known.current.commit))
                continue
            if holder is None and (past := former.of(known.current)) is not None:
                holder = history.rewritten(past, known.current.files_touched)
            found = None if holder is None else ("update", PoolChanges(commit=holder.id))
        if found is not None:
            yield DueEdit(known.original.id, *found)


class _Holders:
    """Finds the commits that hold decisions, among the local ones."""

    def __init__(self, history: CommitHistory, among: Sequence[Commit]) -> None:
        self._reverts = history.reverts
        self._by_id = {commit.id: commit for commit in (*history.log, *history.former)}
        self._made = [commit for commit in reversed(among) if commit.id in history.made_here]

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

    def is_undone(self, experience: Experience, holder: Commit | None) -> bool:
        """Tell whether a decision was told after the commit that it names, is about that one, and is undone
        with it: they share a file, and only its revert is the commit after it, if any.

        A decision nearer in time to the revert may be the one to revert; then nothing is certain.
        """
        at = datetime.fromisoformat(experience.timestamp).timestamp()
        commit = self._by_id.get(experience.commit)
        if commit is None or commit.id not in self._reverts.undone or _UNDOES.search(experience.decision):
            return False
        reverting = [
            self._by_id[name]
            for name, undone in self._reverts.by.items()
            if commit.id in undone and name in self._by_id
        ]
        return (
            (holder is None or holder in reverting)
            and not set(experience.files_touched).isdisjoint(commit.files)
            and any(commit.time <= at and at - commit.time < each.time - at for each in reverting)
        )

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
    undone. None if neither is certain."""
    files = set(experience.files_touched).intersection(lost.files) or set(lost.files)
    if (commit := history.rewritten(lost, files)) is not None:
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
