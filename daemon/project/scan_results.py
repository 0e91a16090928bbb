"""The results of a scan: what changed, what was left out, that the root is gone."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from ..core.errors import ProjectUnavailable
from .tree import FileRecord


class ScanChanges(Struct, frozen=True):
    """How the disk differs from what was known. Paths are relative to the root.

    An upserted record has a new stamp and no digest: its content is to be read. `ignored_changed`
    says that a rule changed (an ignore file, git's index or settings), so that every folder was listed again.
    `folders_added` are to be watched from now on, and then examined once more for what came into them before
    the watch did.
    """

    upserted: tuple[FileRecord, ...] = ()
    removed: tuple[str, ...] = ()
    ignored_changed: bool = False
    folders_added: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.upserted or self.removed)


class ScanStatistics(Struct, frozen=True):
    """What a scanner left out and why. `skipped_folders` counts folders by reason.

    The reasons are `ignored`, `excluded` (by .fovealignore or the settings), `vendored`, `worktree` (another
    work tree of the same repository), `unreadable` and `not_utf8_name`. `problems` maps ignore files that
    can't be used to the reason; `git_problem` says why git isn't asked at the root, or is empty.
    """

    folders: int
    skipped_folders: Mapping[str, int]
    ignored_files: int
    problems: Mapping[str, str]
    git_problem: str


class RootGone(ProjectUnavailable):
    """The project's root folder doesn't exist or can't be listed. Once it is back, a sweep finds all."""


class ListingNeeded(Exception):
    """A large tree has to be listed anew, which takes too long for one answer: `Scanner.sweep_in_steps`."""
