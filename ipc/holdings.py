"""Owns what all connections together may hold in memory, and who gives way; knows no socket and no frame."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

H = TypeVar("H")


class Holdings(Generic[H]):
    """Bytes by holder. Above the limit those that made no progress for the longest are cut off.

    Whoever was cut off counts until it is released, which `cut_off` may do: what it holds may be freed later,
    as the buffers of a connection are in the next turn of the loop.
    """

    def __init__(self, limit_bytes: int, cut_off: Callable[[H], None]) -> None:
        self._limit = limit_bytes
        self._cut_off = cut_off
        self._sizes: OrderedDict[H, int] = OrderedDict()
        self._going: set[H] = set()
        self.bytes = 0

    def hold(self, holder: H, size: int) -> None:
        """Note how many bytes a holder has now; one that is new is the last to give way."""
        self.bytes += size - self._sizes.get(holder, 0)
        self._sizes[holder] = size
        while self.bytes > self._limit:
            first = next((one for one in self._sizes if one not in self._going), None)
            if first is None:
                return
            self._going.add(first)
            self._cut_off(first)
            if first in self._sizes:
                return

    def progress(self, holder: H, size: int) -> None:
        """Note how many bytes a holder has now that it made progress: it is the last to give way."""
        if holder in self._sizes:
            self._sizes.move_to_end(holder)
        self.hold(holder, size)

    def release(self, holder: H) -> None:
        """Note that a holder has nothing any more; once more changes nothing."""
        self.bytes -= self._sizes.pop(holder, 0)
        self._going.discard(holder)


class Working:
    """Bytes of the large requests that are being answered. While these are too many, large ones wait.

    They wait too while the loop rests from one. Small ones never do, so that whoever sends a lot holds up
    nobody else.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._waiting: OrderedDict[Callable[[], None], None] = OrderedDict()
        self._resting = 0
        self.bytes = 0

    @property
    def full(self) -> bool:
        """Whether a large request has to wait."""
        return self._resting > 0 or self.bytes >= self._limit

    def begin(self, size: int) -> None:
        """Count a request that begins."""
        self.bytes += size

    def end(self, size: int) -> None:
        """Count a request that ended, and let those go on that waited for that."""
        self.bytes -= size
        self._wake()

    def rest(self) -> None:
        """Let large requests wait until `resume`, however few are at work; rests may overlap."""
        self._resting += 1

    def resume(self) -> None:
        """End one rest, and let those go on that waited for that."""
        self._resting -= 1
        self._wake()

    def wait(self, go_on: Callable[[], None]) -> None:
        """Call back once when there is room; asking twice counts once."""
        self._waiting[go_on] = None

    def forget(self, go_on: Callable[[], None]) -> None:
        """Call back no more."""
        self._waiting.pop(go_on, None)

    def _wake(self) -> None:
        while self._waiting and not self.full:
            self._waiting.popitem(last=False)[0]()
