"""Reads files inside a folder, never outside it, and keeps stamps that show later changes.

Instruction files come from untrusted repositories: a symbolic link or an import must not reach the user's
other files.
"""

from __future__ import annotations

import errno
import os
import stat
from itertools import islice

from msgspec import Struct

from .system import RACY_NS, Stamp, System, stamp_of

MAX_FILE_BYTES = 4 * 1024 * 1024
"""Maximum bytes of a file: Claude Code's own limit for instructions."""
MAX_TOTAL_BYTES = 8 * 1024 * 1024
"""Maximum bytes of all files of one reader: eighty times a usual context, at worst five seconds of work."""
MAX_FILES = 2000
"""Maximum number of files listed below one folder."""
MAX_ENTRIES = 20_000
"""Maximum number of names read of one folder."""
MAX_LINKS = 40
"""Maximum number of symbolic links on the way to a file: the kernel's own limit."""

Probes = dict[str, Stamp | None]


class ConfinedFolder(Struct, frozen=True):
    """A folder whose files must not lead outside it. Paths in it are shown with `prefix` in front.

    `folder` is its absolute path as given, `real` the same without symbolic links. In a `trusted` folder a
    file may itself be a link to anywhere, as dotfile managers make them; its imports may not.
    """

    folder: str
    real: str
    prefix: str
    trusted: bool

    def absolute(self, path: str) -> str:
        """Return the absolute path of one that is relative to the folder."""
        return os.path.join(self.folder, path)

    def name_of(self, real: str) -> str:
        """Return the shown name of a file, from its path without symbolic links."""
        return self.prefix + os.path.relpath(real, self.real)


class Located(Struct, frozen=True):
    """The target of a path: its path without symbolic links, and its status."""

    path: str
    status: os.stat_result

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder."""
        return stat.S_ISDIR(self.status.st_mode)

    @property
    def is_file(self) -> bool:
        """Whether it is a regular file."""
        return stat.S_ISREG(self.status.st_mode)


class ReadFile(Struct, frozen=True):
    """A file's text, with line ends of one line feed, and its stamp when it was read."""

    text: str
    stamp: Stamp


class ConfinedListing(Struct, frozen=True):
    """The files below a folder, and the reasons why others can't be read, by path relative to the folder."""

    files: tuple[str, ...]
    refused: dict[str, str]


class RefusedError(Exception):
    """A file that isn't read. The text follows the file's name and says why and what to do."""


