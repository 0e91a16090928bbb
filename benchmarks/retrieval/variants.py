"""The variants of the product's recipe: which lists are merged, and whether questions have a route."""

from __future__ import annotations

from dataclasses import dataclass

LEXICAL, VECTOR, TREE = "lexical", "vector", "tree"
ALL_LISTS = frozenset({LEXICAL, VECTOR, TREE})
"""`tree` stands for what a question names outright: files, lines, definitions."""

RECIPE = "the full recipe"


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to rank what was gathered. `routed` says whether the classifier's route is taken; without it
    every question is searched for by words and meaning, in the whole project. `needs_vectors` tells those
    that say nothing of their own where nothing is embedded."""

    name: str
    lists: frozenset[str] = ALL_LISTS
    routed: bool = True
    needs_vectors: bool = False


VARIANTS = (
    Variant(RECIPE),
    Variant("full, lexical only", ALL_LISTS - {VECTOR}, needs_vectors=True),
    Variant("full, dense only", ALL_LISTS - {LEXICAL}, needs_vectors=True),
    Variant("without routes", routed=False),
    Variant("without what is named (files, lines, definitions)", ALL_LISTS - {TREE}),
)
