"""Owns reading and replacing one file of a host: whole, never half-written, never somebody else's.

A link stays a link and what it leads to is replaced, with its mode. What must not be touched is refused: a
folder or device in its place, a file of another user, and for a project a place outside of it, since a
repository can hold links to anywhere.
"""

from __future__ import annotations

import os
import secrets
import stat
from dataclasses import dataclass

from .errors import InstallError

MAX_BYTES = 32 << 20
"""Claude Code keeps its history in the file that lists MCP servers, which may grow to some MB."""


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """A file as it was found. `place` is where its bytes lie, `data` None where there is no file."""

    path: str
    place: str
    data: bytes | None
    mode: int


def read(path: str, within: str | None = None) -> SettingsFile:
    """Return a file; with `within` it must lie below that folder. Raises `InstallError`, `OSError`."""
    place = os.path.realpath(path)
    root = None if within is None else os.path.realpath(within)
    if root is not None and os.path.commonpath([root, place]) != root:
        raise InstallError(f"{path} leads out of the project, to {place}", "edit that file by hand")
    for folder in _parents(place):
        if os.path.lexists(folder):
            if not os.path.isdir(folder):
                raise InstallError(f"{folder} isn't a folder", "move it away")
            _check_owner_of_folder(folder)
            break
    if not os.path.lexists(place):
        if os.path.islink(path):
            raise InstallError(f"{path} is a link to {place}, which doesn't exist", "remove the link")
        return SettingsFile(path, place, None, 0)
    return _read_regular(path, place)


def write(found: SettingsFile, data: bytes, *, executable: bool = False) -> None:
    """Replace a file, or make it with its folders. Raises `InstallError` if it changed since it was read."""
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
    _sync(folder)


def delete(found: SettingsFile, folders: int) -> None:
    """Delete a file, then as many of the folders around it as are empty, `folders` at most."""
    check_unchanged(found)
    os.unlink(found.place)
    folder = os.path.dirname(found.place)
    for _ in range(folders):
        try:
            os.rmdir(folder)
        except OSError:  # it holds something, or isn't ours to remove: then it stays, as it does no harm
            return
        folder = os.path.dirname(folder)


def read_plain(place: str) -> SettingsFile:
    """Return a file that is no link. Raises as `read` does."""
    return _read_regular(place, place)


def check_unchanged(found: SettingsFile) -> None:
    """Raise `InstallError` if a file isn't any more what was read: its host may have written it meanwhile."""
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


def _check_owner_of_folder(folder: str) -> None:
    if os.stat(folder).st_uid != os.geteuid():
        raise InstallError(f"{folder} belongs to another user", "edit the file as that user")


def _parents(place: str) -> list[str]:
    found = []
    while place != os.path.dirname(place):
        place = os.path.dirname(place)
        found.append(place)
    return found


def _sync(folder: str) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