class ConfinedReader:
    """Reads files of confined folders once each, and remembers all paths that it looked at.

    `probes` has their stamps (of a link itself, not of its target), `None` if nothing was there; `sources`
    the real paths of the files that were read.
    """

    def __init__(self, system: System) -> None:
        self.probes: Probes = {}
        self._racy = False
        self.sources: set[str] = set()
        self._system = system
        self._started_ns = system.time_ns()
        self._denials = system.denials
        self._statuses: dict[str, os.stat_result | None] = {}
        self._reads: dict[str, ReadFile | RefusedError | None] = {}
        self._total = 0

    @property
    def lasting(self) -> bool:
        """Whether the result holds until a stamp changes: nothing was denied for a passing reason, or was
        modified less than `RACY_NS` before, so that it may change again without a new stamp."""
        return not self._racy and self._system.denials == self._denials

    def locate(self, zone: ConfinedFolder, path: str, *, free: bool) -> Located | None:
        """Follow an absolute path link by link to its target; `None` if there is none.

        Unless it is `free`, all steps must lie within the folder: other paths aren't even looked at, since
        that can mount a remote disk. Raises `RefusedError`.
        """
        bound = "/" if free else zone.real
        current, pending = _start(zone, path)
        links = 0
        while pending:
            name = pending.pop()
            if name in ("", ".", ".."):
                current = os.path.dirname(current) if name == ".." else current
                continue
            current = os.path.join(current, name)
            if not _within(current, bound):
                if _within(bound, current):
                    continue  # a parent of the zone, on the way down to it
                break
            if name == ".git" and not zone.trusted:
                raise RefusedError("leads into git's own files: put the text elsewhere")
            status = self._status(current)
            if status is None:
                return None
            if stat.S_ISLNK(status.st_mode):
                links += 1
                if links > MAX_LINKS:
                    raise RefusedError("is a loop of symbolic links: remove it")
                target = self._target(current, status)
                current, steps = _start(zone, os.path.join(os.path.dirname(current), target))
                pending += steps
            elif pending and not stat.S_ISDIR(status.st_mode):
                self._note(current, status)
                return None
        if not _within(current, bound):
            raise RefusedError(f"leads out of {zone.folder}: put the file inside")
        status = self._status(current)
        if status is None:
            return None
        self._note(current, status)
        return Located(current, status)

    def read(self, located: Located) -> ReadFile | None:
        """Read a file's text; `None` if it was deleted meanwhile. Raises `RefusedError`."""
        if located.path not in self._reads:
            try:
                self._reads[located.path] = self._read(located)
            except RefusedError as refused:
                self._reads[located.path] = refused
        read = self._reads[located.path]
        if isinstance(read, RefusedError):
            raise read
        return read

    def files_below(self, zone: ConfinedFolder, folder: str, suffix: str, depth: int) -> ConfinedListing:
        """List the files with a suffix in a subfolder and up to `depth` folders below it, sorted.

        `suffix` may hold a slash, to ask for a folder in between. At most about `MAX_FILES` are listed.
        """
        files: list[str] = []
        refused: dict[str, str] = {}
        pending = [(folder, 0)]
        visited: set[str] = set()
        while pending and len(files) <= MAX_FILES:
            parent, level = pending.pop()
            try:
                entries = self._entries(zone, parent, visited)
            except RefusedError as refusal:
                refused[parent] = str(refusal)
                continue
            if len(entries) > MAX_ENTRIES:
                refused[parent] = f"has more than {MAX_ENTRIES} names, the others aren't read: move them"
            for name, kind in entries[:MAX_ENTRIES]:
                path = f"{parent}/{name}"
                try:
                    is_folder = kind == "folder" or (kind == "link" and self._leads_to_folder(zone, path))
                except RefusedError as refusal:
                    refused[path] = str(refusal)
                    continue
                if is_folder:
                    pending += [(path, level + 1)] if level < depth else []
                elif path[len(folder) + 1 :].endswith(suffix):
                    files.append(path)
        return ConfinedListing(tuple(sorted(files)), refused)

    def _read(self, located: Located) -> ReadFile | None:
        if not located.is_file:
            raise RefusedError("isn't a regular file: put one in its place")
        if self._total > MAX_TOTAL_BYTES:
            raise RefusedError(f"isn't read, since all rules exceed {MAX_TOTAL_BYTES} bytes: remove some")
        try:
            data, status = self._system.read(located.path, MAX_FILE_BYTES + 1)
        except FileNotFoundError:
            self.probes[located.path] = None
            return None
        except OSError as error:
            raise RefusedError(_unreadable(error)) from error
        self._note(located.path, status)
        self._total += len(data)
        if len(data) > MAX_FILE_BYTES:
            raise RefusedError(f"isn't read, since it exceeds {MAX_FILE_BYTES} bytes: split or shorten it")
        self.sources.add(located.path)
        return ReadFile(_decoded(data), stamp_of(status))

    def _entries(self, zone: ConfinedFolder, folder: str, visited: set[str]) -> list[tuple[str, str]]:
        """List a folder that wasn't visited yet: its names with their kinds."""
        located = self.locate(zone, zone.absolute(folder), free=zone.trusted)
        if located is None or not located.is_folder or located.path in visited:
            return []
        visited.add(located.path)
        try:
            entries = _listed(self._system, located.path)
        except OSError as error:
            raise RefusedError(_unreadable(error)) from error
        self._note(located.path, located.status)
        return entries

    def _leads_to_folder(self, zone: ConfinedFolder, path: str) -> bool:
        located = self.locate(zone, zone.absolute(path), free=zone.trusted)
        return located is not None and located.is_folder

    def _status(self, path: str) -> os.stat_result | None:
        """Stat a path without following links; absence is noted. Raises `RefusedError` if that fails."""
        if path not in self._statuses:
            try:
                self._statuses[path] = self._system.lstat(path)
            except (OSError, ValueError) as error:  # ValueError: a null character in the name
                self.probes[path] = None
                code = getattr(error, "errno", errno.EINVAL)
                if code not in (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.EINVAL):
                    raise RefusedError(_unreadable(error)) from error
                self._statuses[path] = None
        return self._statuses[path]

    def _target(self, path: str, status: os.stat_result) -> str:
        try:
            target = os.readlink(path)
        except OSError as error:
            raise RefusedError(_unreadable(error)) from error
        self._note(path, status)
        return target

    def _note(self, path: str, status: os.stat_result) -> None:
        self.probes[path] = stamp_of(status)
        self._racy = self._racy or max(status.st_mtime_ns, status.st_ctime_ns) > self._started_ns - RACY_NS


def stamp_now(system: System, path: str) -> Stamp | None:
    """Return the stamp that a probe of this path would have now."""
    try:
        return stamp_of(system.lstat(path))
    except (OSError, ValueError):
        return None


def _start(zone: ConfinedFolder, path: str) -> tuple[str, list[str]]:
    """Return the folder from which to follow an absolute path, and the names to follow, the next last."""
    if _within(path, zone.folder):
        return zone.real, path[len(zone.folder) :].split("/")[::-1]
    return "/", path.split("/")[::-1]


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder if folder.endswith("/") else f"{folder}/")


def _decoded(data: bytes) -> str:
    """Decode UTF-8, or UTF-16 with a byte order mark; other bytes become replacement characters."""
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    text = data.decode(encoding, errors="replace")
    if "\0" in text:
        raise RefusedError("isn't text: put a text file in its place")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _unreadable(error: Exception) -> str:
    return f"can't be read ({getattr(error, 'strerror', None) or error}): check its permissions"


def _listed(system: System, folder: str) -> list[tuple[str, str]]:
    """List a folder's entries with their kinds, sorted, at most one more than `MAX_ENTRIES`."""
    with system.scandir(folder) as entries:
        return sorted((entry.name, _kind(entry)) for entry in islice(entries, MAX_ENTRIES + 1))


def _kind(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return "link"
    return "folder" if entry.is_dir(follow_symlinks=False) else "file"
