"""Owns curves of one line: numbers as bars of eight heights; knows no daemon."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

BARS = "▁▂▃▄▅▆▇█"
GAP = " "
"""Where there is no number."""


def sparkline(values: Sequence[float | None], width: int) -> str:
    """Return numbers from 0 up as a curve of at most `width` characters, the largest as the full height.

    Where there are more numbers than characters, each character shows the largest of its share: what is
    looked for in a curve is its peaks. Zero is the lowest bar, None a gap.
    """
    shown = [_largest(part) for part in _parts(values, width)]
    top = max((one for one in shown if one is not None), default=0.0)
    return "".join(GAP if one is None else _bar(one, top) for one in shown)


def _bar(value: float, top: float) -> str:
    return BARS[round(value / top * (len(BARS) - 1))] if top else BARS[0]


def _largest(values: Sequence[float | None]) -> float | None:
    return max((one for one in values if one is not None), default=None)


def _parts(values: Sequence[float | None], width: int) -> list[Sequence[float | None]]:
    """Divide values into so many runs at most, as equal as can be."""
    count = min(len(values), width)
    edges = [place * len(values) // count for place in range(count + 1)] if count else [0]
    return [values[start:end] for start, end in pairwise(edges)]
