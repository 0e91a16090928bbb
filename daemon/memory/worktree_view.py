"""Which experiences of a repository's pool show in one of its work trees.

Those that were made there, and those whose commit is checked out there. A commit is asked for once for each
HEAD.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ..core.system import Stamp, System, stamp_of
from ..project.records import Worktree
from ..project.service import commits, git, head, marks_of, worktree_at, worktrees
from .experience import FROM_CLIENT, Experience
from .pool_store import PoolStore

log = logging.getLogger(__name__)


COMPARED_MAX = 100
"""Maximum number of files of new experiences that are compared with the commit; a decision names a few."""


class Place(Struct, frozen=True):
    """Where an experience was made: the work tree's name, and whether that exists."""

    name: str
    state: Literal["here", "elsewhere", "gone"]


class WorktreeView:
    """What shows in one work tree. Blocks; thread-safe."""

    def __init__(self, worktree: Worktree, system: System) -> None:
        self.worktree = worktree
        self.elsewhere: frozenset[str] = frozenset()
        """The ids of the experiences that don't show."""
        self._system = system
        self._lock = threading.Lock()
        self._seen: tuple[str, int, Worktree] | None = None
        """The commit that was checked out, the generation of the records and the work tree at the last
        look."""
        self._reached: dict[str, bool] = {}
        self._living: tuple[Mapping[str, Stamp | None], dict[str, Worktree]] = {}, {}
        """The work trees that existed, and the stamps of the files that tell it."""

    def look(self, store: PoolStore) -> bool:
        """Find out what shows, after HEAD or the records changed; returns whether that is another set."""
        with self._lock:  # not that of the store: who waits for git here keeps no other work tree from it
            return self._look(store)

    def _look(self, store: PoolStore) -> bool:
        if self.worktree.name:  # it may have been removed, and another one made in the same place
            root, common = self.worktree.root, self.worktree.common
            self.worktree = worktree_at(root, common, self._system) or self.worktree
        current = head(self.worktree.root, self._system)
        commit = current.commit if current else ""
        seen = (commit, store.generation, self.worktree)
        if self._seen == seen:
            return False
        with store.lock:
            placed = list(store.records.placed())
        if self._seen is None or self._seen[0] != commit:
            self._reached = {}
        foreign = {
            experience.id: held
            for experience, held in placed
            if not self._is_here(experience, is_held=bool(held))
        }
        self._seen = seen
        asked = {held for each in foreign.values() for held in each}.difference(self._reached)
        try:
            reached = commits.reached_from_head(self.worktree.root, sorted(asked))
            self._reached |= {held: held in reached for held in asked}
        except git.GitError as error:  # they don't show until git says that they may
            log.info("git says nothing of the commits of %s: %s", self.worktree.root, error)
            self._seen = None
        if not commit:
            self._seen = None  # nothing tells when HEAD moves
        former, self.elsewhere = (
            self.elsewhere,
            frozenset(
                experience_id
                for experience_id, held in foreign.items()
                if not any(self._reached.get(commit) for commit in held)
            ),
        )
        return self.elsewhere != former

    def marked(self, experiences: Sequence[tuple[Experience, bool]]) -> list[Experience]:
        """Return new experiences with where they are made: the work tree, its commit, and whether a file that
        they are about differs from that. Those of the second kind in a pair, of the past, have no commit."""
        current = head(self.worktree.root, self._system)
        commit = current.commit if current else ""
        named = dict.fromkeys(path for each, _ in experiences for path in each.files_touched)
        files = [path for path in named if not os.path.isdir(os.path.join(self.worktree.root, path))]
        try:
            compared = files[:COMPARED_MAX] if commit else []
            changed = commits.changed_since(self.worktree.root, self._system, commit, compared)
        except git.GitError:
            changed = frozenset(files)
        return [
            replace(
                experience,
                worktree=self.worktree.id,
                head="" if is_past else commit,
                uncommitted=not is_past and not changed.isdisjoint(experience.files_touched),
            )
            for experience, is_past in experiences
        ]

    def place_of(self, experience: Experience, living: Mapping[str, Worktree]) -> Place:
        """Return where an experience was made; `living` are the work trees that exist, by id."""
        name = experience.worktree.rpartition("@")[0] or os.path.basename(self.worktree.home)
        if experience.worktree == self.worktree.id:
            return Place(name, "here")
        return Place(
            name, "elsewhere" if experience.worktree in living or not experience.worktree else "gone"
        )

    def living(self) -> dict[str, Worktree]:
        """Return the work trees of the repository that exist, by id, the main one first. They are read again
        if one of git's files changed that tell them."""
        stamps, living = self._living
        if not stamps or any(stamp != self._stamp(path) for path, stamp in stamps.items()):
            common = self.worktree.common
            stamps = {path: self._stamp(path) for path in marks_of(common, self._system)}
            living = {tree.id: tree for tree in worktrees(common, self._system)}
            self._living = stamps, living
        return living

    def _stamp(self, path: str) -> Stamp | None:
        try:
            return stamp_of(self._system.lstat(path))
        except OSError:
            return None

    def _is_here(self, experience: Experience, *, is_held: bool) -> bool:
        if experience.worktree == self.worktree.id:
            return True
        # Former versions noted no commit. A work tree that was made later has what was decided before.
        is_former = not experience.worktree and not experience.head and not is_held
        return is_former and experience.timestamp < self.worktree.made


def is_past(timestamp: str, source: str) -> bool:
    """Whether a draft is of the past: a caller gave its time. A conversation was just held."""
    return bool(timestamp) and source == FROM_CLIENT.source


def unmarked(experience: Experience) -> Experience:
    """Return an experience for a pool in the repository, which goes to people with other work trees."""
    return replace(experience, worktree="", head="", uncommitted=False)
