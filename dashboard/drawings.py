"""Drawings as SVG: a context to scale with its layers and slices, and the bar of its budget.

Positions are shares of the drawing, so that it takes whatever width its place has and its labels stay as
large as other text. Nothing in it has a `style`, which the page's content policy refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from markupsafe import Markup

from .pages.slices import LAYERS, TYPES, SliceRow

SHAPE: Final = (600.0, 520.0)
"""Width and height of the drawing in pixels on a usual screen, for the shapes of boxes."""

GAP: Final = 1.2
"""Gap between two layers in percent of the height."""

LEAST_LAYER: Final = 7.0
"""Minimum height of a layer in percent, so that it can be read; the caption says so."""

LEAST_CELL: Final = 3_000.0
"""Minimum area of a box in square pixels of `SHAPE`, so that its label can be read; the caption says so."""

WIDE: Final = 2.5
"""Width of a box by its height from which it is cut across: labels want wide boxes."""


Box = tuple[float, float, float, float]
"""A rectangle: x, y, width, height."""


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
    """Return the layers that have slices, from the top, to scale but none below the least height."""
    members = {name: tuple(row for row in rows if row.layer == name) for name in LAYERS}
    tokens = {name: sum(row.tokens for row in inside) for name, inside in members.items() if inside}
    total = sum(tokens.values()) or 1
    room = 100.0 - GAP * max(len(tokens) - 1, 0)
    low = {name for name, count in tokens.items() if count / total * room < LEAST_LAYER}
    scale = (room - LEAST_LAYER * len(low)) / (sum(tokens[name] for name in tokens.keys() - low) or 1)
    layers, y = [], 0.0
    for name, count in tokens.items():
        title, text = LAYERS[name]
        height = LEAST_LAYER if name in low else count * scale
        layers.append(Layer(name, title, text, members[name], count, count / total, y, height))
        y += height + GAP
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


def _name(layer: Layer) -> Markup:
    return Markup(
        '<svg class="layer {}" y="{:.2f}%" width="100%" height="{:.2f}%">'
        '<rect width="4" height="100%" rx="2"/>'
        '<foreignObject x="10" width="100%" height="100%"><div class="name"><strong>{}</strong> '
        "<span>{:,}</span> <span>{}</span></div></foreignObject></svg>"
    ).format(layer.name, layer.y, layer.height, layer.title, layer.tokens, percent(layer.share))


def _band(layer: Layer, link: Callable[[SliceRow], str]) -> Markup:
    """Draw the slices of a layer."""
    width, height = SHAPE[0], SHAPE[1] * layer.height / 100
    inside, most = sorted(layer.rows, key=lambda row: -row.tokens), int(width * height / LEAST_CELL)
    others = inside[most - 1 :] if len(inside) > most else []  # those without room for a label share a box
    inside = inside[: len(inside) - len(others)]
    cells = [
        (
            f"t-{row.type} short" if row.compressed else f"t-{row.type}",
            row,
            row.summary,
            row.symbol or row.label,
            f"{row.label.partition('#')[0]}, {row.tokens:,}" if row.symbol else f"{row.tokens:,}",
            row.tokens,
        )
        for row in inside
    ]
    if others:
        tokens, more = sum(row.tokens for row in others), f"{len(others):,} more"
        cells.append(("rest", others[0], f"{more} slices: {tokens:,} tokens", more, f"{tokens:,}", tokens))
    areas = readable([float(max(tokens, 1)) for *_, tokens in cells], LEAST_CELL / (width * height))
    boxes = treemap(areas, (0.0, 0.0, width, height))
    drawn = [
        Markup(
            '<foreignObject x="{:.2f}%" y="{:.2f}%" width="{:.2f}%" height="{:.2f}%">'
            '<a class="cell {}" href="{}"{} title="{}"><b>{}</b> <i>{}</i></a></foreignObject>'
        ).format(
            *(x / width * 100, y / height * 100, across / width * 100, down / height * 100),
            *(
                kind,
                link(row),
                Markup(' data-slice="{}"').format(row.at) if kind != "rest" else "",
                said,
                label,
                about,
            ),
        )
        for (kind, row, said, label, about, _), (x, y, across, down) in zip(cells, boxes, strict=True)
    ]
    return Markup('<svg class="band {}" y="{:.2f}%" width="100%" height="{:.2f}%">{}</svg>').format(
        layer.name, layer.y, layer.height, Markup("").join(drawn)
    )


def percent(share: float) -> str:
    """Write a share so that a small one isn't nothing."""
    if share >= 0.1:
        return f"{share:.0%}"
    return f"{share:.1%}" if share >= 0.001 else "below 0.1%"


