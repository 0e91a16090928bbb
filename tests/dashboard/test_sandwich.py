"""The drawing of a context is to scale of its tokens, leads to each slice, and can't be broken out of."""

from __future__ import annotations

import re

import pytest
from foveal.dashboard.drawings import (
    LEAST_CELL,
    SHAPE,
    budget_bar,
    by_layer,
    layers_of,
    sandwich,
    treemap,
    uses_of,
)
from foveal.dashboard.pages.slices import slice_rows
from hypothesis import given
from hypothesis import strategies as st

from tests.context_cases import context_map, slice_map

CELL = re.compile(
    r'<foreignObject x="([\d.]+)%" y="([\d.]+)%" width="([\d.]+)%" height="([\d.]+)%"><a class="cell ([^"]*)"'
    r' href="([^"]*)" data-slice="(\d+)" title="([^"]*)">'
)
SLICES = [
    slice_map("rule:CLAUDE.md", 500, "anchor"),
    slice_map("focus:src/a.py", 1500),
    slice_map("dependency:src/b.py", 500, compressed=True, tokens_before=900),
    slice_map("skeleton", 500, "horizon"),
]


def test_the_heights_of_layers_and_the_areas_of_slices_are_to_scale() -> None:
    rows = slice_rows(SLICES)
    layers = layers_of(rows)
    assert [layer.name for layer in layers] == ["anchor", "focus", "horizon"]
    assert [layer.tokens for layer in layers] == [500, 2000, 500]
    assert layers[1].height / layers[0].height == pytest.approx(4)
    heights = {layer.name: layer.height for layer in layers}
    areas = {}
    for _, _, width, height, _, _, at, _ in CELL.findall(sandwich(rows, lambda row: f"#slice-{row.at}")):
        areas[int(at)] = float(width) * float(height) * heights[rows[int(at)].layer]
    assert areas.keys() == {0, 1, 2, 3}
    for at, area in areas.items():
        assert area / areas[1] == pytest.approx(rows[at].tokens / rows[1].tokens, rel=0.01)


def test_each_box_leads_to_its_slice_and_says_what_it_is() -> None:
    cells = CELL.findall(sandwich(slice_rows(SLICES), lambda row: f"?page=2#slice-{row.at}"))
    kinds = {int(at): (kind, address, title) for _, _, _, _, kind, address, at, title in cells}
    assert kinds[2] == (
        "t-dependency short",
        "?page=2#slice-2",
        "src/b.py: neighbour, 500 tokens of 900, shortened",
    )
    assert kinds[1][0] == "t-focus"


def test_the_smallest_slices_share_a_box() -> None:
    most = int(SHAPE[0] * SHAPE[1] / LEAST_CELL)
    rows = slice_rows([slice_map(f"dependency:m{number}.py", 40 - number // 10) for number in range(150)])
    drawing = sandwich(rows, lambda row: "#x")
    cells = CELL.findall(drawing)
    assert len(cells) == most - 1
    assert f"{150 - most + 1} more" in drawing
    for _, _, width, height, *_ in cells:
        across, down = float(width) / 100 * SHAPE[0], float(height) / 100 * SHAPE[1]
        assert across >= 48
        assert down >= 20
        assert across * down >= LEAST_CELL * 0.99


def test_nothing_breaks_out_of_the_drawing() -> None:
    drawing = sandwich(slice_rows([slice_map('focus:"><script>x.py', 5)]), lambda row: '"><b>')
    assert "<script>" not in drawing
    assert '"><b>"' not in drawing
    assert "style=" not in drawing


def test_the_budget_bar_tells_what_was_free_and_what_was_reserved() -> None:
    context = context_map(SLICES)
    rows = slice_rows(SLICES)
    uses = uses_of(context, rows)
    assert [(use.label, use.tokens) for use in uses] == [
        ("rule", 500),
        ("in focus", 1500),
        ("neighbour", 500),
        ("map", 500),
        ("headings", 10),
        ("left free", 2990),
        ("reserved for the answer", 2000),
    ]
    assert sum(use.tokens for use in uses) == context["max_tokens"]
    assert budget_bar(context, uses).count("<rect") == len(uses)
    assert [use.label for use in by_layer(uses, rows)["focus"]] == ["in focus", "neighbour"]


@given(st.lists(st.floats(1, 10_000), min_size=1, max_size=40), st.floats(10, 2_000), st.floats(10, 2_000))
def test_boxes_are_to_scale_and_fill_their_rectangle(
    values: list[float], width: float, height: float
) -> None:
    boxes = treemap(values, (0.0, 0.0, width, height))
    scale = width * height / sum(values)
    for value, (x, y, across, down) in zip(values, boxes, strict=True):
        assert across * down == pytest.approx(value * scale, rel=1e-6)
        assert -1e-6 <= x <= x + across <= width * (1 + 1e-6)
        assert -1e-6 <= y <= y + down <= height * (1 + 1e-6)
    assert {(round(box[2]), round(box[3])) for box in treemap([1.0] * 4, (0, 0, 100, 100))} == {(100, 25)}
