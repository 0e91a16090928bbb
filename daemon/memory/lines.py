"""The lines of a pool's files: reading and writing one, and the quarantine for those that can't be read.

A line is a JSON object: an experience, an edit, or one of a newer version, which is left alone.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from ..core.errors import StateError
from ..core.system import System
from ..core.times import timestamp_of
from .edits import EDIT_KINDS, Edit, edit_fields, edit_in
from .experience import BadField, Experience, clean, experience_in, fields_of
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


class Damage(Struct, frozen=True):
    """A line that can't be read as an experience; `number` counts from 1, `file` is without its folder."""

    number: int
    line: PoolLine
    reason: str
    file: str = ""


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


def subject_of(line: bytes) -> str | None:
    """Return the id of the experience that a line holds or edits, empty for another line; None for a line
    that isn't JSON and is in quarantine.

    Other processes wait for the lock meanwhile, so lines are not fully checked: 5 µs each instead of 50.
    """
    if len(line) > MAX_LINE_BYTES or not line.strip():
        return ""
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict):
        return ""
    kind = fields.get("type", "experience")
    name = "id" if kind == "experience" else "of" if isinstance(kind, str) and kind in EDIT_KINDS else ""
    return " ".join(clean(str(fields.get(name, ""))).split())


_SHOWN_CHARACTERS = 2_000
_RECORD_BYTES = 8_388_608
"""Maximum bytes of a record; one of the longest line, each byte escaped to six, is shorter."""


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
            known, complete = set[str](), True
            for line in lines_from(descriptor, 0, _RECORD_BYTES):
                known.add(str(_record_in(line.data).get("digest")))
                complete = line.complete
            records: dict[str, bytes] = {}
            for damaged in damage:
                digest = hashlib.blake2b(damaged.line.data, digest_size=16).hexdigest()
                if digest not in known:
                    records.setdefault(digest, _record_of(digest, damaged, at))
            data = b"".join(records.values())
            # Even if all are known: their writer may have died before its fsync.
            self._file.append(descriptor, data if complete else b"\n" + data)

    def listed(self, limit: int) -> tuple[tuple[Quarantined, ...], int]:
        """Return the lines added last, the last first, and the total number."""
        last: deque[Quarantined] = deque(maxlen=max(limit, 0))
        total = 0
        try:
            with self._file.reading() as descriptor:
                for line in lines_from(descriptor, 0, _RECORD_BYTES):
                    if (found := _quarantined(_record_in(line.data))) is not None:
                        total += 1
                        last.append(found)
        except FileNotFoundError:
            return (), 0
        except OSError as error:
            raise StateError(f"{self._file.path} can't be read: {error.strerror}.") from error
        return tuple(reversed(last)), total


def _record_of(digest: str, damaged: Damage, at: str) -> bytes:
    """Write a line of the quarantine file; bytes that aren't UTF-8 are halves of surrogates in its text."""
    record = {
        "digest": digest,
        "at": at,
        "file": damaged.file,
        "line": damaged.number,
        "offset": damaged.line.offset,
        "size": damaged.line.size,
        "reason": damaged.reason,
        "text": damaged.line.data.decode("utf-8", "surrogateescape"),
    }
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


def _record_in(line: bytes) -> dict[str, Any]:
    """Read a line of the quarantine file; empty for one that isn't a record, such as a torn one."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def _quarantined(record: dict[str, Any]) -> Quarantined | None:
    try:
        text = record.get("text")
        # A former version wrote bytes that aren't UTF-8 in base64.
        data = base64.b64decode(record["base64"]) if text is None else text.encode("utf-8", "surrogateescape")
        return Quarantined(
            str(record["at"]),
            str(record.get("file", "")),
            int(record["line"]),
            int(record["size"]),
            str(record["reason"]),
            data.decode("utf-8", "backslashreplace")[:_SHOWN_CHARACTERS],
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
