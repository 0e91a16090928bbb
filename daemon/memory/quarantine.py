"""Owns the quarantine: a file of the lines that can't be read, each once, with its place and the reason."""

from __future__ import annotations

import base64
import json
import os
from collections import deque
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from ..core.errors import StateError
from ..core.system import System
from .experience import timestamp_of
from .lines import Damage, digests_in, lines_from, record_of
from .pool_file import PoolFile

_SHOWN_CHARACTERS = 2_000
_SHOWN_BYTES = 8_388_608
"""A record of the longest line, each byte escaped to six, is shorter."""


class Quarantined(Struct, frozen=True):
    """A line that was put into quarantine at a time, from the line `number` (from 1) of a file.

    `text` is its beginning, at most 2,000 characters; of bytes that are no text in Python's escapes.
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
        """Append damaged lines, each only once, and make that durable."""
        at = timestamp_of(self._system.now())
        with self._file.locked() as descriptor:
            known, complete = digests_in(descriptor)
            records: dict[str, bytes] = {}
            for one in damage:
                if one.digest not in known:
                    records.setdefault(one.digest, record_of(one, at))
            if records:
                self._file.append(descriptor, (b"" if complete else b"\n") + b"".join(records.values()))
        try:
            self._system.fsync_folder(os.path.dirname(self._file.path))
        except OSError as error:
            raise self._file.unusable(f"can't be repaired: {error.strerror}. Mend that") from error

    def listed(self, limit: int) -> tuple[tuple[Quarantined, ...], int]:
        """Return the last lines that were put here, the last one first, and how many there are in all."""
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
    """Read a record; None for a line that is none, as a torn one."""
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
