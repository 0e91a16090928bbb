"""Owns the way from one version of the state folder to the next, and the copy that is made before.

A step must be able to run again on what a killed one left: it looks at what is there, and writes atomically.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Mapping

from ..core.system import System

Migration = Callable[[str, System], None]
"""Brings the state folder at a path up by one version."""

MIGRATIONS: Mapping[int, Migration] = {}
"""The step from each version to the next. There is none yet: all folders so far are of version 1, in which
each file knows its own version."""

BACKUPS = "backups"

DERIVED = (
    "index.sqlite", "lexical", "vectors", "cookies", "embeddings", "foveal.log", "lock", "start.lock",
    "daemon.json", BACKUPS,
)  # fmt: skip
"""What isn't copied, by the beginning of its name: it is made anew from the projects, or is of the moment."""


def back_up(folder: str, version: int, system: System) -> str:
    """Copy what can't be made anew to `backups/v<version>` and return that, durably.

    A copy appears whole, by a rename. One that is there is kept: it was made before the migration that was
    killed changed anything. Raises `OSError`, as for a full disk: then nothing was changed.
    """
    target = os.path.join(folder, BACKUPS, f"v{version}")
    if os.path.isdir(target):
        return target
    unfinished = f"{target}.tmp"
    shutil.rmtree(unfinished, ignore_errors=True)
    system.make_folder(os.path.dirname(target), folder)
    _copy(folder, unfinished, system)
    os.replace(unfinished, target)
    system.fsync_folder(os.path.dirname(target))
    return target


def _copy(source: str, target: str, system: System) -> None:
    """Copy a folder: regular files and folders, each forced to the disk."""
    os.mkdir(target, 0o700)
    with system.scandir(source) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        if entry.name.startswith(DERIVED):
            continue
        mode = entry.stat(follow_symlinks=False).st_mode
        path = os.path.join(target, entry.name)
        if stat.S_ISDIR(mode):
            _copy(entry.path, path, system)
        elif stat.S_ISREG(mode):
            _copy_file(entry.path, path, system)
    system.fsync_folder(target)


def _copy_file(source: str, target: str, system: System) -> None:
    with open(source, "rb") as read, open(os.open(target, _NEW, 0o600), "wb") as write:
        shutil.copyfileobj(read, write)
        write.flush()
        system.fsync(write.fileno())


_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
