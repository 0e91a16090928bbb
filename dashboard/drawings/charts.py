"""Small charts as SVG: lines over time, and bars of parts; knows no page.

Nothing in them has a `style`, which the page's content policy refuses: sizes are attributes, colours classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

WIDTH, HEIGHT = 240.0, 44.0
"""Size of a line chart in SVG units; it is stretched to the available width."""

BAR_WIDTH = 1000.0
"""Size of a bar in SVG units, stretched likewise."""

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


def sparkline(values: Sequence[float | None], label: str) -> Markup:
    """Return a line of values over time, from 0 to the largest; None is a gap. `label` says it in words."""
    top = max((value for value in values if value is not None), default=0.0) or 1.0
    step = WIDTH / max(len(values) - 1, 1)
    lines: list[str] = []
    areas: list[str] = []
    for run in _runs(values):
        points = [(at * step, HEIGHT - 1 - value / top * (HEIGHT - 4)) for at, value in run]
        if len(points) == 1:
            points.append((points[0][0] + step, points[0][1]))
        line = " L".join(f"{x:.1f},{y:.1f}" for x, y in points)
        lines.append(f"M{line}")
        areas.append(f"M{points[0][0]:.1f},{HEIGHT:.0f} L{line} L{points[-1][0]:.1f},{HEIGHT:.0f} Z")
    return Markup(
        '<svg class="spark" viewBox="0 0 {:.0f} {:.0f}" preserveAspectRatio="none" role="img" '
        'aria-label="{}">'
        '<path class="area" d="{}"/><path class="line" d="{}"/></svg>'
    ).format(WIDTH, HEIGHT, label, " ".join(areas), " ".join(lines))


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


def _runs(values: Sequence[float | None]) -> Iterable[list[tuple[int, float]]]:
    run: list[tuple[int, float]] = []
    for at, value in enumerate(values):
        if value is not None:
            run.append((at, value))
        elif run:
            yield run
            run = []
    if run:
        yield run
