"""An indexer whose disk has files that end it: python -m benchmarks.faults.faulty_worker DESCRIPTOR.

What a file does is told by the beginning of its name; `faulty_daemon.py` starts a daemon with this indexer.
"""

from __future__ import annotations

import os
import re

from foveal.daemon.core.system import System
from foveal.daemon.index.crash_guard import set_alarm
from foveal.daemon.index.worker import main

HANG_S = 1.0
"""In the place of the half minute that a file gets."""


class FaultySystem(System):
    """The real disk, but for files that end or hold up who reads them."""

    def read(self, path: str, limit: int | None = None) -> tuple[bytes, os.stat_result]:
        """Read a file, if that comes back."""
        name = os.path.basename(path)
        if name.startswith("hangs"):
            # In C and without ever letting another thread run, as a parser that never returns.
            re.match(r"(a+)+$", "a" * 64 + "b")
        return super().read(path, limit)


def _alarm(seconds: float) -> None:
    set_alarm(min(seconds, HANG_S))


if __name__ == "__main__":
    main(FaultySystem(), _alarm)
