"""Drawings as SVG: a context to scale with its layers and slices, and the bar of its budget.

Positions are shares of the drawing, so that it takes whatever width its place has and its labels stay as
large as other text. Nothing in it has a `style`, which the page's content policy refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from markupsafe import Markup, escape

from .pages.slices import LAYERS, TYPES, SliceRow

SHAPE: Final = (760.0, 540.0)
"""Width and height of the drawing in pixels on a usual screen, for the shapes of boxes."""

GAP: Final = 1.2
"""Gap between two layers in percent of the height."""

LEAST_LAYER: Final = 7.0
"""Minimum height of a layer in percent, so that it can be read; the caption says so."""

CELLS_MAX: Final = 120
"""Maximum slices drawn of a layer, the largest ones; the others share a box."""


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer with its rows, its share (0..1) of all slices' tokens, its place in percent of the height."""

    name: str
    title: str
    text: str
    rows: tuple[SliceRow, ...]
    tokens: int
    share: float
    y: float
    height: float

    @property
    def is_enlarged(self) -> bool:
        """Whether it is drawn thicker than its tokens say."""
        return self.share * 100 < LEAST_LAYER * 0.9


def layers_of(rows: Sequence[SliceRow]) -> list[Layer]:
    """Return the layers that have slices, from the top."""
    members = {name: tuple(row for row in rows if row.layer == name) for name in LAYERS}
    tokens = {name: sum(row.tokens for row in inside) for name, inside in members.items() if inside}
    total = sum(tokens.values()) or 1
    room = 100.0 - GAP * max(len(tokens) - 1, 0)
    heights = _heights({name: count / total for name, count in tokens.items()}, room)
    layers, y = [], 0.0
    for name, count in tokens.items():
        title, text = LAYERS[name]
        layers.append(Layer(name, title, text, members[name], count, count / total, y, heights[name]))
        y += heights[name] + GAP
    return layers


def sandwich(rows: Sequence[SliceRow], link: Callable[[SliceRow], str]) -> Markup:
    """Return the drawing. `link` gives the address of what a slice's box leads to."""
    layers = layers_of(rows)
    names = Markup("").join(_name(layer) for layer in layers)
    bands = Markup("").join(_band(layer, link) for layer in layers)
    said = "; ".join(f"{layer.title} {layer.tokens:,} tokens" for layer in layers)
    return Markup(
        '<div class="sandwich"><svg class="names" aria-hidden="true">{}</svg>'
        '<svg class="bands" role="group" aria-label="The context to scale of its tokens: {}">{}</svg></div>'
    ).format(names, said, bands)


def _heights(shares: dict[str, float], room: float) -> dict[str, float]:
    """Return the heights of layers in percent: to scale, but none below the least."""
    low = {name for name, share in shares.items() if share * room < LEAST_LAYER}
    rest = sum(share for name, share in shares.items() if name not in low)
    left = room - LEAST_LAYER * len(low)
    return {
        name: LEAST_LAYER if name in low else share / rest * left if rest else room / len(shares)
        for name, share in shares.items()
    }


def _name(layer: Layer) -> Markup:
    return Markup(
        '<svg class="layer {}" y="{:.2f}%" width="100%" height="{:.2f}%">'
        '<rect width="4" height="100%" rx="2"/>'
        '<foreignObject x="10" width="100%" height="100%"><div class="name"><strong>{}</strong> '
        "<span>{:,}</span> <span>{}</span></div></foreignObject></svg>"
    ).format(layer.name, layer.y, layer.height, layer.title, layer.tokens, percent(layer.share))


def _band(layer: Layer, link: Callable[[SliceRow], str]) -> Markup:
    """Draw the slices of a layer."""
    inside = sorted(layer.rows, key=lambda row: -row.tokens)
    inside, others = inside[:CELLS_MAX], inside[CELLS_MAX:]
    values = [max(row.tokens, 1) for row in inside]
    if others:
        values.append(max(sum(row.tokens for row in others), 1))
    width, height = SHAPE[0], SHAPE[1] * layer.height / 100
    boxes = treemap([float(value) for value in values], width, height)
    cells = [_cell(row, box, link(row), width, height) for row, box in zip(inside, boxes, strict=False)]
    if others:
        cells.append(_rest(others, boxes[-1], link(others[0]), width, height))
    return Markup('<svg class="band {}" y="{:.2f}%" width="100%" height="{:.2f}%">{}</svg>').format(
        layer.name, layer.y, layer.height, Markup("").join(cells)
    )


def _cell(row: SliceRow, box: Box, address: str, width: float, height: float) -> Markup:
    kinds = f"t-{row.type} short" if row.compressed else f"t-{row.type}"
    return Markup(
        '<foreignObject {}><a class="cell {}" href="{}" data-slice="{}" title="{}"><b>{}</b> <i>{:,}</i></a>'
        "</foreignObject>"
    ).format(_place(box, width, height), kinds, address, row.at, row.summary, row.label, row.tokens)


def _rest(rows: Sequence[SliceRow], box: Box, address: str, width: float, height: float) -> Markup:
    tokens = sum(row.tokens for row in rows)
    return Markup(
        '<foreignObject {}><a class="cell rest" href="{}" title="{:,} smaller slices: {:,} tokens">'
        "<b>{:,} more</b> <i>{:,}</i></a></foreignObject>"
    ).format(_place(box, width, height), address, len(rows), tokens, len(rows), tokens)


