"""Puts what several projects answer into one order: a project, and the projects that it links."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from math import exp, log
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from ..config.linked import LinkedProject
from ..privacy.policy import Policy
from ..workspace.service import Project
from .query import Hit, SearchResult

LINKED_WAIT_S = 2.0
"""Maximum seconds that an answer waits for the other projects; one that is late is left out, and the answer
says so."""


OWN_ODDS: Final = 1.5
"""How much likelier a question means the project that it was asked in than a linked one, all else equal."""


class OtherProject(Struct, frozen=True):
    """Another project that a question is asked in, as far as the agent's policy there allows; `open` opens it
    if needed."""

    linked: LinkedProject
    policy: Policy
    open: Callable[[], Awaitable[Project]]


def shifts(results: Sequence[SearchResult]) -> list[float]:
    """Return by how much to lower the log odds of each project's probabilities, so that they compare; the
    first one is the project that was asked.

    A file's probability depends on how far it lies below the best file of its project. The best file of all
    projects takes that place, as it would if one index had all of them. The same holds for definitions.
    """
    from .file_order_weights import CALIBRATION  # by now a thread has loaded it

    constant, own, below = CALIBRATION
    best = [
        max(
            ((_log_odds(hit.probability) - constant) / own for hit in each.hits if not hit.certainty),
            default=None,
        )
        for each in results
    ]
    most = max((score for score in best if score is not None), default=0.0)
    return [
        (0.0 if score is None else below * (most - score)) + (log(OWN_ODDS) if place else 0.0)
        for place, score in enumerate(best)
    ]


def lowered(result: SearchResult, by: float) -> SearchResult:
    """Return a result whose probabilities have log odds that are lower by some amount."""
    if not by:
        return result

    def less(probability: float) -> float:
        return round(1 / (1 + exp(by - _log_odds(probability))), 4) if probability else 0.0

    def hit_with_less(hit: Hit) -> Hit:
        definitions = [replace(each, probability=less(each.probability)) for each in hit.definitions]
        return replace(hit, probability=less(hit.probability), definitions=definitions)

    return replace(result, hits=tuple(hit if hit.certainty else hit_with_less(hit) for hit in result.hits))


def chosen(results: Sequence[SearchResult]) -> list[bool]:
    """Return which results are shown, the project's own first.

    Exact answers of the graph are shown alone. A name that is only spelled like the one that was asked for is
    shown alone too, but only of the project itself, and if nothing better is known.
    """
    exact = [bool(each.hits) and not each.near and bool(each.hits[0].certainty) for each in results]
    if any(exact):
        return exact
    if results[0].near:
        return [True, *(False for _ in results[1:])]
    return [bool(each.hits) and not each.near for each in results]


def together(results: Sequence[dict[str, Any]], limit: int) -> list[dict[str, Any]]:
    """Return described results of several projects, best first, at most `limit`; of equal ones those that
    come first. A definition comes whole only if it is alone, or far more probable than the others."""
    from .results import AHEAD  # loaded too

    ranked = sorted(results, key=_rank)
    if not ranked or len(ranked) == 1:
        return ranked
    first, second = (each.get("probability", 0.0) for each in ranked[:2])
    if "definition" in ranked[0] and not ranked[0].get("certainty") and first >= AHEAD * second:
        return ranked[:1]
    return [{name: value for name, value in each.items() if name not in WHOLE} for each in ranked[:limit]]


def _rank(result: Mapping[str, Any]) -> tuple[bool, float]:
    if result.get("certainty"):
        return result["certainty"] == "name", 0.0
    return True, -result.get("probability", 0.0)


def placed_hit(linked: LinkedProject, hit: Hit) -> Hit:
    """Return a hit of a linked project with its paths as seen from the project that links it."""

    def path(given: str) -> str:
        return f"{linked.prefix}/{given}"

    return replace(
        hit,
        chunk=replace(hit.chunk, path=path(hit.chunk.path)),
        more=[replace(chunk, path=path(chunk.path)) for chunk in hit.more],
        steps=tuple(map(path, hit.steps)),
        reference=hit.reference and (path(hit.reference[0]), hit.reference[1]),
        definitions=[replace(each, path=path(each.path)) for each in hit.definitions],
    )


def placed(linked: LinkedProject, entry: Any) -> Any:
    """Return a part of an answer about a linked project with its paths as seen from the project that links
    it."""
    if isinstance(entry, list):
        return [placed(linked, each) for each in entry]
    if not isinstance(entry, dict):
        return entry
    return {name: _placed_field(linked, name, value) for name, value in entry.items()}


def _placed_field(linked: LinkedProject, name: str, value: Any) -> Any:
    if name == "steps":
        return [f"{linked.prefix}/{each}" for each in value]
    if name in PATHS and isinstance(value, str):
        return f"{linked.prefix}/{value}"
    return placed(linked, value)


PATHS: Final = frozenset({"path", "node_id"})
"""The fields that hold a path or a node id."""

WHOLE: Final = frozenset({"definition", "truncated", "needs", "remark"})
"""The fields of a result that shows its definition whole."""


def rated(result: SearchResult) -> dict[str, float]:
    """Return the probability of each hit of words and meaning, by node id, that it or a definition in its
    file is meant; none is lower than that of a hit behind it."""
    found: dict[str, float] = {}
    most = 0.0
    for hit in reversed(result.hits):
        meant = max((each.probability for each in hit.definitions), default=hit.probability)
        found[hit.node_id] = most = max(most, meant)
    return found


def _log_odds(probability: float) -> float:
    bounded = min(max(probability, 0.0001), 0.9999)
    return log(bounded / (1 - bounded))
