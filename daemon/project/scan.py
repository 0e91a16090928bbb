"""The scanner: which files belong to a project, and what changed on disk. Reads no content."""

from __future__ import annotations

import math
import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ..core.relative_paths import within
from ..core.system import System
from .lister import UNKNOWN_STAMP, Lister, RootGone, RulesChanged, printable
from .rules import ScanSettings
from .tree import FileRecord

LISTED_NOW = 5_000
"""Maximum number of files that are listed again in one call, at about 20 microseconds each: 0.1 s."""

SLICE_ENTRIES = 2_000
"""Number of files or folders compared in one step of a sweep, at 5 microseconds each: 10 ms."""


class ScanChanges(Struct, frozen=True):
    """The differences between the disk and the known files. Paths are relative to the root.

    An upserted record has a new stamp and no digest: its content must be read. `ignored_changed` says that a
    rule changed (an ignore file, git's index or settings), so that every folder was listed again. The caller
    must watch `folders_added` from now on, and then examine them once more, since files may have been added
    before the watch began.
    """

    upserted: tuple[FileRecord, ...] = ()
    removed: tuple[str, ...] = ()
    ignored_changed: bool = False
    folders_added: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.upserted or self.removed)


class ScanStatistics(Struct, frozen=True):
    """The files and folders that a scanner left out, and why. `skipped_folders` counts folders by reason.

    The reasons are `ignored`, `excluded` (by .fovealignore or the settings), `vendored`, `worktree` (another
    work tree of the same repository), `unreadable` and `not_utf8_name`. `problems` maps ignore files that
    can't be used to the reason; `git_problem` says why git isn't asked at the root, or is empty.
    """

    skipped_folders: Mapping[str, int]
    problems: Mapping[str, str]
    git_problem: str


class ListingNeeded(Exception):
    """A large tree must be listed again, which takes too long for one call: use `Scanner.sweep_in_steps`."""


