"""A file of lines that is only appended to: opening, locking, durable appending, rotation and rewriting.

A full file is renamed, `experiences.jsonl` to `experiences.1.jsonl`, and the next write makes a new one. A
rename is atomic, so a crash leaves nothing to repair. A process that waits for the lock of a renamed or
replaced file notices that and opens the new one.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import glob
import os
import re
import stat
import time
from collections.abc import Callable, Iterator, Sequence

from ..core.errors import Busy, StateError
from ..core.system import Stamp, System, stamp_of

LOCK_TIMEOUT_S = 10.0
"""Maximum seconds to wait for a lock, which is held for one write and one fsync: longer means a stopped
process or a dying disk."""

ROTATE_BYTES = 10_000_000
"""Size at which a file is rotated: it opens in any editor, and rewriting it takes a tenth of a second."""


class PoolFile:
    """The file at `path` and its full parts.

    `write` is `os.write`, replaced in tests. `guard` is called before anything is opened and raises
    `StateError` if the folder can't be trusted. A private file is readable by its owner only; another one
    keeps its mode. Blocks; not thread-safe. Raises `StateError` for a file that is a symlink, not a regular
    file, someone else's or unusable, `Busy` for one that another process kept locked, each with the path.
    """

    def __init__(
        self,
        path: str,
        system: System,
        write: Callable[[int, bytes], int] = os.write,
        *,
        guard: Callable[[], None] = lambda: None,
        private: bool = True,
        rotate_bytes: int = ROTATE_BYTES,
    ) -> None:
        self.path = path
        self._folder, name = os.path.split(path)
        self._stem, self._suffix = os.path.splitext(name)
        self._number = re.compile(re.escape(self._stem) + r"\.([1-9]\d{0,8})" + re.escape(self._suffix))
        self._system = system
        self._write = write
        self._guard = guard
        self._private = private
        self._rotate_bytes = rotate_bytes
        self._synced = -1
        """The inode of the file whose name is durable."""

    def parts(self) -> dict[str, Stamp]:
        """Return the stamps of the existing files by path, the oldest first and the active one last."""
        try:
            with self._system.scandir(self._folder) as entries:
                found = [match for entry in entries if (match := self._number.fullmatch(entry.name))]
        except FileNotFoundError:
            return {}
        names = [match[0] for match in sorted(found, key=lambda match: int(match[1]))]
        parts = {}
        for path in (*(os.path.join(self._folder, name) for name in names), self.path):
            with contextlib.suppress(FileNotFoundError):
                parts[path] = stamp_of(self._system.lstat(path))
        return parts

    def prepare(self) -> None:
        """Make the folder of a shared file. Raises `StateError` if that can't be done, or for a file that may
        only be read."""
        if self._private:
            return
        self._guard()
        try:
            os.makedirs(self._folder, exist_ok=True)
        except OSError as error:
            raise self.unusable(f"can't be made: {error.strerror}. Mend that") from error
        if not os.access(self.path if os.path.exists(self.path) else self._folder, os.W_OK):
            raise self.unusable("can't be written: you may only read it. Mend that")

    def reading(self, path: str = "") -> contextlib.AbstractContextManager[int]:
        """Open the file, or another part, for reading, without its lock. Raises `FileNotFoundError`."""
        return self._opened(path or self.path, os.O_RDONLY)

    @contextlib.contextmanager
    def locked(self) -> Iterator[int]:
        """Open the file for reading and appending, creating it if needed, and hold its lock.

        What an interrupted rewriting left is removed.
        """
        deadline = self._system.monotonic() + LOCK_TIMEOUT_S
        while True:
            with self._opened(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT) as descriptor:
                self._lock(descriptor, deadline)
                if self._is_current(descriptor):
                    for left in glob.glob(f"{glob.escape(self.path)}.*.tmp"):
                        os.unlink(left)
                    yield descriptor
                    return

    @contextlib.contextmanager
    def writing(self) -> Iterator[int]:
        """Hold the lock as `locked` does, of a new file if this one is full."""
        while True:
            with self.locked() as descriptor:
                size = os.fstat(descriptor).st_size
                # A torn last line is repaired first.
                if size < self._rotate_bytes or os.pread(descriptor, 1, size - 1) != b"\n":
                    yield descriptor
                    return
                self._rotate()

    def append(self, descriptor: int, data: bytes) -> None:
        """Write at the end and make it durable, or leave the file as it was and raise `StateError`."""
        status = os.fstat(descriptor)
        try:
            while data:
                # One write; only on a full disk a second one, which raises.
                written = self._write(descriptor, data)
                if written <= 0:
                    raise OSError(errno.EIO, "Nothing could be written")
                data = data[written:]
            self._system.fsync(descriptor)
            if self._synced != status.st_ino:
                # Once for each file, not only on creation: its creator may have died before.
                self._system.fsync_folder(self._folder)
                self._synced = status.st_ino
        except BaseException as error:
            # If this fails too, the rest was never acknowledged; a torn line is repaired next time.
            with contextlib.suppress(OSError):
                os.ftruncate(descriptor, status.st_size)
                self._system.fsync(descriptor)
            if isinstance(error, OSError):
                reason = error.strerror or str(error)
                raise self.unusable(f"can't be written: {reason}. Nothing was stored; try again") from error
            raise

    def rewrite(self, path: str, stays: Sequence[bool]) -> None:
        """Keep only the lines of a part that stay; a full part that becomes empty is deleted.

        The lock must be held, and the active file must be rewritten last, since others can lock its
        replacement. Raises `StateError`, leaving the file unchanged.
        """
        try:
            with self.reading(path) as descriptor, open(descriptor, "rb", closefd=False) as file:
                left = [line for line, is_kept in zip(file, stays, strict=True) if is_kept]
                mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
            if left or path == self.path:
                self._system.write_atomic(path, b"".join(left), mode=mode)
            else:
                os.unlink(path)
                self._system.fsync_folder(self._folder)
        except OSError as error:
            raise self.unusable(
                f"can't be rewritten: {error.strerror}. Nothing was lost; try again", path
            ) from error

    def unusable(self, problem: str, path: str = "") -> StateError:
        """Return the error for a problem, a text that follows the path."""
        return StateError(f"The pool of experiences {path or self.path} {problem}.")

    def _rotate(self) -> None:
        names = map(os.path.basename, self.parts())
        numbers = [int(found[1]) for name in names if (found := self._number.fullmatch(name))]
        target = f"{self._stem}.{max(numbers, default=0) + 1}{self._suffix}"
        try:
            os.rename(self.path, os.path.join(self._folder, target))
            self._system.fsync_folder(self._folder)
        except OSError as error:
            raise self.unusable(f"can't be set aside: {error.strerror}. Mend that") from error

    def _is_current(self, descriptor: int) -> bool:
        """Tell whether the file wasn't replaced while waiting for its lock."""
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
        """Open a file that is ours and no link. Raises `FileNotFoundError` only without O_CREAT."""
        self._guard()
        try:
            # Without O_NONBLOCK a pipe in the file's place would block forever.
            flags |= os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            descriptor = os.open(path, flags, 0o600 if self._private else 0o644)
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