def readable(values: Sequence[float], least: float) -> list[float]:
    """Return the shares of values in their sum, none below `least`; what small ones gain, the others give."""
    low: set[int] = set()
    while True:
        rest = sum(value for at, value in enumerate(values) if at not in low)
        scale = (1 - least * len(low)) / rest if rest else 0.0
        below = {at for at, value in enumerate(values) if at not in low and value * scale < least}
        if not below or len(low | below) == len(values):
            return [least if at in low else value * scale for at, value in enumerate(values)]
        low |= below


def treemap(values: Sequence[float], box: Box) -> list[Box]:
    """Return a box for each value, in their order, which together fill a box: it is cut into halves of about
    the same sum, side by side where it is wide, and these again. Values must be above 0."""
    if len(values) == 1:
        return [box]
    total, at, first = sum(values), 1, values[0]
    while at < len(values) - 1 and first + values[at] / 2 < total / 2:
        first += values[at]
        at += 1
    x, y, width, height = box
    share = first / total
    if width >= height * WIDE:
        cut = width * share
        halves = (x, y, cut, height), (x + cut, y, width - cut, height)
    else:
        cut = height * share
        halves = (x, y, width, cut), (x, y + cut, width, height - cut)
    return treemap(values[:at], halves[0]) + treemap(values[at:], halves[1])


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
    found = []
    for kind in [*TYPES, *sorted({row.type for row in rows} - TYPES.keys())]:
        inside = [row for row in rows if row.type == kind]
        if inside:
            found.append(
                TokenUse(f"t-{kind}", inside[0].kind, sum(row.tokens for row in inside), len(inside))
            )
    # Each slice's tokens are rounded up by itself, so that together they may count more than the text.
    sliced = sum(use.tokens for use in found)
    free = context["max_tokens"] - context["reserve_tokens"] - max(context["tokens"], sliced)
    around = (
        TokenUse("t-frame", "headings", context["tokens"] - sliced),
        TokenUse("t-free", "left free", free),
        TokenUse("t-reserved", "reserved for the answer", context["reserve_tokens"]),
    )
    return [*found, *(use for use in around if use.tokens > 0)]


def by_layer(uses: Sequence[TokenUse], rows: Sequence[SliceRow]) -> dict[str, list[TokenUse]]:
    """Return the uses by slices of each layer."""
    layers = {f"t-{row.type}": row.layer for row in rows}
    return {layer: [use for use in uses if layers.get(use.kind) == layer] for layer in set(layers.values())}


BAR_WIDTH: Final = 1000.0
"""Size of a bar in SVG units; it is stretched to the available width."""

LEAST: Final = 3.0
"""Minimum width of a part of a bar in SVG units, so that it can be seen and pointed at."""


def budget_bar(context: Mapping[str, Any], uses: Sequence[TokenUse]) -> Markup:
    """Return the bar of a context's `max_tokens`, or of its uses where they are more. A part that would be
    too small to see takes `LEAST` units; what is over is taken from all alike."""
    whole = max(context["max_tokens"], sum(use.tokens for use in uses))
    widths = [max(use.tokens / whole * BAR_WIDTH, LEAST) for use in uses]
    scale = min(BAR_WIDTH / sum(widths), 1.0) if widths else 1.0
    drawn, x = [], 0.0
    for use, width in zip(uses, widths, strict=True):
        drawn.append(
            Markup(
                '<rect class="part {}" x="{:.1f}" y="0" width="{:.1f}" height="22"><title>{}</title></rect>'
            ).format(use.kind, x, max(width * scale - 1.0, 1.0), f"{use.label}: {use.tokens:,} tokens")
        )
        x += width * scale
    said = ", ".join(f"{use.label} {use.tokens:,}" for use in uses)
    return Markup(
        '<svg class="stacked" viewBox="0 0 1000 22" preserveAspectRatio="none" role="img" '
        'aria-label="{:,} tokens: {}">{}</svg>'
    ).format(context["max_tokens"], said, Markup("").join(drawn))
