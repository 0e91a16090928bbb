"""A daemon whose wall clock others set: `FAULTS_CLOCK` names a file with the seconds that it is ahead.

Started as python -m foveal.benchmarks.faults.jumping_clock, in the place of foveal up --foreground. Only what
asks the seam of the daemon, `System`, sees it; the indexer and the kernel's times of files don't.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from foveal.__main__ import main
from foveal.daemon.core.system import System

VARIABLE = "FAULTS_CLOCK"
COMMAND = (sys.executable, "-m", "foveal.benchmarks.faults.jumping_clock")


def set_clock(path: Path, seconds: float) -> None:
    """Let the clock be so many seconds ahead, or behind."""
    other = path.with_suffix(".tmp")
    other.write_text(repr(seconds))
    other.replace(path)


def _ahead() -> float:
    return float(Path(os.environ[VARIABLE]).read_text())


def _clock_ns(_: System) -> int:
    return time.time_ns() + int(_ahead() * 1e9)


if __name__ == "__main__":
    System.clock_ns = _clock_ns  # type: ignore[assignment, method-assign] # the daemon makes its own
    sys.argv = ["foveal", "up", "--foreground"]
    main()
