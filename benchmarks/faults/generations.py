"""A project all of whose files change together: whatever a daemon says of it shows how old it is."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

SYMBOLS_MAX = 500
EDITED = 8
"""While so many files are read that were just saved, a project goes on to be ready."""
_GENERATION = re.compile(r"walrus_(\d+)_of_(\d+)")


@dataclass
class Generations:
    """A project of `count` files at `root`; each defines one function, named for the generation."""

    root: Path
    count: int
    now: int = 0

    def write(self, numbers: Iterable[int] | None = None) -> None:
        """Write all files of the next generation, or only some of them, which leaves two in the project."""
        self.now += 1
        for number in range(self.count) if numbers is None else numbers:
            path = self.root / f"d{number % 40}" / f"f{number}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"def walrus_{number}_of_{self.now}() -> int:\n    return {self.now}\n")
