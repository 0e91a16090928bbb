"""Owns the choice of items by their scores: who is taken, who isn't, and why; knows no text and no model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct

from .item_keys import ItemKey, key_of
from .items import Item, ItemType
from .selection import Profile, Profiles

LEXICAL_WEIGHT = 0.4
"""What words add to a cosine when they cover a query whole. Of 0 to 1 the weight that gave the best average
precision for rules (.56, by meaning alone .47) without loss in recall@5, on the half of the labelled queries
that is for choosing; see the benchmarks."""

Reason = Literal["named", "include_score", "top_n", "floor", "near_best", "removed", "denied", "budget"]
"""Why an item was taken: the query names it, its score suffices by itself, or it is among the best. Or why
it wasn't: there were enough better ones (`top_n`), its score is too low (`floor`) or too far below the best
one's (`near_best`), a person removed it from the session, a policy denies it, or the context had no tokens
left for it."""


class ItemEvidence(Struct, frozen=True):
    """What speaks for one item: the cosines of its chunks with the query (none where they aren't known), how
    much of the query its words cover (0 to 1), each times the weight of that part of the query; and whether
    the query names it. `cosines` and `totals` stand in the same order; a total is a cosine and what the words
    of the same part of the query add."""

    item: Item
    cosines: Sequence[float] = ()
    totals: Sequence[float] = ()
    lexical: float = 0.0
    named: bool = False

    @property
    def score(self) -> float:
        """What decides: the best of its chunks."""
        return max(self.totals, default=LEXICAL_WEIGHT * self.lexical)


class ItemScore(Struct, frozen=True):
    """An item with the score that decided, its best cosine, what its words said, and what became of it."""

    item: Item
    score: float
    similarity: float
    lexical: float
    taken: bool
    reason: Reason

    @property
    def key(self) -> ItemKey:
        """The item's key."""
        return key_of(self.item)


class Choice(Struct, frozen=True):
    """Who was taken and who was considered, rules and references before tools, the best first."""

    taken: tuple[ItemScore, ...]
    considered: tuple[ItemScore, ...]


def choose(
    found: Sequence[ItemEvidence], profiles: Profiles, barred: Mapping[ItemKey, Literal["removed", "denied"]]
) -> Choice:
    """Choose items by what speaks for them.

    Of each kind the best `top_k` chunks count, and an item by the best of its own. One that the query names
    is taken whatever its score; `barred` items never are, and take nobody's room. What has no chunk among the
    best isn't told of.
    """
    kinds: tuple[tuple[ItemType, ...], ...] = (("rule", "reference"), ("tool",))
    scores: list[ItemScore] = []
    for types in kinds:
        profile = profiles.of(types[0])
        if profile is not None:
            scores += _choose([one for one in found if one.item.type in types], profile, barred)
    taken = tuple(one for one in scores if one.taken)
    return Choice(taken, tuple(one for one in scores if not one.taken))


def _choose(
    found: Sequence[ItemEvidence], profile: Profile, barred: Mapping[ItemKey, Literal["removed", "denied"]]
) -> list[ItemScore]:
    chunks = sorted(((total, n) for n, one in enumerate(found) for total in one.totals), reverse=True)
    among_best = {n for _, n in chunks[: profile.top_k]} | {n for n, one in enumerate(found) if one.named}
    candidates = sorted((found[n] for n in among_best), key=lambda one: (-one.score, key_of(one.item)))
    allowed = [one.score for one in candidates if key_of(one.item) not in barred]
    near = profile.near_best * max(allowed, default=0.0) if profile.near_best else -math.inf
    room = profile.top_n
    scores = []
    for one in candidates:
        bar = barred.get(key_of(one.item))
        taken, reason = (False, bar) if bar else _verdict(one, profile, near, room)
        room -= taken
        scores.append(_scored(one, taken=taken, reason=reason))
    return scores


def _verdict(one: ItemEvidence, profile: Profile, near: float, room: int) -> tuple[bool, Reason]:
    if one.named:
        return True, "named"
    if one.score < profile.floor:
        return False, "floor"
    if one.score >= profile.include_score:
        return True, "include_score"
    if one.score < near:
        return False, "near_best"
    return room > 0, "top_n"


def _scored(one: ItemEvidence, *, taken: bool, reason: Reason) -> ItemScore:
    similarity = max(one.cosines, default=0.0)
    return ItemScore(
        one.item, round(one.score, 4), round(similarity, 4), round(one.lexical, 4), taken, reason
    )
