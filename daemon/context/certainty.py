"""How surely a found definition is needed, compared with the others that were found for the same prompt.

The search rates each definition by itself. One probability of .3 above many of .02 says more than ten of .3,
and so does a definition that has more of the prompt's words than any other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, log
from typing import Final

from msgspec.structs import replace

from ..index.service import document_terms, query_terms
from ..search.records import FoundDefinition
from .build_state import BuildState

POOL_SHARE: Final = 0.15
"""Minimum share of the best probability for a definition that the others are compared with."""

RAISED_MAX: Final = 2.0
"""Maximum factor by which the comparison raises a probability: a weak definition that is alone was rare among
those of the fit."""

WEIGHTS: Final[Mapping[str, float]] = {
    "constant": -0.952,
    "probability": 0.621,
    "share": 2.503,
    "words": 1.566,
}
"""Weights of the logistic regression, by feature: the log odds of the probability, its share of the sum of
all probabilities, and the share of the prompt's words that the definition has, less the largest such share.
Fitted to the definitions that 244 commits to 11 projects in the tune half of benchmarks/needed edited, by
words alone. For projects left out of the fit the log loss of a prompt falls from 2.43 to 2.35. The number of
definitions or the distance to the second adds nothing."""


def compared(state: BuildState, found: Sequence[FoundDefinition]) -> list[FoundDefinition]:
    """Return definitions in the order given, each with its probability in the light of the others; those
    that a pasted failure names keep theirs."""
    least = POOL_SHARE * max((match.probability for match in found), default=0.0)
    whole = sum(match.probability for match in found if match.probability >= least)
    terms = frozenset(query_terms(" ".join(sorted(state.words))).weights)
    words = [_share(state, match, terms) for match in found]
    most = max((share for share, m in zip(words, found, strict=True) if m.probability >= least), default=0.0)
    result = []
    for share, match in zip(words, found, strict=True):
        if match.is_pasted:
            result.append(match)
            continue
        values = {
            "constant": 1.0,
            "probability": _log_odds(match.probability),
            "share": match.probability / whole,
            "words": share - most,
        }
        probability = 1 / (1 + exp(-sum(WEIGHTS[name] * value for name, value in values.items())))
        bounded = min(probability, RAISED_MAX * match.probability)
        result.append(replace(match, probability=round(bounded, 4)))
    return result


def _share(state: BuildState, match: FoundDefinition, terms: frozenset[str]) -> float:
    """Return the share of some terms that a definition has in its text, its name or its path."""
    lines = state.source(match.path, state.files.note(match.path)).part(match.first, match.last)
    name = match.symbol.name if match.symbol is not None else ""
    own = document_terms("\n".join((match.path, name, *lines)))
    return len(terms.intersection(own)) / (len(terms) or 1)


def _log_odds(probability: float) -> float:
    bounded = min(max(probability, 0.0005), 0.9995)
    return log(bounded / (1 - bounded))
