"""The work trees of one repository: which one a folder is, and which others there are, by git's own files.

Runs no git. A folder alone can't say that it belongs to a repository elsewhere: the repository must name it
too, or a project from a stranger could join what is known of another.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime

from msgspec import Struct

from ..core.system import System
from ..core.times import timestamp_of
from .git import common_folder, git_folder

WORKTREES_MAX = 500
"""Maximum number of linked work trees that are looked at; batches make thirty, hoarders some hundred."""

_LINE_BYTES = 4096


class Worktree(Struct, frozen=True):
    """A work tree of a repository. `root` is its folder, `common` the git folder that all of them share.

    `name` is git's name of a linked one, which stays when its folder moves, and "" for the main one. `made`
    is when git made it, in ISO 8601, and "" for the main one: names are used again.
    """

    root: str
    common: str
    name: str = ""
    made: str = ""

    @property
    def home(self) -> str:
        """The folder that the family is known by: the main work tree, or a bare repository."""
        folder, name = os.path.split(self.common)
        return folder if name == ".git" else self.common


def worktree_of(root: str, system: System) -> Worktree | None:
    """Return what work tree a folder is, symlinks resolved; None for a submodule, a folder without a
    repository, and one whose repository doesn't know it."""
    common, folder = common_folder(root, system), git_folder(root, system)
    if common is None or folder is None:
        return None
    if common == os.path.join(root, ".git"):
        return Worktree(root, common)
    found = _linked(common, os.path.basename(folder), system)
    return found if found is not None and found.root == root else None


def worktrees(common: str, system: System) -> tuple[Worktree, ...]:
    """Return the existing work trees of a repository, the main one first, the others by name."""
    home = Worktree("", common).home
    try:
        with system.scandir(os.path.join(common, "worktrees")) as entries:
            names = sorted(entry.name for entry in entries)[:WORKTREES_MAX]
    except OSError:
        names = []
    linked = (_linked(common, name, system) for name in names)
    main = [Worktree(home, common)] if home != common and os.path.isdir(common) else []
    return (*main, *(found for found in linked if found is not None))


def _linked(common: str, name: str, system: System) -> Worktree | None:
    """Return a linked work tree that a repository names, None unless its folder names the repository too."""
    own = os.path.join(common, "worktrees", name)
    try:
        line = os.fsdecode(system.read(os.path.join(own, "gitdir"), _LINE_BYTES)[0]).partition("\n")[0]
        # Git writes this file once, when it makes the work tree.
        seconds = system.lstat(os.path.join(own, "commondir")).st_mtime
    except (OSError, ValueError):
        return None
    folder, marker = os.path.split(os.path.join(own, line.rstrip()))
    root = os.path.realpath(folder)
    back = git_folder(root, system)
    if marker != ".git" or back is None or os.path.realpath(back) != own:
        return None
    return Worktree(root, common, name, timestamp_of(datetime.fromtimestamp(seconds, UTC)))
