"""Owns the selection: which parts of a text are shown within so many characters, with marks for the rest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

GAP_PARTS = 2
"""Gaps of at most so many parts are filled with what room is left at the end."""


class Selection:
    """Parts of a text that are shown, in order, and what they and the marks of the gaps between them cost.

    `costs[i]` are the characters of part i with the end of its line. A run of parts that aren't shown is
    marked once, which costs `gap_cost`.
    """

    def __init__(self, costs: Sequence[int], room: int, gap_cost: int) -> None:
        self._costs = costs
        self._gap_cost = gap_cost
        self._count = len(costs)
        self.room = room - (gap_cost if costs else 0)
        self.shown = bytearray(self._count)

    def add(self, parts: Iterable[int]) -> bool:
        """Show parts, all of them or, where the room doesn't do, none; whether they are shown."""
        added: list[int] = []
        room = self.room
        for part in parts:
            if self.shown[part]:
                continue
            self.shown[part] = 1
            added.append(part)
            room -= self._costs[part] + self._gap_cost * self._more_gaps(part)
        # A selection of everything has no gap, and may be cheaper than what led to it.
        if room < 0:
            for part in reversed(added):
                self.shown[part] = 0
            return False
        self.room = room
        return True

    def add_joined(self, parts: Sequence[int]) -> bool:
        """Show parts as `add` does, and a single part between two that are shown then, if there is room.

        Its mark would take nearly as much, and say less.
        """
        if not self.add(parts):
            return False
        for part in parts:
            for between, beyond in ((part - 1, part - 2), (part + 1, part + 2)):
                if 0 <= beyond < self._count and self.shown[beyond] and not self.shown[between]:
                    self.add((between,))
        return True

    def fill_gaps(self) -> None:
        """Show what is in gaps of one or two parts, the cheapest first, while there is room."""
        small = [(start, end) for start, end in self.gaps() if end - start <= GAP_PARTS]
        for start, end in sorted(small, key=lambda one: sum(self._costs[one[0] : one[1]])):
            self.add(range(start, end))

    def gaps(self) -> Iterable[tuple[int, int]]:
        """Yield the runs that aren't shown: first part, and the one after the last."""
        start = self.shown.find(0)
        while start >= 0:
            end = self.shown.find(1, start)
            end = self._count if end < 0 else end
            yield start, end
            start = self.shown.find(0, end)

    def _more_gaps(self, part: int) -> int:
        """Return by how many gaps there are more once a part, marked already, is shown: -1, 0 or 1."""
        left = part > 0 and not self.shown[part - 1]
        right = part + 1 < self._count and not self.shown[part + 1]
        return int(left) + int(right) - 1
