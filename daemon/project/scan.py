"""Owns the lister: which files belong to a project, and what changed on disk; reads no content."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from ..errors import ProjectUnavailable
from ..system import RACY_NS, Stamp, System, stamp_of
from . import git
from .languages import language_of
from .rules import MARKS, Entry, Rules
from .tree import FileRecord

ALWAYS_SKIPPED_FOLDERS = frozenset(
    {
        ".git",
        ".hg",
        ".svn",
        ".bzr",
        "CVS",
        ".jj",
        "node_modules",
        "bower_components",
        "jspm_packages",
        "site-packages",
        "__pycache__",
        "__pypackages__",
        ".venv",
        "venv",
        ".tox",
        ".nox",
        ".eggs",
        ".mypy_cache",
        ".pytest_cache",
        ".ruff_cache",
        ".hypothesis",
        ".ipynb_checkpoints",
        ".gradle",
        ".terraform",
        ".next",
        ".nuxt",
        ".svelte-kit",
        ".parcel-cache",
        ".turbo",
        ".yarn",
        ".pnpm-store",
        ".dart_tool",
        ".bundle",
        ".cache",
    }
)
"""Folder names that only tools use, for what they fetch, cache or keep to themselves."""

UNTRACKED_SKIPPED_FOLDERS = frozenset(
    {
        "vendor",
        "third_party",
        "thirdparty",
        "Pods",
        "Carthage",
        "dist",
        "build",
        "target",
        "out",
        "_build",
        "coverage",
        "htmlcov",
        "DerivedData",
        "virtualenv",
    }
)
"""Folder names that people use too. They are skipped unless git tracks a file inside."""

_CONTENT_REASONS = frozenset({"binary", "unreadable"})
"""Reasons that the reader of the content finds, so that no listing can confirm them."""

_FOLDERS_AT_ONCE = 128
"""Folders listed before git is asked about their entries: one round trip for about a thousand names."""

_RECORDS_AT_ONCE = 1000
"""Records in a batch, at most."""

_BINARY_PROBE_BYTES = 8192
"""git looks at the first 8,000 bytes for a NUL as well."""

_BYTE_ORDER_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")

_UNKNOWN_STAMP = Stamp(0, 0, 0, 0)


class RootGone(ProjectUnavailable):
    """The project's root folder doesn't exist or can't be listed. Once it is back, a sweep finds all."""


@dataclass(frozen=True, slots=True)
class ScanSettings:
    """What is left out of the tree.

    `max_file_bytes`: a larger file stays a node without content; 1 MiB is above nearly all written source.
    `exclude`: patterns in gitignore syntax, relative to the root, which nothing can re-include.
    `skip_folders` and `skip_untracked_folders`: names of vendored and generated folders, see the defaults.
    """

    max_file_bytes: int = 1 << 20
    exclude: tuple[str, ...] = ()
    skip_folders: frozenset[str] = ALWAYS_SKIPPED_FOLDERS
    skip_untracked_folders: frozenset[str] = UNTRACKED_SKIPPED_FOLDERS


@dataclass(frozen=True, slots=True)
class Changes:
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


@dataclass(frozen=True, slots=True)
class ScanStatistics:
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


def classify_content(data: bytes) -> str:
    """Return `binary` for content that is no text, else "". UTF-16 and UTF-32 count as text with a mark."""
    if data.startswith(_BYTE_ORDER_MARKS):
        return ""
    return "binary" if b"\0" in data[:_BINARY_PROBE_BYTES] else ""


