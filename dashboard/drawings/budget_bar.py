"""Owns the bar of a context's budget: what slices of each type took, what was left free and what reserved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from ..pages.slice_rows import TYPES, SliceRow
from .drawing import ChartPart, stacked_bar


@dataclass(frozen=True, slots=True)
class TokenUse:
    """A use of the budget: the class of its colour, what it is, its tokens, and how many slices it has (0 for
    what is none)."""

    kind: str
    label: str
    tokens: int
    slices: int = 0


def uses_of(context: Mapping[str, Any], rows: Sequence[SliceRow]) -> list[TokenUse]:
    """Return what became of a context's `max_tokens`: by type in the order of the layers, then what stands
    around the slices, what was free, and what was reserved for the answer."""
    types = [*TYPES, *sorted({row.type for row in rows} - TYPES.keys())]
    found = []
    for one in types:
        inside = [row for row in rows if row.type == one]
        if inside:
            label = inside[0].kind
            found.append(TokenUse(f"t-{one}", label, sum(row.tokens for row in inside), len(inside)))
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


def layers_bar(context: Mapping[str, Any]) -> Markup:
    """Return a small bar of a context's layers within what it might have taken."""
    layers = [(name, tokens) for name, tokens in context["layers"].items() if tokens]
    return stacked_bar(
        (ChartPart(tokens, f"l-{name}", f"{name}: {tokens:,} tokens") for name, tokens in layers),
        context["max_tokens"] - context["reserve_tokens"],
        ", ".join(f"{name} {tokens:,} tokens" for name, tokens in layers),
        height=10.0,
    )
