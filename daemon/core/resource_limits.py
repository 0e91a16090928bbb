"""Owns what the machine may give no more: room on the state folder's disk, leave to write, descriptors.

Looks only; what could not be written is told by whoever wanted to write it.
"""

from __future__ import annotations

import os
import resource

from .system import System

LEAST_BYTES = 1 << 20
"""With less room than this a commit of the index, or the log of SQLite, soon finds none."""

LEAST_DESCRIPTORS = 32
"""With fewer left a context, which opens some ten files at once in each of two threads, may fail."""

_OPEN_FILES = "/dev/fd"
"""The descriptors of whoever lists it, on Linux and on macOS."""


def disk_problem(folder: str, system: System) -> str:
    """Return why nothing can be kept in a folder now, in words, or "". Blocks for a few microseconds."""
    try:
        room = system.statvfs(folder)
    except FileNotFoundError:
        return (
            f"the state folder {folder} is gone: what is asked to be kept is lost; "
            "make it anew with: foveal restart"
        )
    except OSError as error:
        return f"the state folder {folder} can't be looked at ({error.strerror})"
    if room.f_flag & os.ST_RDONLY:
        return f"the disk of {folder} is read-only: nothing is kept until it can be written again"
    if not system.may_write(folder):
        return f"{folder} can't be written by this user: nothing is kept; mend it with: chmod 700 {folder}"
    free = room.f_bavail * room.f_frsize
    if free < LEAST_BYTES:
        return f"the disk of {folder} is full ({free:,} bytes are left): nothing is kept until there is room"
    if room.f_files and not room.f_favail:
        return f"the disk of {folder} takes no more files: nothing new is kept until some are removed"
    return ""


def descriptor_problem() -> str:
    """Return why files may soon not be opened, in words, or ""."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    try:
        used = len(os.listdir(_OPEN_FILES)) - 1  # one was for looking
    except OSError:
        used = limit
    if limit == resource.RLIM_INFINITY or limit - used >= LEAST_DESCRIPTORS:
        return ""
    return (
        f"{used:,} of {limit:,} file descriptors are in use: files may not be read until clients close "
        "connections; raise the limit with: ulimit -n"
    )
