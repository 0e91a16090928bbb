"""Owns what a prompt adds to a conversation: which slices are news there, and whether there are any.

A conversation began with the map, the rules and what the project is. A prompt brings what is needed for it
with enough probability, and what the conversation doesn't hold; where that is nothing, nothing is sent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from .residency import STANDING, Resident, holds_whole
from .slices import Form, Slice, SliceType

if TYPE_CHECKING:
    from ..retrieval.need import Need

BEGINNING: frozenset[SliceType] = frozenset({"project_meta", "hot", "skeleton"})
"""What a conversation begins with, and isn't news with any prompt."""

BESIDE: frozenset[SliceType] = frozenset({"agent_history", "dependency"})
"""What is sent beside other news only."""

PROBABILITY_MIN = 0.03
"""What is needed with less probability isn't sent unasked, unless the prompt surely needs something."""

BEST_ALONE = 0.5
"""Then the best place is sent, though none is that probable, with those that have this share of it."""

SHARE_OF_BEST = 0.1
"""Beside a place that is needed surely, one that is ten times less probable isn't worth its tokens."""


def news_in(slices: Sequence[Slice], resident: Resident | None, need: Need | None = None) -> Iterator[Slice]:
    """Yield the slices that a prompt may send, given what it needs of the code."""
    best = max((one.score or 0.0 for one in slices if one.competes), default=0.0)
    sure = need is not None and need.is_sure
    least = max(min(PROBABILITY_MIN, BEST_ALONE * best) if sure else PROBABILITY_MIN, SHARE_OF_BEST * best)
    for one in slices:
        if one.type in BEGINNING or (one.competes and one.score is not None and one.score < least):
            continue
        if resident is None or one.type not in STANDING or not holds_whole(resident, one):
            yield one


def has_news(chosen: Sequence[tuple[Slice, Form]], held: Collection[str]) -> bool:
    """Whether anything of what was chosen is worth sending; `held` are the ids of what isn't new."""
    return any(one.id not in held and one.type not in BESIDE for one, _ in chosen)
