"""Lists the folders of a tree: which entries belong to it, and why a path doesn't."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from typing import Literal, cast

from msgspec import Struct, field

from ..core.errors import ProjectUnavailable
from ..core.relative_paths import within
from ..core.system import RACY_NS, Stamp, System, stamp_of
from ..languages.shared.language import language_of
from . import git
from .ignore import IgnoreRules
from .rules import BUILD_FILES, MARKS, OUTPUT_FOLDERS, Entry, PathRules, ScanSettings
from .tree import FileRecord

UNKNOWN_STAMP = Stamp(0, 0, 0, 0)
"""The stamp of what can't be reached."""

_FOLDERS_AT_ONCE = 128
"""Folders listed before git is asked about their entries: one round trip for about a thousand names."""

_RECORDS_AT_ONCE = 1000
"""Records in a batch, at most."""


class RootGone(ProjectUnavailable):
    """The project's root folder doesn't exist or can't be listed. Once it is back, a sweep finds all."""


class Lister:
    """Lists the folders of one tree and remembers them. Not for use by two threads at once."""

    def __init__(self, root: str, system: System, settings: ScanSettings) -> None:
        """`root` is absolute and resolved."""
        self._root = root
        self._base = root if root.endswith("/") else root + "/"
        self._system = system
        self._settings = settings
        self.reset()

    def reset(self) -> None:
        """Forget everything, as if nothing had been listed yet."""
        self.folders: dict[str, FolderState] = {}
        """The folders of the tree by relative path, as they were when they were listed last."""
        settings = self._settings
        self.rules = PathRules(
            self._root, self._system, settings.exclude, settings.skip_untracked_folders | OUTPUT_FOLDERS
        )
        """The rules of the folders that were listed."""
        self.whole = False
        """Whether the whole tree was listed since; before that, an unknown folder may exist."""
        self.lost: list[str] = []
        """Folders of this pass that can't be listed any more, so that nothing below is in the tree."""
        self.begin_pass()
        self.odd: dict[str, str] = {}
        """The real path of each file whose name isn't UTF-8, as `os.fsdecode` has it."""

    def begin_pass(self) -> None:
        """Begin to note whether the tree changes; see `restless`."""
        self._listed: list[str] = []
        self._vanished = False

    @property
    def restless(self) -> bool:
        """Whether a name was gone when it was looked at, or a folder may have changed since it was listed."""
        return self._vanished or any(map(self._may_have_changed, self._listed))

    def walk(
        self,
        pending: list[str],
        known: Mapping[str, FileRecord],
        removed: set[str],
        expected: Mapping[str, set[str]] | None = None,
    ) -> Iterator[list[FileRecord]]:
        """List folders and all new ones below; yield the new files' records.

        A path in `known` and not in `removed` is not new. Names that are found are taken out of `expected`.
        Raises `RulesChanged` where the rules of folders listed before are no longer right.
        """
        pending = list(pending)
        try:
            while pending:
                batch, pending = pending[-_FOLDERS_AT_ONCE:], pending[:-_FOLDERS_AT_ONCE]
                self._listed += batch
                listings = [listing for folder in batch if (listing := self._list(folder)) is not None]
                for listing in listings:
                    if expected is not None and listing.folder in expected:
                        expected[listing.folder].difference_update(listing.files)
                    self._keep_only_new(listing, known, removed)
                ignored = self._ignored(listings)
                records = []
                for listing in listings:
                    pending += self._enter_folders(listing, ignored)
                    records += self._record_files(listing, ignored)
                for start in range(0, len(records), _RECORDS_AT_ONCE):
                    yield records[start : start + _RECORDS_AT_ONCE]
        finally:
            self.rules.close()

    def record(self, path: str) -> FileRecord | None:
        """Return a file's record from a stat, None when there is no file (any more)."""
        odd = self.odd.get(path)
        try:
            status = self._system.lstat(self._base + (odd or path))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError:
            return FileRecord(path, UNKNOWN_STAMP, language=language_of(path), skipped="unreadable")
        if stat.S_ISDIR(status.st_mode):
            return None
        if stat.S_ISLNK(status.st_mode):
            skipped = "symlink"
        elif not stat.S_ISREG(status.st_mode):
            skipped = "special"
        elif odd is not None:
            skipped = "not_utf8_name"
        elif status.st_size > self._settings.max_file_bytes:
            skipped = "too_large"
        else:
            skipped = ""
        return FileRecord(path, stamp_of(status), language=language_of(path), skipped=skipped)

    def folder_stamp(self, folder: str) -> Stamp | None:
        """Stat a folder; None when there is no folder any more, zeros when it can't be reached."""
        try:
            status = self._system.lstat(self._base + folder)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError:
            return UNKNOWN_STAMP
        return stamp_of(status) if stat.S_ISDIR(status.st_mode) else None

    def _may_have_changed(self, folder: str) -> bool:
        state, stamp = self.folders.get(folder), self.folder_stamp(folder)
        return state is None or stamp is None or state.racy or stamp.mtime_ns != state.mtime_ns

    def _list(self, folder: str) -> FolderListing | None:
        """Read a folder and note its state; None for one that is gone or can't be read."""
        now = self._system.time_ns()
        try:
            status = self._system.lstat(self._base + folder)
            if not stat.S_ISDIR(status.st_mode):
                raise NotADirectoryError(f"{folder} has become a file or a link")
            stamp, listing = stamp_of(status), read_listing(self._base, folder, self._system)
        except (FileNotFoundError, NotADirectoryError):
            self.folders.pop(folder, None)
            return None
        except OSError:
            if not folder:
                self.reset()
                raise RootGone(f"{self._root} can't be listed: check its permissions") from None
            stamp, listing = self._unreadable(folder)
        old = self.folders.get(folder)
        if old is not None and old.marks != listing.marks:
            raise RulesChanged
        if old is None and self._leave_out_worktree(listing):
            return None
        state = FolderState(
            mtime_ns=stamp.mtime_ns,
            ctime_ns=stamp.ctime_ns,
            inode=stamp.inode,
            racy=max(stamp.mtime_ns, stamp.ctime_ns) > now - RACY_NS,
            unreadable=listing.unreadable,
            marks=frozenset(listing.marks),
            domain=self._enter(listing) if old is None else old.domain,
        )
        if old is not None and old.others:
            found = listing.names()
            state.others.update((name, why) for name, why in old.others.items() if name in found)
        self.folders[folder] = state
        return listing

    def _unreadable(self, folder: str) -> tuple[Stamp, FolderListing]:
        """Return the stamp of a folder that can't be listed, and no entries: all below is forgotten."""
        self.lost.append(folder)
        old = self.folders.get(folder)
        marks = set(old.marks) if old is not None else set()
        return self.folder_stamp(folder) or UNKNOWN_STAMP, FolderListing(folder, marks=marks, unreadable=True)

    def _keep_only_new(
        self, listing: FolderListing, known: Mapping[str, FileRecord], removed: set[str]
    ) -> None:
        """Drop the entries that are known or were judged before."""
        folder, others = listing.folder, self.folders[listing.folder].others
        is_built_here = not BUILD_FILES.isdisjoint(listing.files)
        listing.files = {
            name: real
            for name, real in listing.files.items()
            if name not in others and self._is_new(within(folder, name), within(folder, real), known, removed)
        }
        listing.folders = {
            name
            for name in listing.folders
            if f"{name}/" not in others and within(folder, name) not in self.folders
        }
        for name in listing.odd_folders:
            others[f"{name}/"] = "not_utf8_name"
        for name in list(listing.folders):
            reason = self._reason_by_name(within(folder, name), name, is_built_here=is_built_here)
            if reason:
                others[f"{name}/"] = reason
                listing.folders.discard(name)

    def _is_new(self, path: str, real_path: str, known: Mapping[str, FileRecord], removed: set[str]) -> bool:
        if path not in known or path in removed:
            return True
        # Two names may have the same printable form; the record may be that of the other file.
        return self.odd.get(path, path) != real_path

    def _reason_by_name(self, path: str, name: str, *, is_built_here: bool) -> str:
        """Return why a folder is left out whatever the ignore rules say, or ""."""
        if name in self._settings.skip_folders:
            return "vendored"
        is_output = name in OUTPUT_FOLDERS
        if is_output or name in self._settings.skip_untracked_folders:
            domain = self.folders[path.rpartition("/")[0]].domain
            if is_output and not is_built_here and not self.rules.is_by_git(domain):
                return ""
            if not self.rules.holds_tracked(domain, path):
                return "vendored"
        return ""

    def _ignored(self, listings: list[FolderListing]) -> set[str]:
        """Return the paths among new entries that git's rules leave out; one question for each domain."""
        entries: dict[str, list[Entry]] = {}
        for listing in listings:
            folder = listing.folder
            asked = entries.setdefault(self.folders[folder].domain, [])
            asked += [(folder, name, True) for name in listing.folders]
            asked += [(folder, name, False) for name in listing.files.values()]
        ignored: set[str] = set()
        for domain, asked in entries.items():
            ignored |= self.rules.ignored(domain, asked)
        return ignored

    def _enter_folders(self, listing: FolderListing, ignored: set[str]) -> list[str]:
        """Return the new folders that belong to the tree."""
        entered = []
        state = self.folders[listing.folder]
        for name in sorted(listing.folders):
            path = within(listing.folder, name)
            reason = ""
            if path in ignored:
                reason = "ignored"
            elif self.rules.excluded(listing.folder, name, True):
                reason = "excluded"
            if reason:
                state.others[f"{name}/"] = reason
            else:
                entered.append(path)
        return entered

    def _record_files(self, listing: FolderListing, ignored: set[str]) -> list[FileRecord]:
        """Return the records of the new files that belong to the tree."""
        records = []
        state = self.folders[listing.folder]
        for name, real in sorted(listing.files.items()):
            real_path = within(listing.folder, real)
            if real_path in ignored:
                state.others[name] = "ignored"
            elif self.rules.excluded(listing.folder, real, False):
                state.others[name] = "excluded"
            else:
                path = within(listing.folder, name)
                if name != real:
                    self.odd[path] = real_path
                else:
                    self.odd.pop(path, None)
                record = self.record(path)
                if record is None:
                    self._vanished = True
                else:
                    records.append(record)
        return records

    def _leave_out_worktree(self, listing: FolderListing) -> bool:
        """Leave a folder out that is one more work tree of a repository: its files are copies."""
        folder = listing.folder
        path = self._base + folder
        if not folder or ".git" not in listing.marks or not git.is_linked_worktree(path, self._system):
            return False
        parent, _, name = folder.rpartition("/")
        self.folders[parent].others[f"{name}/"] = "worktree"
        self.rules.remember(f"{path}/.git")
        return True

    def _enter(self, listing: FolderListing) -> str:
        parent = self.folders[listing.folder.rpartition("/")[0]].domain if listing.folder else ""
        return self.rules.enter(listing.folder, listing.marks, parent)


