"""The impact of a change: direct and indirect callers with the path from each, and the tests among them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import islice
from typing import Final

from .code_graph import (
    CALLS,
    FOUND_MAX,
    CodeGraph,
    Findings,
    FoundPlace,
    Meaning,
    Reached,
    in_order,
    leads,
    several,
)

IMPACT_DEPTH: Final = 3
"""Default depth of a walk: callers of callers of callers."""

DEPTH_MAX: Final = 20

TESTS_DEPTH: Final = 8
"""Maximum number of calls between a test and its subject; helpers and layers hardly ever need more."""

REACHED_MAX: Final = 300
"""Number of definitions found after which a walk ends, once its level is complete."""

TESTS_MAX: Final = 100
"""Maximum number of references in tests."""


def impact(meanings: Sequence[Meaning], graph: CodeGraph, depth: int = IMPACT_DEPTH) -> Findings:
    """Return the direct and indirect references to definitions; for files also their importers.

    Places that match by name only come last, and aren't followed.
    """
    depth = max(1, min(depth, DEPTH_MAX))
    found: list[FoundPlace] = []
    remarks: list[str] = []
    more = False
    for meaning in meanings:
        starts = _starts(meaning, graph)
        reached = list(graph.reached(starts, (), depth, REACHED_MAX))
        more = more or len(reached) >= REACHED_MAX
        found.extend(_told(reached, graph, meaning))
        if meaning.files and not meaning.definitions:
            found.extend(_importing(meaning.files, graph, depth))
        found.extend(_by_name(meaning, graph))
        remarks.append(several(meaning))
    remarks.append(f"followed to a depth of {depth}")
    return Findings(in_order(found, graph.place), tuple(filter(None, remarks)), more)


def tests(meanings: Sequence[Meaning], graph: CodeGraph) -> Findings:
    """Return the tests that reach definitions, directly or through helpers and other code.

    A helper in a test file isn't a test: the walk passes through it. If no test is known to reach the
    subject, the tests that import its file are returned.
    """
    found: list[FoundPlace] = []
    remarks: list[str] = []
    more = False
    for meaning in meanings:
        reached = graph.reached(_starts(meaning, graph), (), TESTS_DEPTH, REACHED_MAX)
        in_tests = list(islice((each for each in reached if _in_tests(each, graph)), TESTS_MAX))
        more = more or len(in_tests) >= TESTS_MAX
        helpers = {each.steps[0] for each in in_tests}
        told = _told([each for each in in_tests if each.link.scope not in helpers], graph, meaning)
        named = [each for each in _by_name(meaning, graph) if graph.is_test(each.path)]
        files = dict.fromkeys((*meaning.files, *(each.path for each in meaning.definitions)))
        if not told and not named:
            named = [
                FoundPlace(edge.importer, edge.line, 0, "name", edge.target, f"imports {edge.target}")
                for edge in graph.reader.graph.edges_into(files)
                if graph.is_test(edge.importer)
            ]
        found.extend((*told, *named))
        remarks.append(several(meaning))
    return Findings(in_order(found, graph.place), tuple(filter(None, remarks)), more)


def _starts(meaning: Meaning, graph: CodeGraph) -> list[int]:
    """Return the ids that a change of a subject affects: the subject and its members."""
    if meaning.definitions:
        return [*meaning.ids, *graph.links.inside(meaning.ids)]
    return [each.id for file in meaning.files for each in graph.links.definitions_at(file)]


def _told(reached: Iterable[Reached], graph: CodeGraph, meaning: Meaning) -> list[FoundPlace]:
    chosen = list(reached)[:FOUND_MAX]
    names = graph.definitions({step for each in chosen for step in each.steps})
    return [
        FoundPlace(
            each.link.path,
            each.link.line,
            each.link.scope,
            "name" if meaning.guess else "resolved",
            leads([names[step].symbol.name for step in each.steps if step in names]),
            _WHY[each.link.kind],
            each.steps,
            distance=each.depth,
        )
        for each in chosen
    ]


def _by_name(meaning: Meaning, graph: CodeGraph) -> list[FoundPlace]:
    if meaning.files and not meaning.definitions:
        return []
    families = {graph.family(each.path) for each in meaning.definitions}
    states = ("name", "external") if meaning.external else ("name",)
    return [
        FoundPlace(link.path, link.line, link.scope, "name", meaning.name, "calls something of its name")
        for link in graph.links.named(meaning.name, CALLS, states, FOUND_MAX)
        if meaning.external or graph.family(link.path) in families
    ]


def _importing(files: Collection[str], graph: CodeGraph, depth: int) -> list[FoundPlace]:
    """Return the direct and indirect importers of files, without duplicates."""
    found: dict[str, FoundPlace] = {}
    ways: dict[str, tuple[str, ...]] = {file: (file,) for file in files}
    frontier = list(ways)
    for level in range(1, depth + 1):
        following: list[str] = []
        for edge in graph.reader.graph.edges_into(frontier):
            if edge.importer not in ways:
                ways[edge.importer] = (edge.importer, *ways[edge.target])
                following.append(edge.importer)
                via = leads(ways[edge.target])
                found[edge.importer] = FoundPlace(
                    edge.importer, edge.line, 0, "resolved", via, "imports it", distance=level
                )
        frontier = following if len(found) < FOUND_MAX else []
    return list(found.values())


def _in_tests(reached: Reached, graph: CodeGraph) -> bool:
    """Whether a reference is in a test file, or in a test module inside of a source file."""
    if graph.is_test(reached.link.path):
        return True
    if graph.family(reached.link.path) != "rust" or not reached.link.scope:
        return False
    scope = graph.definitions([reached.link.scope]).get(reached.link.scope)
    return scope is not None and scope.symbol.name.startswith(("tests.", "test."))


_WHY = {
    "call": "calls it",
    "inherit": "inherits from it",
    "decorate": "is decorated with it",
    "type": "names it in a type",
    "use": "refers to it",
}
