"""The spool of events that must not be lost: one durable file an event, a bounded number of them.

A hook writes it before anything else, because its host may kill it at any time. The daemon that gets the
event removes it; otherwise the next one reads it at its start, see daemon/hooks/grafts.py. A file holds the
words of an event, each ended by a zero byte, and then the payload. Imports the standard library only.
"""

from __future__ import annotations

import os
import time

from ..ipc.paths import private_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Final

FOLDER: Final = "hook-spool"
MAX_FILES: Final = 256
"""Maximum files; beyond it the oldest are deleted."""
MAX_BYTES: Final = 1024 * 1024
"""Maximum bytes of an event, which names a transcript and a last message."""


def keep(state: str, words: Sequence[str], payload: bytes) -> str:
    """Write an event, and return the name of its file; durable when this returns.

    Raises `OSError`, `PathError`, or `ValueError` if it is too large or a word holds a zero byte.
    """
    if len(payload) > MAX_BYTES or any("\0" in word for word in words):
        raise ValueError("the event can't be kept for the daemon's next start")
    folder = private_folder(os.path.join(private_folder(state), FOLDER))
    kept = sorted(name for name in os.listdir(folder) if not name.endswith(".tmp"))
    for name in kept[: max(0, len(kept) + 1 - MAX_FILES)]:
        _remove(os.path.join(folder, name))
    path = os.path.join(folder, f"{time.time_ns():020d}-{os.getpid()}")
    head = b"".join(os.fsencode(word) + b"\0" for word in words)
    descriptor = os.open(f"{path}.tmp", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with open(descriptor, "wb") as file:
        file.write(head + payload)
        file.flush()
        os.fsync(descriptor)
    os.replace(f"{path}.tmp", path)
    sync_folder(folder)
    return os.path.basename(path)


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return  # another hook was here


def sync_folder(folder: str) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
