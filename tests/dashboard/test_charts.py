"""Drawings are to scale, have words for those who can't see them, and no style that a page would refuse."""

from __future__ import annotations

import re

import pytest
from foveal.dashboard.drawings import BAR_WIDTH, ChartPart, stacked_bar


def widths(drawing: str) -> list[float]:
    return [float(width) for width in re.findall(r'<rect [^>]*width="([\d.]+)"', drawing)]


def test_a_bar_is_to_the_scale_of_its_whole() -> None:
    parts = [ChartPart(500, "a", "half"), ChartPart(250, "b", "quarter"), ChartPart(0, "c", "nothing")]
    first, second = widths(stacked_bar(parts, 1000, "tokens"))
    assert first == pytest.approx(BAR_WIDTH / 2, abs=1.1)
    assert second == pytest.approx(BAR_WIDTH / 4, abs=1.1)


def test_parts_too_small_to_see_are_shown_and_all_fit() -> None:
    parts = [
        ChartPart(1_000_000, "a", "most"),
        *(ChartPart(1, "b", f"part {number}") for number in range(50)),
    ]
    drawn = widths(stacked_bar(parts, 0, "tokens"))
    assert len(drawn) == 51
    assert min(drawn) >= 1.0
    assert sum(drawn) <= BAR_WIDTH


@pytest.mark.parametrize(
    "drawing",
    [stacked_bar([ChartPart(1, "a", "<script>", '"x')], 1, "<script>")],
)
def test_labels_are_escaped_and_nothing_has_a_style(drawing: str) -> None:
    assert "<script>" not in drawing
    assert "style=" not in drawing
    assert 'role="img" aria-label=' in drawing
