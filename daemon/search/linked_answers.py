"""Puts what several projects answer into one order: a project, and the projects that it links."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
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
"""How much likelier a question means the project that it was asked in than a linked one, all else equal. Of
the commits of `shifts` .95 then have a file of their own project first if they are asked there, and .82 if
they are asked in one that links it; with 1 it is .89 for both, with 3 .99 and .58."""


class OtherProject(Struct, frozen=True):
    """Another project that a question is asked in, as far as the agent's policy there allows; `open` opens it
    if needed."""

    linked: LinkedProject
    policy: Policy
    open: Callable[[], Awaitable[Project]]


def shifts(results: Sequence[SearchResult]) -> list[float]:
    """Return by how much to lower the log odds of the definitions of each project, so that they compare; the
    first one is the project that was asked.

    The probabilities of files compare, those of definitions depend on the other ones in their project. So
    the best definition of a project is at most as far above its best file as in the project with the best
    file of all. Of 480 commits to eight projects, asked for by their messages, .77 then have a changed file
    first, and .78 if only their own project is asked; without this .47.
    """
    files = [_best(hit.probability for hit in ranked) for ranked in map(_ranked, results)]
    definitions = [_best(map(_of_definitions, ranked)) for ranked in map(_ranked, results)]
    above = [meant - file for file, meant in zip(files, definitions, strict=True)]
    own = [0.0 if place == 0 else log(OWN_ODDS) for place in range(len(results))]
    best = max(range(len(results)), key=lambda place: (files[place] - own[place], -place))
    return [max(each - above[best], 0.0) + less for each, less in zip(above, own, strict=True)]


def lowered(result: SearchResult, by: float) -> SearchResult:
    """Return a result whose definitions have log odds that are lower by some amount."""

    def less(hit: Hit) -> Hit:
        definitions = [replace(each, probability=_less(each.probability, by)) for each in hit.definitions]
        return replace(hit, definitions=definitions)

    return replace(result, hits=tuple(map(less, result.hits))) if by else result


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
    shown = _shared(ranked, limit) if ranked[0].get("certainty") else ranked[:limit]
    return [{name: value for name, value in each.items() if name not in WHOLE} for each in shown]


def _shared(ranked: Sequence[dict[str, Any]], limit: int) -> list[dict[str, Any]]:
    """Return at most `limit` places of the graph: no project's places leave less than its share to others."""
    share = limit // len({each.get("root") for each in ranked})
    numbers: Counter[str | None] = Counter()
    behind: list[bool] = []
    for each in ranked:
        numbers[each.get("root")] += 1
        behind.append(numbers[each.get("root")] > share)
    kept = sorted(range(len(ranked)), key=lambda place: (behind[place], place))[:limit]
    return [ranked[place] for place in sorted(kept)]


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


def of_files(result: SearchResult, *, is_own: bool) -> dict[str, float]:
    """Return the probability of each hit's file by the hit's node id; none is lower than that of a hit behind
    it."""
    found: dict[str, float] = {}
    most = 0.0
    for hit in reversed(result.hits):
        most = max(most, hit.probability if is_own else _less(hit.probability, log(OWN_ODDS)))
        found[hit.node_id] = most
    return found


def _ranked(result: SearchResult) -> list[Hit]:
    return [hit for hit in result.hits if not hit.certainty]


def _of_definitions(hit: Hit) -> float:
    return max((each.probability for each in hit.definitions), default=hit.probability)


def _best(probabilities: Iterable[float]) -> float:
    return _log_odds(max(probabilities, default=0.0))


def _less(probability: float, by: float) -> float:
    return round(1 / (1 + exp(by - _log_odds(probability))), 4) if probability else 0.0


def _log_odds(probability: float) -> float:
    bounded = min(max(probability, 0.0001), 0.9999)
    return log(bounded / (1 - bounded))