class Scanner:
    """Lists one project's tree and finds later changes. Not for use by two threads at once.

    A tree is what git would list (tracked or not ignored), each repository inside by its own rules; outside
    of git the same by .gitignore files alone. Links are never followed: they are records skipped as
    `symlink`, for what they point to inside the root has a record of its own. The scanner assumes that the
    caller applies each answer to `known` before the next call.
    """

    def __init__(self, root: str, system: System, settings: ScanSettings | None = None) -> None:
        """`root` is absolute and resolved."""
        self._root = root
        self._base = root if root.endswith("/") else root + "/"
        self._system = system
        self._lister = Lister(root, system, settings or ScanSettings())
        self._torn = False

    @property
    def is_listing(self) -> bool:
        """Whether a new listing of the tree is unfinished; until then nothing can be examined."""
        return self._torn

    @property
    def folders(self) -> list[str]:
        """The relative paths of all folders of the tree, the empty ones too; the root is ""."""
        return list(self._lister.folders)

    @property
    def watch_folders(self) -> list[str]:
        """The absolute folders to be watched: the tree's own and those of the files that make rules."""
        control = {folder for folder in self._lister.rules.folders if folder.startswith(self._base)}
        folders = [self._real(folder) for folder in self._lister.folders]
        return folders + sorted(filter(os.path.isdir, control.difference(folders)))

    @property
    def restless(self) -> bool:
        """Whether the tree changed during the last scan, so that a name may have been missed.

        A file that is moved while its folder is listed can be missed under both names. That shows in a name
        that was gone when it was looked at, or in the folder's own stamp; a racy stamp proves nothing.
        """
        return self._lister.restless

    @property
    def skipped_folders(self) -> dict[str, str]:
        """The topmost folders that were left out, with the reason for each."""
        skipped = {
            within(folder, printable(name[:-1])): reason
            for folder, state in self._lister.folders.items()
            for name, reason in state.others.items()
            if name.endswith("/")
        }
        return skipped | {
            folder: "unreadable" for folder, state in self._lister.folders.items() if state.unreadable
        }

    def statistics(self) -> ScanStatistics:
        """Return the counts of what the last call left out."""
        return ScanStatistics(
            skipped_folders=Counter(self.skipped_folders.values()),
            problems=self._lister.rules.problems,
            git_problem=self._lister.rules.rejected.get("", ""),
        )

    def full(self) -> Iterator[list[FileRecord]]:
        """List everything again, in batches of records without digests. Raises `RootGone`.

        Nothing is held back: 100,000 files come in hundreds of batches. The scanner is ready for `examine`
        when the last batch was taken; before that `sweep` lists everything too, since the caller may stop
        before the last batch.
        """
        self._torn = False
        self._lister.reset()
        self._check_root()
        try:
            yield from self._lister.walk([""], {}, set())
        except RulesChanged:  # `examine` was called meanwhile, and found the change first
            yield from self.full()
        self._check_root()
        self._lister.whole = True

    def sweep(self, known: Mapping[str, FileRecord]) -> ScanChanges:
        """Compare everything known with the disk: a stat for each file and folder. Raises as `examine` does.

        Every change that was on the disk before the call is found. A first sweep lists everything, and so
        does one after a listing that was cut short.
        """
        self._check_root()
        self._lister.begin_pass()
        if self._is_doubtful() or not self._lister.whole:
            return self._relist(known)
        return self._compare(known, known, list(self._lister.folders))

    def sweep_in_steps(self, known: Mapping[str, FileRecord]) -> Iterator[ScanChanges]:
        """Sweep in steps; the caller must apply each result to `known` before it requests the next one.

        Files and folders may be examined in between. A moved file is removed in one answer and added in
        another.
        """
        self._check_root()
        self._lister.begin_pass()
        if self._lister.whole and not self._is_doubtful():
            try:
                yield from self._compare_in_steps(known)
            except ListingNeeded:
                pass
            else:
                return
        yield from self._relist_in_steps(known)

    def examine(self, paths: Iterable[str], known: Mapping[str, FileRecord]) -> ScanChanges:
        """Compare only these absolute paths, files or folders, with the disk. Raises `RootGone`, and
        `ListingNeeded` if a large tree has to be listed anew; use `sweep_in_steps` then.

        A folder that is new is listed with all below, for one that vanished or was replaced all below is
        compared, for any other the files directly in it. A path outside of the root, or an ignored one,
        changes nothing.
        """
        self._check_root()
        if self._is_doubtful():
            return self._relist(known)
        files: set[str] = set()
        folders: set[str] = set()
        named: set[str] = set()
        for path in paths:
            if path == self._root:
                named.add("")
            elif path.startswith(self._base):
                relative = path[len(self._base) :].rstrip("/")
                self._suspect(relative, known, files, folders)
                named.add(relative)
        named &= self._lister.folders.keys()
        if named:
            # A write to a file before its folder was watched only shows in the file's own stamp.
            prefixes = tuple(f"{folder}/" for folder in named if folder)
            below = known if "" in named else (path for path in known if path.startswith(prefixes))
            files.update(path for path in below if path.rpartition("/")[0] in named)
            folders |= named
        inodes = {folder: self._lister.folders[folder].inode for folder in folders}
        replaced = self._replaced(folders)
        self._suspect_below(replaced, known, files, folders)
        changes = self._compare(known, files, list(folders))
        if self._were_replaced(inodes.keys() - replaced, inodes):
            return self._relist(known)
        return changes

    def _is_doubtful(self) -> bool:
        """Whether the tree was never listed, only in part, or by rules that have changed since."""
        return self._torn or not self._lister.folders or self._lister.rules.changed()

    def _compare_in_steps(self, known: Mapping[str, FileRecord]) -> Iterator[ScanChanges]:
        paths = list(known)
        for start in range(0, len(paths), SLICE_ENTRIES):
            yield self._compare(
                known, [path for path in paths[start : start + SLICE_ENTRIES] if path in known], ()
            )
        folders = list(self._lister.folders)
        for start in range(0, len(folders), SLICE_ENTRIES):
            part = [
                folder for folder in folders[start : start + SLICE_ENTRIES] if folder in self._lister.folders
            ]
            if dirty := self._compare_folders(part):
                wanted = frozenset(dirty)
                files = [path for path in known if path.rpartition("/")[0] in wanted]
                yield self._compare(known, files, dirty)

    def _compare(
        self, known: Mapping[str, FileRecord], files: Iterable[str], folders: Sequence[str]
    ) -> ScanChanges:
        """Compare some known files and folders with the disk, and list the folders that changed."""
        upserted, removed = self._compare_files(known, files)
        before = set(self._lister.folders)
        dirty = self._compare_folders(folders)
        expected = _names_by_folder(files, dirty)
        self._lister.lost.clear()
        try:
            for batch in self._lister.walk(dirty, known, removed, expected):
                upserted.update((record.path, record) for record in batch)
                if len(upserted) > LISTED_NOW:
                    self._tear()
        except RulesChanged:
            return self._relist(known)
        self._check_root()
        removed -= upserted.keys()
        # On a case-insensitive file system a stat of the old name still succeeds after a rename.
        removed.update(within(folder, name) for folder, names in expected.items() for name in names)
        removed |= self._forget_below_lost(known)
        for path in removed:
            upserted.pop(path, None)
        added = tuple(folder for folder in self._lister.folders if folder not in before)
        return ScanChanges(tuple(upserted.values()), tuple(sorted(removed)), False, added)

    def _forget_below_lost(self, known: Mapping[str, FileRecord]) -> set[str]:
        """Forget the folders below those that can't be listed any more; return the known files there."""
        if not self._lister.lost:
            return set()
        prefixes = tuple(f"{folder}/" for folder in self._lister.lost)
        for folder in [folder for folder in self._lister.folders if folder.startswith(prefixes)]:
            del self._lister.folders[folder]
        return {path for path in known if path.startswith(prefixes)}

    def _compare_files(
        self, known: Mapping[str, FileRecord], files: Iterable[str]
    ) -> tuple[dict[str, FileRecord], set[str]]:
        """Compare known files by stat; most of the time of a sweep is spent in this loop."""
        upserted: dict[str, FileRecord] = {}
        removed: set[str] = set()
        lstat, base, odd = self._system.lstat, self._base, self._lister.odd
        for path in files:
            old = known[path]
            stamp = old.stamp
            try:
                status = lstat(base + (odd.get(path, path) if odd else path))
                if (
                    status.st_mtime_ns == stamp.mtime_ns
                    and status.st_size == stamp.size
                    and status.st_ctime_ns == stamp.ctime_ns
                    and status.st_ino == stamp.inode
                    and not old.racy
                ):
                    continue
            except OSError:
                pass  # the lister tells a vanished file from one that can't be reached
            record = self._lister.record(path)
            if record is None:
                removed.add(path)
            elif _differs(old, record):
                upserted[path] = record
        return upserted, removed

    def _compare_folders(self, folders: Iterable[str]) -> list[str]:
        """Return the folders whose entries may have changed; forget those that are gone."""
        lstat, base, states = self._system.lstat, self._base, self._lister.folders
        dirty = []
        for folder in folders:
            state = states[folder]
            try:
                status = lstat(base + folder)
                if (
                    status.st_mtime_ns == state.mtime_ns
                    and status.st_ctime_ns == state.ctime_ns
                    and status.st_ino == state.inode
                    and not state.racy
                ):
                    continue
            except OSError:
                pass  # the second stat tells a folder that is gone from one that can't be reached
            stamp = self._lister.folder_stamp(folder)
            if stamp is None:
                del states[folder]
            elif stamp != UNKNOWN_STAMP or not state.unreadable:
                dirty.append(folder)
        return dirty

    def _suspect(
        self, path: str, known: Mapping[str, FileRecord], files: set[str], folders: set[str]
    ) -> None:
        """Add what an event at `path` may have changed: itself and the nearest folder above that is known."""
        if path in known:
            files.add(path)
        while path:
            path = path.rpartition("/")[0]
            if path in self._lister.folders:
                folders.add(path)
                return

    def _replaced(self, folders: Iterable[str]) -> list[str]:
        """Return the folders that are gone or were replaced, so that their former contents may be wrong."""
        return [
            folder
            for folder in folders
            if (stamp := self._lister.folder_stamp(folder)) is None
            or stamp.inode != self._lister.folders[folder].inode
        ]

    def _were_replaced(self, folders: Iterable[str], inodes: Mapping[str, int]) -> bool:
        """Whether one of these folders was removed or replaced during the comparison. Nothing below it was
        compared then, and its new state would hide that from the next call."""
        states = self._lister.folders
        return any(
            (state := states.get(folder)) is None or state.inode != inodes[folder] for folder in folders
        )

    def _suspect_below(
        self, above: list[str], known: Mapping[str, FileRecord], files: set[str], folders: set[str]
    ) -> None:
        if not above:
            return
        prefixes = tuple(f"{folder}/" if folder else "" for folder in above)
        files.update(path for path in known if path.startswith(prefixes))
        folders.update(folder for folder in self._lister.folders if folder.startswith(prefixes))

    def _relist(self, known: Mapping[str, FileRecord]) -> ScanChanges:
        """List everything and return how it differs from what was known."""
        if len(known) > LISTED_NOW or self._torn:
            raise ListingNeeded
        parts = list(self._relist_in_steps(known, LISTED_NOW))
        upserted = [record for part in parts for record in part.upserted]
        return replace(parts[-1], upserted=tuple(upserted))

    def _relist_in_steps(
        self, known: Mapping[str, FileRecord], most: float = math.inf
    ) -> Iterator[ScanChanges]:
        """List everything and return how it differs from what was known: added and changed files in parts,
        removed files with the last part."""
        before = set(self._lister.folders)
        seen: set[str] = set()
        for batch in self.full():
            self._torn = True
            seen.update(record.path for record in batch)
            if len(seen) > most:
                raise ListingNeeded
            pairs = ((known.get(record.path), record) for record in batch)
            yield ScanChanges(tuple(new for old, new in pairs if old is None or _differs(old, new)))
        self._torn = False
        removed = tuple(sorted(path for path in known if path not in seen))
        added = tuple(folder for folder in self._lister.folders if folder not in before)
        yield ScanChanges((), removed, bool(before), added)

    def _tear(self) -> None:
        """Abort a listing, so that everything is listed again, in steps."""
        self._torn = True
        raise ListingNeeded

    def _check_root(self) -> None:
        try:
            found = stat.S_ISDIR(self._system.stat(self._root).st_mode)
        except OSError:
            found = False
        if not found:
            self._torn = False
            self._lister.reset()
            raise RootGone(f"{self._root} is gone or can't be reached; once it is back, it is scanned again")

    def _real(self, folder: str) -> str:
        return self._base + folder if folder else self._root


_CONTENT_REASONS = frozenset({"binary", "unreadable", "quarantined"})
"""Reasons that are only found when a file's content is read, so that a listing can't confirm them."""


def _differs(old: FileRecord, new: FileRecord) -> bool:
    """Whether a new record from the disk means that the file's content must be read again."""
    if old.stamp != new.stamp or old.racy:
        return True
    return old.skipped != new.skipped and not (new.skipped == "" and old.skipped in _CONTENT_REASONS)


def _names_by_folder(files: Iterable[str], folders: Sequence[str]) -> dict[str, set[str]]:
    """Return by folder the names of the files that lie directly in it."""
    names: dict[str, set[str]] = {folder: set() for folder in folders}
    if names:
        for path in files:
            folder, _, name = path.rpartition("/")
            if folder in names:
                names[folder].add(name)
    return names
