"""Owns the folded text: lines under their true numbers, with a count where others were left out."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.lazy_dataclass import dataclass
from .document import Document
from .selection import Selection


@dataclass(frozen=True, slots=True)
class Folded:
    """A text with parts left out, and how many of its lines that aren't blank these are."""

    text: str
    left_out_lines: int


class Rows:
    """The lines of a document that aren't blank, as parts of a selection: what each costs, and how they read.

    `parts` are the indexes of the lines, `place` finds a line among them. `lines` stand in for those of the
    document where a shorter form of some is to be shown.
    """

    def __init__(self, document: Document, lines: Sequence[str] | None = None) -> None:
        self._document = document
        self._lines = document.lines if lines is None else lines
        self._width = width_of(document.count)
        self.parts = [index for index, indent in enumerate(document.indents) if indent >= 0]
        self.place = {line: part for part, line in enumerate(self.parts)}

    def cost(self, line: int) -> int:
        """Return the characters of a line with its number and its end."""
        return len(self._lines[line]) + self._width + 3

    def selection(self, characters: int) -> Selection:
        """Return a selection of these lines, none of them shown as yet, for so many characters."""
        gap_cost = len(gap(max(self._document.count, 2), self._width)) + 1
        costs = [self.cost(line) for line in self.parts]
        numbers = self._document.numbers
        if self._document.count > len(numbers):
            # Lines that were left out before are marked between any two that are shown.
            for part in range(1, len(costs)):
                if numbers[self.parts[part]] != numbers[self.parts[part - 1]] + 1:
                    costs[part] += gap_cost
            characters -= gap_cost
        return Selection(costs, characters, gap_cost)

    def render(self, selection: Selection, first_row: str = "") -> Folded:
        """Return what is shown, each line after its number, with marks for the rest.

        Empty if nothing is shown. A line that isn't whole counts as left out.
        """
        rows = [first_row] if first_row else []
        numbers, left_out, done = self._document.numbers, 0, 0
        for part, line in enumerate(self.parts):
            if not selection.shown[part]:
                continue
            hidden = self._document.filled_between(done, numbers[line])
            if hidden:
                rows.append(gap(hidden, self._width))
            rows.append(numbered(self._lines[line], numbers[line] + 1, self._width))
            left_out += hidden + (self._lines[line] is not self._document.lines[line])
            done = numbers[line] + 1
        hidden = self._document.filled_between(done, self._document.count)
        if hidden:
            rows.append(gap(hidden, self._width))
        return Folded("\n".join(rows) if done else "", left_out + hidden)


def numbered(line: str, number: int, width: int) -> str:
    """Return a line after its number, which is right-aligned in `width` characters."""
    return f"{number:>{width}}  {line}"


def gap(count: int, width: int) -> str:
    """Return what stands for so many lines that were left out."""
    return f"{'…':>{width}}  {count_of(count)}"


def count_of(lines: int) -> str:
    """Return a number of lines in words."""
    return f"{lines:,} line{'s' * (lines != 1)}"


def width_of(lines: int) -> int:
    """Return how many characters the numbers of so many lines take."""
    return len(str(max(lines, 1)))
