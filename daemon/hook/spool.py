"""Owns the events that must not be lost until they are dealt with: a durable file for each, a bounded number.

Hooks write the same files where no daemon answers them, see hooks/spool.py: the words of an event, each ended
by a zero byte, and behind them the payload as it came.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress

from ..core.lazy_dataclass import dataclass
from ..core.quarantine import MARK, clear_file, set_aside
from ..core.system import System

FOLDER = "hook-spool"
MAX_BYTES = 9 * 1024 * 1024
"""As large as an event may be that a daemon took; hooks keep less, see there."""
MAX_FILES = 256


@dataclass(frozen=True, slots=True)
class Spooled:
    """An event that waits: the file, the host, the event's name, the folder it was told in, the payload."""

    path: str
    host: str
    event: str
    cwd: str
    payload: str


class Spool:
    """The spool below a state folder. Thread-safe; every method blocks for the disk and raises `OSError`."""

    def __init__(self, state_dir: str, system: System) -> None:
        self._folder = os.path.join(state_dir, FOLDER)
        self._system = system

    def put(self, words: Sequence[str], payload: str) -> str:
        """Keep an event; durable when this returns. Returns its file, "" where the spool is full."""
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        if sum(MARK not in name for name in os.listdir(self._folder)) >= MAX_FILES:
            return ""
        path = os.path.join(self._folder, f"{self._system.time_ns():020d}-{os.getpid()}")
        head = b"".join(os.fsencode(word.replace("\0", "")) + b"\0" for word in words)
        self._system.write_atomic(path, head + payload.encode("utf-8", "replace"))
        return path

    def waiting(self) -> tuple[Spooled, ...]:
        """Return the events that wait, oldest first; what is none of ours is left alone."""
        try:
            names = sorted(os.listdir(self._folder))
        except FileNotFoundError:
            return ()
        found = (
            self._read(os.path.join(self._folder, name))
            for name in names
            if not name.endswith(".tmp") and MARK not in name
        )
        return tuple(one for one in found if one is not None)

    def remove(self, path: str) -> None:
        """Remove an event that was dealt with."""
        try:
            os.unlink(path)
        except FileNotFoundError:
            return

    def _read(self, path: str) -> Spooled | None:
        try:
            clear_file(path, self._system)
            data, _ = self._system.read(path, MAX_BYTES)
        except OSError:
            return None  # a hook removed it, as one of too many
        parts = data.split(b"\0", 3)
        if len(parts) < 4:
            with suppress(OSError):
                set_aside(path, self._system)  # where it is, it would take the room of another
            return None
        host, event, cwd = (os.fsdecode(part) for part in parts[:3])
        return Spooled(path, host, event, cwd, parts[3].decode("utf-8", "replace"))
