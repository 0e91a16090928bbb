"""Why a path is not in a project's tree, found by listing the folders that lead there."""

from __future__ import annotations

import os
from typing import Literal, cast

from msgspec import Struct

from ..core.relative_paths import within
from ..core.system import System
from . import git
from .ignore import IgnoreRules
from .lister import FolderListing, Lister
from .scan_settings import ScanSettings

Reason = Literal[
    "", "missing", "ignored", "excluded", "vendored", "worktree", "unreadable", "not_utf8_name", "symlink"
]


class LeftOut(Struct, frozen=True):
    """What keeps a path out of the tree: `part` is the path itself, or the topmost folder above it that is
    left out.

    `reason` is one of those of a scan, or `missing` for what doesn't exist; "" where nothing keeps it out, so
    that it only isn't known yet. `rule` names what says so, where that can be told: `.gitignore:3:*.log`,
    `scan.exclude`.
    """

    part: str
    reason: Reason
    rule: str = ""


def left_out(root: str, path: str, settings: ScanSettings, system: System) -> LeftOut:
    """Return why a path, relative to `root`, isn't in the tree, by the same rules as a scan.

    Blocks: lists each folder on the way, and asks git. Raises `RootGone`.
    """
    way = _Way(root, system, settings)
    try:
        return way.left_out(path)
    finally:
        way.rules.close()


class _Way(Lister):
    """A lister that only goes where a path leads."""

    def left_out(self, path: str) -> LeftOut:
        folder = ""
        for name in path.split("/"):
            part = within(folder, name)
            listing = self._list(folder)
            if listing is None:  # it went just now, or is another work tree
                above, _, own = folder.rpartition("/")
                reason = cast("Reason", self.folders[above].others.get(f"{own}/", "missing"))
                return LeftOut(folder, reason)
            reason = self._judged(listing, name, is_last=part == path)
            if reason or part == path:
                return LeftOut(part, reason, self._rule(folder, name, reason))
            folder = part
        raise AssertionError("a path has at least one name")

    def _judged(self, listing: FolderListing, name: str, *, is_last: bool) -> Reason:
        """Return why an entry of a folder isn't in the tree, or ""."""
        folder = listing.folder
        if listing.unreadable:
            return "unreadable"
        names = listing.names()
        if name not in names and f"{name}/" not in names:
            return "missing"
        is_file = name in names
        self._keep_only_new(listing, {}, set())
        ignored = self._ignored([listing])
        self._enter_folders(listing, ignored)
        self._record_files(listing, ignored)
        others = self.folders[folder].others
        reason = others.get(name if is_file else f"{name}/", "")
        if not reason and is_file and not is_last:
            record = self.record(within(folder, name))
            return "symlink" if record is not None and record.skipped == "symlink" else "missing"
        return cast("Reason", reason)

    def _rule(self, folder: str, name: str, reason: Reason) -> str:
        """Return the rule that gives this reason, or "" where it isn't known."""
        part = within(folder, name)
        if reason == "excluded":
            own = IgnoreRules(os.fsencode(pattern) for pattern in self._settings.exclude)
            is_folder = os.path.isdir(os.path.join(self._root, part))
            matches = own.match(os.fsencode(part), os.fsencode(name), is_folder)
            return "scan.exclude" if matches else ".fovealignore"
        if reason != "ignored":
            return ""
        domain = self.folders[folder].domain
        if not self.rules.is_by_git(domain):
            return ".gitignore"
        try:
            return git.ignoring_rule(os.path.join(self._root, domain), part[len(domain) :].lstrip("/"))
        except git.GitError:
            return ""  # that it is ignored is known all the same
