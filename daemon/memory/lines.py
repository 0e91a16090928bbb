"""The lines of a pool's files: reading, writing and checking a line, and the quarantine for damaged ones.

A line is a JSON object: an experience, an edit, or one of a newer version, which is left alone.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct, field

from ..core.errors import StateError
from ..core.system import Stamp, System
from ..core.times import timestamp_of
from .edits import EDIT_KINDS, Edit, edit_fields, edit_in
from .experience import BadField, Experience, experience_in, fields_of
from .pool_file import PoolFile

LINE_VERSION = 1
"""The version of lines that name none. It is raised when a field changes its meaning; then lines name it."""

MAX_LINE_BYTES = 1_048_576
"""Maximum bytes of a line. The largest line that is written has about 900 KB: three texts and the files, each
byte escaped to two."""
_TAIL_BYTES = 64
_CONFLICT_MARKS = (b"<<<<<<<", b"=======", b">>>>>>>", b"|||||||")
"""The beginnings of git's conflict marker lines."""


class PoolLine(Struct, frozen=True):
    """A line of a file with its line break; for a very long line `data` is its beginning, a byte more than
    the limit (`MAX_LINE_BYTES` by default)."""

    offset: int
    size: int
    data: bytes
    complete: bool


class Damage(Struct, frozen=True):
    """A line that can't be read as an experience; `number` counts from 1."""

    number: int
    line: PoolLine
    reason: str
    file: str = ""
    """The name of the file without its folder."""

    @property
    def digest(self) -> str:
        """The hash that tells whether the line is in quarantine already."""
        return hashlib.blake2b(self.line.data, digest_size=16).hexdigest()


class FileReading(Struct):
    """How far a file was read: `offset` is the end of the last whole line, `tail` the bytes before it."""

    stamp: Stamp | None = None
    offset: int = 0
    lines: int = 0
    tail: bytes = b""
    torn: bool = False
    bad_lines: int = 0
    unknown_lines: int = 0
    repeated_lines: int = 0
    damage: list[Damage] = field(default_factory=list)
    """Bad lines that aren't in quarantine yet."""
    latest: str = ""
    """The time of the last experience that isn't dated in the future."""
    undated: list[Experience] = field(default_factory=list)
    """Experiences dated in the future, before any other."""

    def is_continued_by(self, descriptor: int, stamp: Stamp) -> bool:
        """Tell whether a file is the one that was read, with only lines appended.

        An editor may keep the inode, so the last bytes that were read must still be there; an edit that also
        keeps the size changes the modification time, while a rename changes ctime only.
        """
        if self.stamp is None or stamp.inode != self.stamp.inode or stamp.size < self.offset:
            return False
        if stamp.size == self.stamp.size and stamp.mtime_ns != self.stamp.mtime_ns:
            return False
        start = self.offset - len(self.tail)
        return os.pread(descriptor, len(self.tail), start) == self.tail

    def remember_tail(self, descriptor: int) -> None:
        """Keep the last bytes that were read, for `is_continued_by`."""
        start = max(self.offset - _TAIL_BYTES, 0)
        self.tail = os.pread(descriptor, self.offset - start, start)


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


def torn_line(descriptor: int, offset: int) -> PoolLine:
    """Return the torn line after the last whole one."""
    size = os.fstat(descriptor).st_size - offset
    return PoolLine(offset, size, os.pread(descriptor, min(size, MAX_LINE_BYTES), offset), complete=False)


def line_of(record: Experience | Edit) -> bytes:
    """Write an experience or an edit as a line of a file."""
    fields = edit_fields(record) if isinstance(record, Edit) else fields_of(record)
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def read_line(line: PoolLine) -> Experience | Edit | None:
    """Read a line; None if it is empty or of a newer version. Raises `BadField`."""
    if line.size > MAX_LINE_BYTES:
        raise BadField("", f"longer than {MAX_LINE_BYTES} bytes")
    if not line.data.strip():
        return None
    if line.data.startswith(_CONFLICT_MARKS):
        raise BadField("", "a mark of a conflict that git left; the lines between such marks are kept")
    try:
        fields = json.loads(line.data.decode())
    except RecursionError as error:
        raise BadField("", "nested too deeply") from error
    except ValueError as error:  # not UTF-8, not JSON, or a giant number
        raise BadField("", f"not JSON: {error}") from error
    if not isinstance(fields, dict):
        raise BadField("", "not a JSON object")
    version = fields.get("version", LINE_VERSION)
    if type(version) is int and version > LINE_VERSION:
        return None
    kind = fields.get("type", "experience")
    if kind == "experience":
        return experience_in(fields)
    return edit_in(fields) if isinstance(kind, str) and kind in EDIT_KINDS else None


