"""Owns how much memory a process has in RAM."""

from __future__ import annotations

import os
import resource
import sys


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
