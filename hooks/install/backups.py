"""Owns the copies of a file that are kept beside it before it is changed: their names and their number."""

from __future__ import annotations

import os
import re

from .errors import InstallError
from .settings_file import SettingsFile, read_plain

SUFFIX = ".foveal-backup-"
"""Behind the whole name, so that no host takes a copy for one of its files by its extension."""

MAX_BACKUPS = 5


def backup_paths(place: str) -> list[str]:
    """Return the copies beside a file, the latest first."""
    folder, name = os.path.split(place)
    if not os.path.isdir(folder):
        return []
    pattern = re.compile(re.escape(name + SUFFIX) + r"([0-9]{4})")
    found = [(match.group(1), entry) for entry in os.listdir(folder) if (match := pattern.fullmatch(entry))]
    return [os.path.join(folder, entry) for _, entry in sorted(found, reverse=True)]


def read_backup(path: str) -> bytes | None:
    """Return a copy, or None for what isn't one: a link, a device, another user's, one that went."""
    try:
        return read_plain(path).data
    except (InstallError, OSError):
        return None


def add_backup(found: SettingsFile) -> str:
    """Copy a file beside itself, with its mode; return the copy's path. The oldest above the cap go."""
    assert found.data is not None
    kept = backup_paths(found.place)
    if kept and int(kept[0][-4:]) >= 9999:
        kept = _renumbered(kept)
    number = int(kept[0][-4:]) + 1 if kept else 1
    path = f"{found.place}{SUFFIX}{number:04d}"
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with open(handle, "wb") as file:
        os.fchmod(file.fileno(), found.mode & ~0o111)
        file.write(found.data)
        file.flush()
        os.fsync(file.fileno())
    for old in kept[MAX_BACKUPS - 1 :]:
        os.unlink(old)
    return path


def _renumbered(kept: list[str]) -> list[str]:
    """Start again at 1 with the oldest copy; return the copies, the latest first."""
    renamed = []
    for number, path in enumerate(reversed(kept[:MAX_BACKUPS]), 1):
        renamed.append(f"{path[:-4]}{number:04d}")
        os.replace(path, renamed[-1])
    for path in kept[MAX_BACKUPS:]:
        os.unlink(path)
    return renamed[::-1]
