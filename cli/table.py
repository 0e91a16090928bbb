"""Tables: columns that are declared once, as wide as their content, cut to fit on the terminal's lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from .terminal import NARROW, columns, styled
from .text import clean, end_of_path, short_path, shortened

COLUMN_GAP = "  "

READABLE = 24
"""Characters that a column keeps that is cut, if spare columns can go instead; else it keeps `NARROW`."""

Cell = str | Callable[[Any], str]
"""The name of a row's field, or a function that makes a cell's text of the row."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its title, its cells, and the end that loses characters where lines have a limit.

    With `spare` it is left out before others get hard to read, the smallest number first.
    """

    title: str
    cell: Cell
    cut: Literal["", "path", "text"] = ""
    right: bool = False
    spare: int = 0

    def text(self, row: Any) -> str:
        """Return a row's cell."""
        if callable(self.cell):
            return clean(self.cell(row))
        value = row[self.cell]
        if self.cut == "path":
            return short_path(value)
        return clean("" if value is None else f"{value:,}" if self.right else str(value))


def number(title: str, cell: Cell, spare: int = 0) -> Column:
    """Return a column of numbers, flush right."""
    return Column(title, cell, right=True, spare=spare)


def path(title: str, cell: Cell) -> Column:
    """Return a column of paths, which lose their beginning."""
    return Column(title, cell, "path")


def words(title: str, cell: Cell, most: int = 0) -> Column:
    """Return a column of texts, which lose their end; none has more than `most` characters."""
    if not most:
        return Column(title, cell, "text")
    whole = cell if callable(cell) else lambda row: str(row.get(cell) or "")
    return Column(title, lambda row: shortened(whole(row), most), "text")


def table(shown: Sequence[Column], rows: Sequence[Mapping[str, Any] | Any]) -> str:
    """Return rows under a header."""
    header = [column.title for column in shown]
    cells = [[column.text(row) for column in shown] for row in rows]
    widths = {at: max(len(row[at]) for row in [header, *cells]) for at in range(len(header))}
    most = columns()
    if most is not None:
        widths = _fitted_columns(shown, widths, header, most)
    lines = []
    for row in [header, *cells]:
        parts = []
        for at, width in widths.items():
            cell = row[at]
            if len(cell) > width:
                cell = end_of_path(cell, width) if shown[at].cut == "path" else shortened(cell, width)
            parts.append(cell.rjust(width) if shown[at].right else cell.ljust(width))
        lines.append(COLUMN_GAP.join(parts).rstrip())
    return "\n".join([styled(lines[0], bold=True), *lines[1:]])


def _fitted_columns(
    shown: Sequence[Column], widths: dict[int, int], header: Sequence[str], most: int
) -> dict[int, int]:
    """Return the widths of the columns that stay, so that a line fits."""
    flexible = [at for at in widths if shown[at].cut]
    spare = sorted((at for at in widths if shown[at].spare), key=lambda at: shown[at].spare)
    while _total(_fitted(widths, flexible, header, most, READABLE)) > most and spare:
        del widths[spare.pop(0)]
    return _fitted(widths, flexible, header, most, NARROW)


def _fitted(
    widths: Mapping[int, int], flexible: Sequence[int], header: Sequence[str], most: int, least: int
) -> dict[int, int]:
    """Return the widths of columns so that a line fits, if the flexible ones can give so much. The widest
    gives first, and each keeps `least` characters or its header."""
    fitted = dict(widths)
    kept = {
        column: min(fitted[column], max(least, len(header[column])))
        for column in flexible
        if column in fitted
    }
    while _total(fitted) > most and (givers := [one for one in kept if fitted[one] > kept[one]]):
        fitted[max(givers, key=fitted.__getitem__)] -= 1
    return fitted


def _total(widths: Mapping[int, int]) -> int:
    return sum(widths.values()) + len(COLUMN_GAP) * (len(widths) - 1)
