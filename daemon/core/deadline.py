"""The time by which an answer is due."""

from __future__ import annotations

import asyncio

from msgspec import Struct


class Deadline(Struct, frozen=True):
    """The time by which an answer is due, in seconds on the event loop's clock."""

    at: float

    def left(self, most: float) -> float:
        """Return the seconds left, at most `most` and at least 0."""
        return max(min(self.at - asyncio.get_running_loop().time(), most), 0)
