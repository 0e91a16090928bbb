"""The work trees of one repository: which one a folder is, and which others there are, by git's own files.

A folder alone can't say that it belongs to a repository elsewhere: the repository must name it
too, or a project from a stranger could join what is known of another.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from datetime import UTC, datetime

from msgspec import Struct

from ..core.system import System
from ..core.times import timestamp_of
from .git import common_folder, entries_of, git_folder, head, linked_root, output_of, work_trees

WORKTREES_MAX = 500
"""Maximum number of linked work trees that are looked at; batches make thirty, hoarders some hundred."""


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
    def id(self) -> str:
        """What tells it from all other work trees of the repository, former ones too; "" for the main one."""
        return self.name and f"{self.name}@{self.made}"

    @property
    def home(self) -> str:
        """The folder that the family is known by: the main work tree, or a bare repository."""
        folder, name = os.path.split(self.common)
        return folder if name == ".git" else self.common


def worktree_of(root: str, system: System) -> Worktree | None:
    """Return what work tree a folder is, symlinks resolved; None for a submodule, a folder without a
    repository, and one whose repository doesn't know it."""
    common = common_folder(root, system)
    found = None if common is None else worktree_at(root, common, system)
    if found is not None and found.name and linked_root(found.common, found.name, system) != root:
        return None  # the repository knows that name by another folder
    return found


def worktrees(common: str, system: System) -> tuple[Worktree, ...]:
    """Return the existing work trees of a repository, the main one first, the others by name."""
    roots = work_trees(common, system, WORKTREES_MAX)
    return tuple(filter(None, (worktree_at(root, common, system) for root in roots)))


def marks_of(common: str, system: System) -> tuple[str, ...]:
    """Return the files and folders that tell which work trees of a repository exist: none comes, goes or
    moves without a change of one."""
    above = os.path.join(common, "worktrees")
    with suppress(OSError):
        names = sorted(os.listdir(above))[:WORKTREES_MAX]
        told = (os.path.join(above, name, file) for name in names for file in ("gitdir", "commondir"))
        roots = work_trees(common, system, WORKTREES_MAX)
        return (above, *told, *(path for root in roots if (path := os.path.join(root, ".git")) != common))
    return (above,)


def worktree_at(root: str, common: str, system: System) -> Worktree | None:
    """Return what a folder that a repository names is of it, None if the folder doesn't name the
    repository."""
    folder = os.path.realpath(git_folder(root, system) or "/")
    if common == os.path.join(root, ".git") == folder:
        return Worktree(root, common)
    own = os.path.join(common, "worktrees", os.path.basename(folder))
    try:
        # Git writes this file once, when it makes the work tree.
        made_s = system.lstat(os.path.join(own, "commondir")).st_mtime
    except OSError:
        return None
    made = timestamp_of(datetime.fromtimestamp(made_s, UTC))
    return Worktree(root, common, os.path.basename(folder), made) if folder == own else None


def identity_of(root: str, system: System) -> tuple[str, str]:
    """Return what stays of a repository when it is moved or cloned: the id of its first commit, and the
    address it is fetched from, without credentials and the way there. Both are "" without a commit and in a
    shallow clone.

    Takes a second for a hundred thousand commits. Raises `GitError`.
    """
    common, current = common_folder(root, system), head(root, system)
    if common is None or not (current and current.commit) or os.path.lexists(os.path.join(common, "shallow")):
        return "", ""
    listed = output_of(root, ["rev-list", "--first-parent", "--max-parents=0", "HEAD", "--"]).split()
    pattern = r"^remote\..*\.url$"
    entries = entries_of(root, ["config", "-z", "--get-regexp", pattern], statuses=(0, 1))
    urls = dict(os.fsdecode(entry).split("\n", 1) for entry in entries if b"\n" in entry)
    url = urls.get("remote.origin.url") or next(iter(urls.values()), "")
    return listed[-1].decode("ascii", "replace") if listed else "", plain_address(url)


def plain_address(url: str) -> str:
    """Return host and path of a remote repository, the same for each protocol; a local path as it is."""
    bare = _BEFORE_HOST.sub("", url) if "://" in url or not url.startswith(("/", ".")) else url
    found = _HOST_AND_PATH.fullmatch(bare)
    address = bare if found is None else f"{found[1].lower()}/{found[2]}"
    return address.rstrip("/").removesuffix(".git")


_BEFORE_HOST = re.compile(r"^(?:[a-z0-9+.-]+://)?(?:[^/]*@)?", re.IGNORECASE)
"""The protocol, and the user with the password."""

_HOST_AND_PATH = re.compile(r"([^/:]+)(?::(?:\d+/)?|/)([^?#]*).*", re.DOTALL)
