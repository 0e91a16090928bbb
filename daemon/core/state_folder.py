"""The state folder: its version, its migrations, and the lock that allows one daemon for it."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Annotated, Self

import msgspec
from msgspec import Meta, Struct

from .errors import StateError
from .quarantine import clear_file, quarantine
from .system import System

Migration = Callable[[str, System], None]
"""Migrates the state folder at a path by one version."""

BACKUPS = "backups"

DERIVED = (
    "index.sqlite", "lexical", "vectors", "cookies", "embeddings", "foveal.log", "lock", "start.lock",
    "daemon.json", BACKUPS,
)  # fmt: skip
"""Prefixes of the names of files that aren't backed up: temporary files, and files derived from projects."""


def back_up(folder: str, version: int, system: System) -> str:
    """Copy everything that isn't derived to `backups/v<version>`, durably, and return that path.

    A copy appears whole, by a rename. An existing copy is kept: it was made before an interrupted
    migration changed anything. Raises `OSError`, as for a full disk: then nothing was changed.
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
    """Copy a folder: regular files and folders, each fsynced."""
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


STATE_VERSION = 3
"""Version of the state folder's layout, which `tests/app/test_layout.py` records. It is raised when an older
program couldn't read a new layout; then a migration from the version before is added.

Version 2 has the tables of past contexts in requests.sqlite, version 3 has these with the timelines of
sessions in deliveries.sqlite. A program that knows only the version before would start without them."""

VERSION_FILE = "version.json"
VERSION_BYTES = 4096


class StateLock(Struct, frozen=True):
    """The lock of a state folder, held by its descriptor; the kernel drops it when the process dies.

    The lock's file is never removed: another process may be waiting on that very file.
    """

    descriptor: int

    @classmethod
    def take(cls, path: str, system: System | None = None) -> Self:
        """Take the lock or raise `StateError` at once, with the pid of its holder. Anything but a file in
        its place is quarantined."""
        try:
            _clear(path, system or System())
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise StateError(
                f"the lock {path} can't be opened ({error.strerror}); see: foveal doctor"
            ) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip() or "unknown"
            os.close(descriptor)
            raise StateError(
                f"a daemon (pid {holder}) already serves this state folder; stop it with: foveal down"
            ) from None
        except BaseException:
            os.close(descriptor)
            raise
        os.ftruncate(descriptor, 0)
        with suppress(OSError):  # on a full disk the pid can't be written; the lock works without it
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        return cls(descriptor)

    def lies_at(self, path: str) -> bool:
        """Whether the path still leads to the lock's file; if not, another daemon could lock a new file
        there."""
        try:
            return os.path.samestat(os.lstat(path), os.fstat(self.descriptor))
        except OSError:
            return False

    def release(self) -> None:
        """Release the lock."""
        os.ftruncate(self.descriptor, 0)
        os.close(self.descriptor)


class StateMark(Struct, frozen=True, rename={"version": "state_version"}, omit_defaults=True):
    """The content of version.json: the version of the folder, and the version that it is being migrated
    from.

    `problem` says why the file can't be read. The folder then counts as of this version, since each file
    in it has its own version, and newer files are left alone.
    """

    version: Annotated[int, Meta(ge=1)]
    migrating_from: int = 0
    problem: str = ""


def check_version(folder: str, system: System, known: int = STATE_VERSION) -> StateMark | None:
    """Return the mark of a state folder, None for a new folder. Changes nothing but the mode of an
    unreadable mark.

    Raises `StateError` for a folder of a newer program, and for a mark that can't be read from the disk.
    """
    path = os.path.join(folder, VERSION_FILE)
    try:
        if not os.access(path, os.R_OK) and stat.S_ISREG(system.lstat(path).st_mode):
            os.chmod(path, 0o600)  # of this user's own file; another's raises
        data, _ = system.read(path, VERSION_BYTES)
    except FileNotFoundError:
        return None
    except PermissionError as error:
        raise StateError(
            f"{path} can't be read ({error.strerror}), so nobody knows whose version the folder is; "
            f"mend it with: chmod 600 {path}"
        ) from error
    except OSError as error:
        return StateMark(known, problem=f"{path} can't be read ({error.strerror or error})")
    try:
        mark = msgspec.json.decode(data, type=StateMark)
    except Exception as error:  # noqa: BLE001 - any exception means damage
        return StateMark(known, problem=f"{path} is damaged ({error})")
    if mark.version > known:
        raise StateError(
            f"{folder} belongs to a newer foveal (state version {mark.version}, this one knows {known}); "
            "update foveal, or point FOVEAL_STATE_DIR elsewhere. Nothing was changed."
        )
    return mark


def bring_up(
    folder: str,
    system: System,
    known: int,
    migrations: Mapping[int, Migration | None],
) -> tuple[str, ...]:
    """Mark a new folder, repair a damaged mark, and migrate an older folder; needs the lock.

    `migrations` has one from each version to the next, None if only the mark changes.

    An older folder is copied to `backups/` before any file but the mark is changed. The mark names the new
    version at once, beside the old one: an older program then leaves the folder alone, and this one continues
    an interrupted migration. Returns what was done, in sentences. Raises as `check_version` does.
    """
    mark = check_version(folder, system, known)
    if mark is None:
        _write(folder, system, known)
        return ()
    if mark.problem:
        path = os.path.join(folder, VERSION_FILE)
        kept = quarantine(path, system)
        _write(folder, system, known)
        return (f"{mark.problem}; it is kept as {kept}, and the folder was taken for one of this version.",)
    start = mark.migrating_from or mark.version
    if start == known and not mark.migrating_from:
        return ()
    steps = [step for version in range(start, known) if (step := migrations[version]) is not None]
    if not steps:
        _write(folder, system, known)
        return ()
    backup = back_up(folder, start, system)
    _write(folder, system, known, start)
    for step in steps:
        step(folder, system)
    _write(folder, system, known)
    return (f"{folder} was brought from version {start} to {known}; what it was before lies in {backup}.",)


def _write(folder: str, system: System, version: int, migrating_from: int = 0) -> None:
    data = msgspec.json.encode(StateMark(version, migrating_from))
    system.write_atomic(os.path.join(folder, VERSION_FILE), data + b"\n")


def _clear(path: str, system: System) -> None:
    """Quarantine anything but a file in the place of the lock.

    Under a lock of the folder itself: of two daemons that start at once, the second must not quarantine
    the file that the first one holds by then.
    """
    try:
        if stat.S_ISREG(system.lstat(path).st_mode) and os.access(path, os.R_OK | os.W_OK):
            return
    except FileNotFoundError:
        return
    folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        clear_file(path, system)
        if os.path.islink(path):
            quarantine(path, system)
    finally:
        os.close(folder)