def _place(box: Box, width: float, height: float) -> Markup:
    """Write where a box lies, in percent of its layer."""
    return Markup('x="{:.2f}%" y="{:.2f}%" width="{:.2f}%" height="{:.2f}%"').format(
        box.x / width * 100, box.y / height * 100, box.width / width * 100, box.height / height * 100
    )


def percent(share: float) -> str:
    """Write a share so that a small one isn't nothing."""
    if share >= 0.1:
        return f"{share:.0%}"
    return f"{share:.1%}" if share >= 0.001 else "below 0.1%"


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
    """Return the largest ratio of the longer to the shorter side among the boxes of a row."""
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
        for area in row:
            length = area / thickness
            boxes.append(Box(free.x, y, thickness, length))
            y += length
        return Box(free.x + thickness, free.y, max(free.width - thickness, 0.0), free.height)
    thickness, x = area / free.width, free.x
    for area in row:
        length = area / thickness
        boxes.append(Box(x, free.y, length, thickness))
        x += length
    return Box(free.x, free.y + thickness, free.width, max(free.height - thickness, 0.0))


@dataclass(frozen=True, slots=True)
class TokenUse:
    """A use of the budget: the class of its colour, what it is, its tokens, and the number of its slices (0
    for text that is no slice)."""

    kind: str
    label: str
    tokens: int
    slices: int = 0


def uses_of(context: Mapping[str, Any], rows: Sequence[SliceRow]) -> list[TokenUse]:
    """Return the uses of a context's `max_tokens`: by slice type in the order of the layers, then the text
    around slices, free tokens, and the reserve for the answer."""
    types = [*TYPES, *sorted({row.type for row in rows} - TYPES.keys())]
    found = []
    for kind in types:
        inside = [row for row in rows if row.type == kind]
        if inside:
            label = inside[0].kind
            found.append(TokenUse(f"t-{kind}", label, sum(row.tokens for row in inside), len(inside)))
    # Each slice's tokens are rounded up by itself, so that together they may count more than the text.
    around = context["tokens"] - sum(use.tokens for use in found)
    taken = max(context["tokens"], sum(use.tokens for use in found))
    free = context["max_tokens"] - context["reserve_tokens"] - taken
    for kind, label, tokens in (
        ("t-frame", "headings", around),
        ("t-free", "left free", free),
        ("t-reserved", "reserved for the answer", context["reserve_tokens"]),
    ):
        if tokens > 0:
            found.append(TokenUse(kind, label, tokens))
    return found


def by_layer(uses: Sequence[TokenUse], rows: Sequence[SliceRow]) -> dict[str, list[TokenUse]]:
    """Return the uses by slices of each layer."""
    layers = {f"t-{row.type}": row.layer for row in rows}
    found: dict[str, list[TokenUse]] = {}
    for use in uses:
        if use.kind in layers:
            found.setdefault(layers[use.kind], []).append(use)
    return found


def budget_bar(context: Mapping[str, Any], uses: Sequence[TokenUse]) -> Markup:
    """Return the bar of a context's `max_tokens`."""
    said = ", ".join(f"{use.label} {use.tokens:,}" for use in uses)
    return stacked_bar(
        (ChartPart(use.tokens, use.kind, f"{use.label}: {use.tokens:,} tokens") for use in uses),
        context["max_tokens"],
        f"{context['max_tokens']:,} tokens: {said}",
    )


BAR_WIDTH = 1000.0
"""Size of a bar in SVG units; it is stretched to the available width."""

LEAST = 3.0
"""Minimum width of a part of a bar in SVG units, so that it can be seen and pointed at."""


@dataclass(frozen=True, slots=True)
class ChartPart:
    """A part of a bar: how much, what colour (a class of the style), what it says when pointed at, and the
    id of the element that it leads to, if any."""

    value: float
    kind: str
    label: str
    leads_to: str = ""


def stacked_bar(parts: Iterable[ChartPart], total: float, label: str, height: float = 22.0) -> Markup:
    """Return parts side by side, to the scale of `total`, or of their sum where that is more.

    A part that would be too small to see takes `LEAST` units; what is over is taken from the others alike.
    """
    shown = [part for part in parts if part.value > 0]
    whole = max(total, sum(part.value for part in shown)) or 1.0
    widths = [max(part.value / whole * BAR_WIDTH, LEAST) for part in shown]
    over = sum(widths) - BAR_WIDTH
    if over > 0:
        widths = [width * BAR_WIDTH / (BAR_WIDTH + over) for width in widths]
    drawn, x = [], 0.0
    for part, width in zip(shown, widths, strict=True):
        rectangle = Markup(
            '<rect class="part {}" x="{:.1f}" y="0" width="{:.1f}" height="{:.0f}"><title>{}</title></rect>'
        ).format(part.kind, x, max(width - 1.0, 1.0), height, part.label)
        if part.leads_to:
            rectangle = Markup('<a href="#{}" tabindex="-1">{}</a>').format(part.leads_to, rectangle)
        drawn.append(rectangle)
        x += width
    return Markup(
        '<svg class="stacked" viewBox="0 0 {:.0f} {:.0f}" preserveAspectRatio="none" role="img" '
        'aria-label="{}">'
        "{}</svg>"
    ).format(BAR_WIDTH, height, escape(label), Markup("").join(drawn))
