"""Owns the state folder: its version, its lock, and that there is one daemon for it."""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import dataclass
from typing import Self

from .errors import StateError
from .system import System

STATE_VERSION = 1
"""Raised when the layout of the state folder changes in a way that an older program can't read."""

VERSION_FILE = "version.json"


@dataclass(frozen=True, slots=True)
class StateLock:
    """The lock of a state folder, held by its descriptor; the kernel drops it when the process dies.

    The lock's file is never removed: another process may be waiting on that very file.
    """

    descriptor: int

    @classmethod
    def take(cls, path: str) -> Self:
        """Take the lock or raise `StateError` at once, with the pid of whoever holds it."""
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise StateError(
                f"the lock {path} can't be opened ({error.strerror}); see: foveal doctor"
            ) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip() or "unknown"
            os.close(descriptor)
            raise StateError(
                f"a daemon (pid {holder}) already serves this state folder; stop it with: foveal down"
            ) from None
        except BaseException:
            os.close(descriptor)
            raise
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        return cls(descriptor)

    def release(self) -> None:
        """Let go of the lock."""
        os.ftruncate(self.descriptor, 0)
        os.close(self.descriptor)


def check_version(folder: str, system: System) -> None:
    """Make sure that this program understands a state folder, and mark a new one with its version.

    Raises `StateError` for a newer one, which is left untouched, or a mark that can't be read.
    """
    path = os.path.join(folder, VERSION_FILE)
    try:
        data, _ = system.read(path)
    except FileNotFoundError:
        system.write_atomic(path, json.dumps({"state_version": STATE_VERSION}).encode() + b"\n")
        return
    try:
        version = int(json.loads(data)["state_version"])
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise StateError(
            f'{path} can\'t be read ({error}). It should hold {{"state_version": {STATE_VERSION}}}; '
            "put that in, or move the folder away to start anew"
        ) from error
    if version > STATE_VERSION:
        raise StateError(
            f"{folder} belongs to a newer foveal (state version {version}, this one knows {STATE_VERSION}); "
            "update foveal, or point FOVEAL_STATE_DIR elsewhere. Nothing was changed."
        )
