"""Chooses items for a request by their scores: presets, settings of each level, and the choice itself.

A score is a cosine of the bundled model plus `LEXICAL_WEIGHT` for the words (see `item_search.py`), so the
numbers here hold for this scale only: one relevant rule in ten reaches 0.7, a common threshold elsewhere.
They were chosen on half of the labelled queries of `benchmarks/items`; benchmarks/README.md has the
figures.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import asdict, replace

from ..config.item_selection import ItemSelection, KindSettings, Preset, over
from .items import Item, ItemKey, ItemType, key_of


class Profile(Struct, frozen=True):
    """How items of one kind are chosen.

    An item is taken if its score is at least `floor`, at least the share `near_best` of the best item's
    score, and among the best `top_n` of the items of the best `top_k` chunks. From `include_score` on an item
    is taken whatever the others are.
    """

    top_k: int
    top_n: int
    floor: float
    near_best: float
    include_score: float = math.inf


RULE_PROFILES: Mapping[Preset, Profile] = {
    "aggressive": Profile(top_k=10, top_n=3, floor=0.40, near_best=0.9),
    "normal": Profile(top_k=20, top_n=5, floor=0.30, near_best=0.7),
    "conservative": Profile(top_k=40, top_n=8, floor=0.22, near_best=0.6),
}
"""For rules and references. The floors leave 58, 79 and 90 % of the relevant ones; see the benchmarks."""

TOOL_PROFILES: Mapping[Preset, Profile] = {
    "aggressive": Profile(top_k=10, top_n=3, floor=0.36, near_best=0.9),
    "normal": Profile(top_k=20, top_n=5, floor=0.32, near_best=0.7),
    "conservative": Profile(top_k=40, top_n=8, floor=0.26, near_best=0.7),
}
"""For tools: their descriptions are short, so all of them score lower than rules."""


class Profiles(Struct, frozen=True):
    """The profiles of a request; None if that kind isn't searched."""

    rules: Profile | None
    tools: Profile | None

    def of(self, kind: ItemType) -> Profile | None:
        """Return the profile for items of a type; references use that of rules."""
        return self.tools if kind == "tool" else self.rules


def resolve(*levels: ItemSelection) -> Profiles:
    """Merge levels, later ones over earlier ones: project, agent, session, request.

    A level that names a preset drops the numbers of the levels below it, which were meant for another preset.
    The default is the preset `normal`.
    """
    rules = tools = KindSettings("normal")
    for level in levels:
        rules, tools = over(rules, level.rules), over(tools, level.tools)
    return Profiles(_profile(rules, RULE_PROFILES), _profile(tools, TOOL_PROFILES))


def _profile(settings: KindSettings, presets: Mapping[Preset, Profile]) -> Profile | None:
    if settings.preset == "off":
        return None
    base = presets[settings.preset or "normal"]
    given = {name: value for name, value in asdict(settings).items() if value is not None}
    given.pop("preset", None)
    if "floor" in given:
        given["near_best"] = 0.0  # with a floor of its own, it doesn't count
    return replace(base, **given)


LEXICAL_WEIGHT = 0.4
"""The words' share of a score when they cover the whole query. Of 0 to 1 the weight that gave the best
average precision for rules (.56, by meaning alone .47) without loss in recall@5, on the half of the labelled
queries that is for choosing; see the benchmarks."""

Reason = Literal["named", "include_score", "top_n", "floor", "near_best", "removed", "denied", "budget"]
"""Why an item was taken: the query names it, its score suffices by itself, or it is among the best. Or why it
was left out: enough items are better (`top_n`), its score is too low (`floor`) or too far below the best
(`near_best`), a person removed it from the session, a policy denies it, or the budget ran out."""


class ItemEvidence(Struct, frozen=True):
    """The evidence for one item: the cosines of its chunks with the query (none if unknown), how much of the
    query its words cover (0 to 1), each times the weight of that part of the query; and whether the query
    names it. `cosines` and `totals` have the same order; a total is a cosine plus the words' share."""

    item: Item
    cosines: Sequence[float] = ()
    totals: Sequence[float] = ()
    lexical: float = 0.0
    named: bool = False

    @property
    def score(self) -> float:
        """The best total of its chunks, as it is shown: what is shown decides."""
        return round(max(self.totals, default=LEXICAL_WEIGHT * self.lexical), 4)


class ItemScore(Struct, frozen=True):
    """An item with its score, its best cosine, its words' share, and whether and why it was taken."""

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


def choose(
    found: Sequence[ItemEvidence], profiles: Profiles, barred: Mapping[ItemKey, Literal["removed", "denied"]]
) -> list[ItemScore]:
    """Choose items by their evidence; returns rules and references before tools, the best first.

    The best `top_k` chunks of each kind count, and an item counts by the best of its own. An item that the
    query names is taken whatever its score; `barred` items never are, and use up no room. Of the others, an
    item without a chunk among the best is left out of the result unless its score is the `include_score`.
    """
    kinds: tuple[tuple[ItemType, ...], ...] = (("rule", "reference"), ("tool",))
    scores: list[ItemScore] = []
    for types in kinds:
        profile = profiles.of(types[0])
        if profile is not None:
            scores += _choose(
                [evidence for evidence in found if evidence.item.type in types], profile, barred
            )
    return scores


def _choose(
    found: Sequence[ItemEvidence], profile: Profile, barred: Mapping[ItemKey, Literal["removed", "denied"]]
) -> list[ItemScore]:
    chunks = sorted(
        ((total, n) for n, evidence in enumerate(found) for total in evidence.totals), reverse=True
    )
    among_best = {n for _, n in chunks[: profile.top_k]} | {
        n for n, evidence in enumerate(found) if evidence.named or evidence.score >= profile.include_score
    }
    candidates = sorted(
        (found[n] for n in among_best), key=lambda evidence: (-evidence.score, key_of(evidence.item))
    )
    allowed = [evidence.score for evidence in candidates if key_of(evidence.item) not in barred]
    near = profile.near_best * max(allowed, default=0.0) if profile.near_best else -math.inf
    room = profile.top_n
    scores = []
    for evidence in candidates:
        bar = barred.get(key_of(evidence.item))
        taken, reason = (False, bar) if bar else _verdict(evidence, profile, near, room)
        room -= taken
        similarity, lexical = round(max(evidence.cosines, default=0.0), 4), round(evidence.lexical, 4)
        scores.append(ItemScore(evidence.item, evidence.score, similarity, lexical, taken, reason))
    return scores


def _verdict(evidence: ItemEvidence, profile: Profile, near: float, room: int) -> tuple[bool, Reason]:
    if evidence.named:
        return True, "named"
    if evidence.score >= profile.include_score:
        return True, "include_score"
    if evidence.score < profile.floor:
        return False, "floor"
    if evidence.score < near:
        return False, "near_best"
    return room > 0, "top_n"
