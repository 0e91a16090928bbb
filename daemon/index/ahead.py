"""Owns what a process beside the indexer has yet to answer: what it was asked for, its starts, its death."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final, Generic, TypeVar

from .beside import Beside, Empty, MakeBeside

log = logging.getLogger(__name__)

Key = TypeVar("Key")
Given = TypeVar("Given")

STARTS_MAX: Final = 3
"""Maximum starts of such a process for one stretch of bulk work; after that the indexer works alone."""


class Ahead(Generic[Key, Given]):
    """Pieces of work that a process was asked for, and its answers in their order, on the indexer's thread.

    The process runs `module`, is told `opening`, and is started when it is asked first. At most `most` pieces
    are with it. `culprit` is the one that it was at when it ended by itself, to be taken by the caller.
    """

    def __init__(self, make: MakeBeside, module: str, opening: object, most: int) -> None:
        self.culprit: Key | None = None
        self._make = make
        self._module = module
        self._opening = opening
        self._most = most
        self._starts = 0
        self._beside: Beside | None = None
        self._away: dict[Key, Given] = {}

    def __contains__(self, key: object) -> bool:
        """Whether a piece of work is with the process."""
        return key in self._away

    def __len__(self) -> int:
        """How many pieces it was asked for and hasn't answered."""
        return len(self._away)

    @property
    def runs(self) -> bool:
        """Whether the process was started."""
        return self._beside is not None

    @property
    def room(self) -> int:
        """How many pieces more it takes now; none where it ended too often."""
        if self._beside is None and self._starts >= STARTS_MAX:
            return 0
        return self._most - len(self._away)

    def close(self) -> None:
        """End the process; what it was asked for and didn't answer is not done."""
        if self._beside is not None:
            self._beside.close()
            self._beside = None
        self._away.clear()

    def _send(self, message: object, pieces: Mapping[Key, Given]) -> None:
        """Ask for some pieces of work by one message; for none where no process can be started."""
        if self._beside is None:
            self._starts += 1
            try:
                self._beside = self._make(self._module, self._opening)
            except OSError as error:  # no memory, no processes or no descriptors are left
                log.warning("%s can't be started: %s", self._module, error)
                return
        self._away.update(pieces)
        self._beside.send(message)

    def _receive(self, seconds: float) -> object | None:
        """Return the next answer, waiting for it for so long; None without one, or when the process ended."""
        if self._beside is None or not self._away:
            return None
        try:
            answer = self._beside.take(seconds)
        except Empty:
            return None
        if answer is None:
            self.culprit = next(iter(self._away))
            log.warning("%s ended while it was at %s", self._module, self.culprit)
            self.close()
        return answer
