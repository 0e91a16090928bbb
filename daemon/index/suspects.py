"""Notes of which file is being worked on, so that a file that ends the process twice is left alone.

Memory runs out, a native library crashes, a parser never returns: none of that can be caught in the process
that it ends. So the note is written before each file, and the next process reads whose turn it was.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from ..core.quarantine import clear_own_file
from ..core.storage import DatabaseError
from ..core.system import Stamp, System
from ..project.tree import FileRecord
from .store import Store

log = logging.getLogger(__name__)

DEATHS_MAX: Final = 2
"""Number of process deaths during work on a file after which it is skipped. One may be chance, for example if
another process used all memory."""

HANG_S: Final = 30.0
"""Maximum seconds of work on one file; then the process ends. The parser stops after some seconds by
itself, and the largest indexed file takes about one second, so even a busy machine stays far below."""

NAMED_MAX: Final = 3
NOTE_NAME: Final = "at_work"
NOTE_BYTES: Final = 64 * 1024
META_KEY: Final = "suspects"
_LENGTH: Final = struct.Struct("<I")

Alarm = Callable[[float], object]
"""Ends this process after some seconds, with 0 never."""


class Suspects:
    """The files of a project on which a process died while it indexed them. For the indexer's worker thread.

    `records` is the live map of the project's files: a suspect whose stamp has changed is none any more.
    The note of the current file lies beside the index and costs one system call. It needs no fsync,
    because it has to survive a crash of the process, not of the machine.
    """

    def __init__(
        self, folder: str, store: Store, records: Mapping[str, FileRecord], alarm: Alarm | None = None
    ) -> None:
        self._store = store
        self._records = records
        self._alarm = alarm
        self._writing = threading.Lock()
        """Guards the note, which another thread clears when the daemon is gone."""
        self._noted = False
        self._closed = False
        path = os.path.join(folder, NOTE_NAME)
        clear_own_file(path, System())  # else nothing in its place could be opened, or it waits on a pipe
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        self._note = os.open(path, flags, 0o600)
        self._deaths = _deaths_in(store.get_meta(META_KEY))
        self._take_note()

    @property
    def problem(self) -> str:
        """Say which files are left alone, or nothing."""
        names = [path for path in sorted(self._deaths) if self._is_left_alone(path)]
        if not names:
            return ""
        more = f" and {len(names) - NAMED_MAX:,} more" if len(names) > NAMED_MAX else ""
        return (
            f"{', '.join(names[:NAMED_MAX])}{more} ended the indexer {DEATHS_MAX} times: "
            "left alone until changed, or: foveal reindex --full"
        )

    def __contains__(self, path: object) -> bool:
        """Whether a process ended during the work on a file as it is now."""
        record = self._records.get(path) if isinstance(path, str) else None
        return record is not None and self._of(record) > 0

    def __iter__(self) -> Iterator[str]:
        """Return the suspects that are still as they were."""
        return (path for path in sorted(self._deaths) if path in self)

    def is_quarantined(self, record: FileRecord) -> bool:
        """Whether a file is to be left alone as it is now."""
        return self._of(record) >= DEATHS_MAX

    @contextlib.contextmanager
    def work(self) -> Iterator[None]:
        """Enclose work on files; call `begin` for each. A disk error clears the note, as no file caused it.
        After any other error the process ends, and the note stays."""
        try:
            yield
        except (DatabaseError, OSError):
            self._clear()
            raise
        self._clear()

    def begin(self, path: str) -> None:
        """Note that work on a file begins, and start its timeout."""
        record = self._records.get(path)
        if record is None:
            return
        stamp = record.stamp
        data = json.dumps([path, stamp.size, stamp.mtime_ns, stamp.ctime_ns, stamp.inode]).encode()
        self._write(data)
        self._noted = True
        if self._alarm is not None:
            self._alarm(HANG_S)

    def blame(self, path: str) -> None:
        """Suspect the file that a helper process was working on when it died.

        Counts at most once, since the death may have other causes, such as a lack of memory.
        """
        record = self._records.get(path)
        if record is not None and not self._of(record):
            self._count(path, record.stamp)

    def absolve(self) -> None:
        """Forget the suspects, all of which have been read now."""
        kept = {path: entry for path, entry in self._deaths.items() if self._is_left_alone(path)}
        if kept != self._deaths:
            self._keep(kept)

    def forget(self) -> None:
        """Forget all of it, so that each is tried again."""
        if self._deaths:
            self._keep({})

    def abandon(self) -> None:
        """Clear the note for good, since this process ends for another reason. From any thread."""
        with self._writing:
            if not self._closed:
                self._put(b"")
                self._closed = True

    def close(self) -> None:
        """Close the note; if an error ends the process in the middle of a file, it still names that."""
        with self._writing:
            self._closed = True
            os.close(self._note)

    def _of(self, record: FileRecord) -> int:
        deaths, stamp = self._deaths.get(record.path, (0, None))
        return deaths if stamp == record.stamp else 0

    def _is_left_alone(self, path: str) -> bool:
        record = self._records.get(path)
        return record is not None and self.is_quarantined(record)

    def _take_note(self) -> None:
        """Count what the note says of the process before, if that ended in the middle of a file."""
        found = _noted_in(os.pread(self._note, NOTE_BYTES, 0))
        if found is not None:
            self._count(*found)
        self._put(b"")

    def _count(self, path: str, stamp: Stamp) -> None:
        former, of_stamp = self._deaths.get(path, (0, None))
        deaths = former + 1 if of_stamp == stamp else 1
        log.warning("the process that worked on %s ended (%d times)", path, deaths)
        self._keep({**self._deaths, path: (deaths, stamp)})

    def _keep(self, deaths: dict[str, tuple[int, Stamp]]) -> None:
        rows = {
            path: [count, stamp.size, stamp.mtime_ns, stamp.ctime_ns, stamp.inode]
            for path, (count, stamp) in deaths.items()
        }
        with self._store.side_notes():
            self._store.set_meta(META_KEY, json.dumps(rows))
        self._deaths = deaths

    def _clear(self) -> None:
        if self._noted:
            if self._alarm is not None:
                self._alarm(0.0)
            self._write(b"")
            self._noted = False

    def _write(self, data: bytes) -> None:
        with self._writing:
            if not self._closed:
                self._put(data)

    def _put(self, data: bytes) -> None:
        try:
            os.pwrite(self._note, _LENGTH.pack(len(data)) + data, 0)
        except OSError as error:  # the disk is full: then a file that ends the process isn't found out yet
            log.info("the file at work can't be noted: %s", error)


def set_alarm(seconds: float) -> None:
    """Have the kernel end this process after `seconds`, with 0 no longer.

    A native library that never returns holds the interpreter, so that no thread of ours could.
    """
    signal.setitimer(signal.ITIMER_REAL, seconds)


def _noted_in(data: bytes) -> tuple[str, Stamp] | None:
    """Return which file a note names; None for none, and for a note that makes no sense."""
    if len(data) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack_from(data)
    try:
        path, *stamp = json.loads(data[_LENGTH.size : _LENGTH.size + length])
        return str(path), Stamp(*map(int, stamp))
    except Exception:  # noqa: BLE001 - whatever it raises, it names no file
        return None


def _deaths_in(text: str | None) -> dict[str, tuple[int, Stamp]]:
    """Return the stored notes, or nothing where they make no sense: then the files are only tried again."""
    try:
        rows = json.loads(text or "{}")
        return {str(path): (int(row[0]), Stamp(*map(int, row[1:]))) for path, row in rows.items()}
    except Exception:  # noqa: BLE001 - whatever it raises, it names none
        log.warning("which files ended the indexer can't be read: each is tried again")
        return {}