class FolderState(Struct):
    """A folder as it was when it was listed last. `others` are its entries outside of the tree with the
    reason, a folder's name with a slash at its end; `marks` the names in it that make rules."""

    mtime_ns: int
    ctime_ns: int
    inode: int
    racy: bool
    unreadable: bool
    marks: frozenset[str]
    domain: str
    others: dict[str, str] = field(default_factory=dict)


class RulesChanged(Exception):
    """A folder gained or lost an ignore file or a repository: what was listed under its rules is in doubt."""


class FolderListing(Struct):
    """The entries of a folder; `files` maps names fit for a record to the real ones.

    `odd_folders` are those whose names aren't UTF-8, `marks` the names that make rules. `unreadable` says
    that the folder can't be listed, so that nothing is known of it.
    """

    folder: str
    files: dict[str, str] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)
    odd_folders: set[str] = field(default_factory=set)
    marks: set[str] = field(default_factory=set)
    unreadable: bool = False

    def names(self) -> set[str]:
        """Return the names of all entries, a folder's with a slash at its end."""
        folders = {f"{name}/" for name in (*self.folders, *self.odd_folders)}
        return folders | self.files.keys()


def read_listing(base: str, folder: str, system: System) -> FolderListing:
    """Return the entries of a folder below a base that ends with a slash. Raises `OSError`."""
    listing = FolderListing(folder)
    odd = []
    with system.scandir(base + folder) as entries:
        for entry in entries:
            name = entry.name
            if name in MARKS:
                listing.marks.add(name)
            if name == ".git":
                continue
            if not name.isascii() and printable(name) != name:
                odd.append(entry)
            elif entry.is_dir(follow_symlinks=False):
                listing.folders.add(name)
            else:
                listing.files[name] = name
    for entry in sorted(odd, key=lambda entry: entry.name):
        if entry.is_dir(follow_symlinks=False):
            listing.odd_folders.add(entry.name)
        else:
            # A file whose real name is that printable form comes first.
            listing.files.setdefault(printable(entry.name), entry.name)
    return listing


def printable(name: str) -> str:
    r"""Return a name with the bytes that aren't UTF-8 written as `\xff`."""
    return os.fsencode(name).decode(errors="backslashreplace")


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
    """A lister that lists only the folders on the way to a path."""

    def left_out(self, path: str) -> LeftOut:
        folder = ""
        for name in path.split("/"):
            part = within(folder, name)
            listing = self._list(folder)
            if listing is None:  # it was just removed, or is another work tree
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
            return ""  # the path is ignored; only the rule is unknown