class Scanner:
    """Lists one project's tree and finds what changed since. Not for use by two threads at once.

    A tree is what git would list (tracked or not ignored), each repository inside by its own rules; outside
    of git the same by .gitignore files alone. Links are never followed: they are records skipped as
    `symlink`, for what they point to inside the root has a record of its own. After every call the scanner
    takes it that the caller applied the answer to what it passes as `known` next time.
    """

    def __init__(self, root: str, system: System, settings: ScanSettings | None = None) -> None:
        """`root` is absolute and resolved."""
        self._root = root
        self._base = root if root.endswith("/") else root + "/"
        self._system = system
        self._settings = settings or ScanSettings()
        self._reset()

    @property
    def folders(self) -> list[str]:
        """The relative paths of all folders of the tree, the empty ones too; the root is ""."""
        return list(self._folders)

    @property
    def watch_folders(self) -> list[str]:
        """The absolute folders to be watched: the tree's own and those of the files that make rules."""
        control = {folder for folder in self._rules.folders if folder.startswith(self._base)}
        folders = [self._real(folder) for folder in self._folders]
        return folders + sorted(filter(os.path.isdir, control.difference(folders)))

    @property
    def skipped_folders(self) -> dict[str, str]:
        """The topmost folders that were left out, with the reason for each."""
        skipped = {
            _join(folder, _printable(name[:-1])): reason
            for folder, state in self._folders.items()
            for name, reason in state.others.items()
            if name.endswith("/")
        }
        return skipped | {folder: "unreadable" for folder, state in self._folders.items() if state.unreadable}

    def statistics(self) -> ScanStatistics:
        """Return what was left out, as of the last call."""
        return ScanStatistics(
            folders=len(self._folders),
            skipped_folders=Counter(self.skipped_folders.values()),
            ignored_files=sum(
                not name.endswith("/") for state in self._folders.values() for name in state.others
            ),
            problems=self._rules.problems,
            git_problem=self._rules.rejected.get("", ""),
        )

    def full(self) -> Iterator[list[FileRecord]]:
        """List everything anew, in batches of records without digests. Raises `RootGone`.

        Nothing is held back: 100,000 files come in hundreds of batches. The scanner is ready for `sweep`
        and `examine` when the last batch was taken.
        """
        self._reset()
        self._check_root()
        yield from self._walk([""], {}, set())
        self._check_root()

    def sweep(self, known: Mapping[str, FileRecord]) -> Changes:
        """Compare everything known with the disk: a stat for each file and folder. Raises `RootGone`.

        Every change that was on the disk before the call is found. A first sweep lists everything.
        """
        self._check_root()
        if not self._folders or self._rules.changed():
            return self._relist(known)
        return self._compare(known, known, list(self._folders))

    def examine(self, paths: Iterable[str], known: Mapping[str, FileRecord]) -> Changes:
        """Compare only these absolute paths, files or folders, with the disk. Raises `RootGone`.

        A folder that is new is listed with all below, for one that vanished or was replaced all below is
        compared, for any other the files directly in it. A path outside of the root, or an ignored one,
        changes nothing.
        """
        self._check_root()
        if not self._folders or self._rules.changed():
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
        named &= self._folders.keys()
        if named:
            # What was written to a file here before the folder was watched shows on the file alone.
            prefixes = tuple(f"{folder}/" for folder in named if folder)
            below = known if "" in named else (path for path in known if path.startswith(prefixes))
            files.update(path for path in below if path.rpartition("/")[0] in named)
            folders |= named
        self._suspect_below(self._replaced(folders), known, files, folders)
        return self._compare(known, files, list(folders))

    # -- comparing -----------------------------------------------------------------------------------------

    def _compare(self, known: Mapping[str, FileRecord], files: Iterable[str], folders: list[str]) -> Changes:
        """Compare some known files and folders with the disk, and list the folders that changed."""
        upserted, removed = self._compare_files(known, files)
        before = set(self._folders)
        dirty = self._compare_folders(folders)
        expected = _names_by_folder(files, dirty)
        self._lost.clear()
        try:
            for batch in self._walk(dirty, known, removed, expected):
                upserted.update((record.path, record) for record in batch)
        except _RulesChanged:
            return self._relist(known)
        self._check_root()
        removed -= upserted.keys()
        # On a file system without case a stat of the old name still succeeds after a rename.
        removed.update(_join(folder, name) for folder, names in expected.items() for name in names)
        removed |= self._forget_below_lost(known)
        for path in removed:
            upserted.pop(path, None)
        added = tuple(folder for folder in self._folders if folder not in before)
        return Changes(tuple(upserted.values()), tuple(sorted(removed)), False, added)

    def _forget_below_lost(self, known: Mapping[str, FileRecord]) -> set[str]:
        """Forget the folders below those that can't be listed any more; return the known files there."""
        if not self._lost:
            return set()
        prefixes = tuple(f"{folder}/" for folder in self._lost)
        for folder in [folder for folder in self._folders if folder.startswith(prefixes)]:
            del self._folders[folder]
        return {path for path in known if path.startswith(prefixes)}

    def _compare_files(
        self, known: Mapping[str, FileRecord], files: Iterable[str]
    ) -> tuple[dict[str, FileRecord], set[str]]:
        """Stat known files; this loop is what a sweep costs."""
        upserted: dict[str, FileRecord] = {}
        removed: set[str] = set()
        lstat, base, odd = self._system.lstat, self._base, self._odd
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
                pass  # _record tells a vanished file from one that can't be reached
            record = self._record(path)
            if record is None:
                removed.add(path)
            elif _differs(old, record):
                upserted[path] = record
        return upserted, removed

    def _compare_folders(self, folders: Iterable[str]) -> list[str]:
        """Return the folders whose entries may have changed; forget those that are gone."""
        lstat, base, states = self._system.lstat, self._base, self._folders
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
                pass  # the second look tells a folder that is gone from one that can't be reached
            stamp = self._folder_stamp(folder)
            if stamp is None:
                del states[folder]
            elif stamp != _UNKNOWN_STAMP or not state.unreadable:
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
            if path in self._folders:
                folders.add(path)
                return

    def _replaced(self, folders: Iterable[str]) -> list[str]:
        """Return those folders that are gone or another folder now, so that what was below is in doubt."""
        return [
            folder
            for folder in folders
            if (stamp := self._folder_stamp(folder)) is None or stamp.inode != self._folders[folder].inode
        ]

    def _suspect_below(
        self, above: list[str], known: Mapping[str, FileRecord], files: set[str], folders: set[str]
    ) -> None:
        if not above:
            return
        prefixes = tuple(f"{folder}/" if folder else "" for folder in above)
        files.update(path for path in known if path.startswith(prefixes))
        folders.update(folder for folder in self._folders if folder.startswith(prefixes))

    def _relist(self, known: Mapping[str, FileRecord]) -> Changes:
        """List everything and return how it differs from what was known."""
        before = set(self._folders)
        first = not before
        upserted, seen = [], set()
        for batch in self.full():
            for record in batch:
                seen.add(record.path)
                old = known.get(record.path)
                if old is None or _differs(old, record):
                    upserted.append(record)
        removed = sorted(path for path in known if path not in seen)
        added = tuple(folder for folder in self._folders if folder not in before)
        return Changes(tuple(upserted), tuple(removed), not first, added)

    def _check_root(self) -> None:
        try:
            found = stat.S_ISDIR(self._system.stat(self._root).st_mode)
        except OSError:
            found = False
        if not found:
            self._reset()
            raise RootGone(f"{self._root} is gone or can't be reached; once it is back, it is scanned again")

    # -- listing -------------------------------------------------------------------------------------------

    def _walk(
        self,
        pending: list[str],
        known: Mapping[str, FileRecord],
        removed: set[str],
        expected: Mapping[str, set[str]] | None = None,
    ) -> Iterator[list[FileRecord]]:
        """List folders and all new ones below; yield the new files' records.

        A path in `known` and not in `removed` is not new. Names that are found are taken out of `expected`.
        Raises `_RulesChanged` where the rules of folders listed before are no longer right.
        """
        pending = list(pending)
        try:
            while pending:
                batch, pending = pending[-_FOLDERS_AT_ONCE:], pending[:-_FOLDERS_AT_ONCE]
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
            self._rules.close()

    def _list(self, folder: str) -> _Listing | None:
        """Read a folder and note its state; None for one that is gone or can't be read."""
        now = self._system.time_ns()
        try:
            status = self._system.lstat(self._base + folder)
            if not stat.S_ISDIR(status.st_mode):
                raise NotADirectoryError(f"{folder} has become a file or a link")
            stamp, listing = stamp_of(status), self._read_entries(folder)
        except (FileNotFoundError, NotADirectoryError):
            self._folders.pop(folder, None)
            return None
        except OSError:
            if not folder:
                self._reset()
                raise RootGone(f"{self._root} can't be listed: check its permissions") from None
            stamp, listing = self._unreadable(folder)
        old = self._folders.get(folder)
        if old is not None and old.marks != listing.marks:
            raise _RulesChanged
        if old is None and self._leave_out_worktree(listing):
            return None
        state = _Folder(
            mtime_ns=stamp.mtime_ns,
            ctime_ns=stamp.ctime_ns,
            inode=stamp.inode,
            racy=stamp.mtime_ns > now - RACY_NS,
            unreadable=listing.unreadable,
            marks=frozenset(listing.marks),
            domain=self._enter(listing) if old is None else old.domain,
        )
        if old is not None and old.others:
            found = listing.names()
            state.others.update((name, why) for name, why in old.others.items() if name in found)
        self._folders[folder] = state
        return listing

    def _unreadable(self, folder: str) -> tuple[Stamp, _Listing]:
        """Return the stamp of a folder that can't be listed, and no entries: all below is forgotten."""
        self._lost.append(folder)
        old = self._folders.get(folder)
        marks = set(old.marks) if old is not None else set()
        return self._folder_stamp(folder) or _UNKNOWN_STAMP, _Listing(folder, marks=marks, unreadable=True)

    def _folder_stamp(self, folder: str) -> Stamp | None:
        """Stat a folder; None when there is no folder any more, zeros when it can't be reached."""
        try:
            status = self._system.lstat(self._base + folder)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError:
            return _UNKNOWN_STAMP
        return stamp_of(status) if stat.S_ISDIR(status.st_mode) else None

    def _read_entries(self, folder: str) -> _Listing:
        listing = _Listing(folder)
        odd = []
        with self._system.scandir(self._base + folder) as entries:
            for entry in entries:
                name = entry.name
                if name in MARKS:
                    listing.marks.add(name)
                if name == ".git":
                    continue
                if not name.isascii() and _printable(name) != name:
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
                listing.files.setdefault(_printable(entry.name), entry.name)
        return listing

    def _keep_only_new(self, listing: _Listing, known: Mapping[str, FileRecord], removed: set[str]) -> None:
        """Drop the entries that are known or were judged before."""
        folder, others = listing.folder, self._folders[listing.folder].others
        listing.files = {
            name: real
            for name, real in listing.files.items()
            if name not in others and self._is_new(_join(folder, name), _join(folder, real), known, removed)
        }
        listing.folders = {
            name
            for name in listing.folders
            if f"{name}/" not in others and _join(folder, name) not in self._folders
        }
        for name in listing.odd_folders:
            others[f"{name}/"] = "not_utf8_name"
        for name in list(listing.folders):
            reason = self._reason_by_name(_join(folder, name), name)
            if reason:
                others[f"{name}/"] = reason
                listing.folders.discard(name)

    def _is_new(self, path: str, real_path: str, known: Mapping[str, FileRecord], removed: set[str]) -> bool:
        if path not in known or path in removed:
            return True
        # Two names can look alike in print; the record may have been the other's.
        return self._odd.get(path, path) != real_path

    def _reason_by_name(self, path: str, name: str) -> str:
        """Return why a folder is left out whatever the ignore rules say, or ""."""
        if name in self._settings.skip_folders:
            return "vendored"
        if name in self._settings.skip_untracked_folders:
            domain = self._folders[path.rpartition("/")[0]].domain
            if not self._rules.holds_tracked(domain, path):
                return "vendored"
        return ""

    def _ignored(self, listings: list[_Listing]) -> set[str]:
        """Return the paths among new entries that git's rules leave out; one question for each domain."""
        entries: dict[str, list[Entry]] = {}
        for listing in listings:
            folder = listing.folder
            asked = entries.setdefault(self._folders[folder].domain, [])
            asked += [(folder, name, True) for name in listing.folders]
            asked += [(folder, name, False) for name in listing.files.values()]
        ignored: set[str] = set()
        for domain, asked in entries.items():
            ignored |= self._rules.ignored(domain, asked)
        return ignored

    def _enter_folders(self, listing: _Listing, ignored: set[str]) -> list[str]:
        """Return the new folders that belong to the tree."""
        entered = []
        state = self._folders[listing.folder]
        for name in sorted(listing.folders):
            path = _join(listing.folder, name)
            reason = ""
            if path in ignored:
                reason = "ignored"
            elif self._rules.excluded(listing.folder, name, True):
                reason = "excluded"
            if reason:
                state.others[f"{name}/"] = reason
            else:
                entered.append(path)
        return entered

    def _record_files(self, listing: _Listing, ignored: set[str]) -> list[FileRecord]:
        """Return the records of the new files that belong to the tree."""
        records = []
        state = self._folders[listing.folder]
        for name, real in sorted(listing.files.items()):
            real_path = _join(listing.folder, real)
            if real_path in ignored:
                state.others[name] = "ignored"
            elif self._rules.excluded(listing.folder, real, False):
                state.others[name] = "excluded"
            else:
                path = _join(listing.folder, name)
                if name != real:
                    self._odd[path] = real_path
                else:
                    self._odd.pop(path, None)
                record = self._record(path)
                if record is not None:
                    records.append(record)
        return records

    def _record(self, path: str) -> FileRecord | None:
        """Return a file's record from a stat, None when there is no file (any more)."""
        odd = self._odd.get(path)
        try:
            status = self._system.lstat(self._base + (odd or path))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError:
            return FileRecord(path, _UNKNOWN_STAMP, language=language_of(path), skipped="unreadable")
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

    def _leave_out_worktree(self, listing: _Listing) -> bool:
        """Leave a folder out that is one more work tree of a repository: its files are copies."""
        folder = listing.folder
        path = self._base + folder
        if not folder or ".git" not in listing.marks or not git.is_linked_worktree(path, self._system):
            return False
        parent, _, name = folder.rpartition("/")
        self._folders[parent].others[f"{name}/"] = "worktree"
        self._rules.remember(f"{path}/.git")
        return True

    def _enter(self, listing: _Listing) -> str:
        parent = self._folders[listing.folder.rpartition("/")[0]].domain if listing.folder else ""
        return self._rules.enter(listing.folder, listing.marks, parent)

    # -- state ---------------------------------------------------------------------------------------------

    def _reset(self) -> None:
        self._folders: dict[str, _Folder] = {}
        settings = self._settings
        self._rules = Rules(self._root, self._system, settings.exclude, settings.skip_untracked_folders)
        self._lost: list[str] = []
        """Folders of this pass that can't be listed any more, so that nothing below is in the tree."""
        self._odd: dict[str, str] = {}
        """The real path of each file whose name isn't UTF-8, as `os.fsdecode` has it."""

    def _real(self, folder: str) -> str:
        return self._base + folder if folder else self._root


