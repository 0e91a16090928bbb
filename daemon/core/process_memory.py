"""Owns what the system says of a process: its memory, its processor time, whether it was stopped."""

from __future__ import annotations

import os
import resource
import sys
from typing import NamedTuple

ARENAS_MAX = 2
"""Heaps that the C library gives threads. By itself it makes eight for each processor, and none of them gives
back what lies free between blocks that stay."""

_M_ARENA_MAX = -8
"""The option's number in glibc's malloc.h."""


def share_heaps() -> None:
    """Have the threads that this process starts from now on share a few heaps; nothing without glibc."""
    if sys.platform == "linux" and "MALLOC_ARENA_MAX" not in os.environ:
        import ctypes  # 2 ms

        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt is not None:
            mallopt(_M_ARENA_MAX, ARENAS_MAX)


def resident_bytes(pid: int) -> int | None:
    """Return the memory that a process has in RAM, None for one that is gone or can't be looked at.

    Where /proc is missing it is known of this process only, and is the most it ever had.
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
    """Say whether a thread of a process has or waits for a processor; False where /proc is missing."""
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
    """Return what a process does, None for one that is gone or where /proc is missing."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The name before may hold anything, also a bracket.
            fields = file.read().rpartition(b")")[2].split()
        return ProcessState(int(fields[11]) + int(fields[12]), fields[0] in b"Tt")
    except (OSError, ValueError, IndexError):
        return None
