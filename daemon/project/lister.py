"""Lists the folders of a tree, and decides which entries belong to the tree and why others don't."""

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
from ..languages.shared.notebook import read_limit
from . import git
from .ignore import IgnoreRules
from .rules import BUILD_FILES, MARKS, OUTPUT_FOLDERS, Entry, PathRules, ScanSettings
from .tree import FileRecord

UNKNOWN_STAMP = Stamp(0, 0, 0, 0)
"""The stamp of a file or folder that can't be accessed."""

_FOLDERS_AT_ONCE = 128
"""Maximum number of folders whose entries are judged by git in one query, about a thousand names."""

_RECORDS_AT_ONCE = 1000
"""Maximum number of records in a batch."""


class RootGone(ProjectUnavailable):
    """The project's root folder doesn't exist or can't be listed. A sweep finds all files once it is back."""


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
        """The folders of the tree by relative path, in their state when they were last listed."""
        settings = self._settings
        self.rules = PathRules(
            self._root, self._system, settings.exclude, settings.skip_untracked_folders | OUTPUT_FOLDERS
        )
        """The rules of the listed folders."""
        self.whole = False
        """Whether the whole tree has been listed; before that, unknown folders may exist."""
        self.lost: list[str] = []
        """Folders that could no longer be listed in this pass, so that nothing below them is in the tree."""
        self.begin_pass()
        self.odd: dict[str, str] = {}
        """The real path of each file whose name isn't UTF-8, as `os.fsdecode` has it."""

    def begin_pass(self) -> None:
        """Start to observe whether the tree changes; see `restless`."""
        self._listed: list[str] = []
        self._vanished = False

    @property
    def restless(self) -> bool:
        """Whether a listed name was gone when it was read, or a folder may have changed since its listing."""
        return self._vanished or any(map(self._may_have_changed, self._listed))

    def walk(
        self,
        pending: list[str],
        known: Mapping[str, FileRecord],
        removed: set[str],
        expected: Mapping[str, set[str]] | None = None,
    ) -> Iterator[list[FileRecord]]:
        """List folders and all new folders below them; yield the records of new files.

        A path in `known` and not in `removed` is not new. Found names are removed from `expected`. Raises
        `RulesChanged` if the rules of folders listed earlier have changed.
        """
        pending = list(pending)
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

    def record(self, path: str) -> FileRecord | None:
        """Return a file's record from a stat, None if there is no such file."""
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
        elif status.st_size > read_limit(path, self._settings.max_file_bytes):
            skipped = "too_large"
        else:
            skipped = ""
        return FileRecord(path, stamp_of(status), language=language_of(path), skipped=skipped)

    def folder_stamp(self, folder: str) -> Stamp | None:
        """Return a folder's stamp, None if it is gone, `UNKNOWN_STAMP` if it can't be accessed."""
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
        """Read a folder and record its state; None if it is gone or can't be read."""
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
        """Return the stamp of a folder that can't be listed, and an empty listing: all below is forgotten."""
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
        """Return why a folder is left out regardless of the ignore rules, or ""."""
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
        """Return the paths of new entries that git's rules leave out, with one query for each domain."""
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
        """Leave out a folder that is an additional work tree of a repository: its files are copies."""
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
    """The state of a folder when it was last listed.

    `others` are its entries outside of the tree with the reasons; names of folders end with a slash. `marks`
    are the names in it that make rules, such as `.gitignore`.
    """

    mtime_ns: int
    ctime_ns: int
    inode: int
    racy: bool
    unreadable: bool
    marks: frozenset[str]
    domain: str
    others: dict[str, str] = field(default_factory=dict)


class RulesChanged(Exception):
    """A folder gained or lost an ignore file or a repository, so earlier listings may be wrong."""


class FolderListing(Struct):
    """The entries of a folder; `files` maps printable names to the real ones.

    `odd_folders` are folders whose names aren't UTF-8, `marks` the names that make rules. `unreadable` says
    that the folder can't be listed, so that its entries are unknown.
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
            # A file whose real name equals the printable form takes precedence.
            listing.files.setdefault(printable(entry.name), entry.name)
    return listing


def printable(name: str) -> str:
    r"""Return a name with the bytes that aren't UTF-8 written as `\xff`."""
    return os.fsencode(name).decode(errors="backslashreplace")


Reason = Literal[
    "", "missing", "ignored", "excluded", "vendored", "worktree", "unreadable", "not_utf8_name", "symlink"
]


class LeftOut(Struct, frozen=True):
    """Why a path isn't in the tree.

    - `part`: the path itself, or the topmost folder above it that is left out.
    - `reason`: a reason of the scan, or `missing` for a path that doesn't exist; "" if no rule leaves the
      path out, so that it just isn't known yet.
    - `rule`: the rule for the reason, if known, such as `.gitignore:3:*.log` or `scan.exclude`.
    """

    part: str
    reason: Reason
    rule: str = ""


def left_out(root: str, path: str, settings: ScanSettings, system: System) -> LeftOut:
    """Return why a path, relative to `root`, isn't in the tree, by the same rules as a scan.

    Blocks: lists each folder on the way, and asks git. Raises `RootGone`.
    """
    return _Way(root, system, settings).left_out(path)


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
        """Return the rule for this reason, or "" if it isn't known."""
        part = within(folder, name)
        if reason == "excluded":
            own = IgnoreRules(self._settings.exclude)
            matches = own.match(part, name, os.path.isdir(os.path.join(self._root, part)))
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
