"""Records the file that the indexer is working on, so that a file that kills the indexer twice is skipped.

A process can't catch its own end when memory runs out, a native library crashes or a parser never returns.
So the indexer writes a note with the file's path before it works on the file, and the next indexer process
reads that note.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import msgspec

from ..core.pipe import DEBUG
from ..core.quarantine import clear_own_file
from ..core.storage import DatabaseError
from ..core.system import Stamp, System
from ..project.records import FileRecord
from .store import Store

log = logging.getLogger(__name__)

DEATHS_MAX: Final = 2
"""Number of process deaths during work on a file after which it is skipped. One may be chance, for example if
another process used all memory."""

HANG_S: Final = 30.0
"""Maximum seconds of work on one file, after which the process is killed. The parser stops by itself after
some seconds, and the largest indexed file takes about one second, so even a busy machine stays far below."""

NAMED_MAX: Final = 3
NOTE_NAME: Final = "at_work"
NOTE_BYTES: Final = 64 * 1024
META_KEY: Final = "suspects"
_LENGTH: Final = struct.Struct("<I")

Alarm = Callable[[float], object]
"""A function that makes the kernel end this process after a number of seconds; 0 cancels that."""


class CrashGuard:
    """The project's files during whose indexing a process died. Used by the indexer's worker thread.

    `records` is the live map of the project's files: a file whose stamp has changed is no longer a suspect.
    The note with the current file's path is a file beside the index, and writing it costs one system call.
    The note needs no fsync, because it must survive a crash of the process, not of the machine.
    """

    def __init__(
        self, folder: str, store: Store, records: Mapping[str, FileRecord], alarm: Alarm | None = None
    ) -> None:
        self._store = store
        self._records = records
        self._alarm = alarm
        self._writing = threading.Lock()
        """Guards the note, because another thread clears it when the daemon has ended."""
        self._noted = False
        self._closed = False
        path = os.path.join(folder, NOTE_NAME)
        clear_own_file(path, System())  # removes anything but a regular file: opening a pipe could block
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        self._note = os.open(path, flags, 0o600)
        self._deaths = _deaths_in(store.get_meta(META_KEY))
        self._take_note()

    @property
    def problem(self) -> str:
        """A message that names the skipped files, "" if there are none."""
        names = [path for path in sorted(self._deaths) if self._is_left_alone(path)]
        if not names:
            return ""
        more = f" and {len(names) - NAMED_MAX:,} more" if len(names) > NAMED_MAX else ""
        return (
            f"{', '.join(names[:NAMED_MAX])}{more} ended the indexer {DEATHS_MAX} times: "
            "left alone until changed, or: foveal reindex --full"
        )

    def __contains__(self, path: object) -> bool:
        """Whether a process died during work on this file, and the file hasn't changed since."""
        record = self._records.get(path) if isinstance(path, str) else None
        return record is not None and self._of(record) > 0

    def __iter__(self) -> Iterator[str]:
        """Return the paths of suspected files that haven't changed since a process died on them."""
        return (path for path in sorted(self._deaths) if path in self)

    def is_quarantined(self, record: FileRecord) -> bool:
        """Whether a file must be skipped until it changes."""
        return self._of(record) >= DEATHS_MAX

    @contextlib.contextmanager
    def work(self) -> Iterator[None]:
        """Return a context for work on files; call `begin` for each file inside it.

        A disk error clears the note, because no file caused the error. After any other error the process
        ends, and the note stays.
        """
        try:
            yield
        except (DatabaseError, OSError):
            self._clear()
            raise
        self._clear()

    def begin(self, path: str) -> None:
        """Write the note for a file and start the timeout, before work on the file."""
        record = self._records.get(path)
        if record is None:
            return
        self._write(msgspec.json.encode((path, record.stamp)))
        self._noted = True
        if self._alarm is not None:
            self._alarm(HANG_S)

    def blame(self, path: str) -> None:
        """Make the file a suspect that a side process was working on when it died.

        A file is blamed at most once in this way, because the death may have another cause, such as a lack
        of memory.
        """
        record = self._records.get(path)
        if record is not None and not self._of(record):
            self._count(path, record.stamp)

    def absolve(self) -> None:
        """Forget the suspected files that aren't skipped; call this when all of them have been read."""
        kept = {path: entry for path, entry in self._deaths.items() if self._is_left_alone(path)}
        if kept != self._deaths:
            self._keep(kept)

    def forget(self) -> None:
        """Forget all suspected files, skipped ones too, so that each file is tried again."""
        if self._deaths:
            self._keep({})

    def abandon(self) -> None:
        """Clear the note and write no other, because this process is about to end for a reason that is no
        file's fault. May be called from any thread."""
        with self._writing:
            if not self._closed:
                self._put(b"")
                self._closed = True

    def close(self) -> None:
        """Close the note. If an error ended the work on a file, the note still names that file."""
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
        """Count a death for the file that the note names, if the previous process died during work on it."""
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
        with self._store.side_notes():
            self._store.set_meta(META_KEY, msgspec.json.encode(deaths).decode())
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
        except OSError as error:  # the disk is full: a file that kills the process now isn't identified
            log.info("the file at work can't be noted: %s", error)


def set_alarm(seconds: float) -> None:
    """Make the kernel end this process after `seconds`, unless somebody debugs it; 0 cancels that.

    A thread can't do this: a native library that never returns may hold the interpreter lock.
    """
    signal.setitimer(signal.ITIMER_REAL, 0 if os.environ.get(DEBUG) else seconds)


def _noted_in(data: bytes) -> tuple[str, Stamp] | None:
    """Return the path and stamp that a note names; None for an empty or invalid note."""
    (length,) = _LENGTH.unpack_from(data.ljust(_LENGTH.size, b"\0"))
    try:
        return msgspec.json.decode(data[_LENGTH.size : _LENGTH.size + length], type=tuple[str, Stamp])
    except Exception:  # noqa: BLE001 - any exception means damage
        return None


def _deaths_in(text: str | None) -> dict[str, tuple[int, Stamp]]:
    """Return (deaths, stamp) by path from the stored JSON; empty if it is invalid, so that all files are
    tried again."""
    try:
        return msgspec.json.decode(text or "{}", type=dict[str, tuple[int, Stamp]])
    except Exception:  # noqa: BLE001 - any exception means damage
        log.warning("which files ended the indexer can't be read: each is tried again")
        return {}
