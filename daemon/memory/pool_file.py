"""Owns one file of lines as a file: opening, locking, durable appending; knows no experience."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import stat
import time
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from ..core.errors import Busy, StateError
from ..core.system import Stamp, System, stamp_of

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


ROTATE_BYTES = 10_000_000
"""A file of this size is set aside: it opens in any editor, and rewriting one takes a tenth of a second."""
_COPY_BYTES = 1_048_576


class PoolPart(Struct, frozen=True):
    """One file with the stamp that it had when it was listed."""

    path: str
    stamp: Stamp
    active: bool


class PoolParts:
    """The files beside and including `file`. Blocks; not thread-safe; raises as `PoolFile` does."""

    def __init__(self, file: PoolFile, system: System, rotate_bytes: int = ROTATE_BYTES) -> None:
        self.file = file
        self._system = system
        self._rotate_bytes = rotate_bytes
        self._folder, name = os.path.split(file.path)
        stem, self._suffix = os.path.splitext(name)
        self._stem = f"{stem}."
        self._number = re.compile(re.escape(self._stem) + r"([1-9]\d{0,8})" + re.escape(self._suffix))

    def listed(self) -> list[PoolPart]:
        """Return the files that exist, the oldest first and the one that is appended to last."""
        try:
            with self._system.scandir(self._folder) as entries:
                names = [entry.name for entry in entries]
        except FileNotFoundError:
            return []
        numbers = sorted(int(found[1]) for name in names if (found := self._number.fullmatch(name)))
        parts = []
        for path in [*map(self._path_of, numbers), self.file.path]:
            with contextlib.suppress(FileNotFoundError):
                active = path == self.file.path
                parts.append(PoolPart(path, stamp_of(self._system.lstat(path)), active))
        return parts

    @contextlib.contextmanager
    def writing(self) -> Iterator[int]:
        """Open the file to append to, and hold its lock; a full one is set aside first."""
        while True:
            with self.file.locked() as descriptor:
                if not self._is_full(descriptor):
                    yield descriptor
                    return
                self._set_aside()

    def rewrite(self, part: PoolPart, dropped: Sequence[tuple[int, int]]) -> None:
        """Replace a file by what is left of it without some pieces; an older one that is empty then goes.

        The pieces are offsets and sizes, ascending. The lock of the active file must be held, and that file
        must be replaced last, since its new one can be locked by others. Raises `StateError`, and then the
        file is as it was.
        """
        temporary = f"{self.file.path}.tmp"
        try:
            with self.file.reading(part.path) as source:
                status = os.fstat(source)
                left = _left(status.st_size, dropped)
                if not left and not part.active:
                    os.unlink(part.path)
                else:
                    self._write(temporary, source, left, stat.S_IMODE(status.st_mode))
                    os.replace(temporary, part.path)
                self._system.fsync_folder(self._folder)
        except OSError as error:
            raise self.file.unusable(
                f"can't be rewritten: {error.strerror}. Nothing was lost; try again", part.path
            ) from error

    def has_leftovers(self) -> bool:
        """Whether a rewriting was broken off."""
        return os.path.lexists(f"{self.file.path}.tmp")

    def remove_leftovers(self) -> None:
        """Remove what a broken off rewriting left. The lock must be held."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{self.file.path}.tmp")

    def _path_of(self, number: int) -> str:
        return os.path.join(self._folder, f"{self._stem}{number}{self._suffix}")

    def _is_full(self, descriptor: int) -> bool:
        """Whether the file is to be set aside: one that ends in a torn line is mended first."""
        size = os.fstat(descriptor).st_size
        return size >= self._rotate_bytes and os.pread(descriptor, 1, size - 1) == b"\n"

    def _set_aside(self) -> None:
        numbers = [self._number.fullmatch(os.path.basename(part.path)) for part in self.listed()]
        number = max((int(found[1]) for found in numbers if found), default=0) + 1
        try:
            os.rename(self.file.path, self._path_of(number))
            self._system.fsync_folder(self._folder)
        except OSError as error:
            raise self.file.unusable(f"can't be set aside: {error.strerror}. Mend that") from error
        self.file.forget_folder()

    def _write(self, path: str, source: int, pieces: Sequence[tuple[int, int]], mode: int) -> None:
        """Write pieces of a file into a new one, durably."""
        self.remove_leftovers()
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(path, flags, mode), "wb") as target:
            for offset, size in pieces:
                target.writelines(_pieces_of(source, offset, size))
            target.flush()
            self._system.fsync(target.fileno())


def _left(size: int, dropped: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the offsets and sizes of what is left of a file."""
    left = []
    end = 0
    for offset, length in [*dropped, (size, 0)]:
        if offset > end:
            left.append((end, offset - end))
        end = offset + length
    return left


def _pieces_of(descriptor: int, offset: int, size: int) -> Iterator[bytes]:
    while size:
        data = os.pread(descriptor, min(size, _COPY_BYTES), offset)
        if not data:
            raise OSError(errno.EIO, "it became shorter meanwhile")
        yield data
        offset, size = offset + len(data), size - len(data)
