"""The lines of a pool's files: reading and writing one, and the quarantine for those that can't be read.

A line is a JSON object: an experience, an edit, or one of a newer version, which is left alone.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from msgspec import Struct, convert
from msgspec.structs import asdict

from ..core.errors import InvalidRequest, StateError
from ..core.system import System
from ..core.times import timestamp_of
from .edits import EDIT_KINDS, Edit, edit_fields, edit_in
from .experience import Experience, experience_in, fields_of
from .pool_file import PoolFile

LINE_VERSION = 1
"""The version of lines that name none. It is raised when a field changes its meaning; then lines name it."""

MAX_LINE_BYTES = 1_048_576
"""Maximum bytes of a line. The largest line that is written has about 900 KB: three texts and the files, each
byte escaped to two."""
_CONFLICT_MARKS = (b"<<<<<<<", b"=======", b">>>>>>>", b"|||||||")
"""The beginnings of git's conflict marker lines."""


class PoolLine(Struct, frozen=True):
    """A line of a file with its line break; for a very long line `data` is its beginning, a byte more than
    the limit (`MAX_LINE_BYTES` by default)."""

    offset: int
    size: int
    data: bytes
    complete: bool


def lines_from(descriptor: int, offset: int, limit: int = MAX_LINE_BYTES) -> Iterator[PoolLine]:
    """Yield a file's lines from an offset on, in bounded memory; the descriptor stays open."""
    with open(descriptor, "rb", closefd=False) as file:
        file.seek(offset)
        while data := file.readline(limit + 1):
            size, end = len(data), data
            while not end.endswith(b"\n") and (end := file.readline(limit)):
                size += len(end)
            yield PoolLine(offset, size, data, end.endswith(b"\n"))
            offset += size


def line_of(record: Experience | Edit) -> bytes:
    """Write an experience or an edit as a line of a file."""
    fields = edit_fields(record) if isinstance(record, Edit) else fields_of(record)
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def read_line(line: PoolLine) -> Experience | Edit | None:
    """Read a line; None if it is empty or of a newer version. Raises `InvalidRequest`."""
    if line.size > MAX_LINE_BYTES:
        raise InvalidRequest(f"longer than {MAX_LINE_BYTES} bytes")
    if not line.data.strip():
        return None
    if line.data.startswith(_CONFLICT_MARKS):
        raise InvalidRequest("a mark of a conflict that git left; the lines between such marks are kept")
    try:
        fields = json.loads(line.data.decode())
    except RecursionError as error:
        raise InvalidRequest("nested too deeply") from error
    except ValueError as error:  # not UTF-8, not JSON, or a giant number
        raise InvalidRequest(f"not JSON: {error}") from error
    if not isinstance(fields, dict):
        raise InvalidRequest("not a JSON object")
    version = fields.get("version", LINE_VERSION)
    if type(version) is int and version > LINE_VERSION:
        return None
    kind = fields.get("type", "experience")
    if kind == "experience":
        return experience_in(fields)
    return edit_in(fields) if isinstance(kind, str) and kind in EDIT_KINDS else None


_SHOWN_CHARACTERS = 2_000
_RECORD_BYTES = 8_388_608
"""Maximum bytes of a record; one of the longest line, each byte escaped to six, is shorter."""


class Quarantined(Struct, frozen=True):
    """A line in quarantine, with the time and its number (from 1) in the file, which is named without its
    folder.

    `text` is the line, or the beginning of a very long one; bytes that aren't UTF-8 are halves of surrogates
    in it. `digest` is of that.
    """

    digest: str
    at: str
    file: str
    line: int
    offset: int
    size: int
    reason: str
    text: str = ""

    @property
    def shown(self) -> str:
        """At most 2,000 characters of the text; bytes that are no text are in Python's escapes."""
        data = self.text.encode("utf-8", "surrogateescape")
        return data.decode("utf-8", "backslashreplace")[:_SHOWN_CHARACTERS]


def quarantined(number: int, line: PoolLine, reason: str, file: str, now: datetime) -> Quarantined:
    """Return the record of a bad line."""
    digest = hashlib.blake2b(line.data, digest_size=16).hexdigest()
    text = line.data.decode("utf-8", "surrogateescape")
    return Quarantined(digest, timestamp_of(now), file, number, line.offset, line.size, reason, text)


class Quarantine:
    """The file at `path`. Blocks; not thread-safe. Raises `StateError` and `Busy` as `PoolFile` does."""

    def __init__(self, path: str, system: System, write: Callable[[int, bytes], int] = os.write) -> None:
        self._file = PoolFile(path, system, write)

    def keep(self, damage: Sequence[Quarantined]) -> None:
        """Append damaged lines, each once, durably."""
        with self._file.locked() as descriptor:
            known, complete = set[str](), True
            for line in lines_from(descriptor, 0, _RECORD_BYTES):
                known.update(record.digest for record in _records_in(line.data))
                complete = line.complete
            data = b"" if complete else b"\n"
            for damaged in damage:
                if damaged.digest not in known:
                    known.add(damaged.digest)
                    data += json.dumps(asdict(damaged), separators=(",", ":")).encode() + b"\n"
            # Even if all are known: their writer may have died before its fsync.
            self._file.append(descriptor, data)

    def listed(self, limit: int) -> tuple[tuple[Quarantined, ...], int]:
        """Return the lines added last, the last first, and the total number."""
        try:
            with self._file.reading() as descriptor:
                found = [
                    record
                    for line in lines_from(descriptor, 0, _RECORD_BYTES)
                    for record in _records_in(line.data)
                ]
        except FileNotFoundError:
            return (), 0
        except OSError as error:
            raise StateError(f"{self._file.path} can't be read: {error.strerror}.") from error
        return tuple(found[::-1][:limit]), len(found)


def _records_in(line: bytes) -> list[Quarantined]:
    """Read a line of the quarantine file; nothing for one that isn't a record, such as a torn one."""
    try:
        return [convert(json.loads(line), Quarantined)]
    except (ValueError, RecursionError):
        return []