def is_whole(line: PoolLine) -> bool:
    """Tell whether a line can be read, so that only its line break is missing."""
    try:
        read_line(line)
    except BadField:
        return False
    return True


def record_of(damage: Damage, at: str) -> bytes:
    """Write a line of the quarantine file: as text if it is UTF-8, else in base64."""
    record: dict[str, object] = {
        "digest": damage.digest,
        "at": at,
        "file": damage.file,
        "line": damage.number,
        "offset": damage.line.offset,
        "size": damage.line.size,
        "reason": damage.reason,
    }
    try:
        record["text"] = damage.line.data.decode()
    except UnicodeDecodeError:
        record["base64"] = base64.b64encode(damage.line.data).decode()
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


def digests_in(descriptor: int) -> tuple[set[str], bool]:
    """Return the digests in a quarantine file, and whether its last line is complete."""
    found: set[str] = set()
    complete = True
    for line in lines_from(descriptor, 0):
        complete = line.complete
        if match := _DIGEST.search(line.data):
            found.add(match[1].decode())
    return found, complete


_DIGEST = re.compile(rb'^\{"digest":"(\w+)"')


_SHOWN_CHARACTERS = 2_000
_SHOWN_BYTES = 8_388_608
"""Maximum bytes read of a line; a record of the longest line, each byte escaped to six, is shorter."""


class Quarantined(Struct, frozen=True):
    """A line in quarantine, with the time and its number (from 1) in the file.

    `text` is its beginning, at most 2,000 characters; bytes that are no text are in Python's escapes.
    """

    at: str
    file: str
    number: int
    size: int
    reason: str
    text: str


class Quarantine:
    """The file at `path`. Blocks; not thread-safe. Raises `StateError` and `Busy` as `PoolFile` does."""

    def __init__(self, path: str, system: System, write: Callable[[int, bytes], int] = os.write) -> None:
        self._file = PoolFile(path, system, write)
        self._system = system

    def keep(self, damage: Sequence[Damage]) -> None:
        """Append damaged lines, each once, durably."""
        at = timestamp_of(self._system.now())
        with self._file.locked() as descriptor:
            known, complete = digests_in(descriptor)
            records: dict[str, bytes] = {}
            for line in damage:
                if line.digest not in known:
                    records.setdefault(line.digest, record_of(line, at))
            if records:
                self._file.append(descriptor, (b"" if complete else b"\n") + b"".join(records.values()))
        try:
            self._system.fsync_folder(os.path.dirname(self._file.path))
        except OSError as error:
            raise self._file.unusable(f"can't be repaired: {error.strerror}. Mend that") from error

    def listed(self, limit: int) -> tuple[tuple[Quarantined, ...], int]:
        """Return the lines added last, the last first, and the total number."""
        last: deque[Quarantined] = deque(maxlen=max(limit, 0))
        total = 0
        try:
            with self._file.reading() as descriptor:
                for line in lines_from(descriptor, 0, _SHOWN_BYTES):
                    if (one := _read(line.data)) is not None:
                        total += 1
                        last.append(one)
        except FileNotFoundError:
            return (), 0
        except OSError as error:
            raise StateError(f"{self._file.path} can't be read: {error.strerror}.") from error
        return tuple(reversed(last)), total


def _read(data: bytes) -> Quarantined | None:
    """Read a record; None for a line that isn't a record, such as a torn one."""
    try:
        record = json.loads(data)
        if not isinstance(record, dict):
            return None
        return Quarantined(
            str(record["at"]),
            str(record.get("file", "")),
            int(record["line"]),
            int(record["size"]),
            str(record["reason"]),
            _text(record)[:_SHOWN_CHARACTERS],
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _text(record: Mapping[str, object]) -> str:
    if "text" in record:
        return str(record["text"])
    return ascii(base64.b64decode(str(record["base64"])))[2:-1]
