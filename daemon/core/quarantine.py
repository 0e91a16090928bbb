"""Quarantines things in the state folder that are of the wrong kind, or damaged.

A folder, a pipe or a dangling symlink in the place of a file would end the daemon or block it for ever,
and so would a file in the place of a folder. It is renamed, never removed. A thing of the right kind with
a wrong mode gets its mode back. Contents aren't looked at.
"""

from __future__ import annotations

import os
import shutil
import stat
import threading
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from .system import System

MARK = ".damaged-"
"""Between the name of a file and the time at which it was quarantined, in nanoseconds."""

KEPT_AS = "it is kept as"
"""Part of every message about a quarantined file, and of no message about a mended mode."""


def clear_file(path: str, system: System) -> str:
    """Make sure that a regular file, or nothing, lies at a path; returns what was done, in words, or "".

    A symlink to a regular file counts as a file. Raises `OSError` where the folder can't be changed.
    """
    return _clear(path, system, stat.S_ISREG, 0o600, "a file")


def clear_own_file(path: str, system: System) -> str:
    """Make sure that a regular file of this user, or nothing, lies at a path, and no symlink to one; as
    `clear_file`."""
    done = clear_file(path, system)
    try:
        status = system.lstat(path)
    except FileNotFoundError:
        return done
    if stat.S_ISLNK(status.st_mode) or status.st_uid != os.geteuid():
        whose = "a symlink" if stat.S_ISLNK(status.st_mode) else f"the user {status.st_uid}'s"
        return f"{path} is {whose}; {KEPT_AS} {set_aside(path, system)}"
    return done


def clear_folder(path: str, system: System) -> str:
    """Make sure that a folder, or nothing, lies at a path; as `clear_file`."""
    return _clear(path, system, stat.S_ISDIR, 0o700, "a folder")


def clear_socket(path: str, system: System) -> str:
    """Make sure that a socket, or nothing, lies at a path; as `clear_file`."""
    return _clear(path, system, stat.S_ISSOCK, 0o600, "a socket")


def set_aside(path: str, system: System) -> str:
    """Rename a file or folder to a quarantined name beside it, and return that name without the folder."""
    aside = f"{path}{MARK}{system.time_ns()}"
    os.replace(path, aside)
    return os.path.basename(aside)


def quarantine_last(path: str, system: System) -> str:
    """Quarantine a derived file or folder, which may be large: only the last quarantined copy is kept."""
    folder, name = os.path.split(path)
    with system.scandir(folder) as entries:
        former = [entry.path for entry in entries if entry.name.startswith(f"{name}{MARK}")]
    kept = set_aside(path, system)
    for old in former:
        if os.path.isdir(old) and not os.path.islink(old):
            shutil.rmtree(old, ignore_errors=True)
        else:
            os.unlink(old)
    return kept


def _clear(path: str, system: System, is_right: Callable[[int], bool], mode: int, wanted: str) -> str:
    try:
        link = system.lstat(path)
    except FileNotFoundError:
        return ""
    status = link
    if stat.S_ISLNK(link.st_mode) and is_right is not stat.S_ISSOCK:
        try:
            status = system.stat(path)
        except OSError:
            status = link  # a loop, or it leads nowhere
    if not is_right(status.st_mode):
        return f"{path} is {_kind(status.st_mode)}, not {wanted}; {KEPT_AS} {set_aside(path, system)}"
    if status.st_uid == os.geteuid() and stat.S_IMODE(status.st_mode) & mode != mode:
        os.chmod(path, stat.S_IMODE(status.st_mode) | mode)
        return f"{path} could not be read and written by its owner; its mode was mended"
    return ""


def _kind(mode: int) -> str:
    kinds = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket",
             stat.S_IFLNK: "a symlink that leads nowhere", stat.S_IFREG: "a file"}  # fmt: skip
    return kinds.get(stat.S_IFMT(mode), "a device")


NAMED_MAX = 5
"""Maximum number of files that a sentence names."""


class _Folder(Struct, frozen=True):
    """A folder as it was listed: quarantined names in it, and folders below it."""

    mtime_ns: int
    names: tuple[str, ...]
    folders: tuple[str, ...]


class QuarantineLog:
    """The quarantined files below a state folder. Made when the daemon starts; thread-safe."""

    def __init__(self, folder: str, system: System) -> None:
        self._folder = folder
        self._system = system
        self._since = system.time_ns()
        self._listed: dict[str, _Folder] = {}
        self._lock = threading.Lock()

    def problem(self, said: Sequence[str] = ()) -> str:
        """Say what was quarantined since the start and isn't `said` already, or nothing.

        A stat for each folder below; blocks.
        """
        with self._lock:
            listed: dict[str, _Folder] = {}
            found = sorted(self._below("", listed))
            self._listed = listed
        found = [path for path in found if not any(os.path.basename(path) in text for text in said)]
        if not found:
            return ""
        more = f" and {len(found) - NAMED_MAX:,} more" if len(found) > NAMED_MAX else ""
        return (
            f"damaged files were quarantined since the daemon started: {', '.join(found[:NAMED_MAX])}{more}; "
            "what can be derived is built anew, see: foveal doctor --deep"
        )

    def _below(self, folder: str, listed: dict[str, _Folder]) -> Iterator[str]:
        """Yield what was quarantined in a folder and below it, and note in `listed` the folders there are."""
        try:
            mtime_ns = self._system.stat(os.path.join(self._folder, folder)).st_mtime_ns
            known = self._listed.get(folder)
            if known is None or known.mtime_ns != mtime_ns:
                known = self._list(folder, mtime_ns)
        except OSError:
            return  # it went just now, or can't be looked at, which `disk_problem` says
        listed[folder] = known
        yield from (os.path.join(folder, name) for name in known.names)
        for name in known.folders:
            yield from self._below(os.path.join(folder, name), listed)

    def _list(self, folder: str, mtime_ns: int) -> _Folder:
        names, folders = [], []
        with self._system.scandir(os.path.join(self._folder, folder)) as entries:
            for entry in entries:
                name, mark, moment = entry.name.partition(MARK)
                if mark:
                    digits = moment.partition("-")[0]
                    if digits == moment and digits.isdigit() and int(digits) >= self._since:
                        names.append(name + mark + moment)
                elif entry.is_dir(follow_symlinks=False):
                    folders.append(name)
        return _Folder(mtime_ns, tuple(names), tuple(folders))
