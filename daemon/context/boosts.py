"""Owns what earlier use adds to the weight of a slice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from .slices import Slice, SliceType

BOOSTED: frozenset[SliceType] = frozenset(
    {"document", "compressed_segment", "dependency", "session_set", "rule", "reference"}
)
"""What may weigh more: what was found or came along. What somebody asked for outright needs no help."""


def boosted(slices: Iterable[Slice], boosts: Mapping[str, float]) -> Iterator[Slice]:
    """Yield the slices, those that were of use before with more weight, up to 1, and a word about it.

    `boosts` are factors by path, and by id for items.
    """
    for one in slices:
        boost = boosts.get(one.id) or boosts.get(one.path) if one.type in BOOSTED else None
        if boost is None or one.required:
            yield one
        else:
            weight = min(round(one.weight * boost, 4), 1.0)
            yield replace(one, weight=weight, source=f"{one.source}; of use before (x{boost:.2f})")
