"""The description of the machine: its cores, Python, and its load when a run began."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from datetime import UTC, datetime

BUSY = 1.0
"""A load average (of a minute) above this makes times say more about others than about the product."""


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine and the moment: `load` are the averages of 1, 5 and 15 minutes when the run began."""

    description: str
    date: str
    load: tuple[float, float, float]

    @property
    def warning(self) -> str:
        """Return what is to be said of the load, "" where it is low enough."""
        if self.load[0] <= BUSY:
            return ""
        return (
            f"the load was {self.load[0]:.1f} when this run began: times are those of a busy machine, so "
            "compare the ratios to the baselines, not the times to the targets"
        )


def look() -> Machine:
    """Return the machine as it is now."""
    description = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    return Machine(description, datetime.now(UTC).date().isoformat(), os.getloadavg())
