"""Curves of one line show what is largest, and gaps where there is nothing."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from foveal.cli.metrics import sparkline


@pytest.mark.parametrize(
    ("values", "width", "expected"),
    [
        ([], 10, ""),
        ([0, 0], 10, "▁▁"),
        ([0, 1, 2, 3, 4, 5, 6, 7], 10, "▁▂▃▄▅▆▇█"),
        ([None, 8, None, 4], 10, " █ ▅"),
        ([None, None], 10, "  "),
        ([0.0, 0.001], 10, "▁█"),
        ([1, 9, 1, 1, 0, 0], 3, "█▂▁"),
        ([None, 2, None, None, 1], 2, "█▅"),
        ([1, 2, 3], 0, ""),
    ],
)
def test_numbers_become_bars(values: Sequence[float | None], width: int, expected: str) -> None:
    assert sparkline(values, width) == expected


@pytest.mark.parametrize("count", [1, 59, 60, 61, 119, 360])
def test_a_peak_is_seen_wherever_it_lies(count: int) -> None:
    for place in range(count):
        drawn = sparkline([float(one == place) for one in range(count)], 60)
        assert len(drawn) == min(count, 60)
        assert drawn.count("█") == 1