class _RulesChanged(Exception):
    """A folder gained or lost an ignore file or a repository: what was listed under its rules is in doubt."""


@dataclass(slots=True)
class _Folder:
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


@dataclass(slots=True)
class _Listing:
    """The entries of a folder; `files` maps names fit for a record to the real ones."""

    folder: str
    files: dict[str, str] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)
    odd_folders: set[str] = field(default_factory=set)
    marks: set[str] = field(default_factory=set)
    unreadable: bool = False

    def names(self) -> set[str]:
        folders = {f"{name}/" for name in (*self.folders, *self.odd_folders)}
        return folders | self.files.keys()


def _differs(old: FileRecord, new: FileRecord) -> bool:
    """Say whether a record from the disk means that the content has to be looked at again."""
    if old.stamp != new.stamp or old.racy:
        return True
    return old.skipped != new.skipped and not (new.skipped == "" and old.skipped in _CONTENT_REASONS)


def _names_by_folder(files: Iterable[str], folders: list[str]) -> dict[str, set[str]]:
    """Return the names of those files that lie directly in one of the folders."""
    names: dict[str, set[str]] = {folder: set() for folder in folders}
    if names:
        for path in files:
            folder, _, name = path.rpartition("/")
            if folder in names:
                names[folder].add(name)
    return names


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _printable(name: str) -> str:
    r"""Return a name with the bytes that aren't UTF-8 written as `\xff`."""
    return os.fsencode(name).decode(errors="backslashreplace")
