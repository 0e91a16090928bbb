"""Reading, replacing and copying a host's settings file: a file is replaced whole, never half-written.

A link stays a link; its target is replaced and keeps its mode. Refused are a folder or device in its place, a
file of another user, and for a project a place outside it, since a repository can hold links to anywhere.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
from dataclasses import dataclass

from ..spool import sync_folder
from .errors import InstallError

MAX_BYTES = 32 << 20
"""Maximum bytes of a file. Claude Code keeps its history in the file that lists MCP servers."""

BACKUP_SUFFIX = ".foveal-backup-"
"""Appended to the whole name, so that no host takes a copy for a settings file by its extension."""

MAX_BACKUPS = 5
"""Maximum copies of a file."""


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """A file as it was read. `place` is its real path, `data` None if it doesn't exist."""

    path: str
    place: str
    data: bytes | None
    mode: int


def read(path: str, within: str | None = None) -> SettingsFile:
    """Return a file; with `within` it must lie below that folder. Raises `InstallError`, `OSError`."""
    place = os.path.realpath(path)
    root = os.path.realpath(within or "/")
    if os.path.commonpath([root, place]) != root:
        raise InstallError(f"{path} leads out of the project, to {place}", "edit that file by hand")
    folder = os.path.dirname(place)
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    if not os.path.isdir(folder):
        raise InstallError(f"{folder} isn't a folder", "move it away")
    if os.stat(folder).st_uid != os.geteuid():
        raise InstallError(f"{folder} belongs to another user", "edit the file as that user")
    if not os.path.lexists(place):
        if os.path.islink(path):
            raise InstallError(f"{path} is a link to {place}, which doesn't exist", "remove the link")
        return SettingsFile(path, place, None, 0)
    return _read_regular(path, place)


def write(found: SettingsFile, data: bytes, *, executable: bool = False) -> None:
    """Replace a file, or create it with its folders. Raises `InstallError` if it changed meanwhile."""
    folder = os.path.dirname(found.place)
    os.makedirs(folder, exist_ok=True)
    temporary = os.path.join(folder, f".foveal-{secrets.token_hex(8)}.tmp")
    handle = os.open(
        temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o777 if executable else 0o666
    )
    try:
        with open(handle, "wb") as file:
            if found.data is not None:
                os.fchmod(file.fileno(), found.mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        check_unchanged(found)
        os.replace(temporary, found.place)
    except BaseException:
        os.unlink(temporary)
        raise
    sync_folder(folder)


def delete(found: SettingsFile, folders: int) -> None:
    """Delete a file, then as many of the folders around it as are empty, `folders` at most."""
    check_unchanged(found)
    os.unlink(found.place)
    folder = os.path.dirname(found.place)
    for _ in range(folders):
        try:
            os.rmdir(folder)
        except OSError:  # it isn't empty or isn't ours to remove; it stays
            return
        folder = os.path.dirname(folder)


def check_unchanged(found: SettingsFile) -> None:
    """Raise `InstallError` if a file changed since it was read: its host may have written it."""
    now = _read_regular(found.path, found.place).data if os.path.lexists(found.place) else None
    if now != found.data:
        raise InstallError(f"{found.path} was changed meanwhile", "run the command again")


def _read_regular(path: str, place: str) -> SettingsFile:
    handle = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode):
        os.close(handle)
        kind = "a folder" if stat.S_ISDIR(found.st_mode) else "no regular file"
        raise InstallError(f"{path} is {kind}", "move it away")
    with open(handle, "rb") as file:
        if found.st_uid != os.geteuid():
            raise InstallError(f"{path} belongs to another user (uid {found.st_uid})", "edit it as that user")
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise InstallError(f"{path} is larger than {MAX_BYTES >> 20} MiB", "edit it by hand")
    return SettingsFile(path, place, data, stat.S_IMODE(found.st_mode))


def backup_paths(place: str) -> list[str]:
    """Return the copies beside a file, the latest first."""
    folder, name = os.path.split(place)
    if not os.path.isdir(folder):
        return []
    pattern = re.compile(re.escape(name + BACKUP_SUFFIX) + r"([0-9]{4,})")
    matches = [match for match in map(pattern.fullmatch, os.listdir(folder)) if match]
    newest_first = sorted(matches, key=lambda match: int(match[1]), reverse=True)
    return [os.path.join(folder, match[0]) for match in newest_first]


def read_backup(path: str) -> bytes | None:
    """Return a copy, None if it is a link, a device, another user's, or gone."""
    try:
        return _read_regular(path, path).data
    except (InstallError, OSError):
        return None


def add_backup(found: SettingsFile) -> str:
    """Copy a file beside itself with its mode and return the copy's path; the oldest copies are deleted."""
    assert found.data is not None
    kept = backup_paths(found.place)
    number = int(kept[0].rpartition("-")[2]) + 1 if kept else 1
    path = f"{found.place}{BACKUP_SUFFIX}{number:04d}"
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with open(handle, "wb") as file:
        os.fchmod(file.fileno(), found.mode & ~0o111)
        file.write(found.data)
        file.flush()
        os.fsync(file.fileno())
    for old in kept[MAX_BACKUPS - 1 :]:
        os.unlink(old)
    return path
