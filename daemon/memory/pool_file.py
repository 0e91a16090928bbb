"""Owns one file of lines as a file: opening, locking, durable appending; knows no experience."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import time
from collections.abc import Callable, Iterator

from ..core.errors import Busy, StateError
from ..core.system import System

LOCK_TIMEOUT_S = 10.0
"""A lock is held for one write and one fsync, so after this a process was stopped or a disk is dying."""


class PoolFile:
    """The file at `path`, which is only appended to, but for a torn tail.

    `write` is the system's call, behind a seam as the disk's `fsync` is behind `system`. `guard` is called
    before anything is opened and raises `StateError` where the folder can't be trusted. A private file is
    readable by its owner only; another one keeps its mode. Not thread-safe. Raises `StateError` for a file
    that is a symlink, not a regular file, someone else's or unusable, `Busy` for one that another process
    kept locked, each with the path.
    """

    def __init__(
        self,
        path: str,
        system: System,
        write: Callable[[int, bytes], int] = os.write,
        *,
        guard: Callable[[], None] = lambda: None,
        private: bool = True,
    ) -> None:
        self.path = path
        self._system = system
        self._write = write
        self._guard = guard
        self._private = private
        self._folder_synced = False

    def reading(self, path: str = "") -> contextlib.AbstractContextManager[int]:
        """Open the file, or another of the same kind, for reading, without its lock.

        Raises `FileNotFoundError` where there is none.
        """
        return self._opened(path or self.path, os.O_RDONLY)

    @contextlib.contextmanager
    def locked(self) -> Iterator[int]:
        """Open the file for reading and appending, made if there is none, and hold its lock."""
        deadline = self._system.monotonic() + LOCK_TIMEOUT_S
        while True:
            with self._opened(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT) as descriptor:
                self._lock(descriptor, deadline)
                if self._is_current(descriptor):
                    yield descriptor
                    return

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
                self._system.fsync_folder(os.path.dirname(self.path))
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

    def unusable(self, problem: str, path: str = "") -> StateError:
        """Return the error for a problem, which completes a sentence that begins with the path."""
        return StateError(f"The pool of experiences {path or self.path} {problem}.")

    @property
    def _mode(self) -> int:
        return 0o600 if self._private else 0o644

    def _is_current(self, descriptor: int) -> bool:
        """Tell whether the file was not replaced while its lock was waited for."""
        try:
            return self._system.lstat(self.path).st_ino == os.fstat(descriptor).st_ino
        except FileNotFoundError:
            return False

    def _lock(self, descriptor: int, deadline: float) -> None:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if self._system.monotonic() >= deadline:
                    raise Busy(
                        f"{self.path} has been locked by another process for {LOCK_TIMEOUT_S:.0f} s. "
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
        self._guard()
        try:
            # Without O_NONBLOCK a pipe in the file's place would hold the thread for ever.
            descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, self._mode)
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
            if self._private and status.st_mode & 0o077:
                os.fchmod(descriptor, 0o600)
            yield descriptor
        finally:
            os.close(descriptor)
