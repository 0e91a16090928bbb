"""Owns how a rectangle is shared out: boxes whose areas are to scale of values; not what they show.

The layout is the squarified one of Bruls, Huizing and van Wijk (2000): the largest first, in rows along the
shorter side, each row taking one more box as long as that makes its boxes more like squares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle, in the units of the one that was shared out."""

    x: float
    y: float
    width: float
    height: float


def treemap(values: Sequence[float], width: float, height: float) -> list[Box]:
    """Return a box for each value, in their order, which together fill a rectangle at (0, 0).

    Values must be above 0; those that come in falling order give the best shapes.
    """
    total = sum(values)
    areas = [value / total * width * height for value in values]
    boxes: list[Box] = []
    free = Box(0.0, 0.0, width, height)
    row: list[float] = []
    for area in areas:
        side = min(free.width, free.height)
        if row and _worst([*row, area], side) > _worst(row, side):
            free = _lay(row, free, boxes)
            row = []
        row.append(area)
    if row:
        _lay(row, free, boxes)
    return boxes


def _worst(row: Sequence[float], side: float) -> float:
    """Return the longer side of a row's most elongated box, in its shorter ones."""
    thickness = sum(row) / side if side else 0.0
    if not thickness:
        return float("inf")
    lengths = (area / thickness for area in row)
    return max(max(length / thickness, thickness / length) for length in lengths)


def _lay(row: Sequence[float], free: Box, boxes: list[Box]) -> Box:
    """Add a row's boxes along the shorter side of what is free; returns what is left."""
    area = sum(row)
    if free.width >= free.height:
        thickness, y = area / free.height, free.y
        for one in row:
            length = one / thickness
            boxes.append(Box(free.x, y, thickness, length))
            y += length
        return Box(free.x + thickness, free.y, max(free.width - thickness, 0.0), free.height)
    thickness, x = area / free.width, free.x
    for one in row:
        length = one / thickness
        boxes.append(Box(x, free.y, length, thickness))
        x += length
    return Box(free.x, free.y + thickness, free.width, max(free.height - thickness, 0.0))
