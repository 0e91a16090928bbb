"""Resources of the machine: disk space, permission to write, descriptors, and the memory of processes."""

from __future__ import annotations

import os
import resource
import sys
from typing import NamedTuple

from .system import System

LEAST_BYTES = 1 << 20
"""Minimum free disk space in bytes: with less, a commit of the index or SQLite's log soon fails."""

LEAST_DESCRIPTORS = 32
"""Minimum number of free descriptors: a context opens some ten files at once in each of two threads."""

_OPEN_FILES = "/dev/fd"
"""The folder that lists the open descriptors of the reading process, on Linux and on macOS."""


def disk_problem(folder: str, system: System) -> str:
    """Return why the folder can't be written now, in words, or "". Blocks for a few microseconds."""
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
    """Return why files may soon fail to open, in words, or ""."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    try:
        used = len(os.listdir(_OPEN_FILES)) - 1  # one of them was open for this listing
    except OSError:
        used = limit
    if limit == resource.RLIM_INFINITY or limit - used >= LEAST_DESCRIPTORS:
        return ""
    return (
        f"{used:,} of {limit:,} file descriptors are in use: files may not be read until clients close "
        "connections; raise the limit with: ulimit -n"
    )


ARENAS_MAX = 2
"""Maximum number of heaps that the C library uses for threads. Its default is eight for each processor, and
no heap returns free space between blocks in use to the system."""

_M_ARENA_MAX = -8
"""The option's number in glibc's malloc.h."""


def share_heaps() -> None:
    """Make threads that start from now on share a few heaps; no effect without glibc."""
    if sys.platform == "linux" and "MALLOC_ARENA_MAX" not in os.environ:
        import ctypes  # 2 ms

        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt is not None:
            mallopt(_M_ARENA_MAX, ARENAS_MAX)


def resident_bytes(pid: int) -> int | None:
    """Return the resident memory of a process in bytes, None if it is gone or can't be read.

    Without /proc only the peak of the current process is known.
    """
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        if pid != os.getpid():
            return None
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024


class ProcessState(NamedTuple):
    """The processor time that a process has used, in ticks of the system, and whether it was stopped."""

    ticks: int
    stopped: bool


def is_runnable(pid: int) -> bool:
    """Whether any thread of a process is running or waits for a processor; False if /proc is missing."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return False
    return any(_state_of(f"{pid}/task/{thread}") == b"R" for thread in threads)


def _state_of(task: str) -> bytes:
    try:
        with open(f"/proc/{task}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0]
    except (OSError, IndexError):
        return b""


def process_state(pid: int) -> ProcessState | None:
    """Return the state of a process, None if it is gone or /proc is missing."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The process name before the last bracket may contain any character, even a bracket.
            fields = file.read().rpartition(b")")[2].split()
        return ProcessState(int(fields[11]) + int(fields[12]), fields[0] in b"Tt")
    except (OSError, ValueError, IndexError):
        return None
