"""Transcript files: permission checks, and reading of lines in bounded memory."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct

from ..core.errors import InvalidRequest

FIELD = "transcript_path"
MAX_LINE_BYTES = 4 * 1024 * 1024
"""Maximum bytes of a line; a longer record is a picture or a whole file, and holds no decision."""
MAX_FILE_BYTES = 1024 * 1024 * 1024
"""Maximum bytes of a file; transcripts have some ten megabytes."""
_BUFFER_BYTES = 1 << 20


class Line(Struct, frozen=True):
    """A line and its offset; `data` is None for a line longer than `MAX_LINE_BYTES`.

    Only the last line may be incomplete, without its line break.
    """

    number: int
    offset: int
    size: int
    data: bytes | None
    complete: bool


@contextmanager
def opened(path: str) -> Iterator[tuple[int, os.stat_result]]:
    """Open a regular file of the user for reading; symlinks may lead to nothing else.

    Raises `InvalidRequest` for a path that is relative or names nothing, a folder, a pipe or a device,
    someone else's file, one that may not be read or that is larger than `MAX_FILE_BYTES`. Never waits.
    """
    check_path(path)
    try:
        # Checked before it is opened, since opening a device alone can move a tape or start a watchdog.
        _check(path, os.stat(path))
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as error:
        raise _refused(path, f"can't be read: {error.strerror}") from error
    try:
        status = os.fstat(descriptor)  # it may have been replaced meanwhile
        _check(path, status)
        yield descriptor, status
    finally:
        os.close(descriptor)


def check_path(path: str) -> None:
    """Check a path without looking at the disk. Raises `InvalidRequest`."""
    if not os.path.isabs(path) or "\0" in path:
        raise _refused(path, "is no absolute path")
    try:
        os.fsencode(path)
    except UnicodeEncodeError as error:
        raise _refused(path, "holds a character that no path has") from error


def lines(descriptor: int, offset: int, end: int, number: int = 0) -> Iterator[Line]:
    """Yield the lines between two offsets of a file; `number` lines precede the first.

    Bytes after `end` aren't read. Moves the descriptor's offset, so only one iterator at a time may run.
    """
    with open(descriptor, "rb", buffering=_BUFFER_BYTES, closefd=False) as file:
        file.seek(offset)
        while offset < end:
            data = file.readline(min(MAX_LINE_BYTES + 1, end - offset))
            if not data:
                return  # it was cut meanwhile
            number += 1
            size, last = len(data), data
            while not last.endswith(b"\n") and size < end - offset:
                if not (last := file.readline(min(MAX_LINE_BYTES, end - offset - size))):
                    break
                size += len(last)
            kept = data if size == len(data) and size <= MAX_LINE_BYTES else None
            yield Line(number, offset, size, kept, last.endswith(b"\n"))
            offset += size


def not_a_transcript(path: str) -> InvalidRequest:
    """Return the error for a file in no known format."""
    return _refused(path, "is no transcript of a known host, nor in the plain format (docs/transcripts.md)")


def _check(path: str, status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise _refused(path, "is a folder; name the file of one conversation")
    if not stat.S_ISREG(status.st_mode):
        raise _refused(path, "is not a regular file")
    if status.st_uid != os.geteuid():
        raise _refused(path, f"belongs to the user {status.st_uid}; only your own transcripts are read")
    if status.st_size > MAX_FILE_BYTES:
        raise _refused(path, f"has more than {MAX_FILE_BYTES:,} bytes, which no transcript has")
    if not status.st_size:
        raise _refused(path, "is empty")


def _refused(path: str, problem: str) -> InvalidRequest:
    return InvalidRequest(f"{FIELD} {path!r:.500} {problem}.", FIELD)
