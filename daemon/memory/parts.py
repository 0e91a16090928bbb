"""Owns the files of a pool in one folder: the one that is appended to, and the full ones that were set aside.

A full file is renamed, `experiences.jsonl` to `experiences.1.jsonl`, and the next write makes a new one. A
rename happens or doesn't, so a crash on the way leaves nothing to mend. Who waits for the lock of a file that
was renamed or replaced meanwhile notices that, and opens the new one. Knows no experience.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from collections.abc import Iterator, Sequence

from msgspec import Struct

from ..core.system import Stamp, System, stamp_of
from .pool_file import PoolFile

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
