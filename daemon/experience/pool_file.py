"""Owns the pool's file as a file: opening, locking, durable appending, quarantine; knows no experience."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence

from ..errors import Busy, StateError
from ..system import Stamp, System, stamp_of
from .experience import timestamp_of
from .lines import Damage, digests_in, record_of

LOCK_TIMEOUT_S = 10.0
"""A lock is held for one write and one fsync, so after this a process was stopped or a disk is dying."""


class PoolFile:
    """The file at `path` and, beside it, the one that damaged lines are copied to.

    Only appended to, but for a torn tail. `write` is the system's call, behind a seam as the disk's `fsync`
    is behind `system`. Not thread-safe. Raises `StateError` for a file that is a symlink, not a regular file,
    someone else's or unusable, `Busy` for one that another process kept locked, each with the path.
    """

    def __init__(self, path: str, system: System, write: Callable[[int, bytes], int] = os.write) -> None:
        self._path = path
        self._system = system
        self._write = write
        self._folder_synced = False

    def stamp(self) -> Stamp:
        """Return the file's stamp with one stat. Raises `OSError`."""
        return stamp_of(self._system.lstat(self._path))

    def reading(self) -> contextlib.AbstractContextManager[int]:
        """Open the file for reading, without its lock. Raises `FileNotFoundError` where there is none."""
        return self._opened(self._path, os.O_RDONLY)

    def locked(self) -> contextlib.AbstractContextManager[int]:
        """Open the file for reading and appending, made if there is none, and hold its lock."""
        return self._locked(self._path)

    def append(self, descriptor: int, data: bytes) -> None:
        """Write at the end and make it durable, or leave the file as it was and raise `StateError`."""
        size = os.fstat(descriptor).st_size
        try:
            while data:
                # One write, unless the disk is full: then the second one says so.
                written = self._write(descriptor, data)
                if written <= 0:
                    raise OSError(errno.EIO, "Nothing could be written")
                data = data[written:]
            self._system.fsync(descriptor)
            if not self._folder_synced:
                # Once for each file that is met, not only on creation: its creator may have died before.
                self._system.fsync_folder(os.path.dirname(self._path))
                self._folder_synced = True
        except BaseException as error:
            # What stays behind if this fails too was never acknowledged; a torn line is repaired next time.
            with contextlib.suppress(OSError):
                os.ftruncate(descriptor, size)
                self._system.fsync(descriptor)
            if isinstance(error, OSError):
                reason = error.strerror or str(error)
                raise self.unusable(f"can't be written: {reason}. Nothing was stored; try again") from error
            raise

    def forget_folder(self) -> None:
        """Note that the file isn't the one that was met before, so that its name may not be durable yet."""
        self._folder_synced = False

    def cut(self, descriptor: int, size: int) -> None:
        """Take away what follows `size`, durably. Needs the lock."""
        try:
            os.ftruncate(descriptor, size)
            self._system.fsync(descriptor)
        except OSError as error:
            raise self.unusable(f"can't be repaired: {error.strerror}. Mend that") from error

    def quarantine(self, damage: Sequence[Damage]) -> None:
        """Append damaged lines to the quarantine file, each only once, and make that durable."""
        path = f"{self._path}.quarantine"
        at = timestamp_of(self._system.now())
        with self._locked(path) as descriptor:
            known, complete = digests_in(descriptor)
            records: dict[str, bytes] = {}
            for one in damage:
                if one.digest not in known:
                    records.setdefault(one.digest, record_of(one, at))
            if records:
                self.append(descriptor, (b"" if complete else b"\n") + b"".join(records.values()))
        try:
            self._system.fsync_folder(os.path.dirname(path))
        except OSError as error:
            raise self.unusable(f"can't be repaired: {error.strerror}. Mend that") from error

    def unusable(self, problem: str, path: str = "") -> StateError:
        """Return the error for a problem, which completes a sentence that begins with the path."""
        return StateError(f"The pool of experiences {path or self._path} {problem}.")

    @contextlib.contextmanager
    def _locked(self, path: str) -> Iterator[int]:
        """Open a file for reading and appending, made if there is none, and hold its lock."""
        deadline = self._system.monotonic() + LOCK_TIMEOUT_S
        while True:
            with self._opened(path, os.O_RDWR | os.O_APPEND | os.O_CREAT) as descriptor:
                self._lock(descriptor, deadline)
                if self._is_current(descriptor, path):
                    yield descriptor
                    return

    def _is_current(self, descriptor: int, path: str) -> bool:
        """Tell whether the file was not replaced while its lock was waited for."""
        try:
            return self._system.lstat(path).st_ino == os.fstat(descriptor).st_ino
        except FileNotFoundError:
            return False

    def _lock(self, descriptor: int, deadline: float) -> None:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if self._system.monotonic() >= deadline:
                    raise Busy(
                        f"{self._path} has been locked by another process for {LOCK_TIMEOUT_S:.0f} s. "
                        "Try again, or end that process."
                    ) from None
                time.sleep(0.005)
            except OSError as error:
                raise self.unusable(f"can't be locked: {error.strerror}. Is it on a network disk?") from error
            else:
                return

    @contextlib.contextmanager
    def _opened(self, path: str, flags: int) -> Iterator[int]:
        """Open a file that is ours and no link. Raises `FileNotFoundError` only where it isn't to be made."""
        try:
            # Without O_NONBLOCK a pipe in the file's place would hold the thread for ever.
            descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
        except OSError as error:
            if isinstance(error, FileNotFoundError) and not flags & os.O_CREAT:
                raise
            reason = "is a symlink" if error.errno == errno.ELOOP else f"can't be opened: {error.strerror}"
            raise self.unusable(f"{reason}. Move it away, then try again", path) from error
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise self.unusable("is not a regular file. Move it away, then try again", path)
            if status.st_uid != os.geteuid():
                raise self.unusable(
                    f"belongs to the user {status.st_uid}. Move it away, then try again", path
                )
            if status.st_mode & 0o077:
                os.fchmod(descriptor, 0o600)
            yield descriptor
        finally:
            os.close(descriptor)
