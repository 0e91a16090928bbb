"""Quarantines entries of the state folder that are damaged or of the wrong kind.

A folder, a pipe or a dangling symlink where a file belongs would crash the daemon or block it for ever, and
so would a file where a folder belongs. Such an entry is renamed, never removed. An entry of the right kind
whose owner can't read or write it gets its mode corrected. Contents aren't checked here.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence

from .system import System

MARK = ".damaged-"
"""Separates a quarantined file's former name from the time of its quarantine in nanoseconds."""

KEPT_AS = "it is kept as"
"""Part of each message about a quarantined file; messages about a corrected mode don't have it."""


def clear_file(path: str, system: System) -> str:
    """Quarantine whatever is at a path unless it is a regular file; return a sentence that says so, or "".

    A symlink to a regular file counts as a file. Raises `OSError` if the folder can't be changed.
    """
    return _clear(path, system, stat.S_ISREG, 0o600, "a file")


def clear_own_file(path: str, system: System) -> str:
    """Quarantine like `clear_file`, but also symlinks and other users' files."""
    done = clear_file(path, system)
    try:
        status = system.lstat(path)
    except FileNotFoundError:
        return done
    if stat.S_ISLNK(status.st_mode) or status.st_uid != os.geteuid():
        whose = "a symlink" if stat.S_ISLNK(status.st_mode) else f"the user {status.st_uid}'s"
        return f"{path} is {whose}; {KEPT_AS} {quarantine(path, system)}"
    return done


def clear_folder(path: str, system: System) -> str:
    """Quarantine whatever is at a path unless it is a folder; returns as `clear_file` does."""
    return _clear(path, system, stat.S_ISDIR, 0o700, "a folder")


def clear_socket(path: str, system: System) -> str:
    """Quarantine whatever is at a path unless it is a socket; returns as `clear_file` does."""
    return _clear(path, system, stat.S_ISSOCK, 0o600, "a socket")


def quarantine(path: str, system: System) -> str:
    """Rename a file or folder to a quarantined name beside it, and return that name without the folder."""
    target = f"{path}{MARK}{system.time_ns()}"
    os.replace(path, target)
    return os.path.basename(target)


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
        return f"{path} is {_kind(status.st_mode)}, not {wanted}; {KEPT_AS} {quarantine(path, system)}"
    if status.st_uid == os.geteuid() and stat.S_IMODE(status.st_mode) & mode != mode:
        os.chmod(path, stat.S_IMODE(status.st_mode) | mode)
        return f"{path} could not be read and written by its owner; its mode was mended"
    return ""


def _kind(mode: int) -> str:
    kinds = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket",
             stat.S_IFLNK: "a symlink that leads nowhere", stat.S_IFREG: "a file"}  # fmt: skip
    return kinds.get(stat.S_IFMT(mode), "a device")


NAMED_MAX = 5
"""Maximum number of files named in a message."""


class QuarantineLog:
    """Finds files below a state folder that were quarantined since this was made. Thread-safe."""

    def __init__(self, folder: str, system: System) -> None:
        self._folder = folder
        self._since = system.time_ns()

    def problem(self, said: Sequence[str] = ()) -> str:
        """Return a sentence about quarantined files that no sentence in `said` names yet, or "". Blocks for a
        listing of each folder."""
        found = sorted(
            os.path.relpath(os.path.join(folder, name), self._folder)
            for folder, folders, files in os.walk(self._folder)
            for name in (*folders, *files)
            if self._is_new(name) and not any(name in text for text in said)
        )
        if not found:
            return ""
        more = f" and {len(found) - NAMED_MAX:,} more" if len(found) > NAMED_MAX else ""
        return (
            f"damaged files were quarantined since the daemon started: {', '.join(found[:NAMED_MAX])}{more}; "
            "what can be derived is built anew, see: foveal doctor --deep"
        )

    def _is_new(self, name: str) -> bool:
        moment = name.partition(MARK)[2]
        return moment.isdigit() and int(moment) >= self._since
