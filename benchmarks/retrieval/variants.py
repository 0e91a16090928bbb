"""The variants of the product's recipe: which lists are merged, and which boost is left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from foveal.daemon.project.text_kind import Role
from foveal.daemon.search.ranking import DEFAULT, Fusion, RankWeights
from msgspec.structs import fields, replace

LEXICAL, VECTOR, TREE = "lexical", "vector", "tree"
ALL_LISTS = frozenset({LEXICAL, VECTOR, TREE})
"""`tree` stands for what a question names outright: files, lines, definitions."""

RECIPE = "the full recipe"
RECIPE_LEXICAL = "full, lexical only"
BARE_LEXICAL = "lexical, no boosts"
BARE_DENSE = "dense, no boosts"


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to rank what was gathered. `routed` says whether the classifier's route is taken; without it
    every question is searched for by words and meaning, in the whole project. `needs_vectors` tells those
    that say nothing of their own where nothing is embedded."""

    name: str
    weights: RankWeights
    lists: frozenset[str] = ALL_LISTS
    routed: bool = True
    needs_vectors: bool = False


def variants(default: RankWeights = DEFAULT) -> list[Variant]:
    """Return all variants of a recipe, itself first."""
    bare = without_boosts(default)
    only_lexical, only_vector = frozenset({LEXICAL}), frozenset({VECTOR})
    both = only_lexical | only_vector
    return [
        Variant(RECIPE, default),
        Variant(RECIPE_LEXICAL, default, ALL_LISTS - only_vector, needs_vectors=True),
        Variant("full, dense only", default, ALL_LISTS - only_lexical, needs_vectors=True),
        Variant(BARE_LEXICAL, bare, only_lexical, routed=False),
        Variant(BARE_DENSE, bare, only_vector, routed=False, needs_vectors=True),
        *(
            Variant(name, replace(bare, fusion=fusion), both, routed=False, needs_vectors=True)
            for name, fusion in _FUSED.items()
        ),
        Variant("without routes", default, routed=False),
        Variant("without the learned order", replace(default, learned=False)),
        Variant("without what is named (files, lines, definitions)", default, ALL_LISTS - {TREE}),
        *(Variant(name, weights) for name, weights in _left_out(default)),
    ]


_FUSED: dict[str, Fusion] = {
    "both by ranks (RRF), no boosts": "ranks",
    "both by scores, no boosts": "scores",
}


def without_boosts(weights: RankWeights) -> RankWeights:
    """Return weights under which a file counts as its best chunk does, whatever it is and whoever asks."""
    return replace(weights, penalties=_no_penalties(weights), learned=False, **_neutral(weights))


def _neutral(weights: RankWeights) -> dict[str, Any]:
    """Return for each field that is one number the value at which it has no part in the order.

    What is added to a score is nothing at 0, and so is what a score is raised by. The share of meaning must
    be some share: only that names have one of their own can be left out.
    """
    numbers = [field.name for field in fields(weights) if isinstance(getattr(weights, field.name), float)]
    values: dict[str, Any] = dict.fromkeys(numbers, 0.0)
    del values["vector"]
    return values | {"vector_of_names": weights.vector}


def _left_out(default: RankWeights) -> Iterator[tuple[str, RankWeights]]:
    """Yield the recipe with one thing neutral at a time, but for what is neutral in it anyway."""
    other: Fusion = "ranks" if default.fusion == "scores" else "scores"
    yield f"by {other} instead of {default.fusion}", replace(default, fusion=other)
    for name, value in _neutral(default).items():
        if getattr(default, name) != value:
            changed: dict[str, Any] = {name: value}
            yield f"without {name}", replace(default, **changed)
    yield "without penalties", replace(default, penalties=_no_penalties(default))
    for role, penalty in default.penalties.items():
        if penalty != 1:
            yield (
                f"without the penalty for {role}",
                replace(default, penalties={**default.penalties, role: 1.0}),
            )


def _no_penalties(weights: RankWeights) -> dict[Role, float]:
    return dict.fromkeys(weights.penalties, 1.0)
