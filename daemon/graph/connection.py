"""How things are connected: a shortest path between two, searched from both ends; what a change affects."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from msgspec.structs import replace

from ..index.records import Link
from ..languages.shared.qualified_names import base_name
from .code_graph import (
    CALLS,
    CLASSES,
    CONSTRUCTORS,
    FOUND_MAX,
    LISTED_MAX,
    Certainty,
    CodeGraph,
    Findings,
    FoundPlace,
    Meaning,
    Reached,
    at_link,
    find_places,
    leads,
    node_id_of,
    several,
)
from .hierarchy import counterparts, overridden_by

VISITED_MAX: Final = 400
"""Maximum number of definitions visited from both ends together. In Django 800 found no more paths between
120 pairs drawn at random, and took twice as long."""

LENGTH_MAX: Final = 14
"""Maximum number of references on a path; a longer path explains nothing."""

LINKS_MAX: Final = 1_000
"""Maximum number of references followed at a time."""


def connection(meanings: Sequence[Meaning], graph: CodeGraph) -> Findings:
    """Return the definitions on a shortest path of references between two subjects.

    The first of these that exists is returned: a path from the first subject to the second; one from the
    second to the first; one that may also lead from a method to its overrides.
    """
    remarks = [several(each) for each in meanings]
    if len(meanings) < 2 or not all(each.known for each in meanings[:2]):
        return Findings((), (*filter(None, remarks), "a connection takes two names that the project has"))
    first, second = meanings[:2]
    certainty: Certainty = "name" if first.guess or second.guess else "resolved"
    for overrides in (False, True):
        for start, end in ((first, second), (second, first)):
            path = _path(_ids(start, graph), _ids(end, graph), graph, overrides=overrides)
            if path:
                said = graph.names(path)
                how = "connected, if methods are called that override others" if overrides else "connected"
                return Findings(
                    _told(path, graph, said, "name" if overrides else certainty),
                    (*filter(None, remarks), f"{how}: {said}"),
                )
    return Findings((), (*filter(None, remarks), f"no path of at most {LENGTH_MAX} references connects them"))


def _ids(meaning: Meaning, graph: CodeGraph) -> list[int]:
    """Return the ids of a subject and its members: reaching a method means reaching its class."""
    ids = [each.id for each in graph.defined(meaning)]
    return [*ids, *graph.links.inside(ids)]


def _path(starts: Sequence[int], ends: Sequence[int], graph: CodeGraph, *, overrides: bool) -> list[int]:
    """Return a shortest path between two sets of definitions, empty if there is none within bounds; with
    `overrides` a method also leads to the methods that override it."""
    both = set(starts) & set(ends)
    if both or not starts or not ends:
        return [next(each for each in starts if each in both)] if both else []
    forward: dict[int, int] = dict.fromkeys(starts, 0)
    backward: dict[int, int] = dict.fromkeys(ends, 0)
    near, far = list(forward), list(backward)
    for _ in range(LENGTH_MAX):
        if not near or not far or len(forward) + len(backward) > VISITED_MAX:
            return []
        if len(near) <= len(far):
            near = _step(near, forward, graph, forward=True, overrides=overrides)
            met = next((each for each in near if each in backward), 0)
        else:
            far = _step(far, backward, graph, forward=False, overrides=overrides)
            met = next((each for each in far if each in forward), 0)
        if met:
            return _joined(met, forward, backward)
    return []


def _step(
    frontier: Sequence[int], before: dict[int, int], graph: CodeGraph, *, forward: bool, overrides: bool
) -> list[int]:
    """Follow the references one step; a class leads on to its constructors, and with `overrides` a method to
    those that override it."""
    queries = graph.reader.graph
    following: list[int] = []

    def add(pairs: Iterable[tuple[int, int]]) -> None:
        for new, known in pairs:
            if new not in before:
                before[new] = known
                following.append(new)

    if forward:
        add((target, scope) for scope, target in queries.leads_on(frontier, LINKS_MAX))
        add(queries.constructors(following, CONSTRUCTORS).items())
        add(list(counterparts(following, graph, down=True)) if overrides else ())
    else:
        add(counterparts(frontier, graph, down=False) if overrides else ())
        add((owner, made) for made, owner in queries.constructed(frontier, CONSTRUCTORS).items())
        add(queries.leads_back([*frontier, *following], LINKS_MAX))
    return following


def _joined(middle: int, before: Mapping[int, int], behind: Mapping[int, int]) -> list[int]:
    path = [middle]
    while before[path[0]]:
        path.insert(0, before[path[0]])
    while behind[path[-1]]:
        path.append(behind[path[-1]])
    return path


def _told(path: Sequence[int], graph: CodeGraph, via: str, certainty: Certainty) -> list[FoundPlace]:
    """Return a path's definitions, each at its first reference to the next, the last at its own line."""
    known = graph.definitions(path)
    found = []
    for place, number in enumerate(path):
        definition = known.get(number)
        if definition is not None:
            rest = tuple(path[place + 1 :])
            links = graph.links.out_of([number]) if rest else []
            line = next((each.line for each in links if each.target == rest[0]), definition.symbol.start_line)
            why = f"step {place + 1} of {len(path)}"
            found.append(FoundPlace(definition.path, line, number, certainty, via, why, rest, None, place))
    return found


IMPACT_DEPTH: Final = 3
"""Default depth of a walk: callers of callers of callers."""

DEPTH_MAX: Final = 20

TESTS_DEPTH: Final = 8
"""Maximum number of calls between a test and its subject; helpers and layers hardly ever need more."""

REACHED_MAX: Final = 300
"""Number of definitions found after which a walk ends, once its level is complete."""

TESTS_MAX: Final = 100
"""Maximum number of references in tests."""

ALIKE_MAX: Final = 3
"""Maximum number of definitions of a name by which tests are found."""

NAMES_MAX: Final = 60
"""Maximum number of definitions on the way to a subject whose names are looked for in tests."""


def impact(meanings: Sequence[Meaning], graph: CodeGraph, depth: int = IMPACT_DEPTH) -> Findings:
    """Return the direct and indirect references to definitions; for files also their importers.

    Places that match by name only come last, and aren't followed.
    """
    depth = max(1, min(depth, DEPTH_MAX))
    more = False

    def places(meaning: Meaning, graph: CodeGraph) -> Iterable[Sequence[FoundPlace]]:
        nonlocal more
        reached = _reached(meaning, graph, depth)
        more = more or len(reached) >= REACHED_MAX
        yield _told_of_impact(reached, graph, meaning)
        if meaning.files and not meaning.definitions:
            yield _importing(meaning.files, graph, depth)
        yield _by_name(meaning, graph, reached)

    found = find_places(places, meanings, graph)
    return Findings(found.found, (*found.remarks, f"followed to a depth of {depth}"), found.more or more)


def tests(meanings: Sequence[Meaning], graph: CodeGraph) -> Findings:
    """Return the tests that reach definitions, directly or through helpers and other code."""
    return tests_within(meanings, graph, TESTS_DEPTH)


def tests_within(meanings: Sequence[Meaning], graph: CodeGraph, depth: int) -> Findings:
    """Return the tests that reach definitions in at most `depth` calls.

    A helper or fixture in a test file isn't a test: the walk passes through it, and a remark names it. If no
    test is known to reach the subject, the tests that import its file are returned.
    """
    more = False
    helping: dict[int, None] = {}

    def places(meaning: Meaning, graph: CodeGraph) -> Iterable[Sequence[FoundPlace]]:
        nonlocal more
        everything = _reached(meaning, graph, depth)
        reached = [each for each in everything if _in_tests(each, graph)]
        passed = {each.steps[0] for each in reached}
        tests = [each for each in reached if each.link.scope not in passed and _is_test(each.link, graph)]
        helping.update((each.link.scope, None) for each in reached if not _is_test(each.link, graph))
        more = more or len(tests) > TESTS_MAX
        told = _told_of_impact(tests[:TESTS_MAX], graph, meaning)
        found = [each for each in _by_name(meaning, graph, reached) if graph.is_test(each.path)]
        found += _by_names_of(everything, graph, {each.link.scope for each in reached})
        named = [each for each in found if _is_test(each, graph)]
        helping.update((each.node, None) for each in found if not _is_test(each, graph))
        if not told and not named:
            files = dict.fromkeys((*meaning.files, *(each.path for each in meaning.definitions)))
            named = [
                FoundPlace(edge.importer, edge.line, 0, "name", edge.target, f"imports {edge.target}")
                for edge in graph.reader.graph.edges_into(files)
                if graph.is_test(edge.importer)
            ]
        return told, named

    found = find_places(places, meanings, graph)
    helpers = list(graph.definitions(helping).values())
    remark = f"helpers of tests reach it too: {', '.join(map(node_id_of, helpers[:LISTED_MAX]))}"
    dots = ", …" if len(helpers) > LISTED_MAX else ""
    remarks = (*found.remarks, f"{remark}{dots}") if helpers else found.remarks
    return Findings(found.found, remarks, found.more or more)


def _reached(meaning: Meaning, graph: CodeGraph, depth: int) -> list[Reached]:
    """Return the references from which a subject is reached, nearest first: those to itself, then those that
    reach a method through the one of a base class that it overrides."""
    affected = graph.affected(meaning)
    reached = list(graph.reached(affected, (), depth, REACHED_MAX))
    bases = overridden_by(meaning.definitions, graph).keys() - set(affected)
    known = {*affected, *(each.link.scope for each in reached if each.link.scope)}
    through = graph.reached(bases, (), depth, REACHED_MAX) if bases else ()
    return [*reached, *(each for each in through if each.link.scope not in known)]


def _by_names_of(
    reached: Sequence[Reached], graph: CodeGraph, known: Collection[int]
) -> Iterator[FoundPlace]:
    """Yield the calls in test files, by their names, of what reaches a subject: tests call methods of objects
    that their runner hands them. A name counts if it has several words and few definitions."""
    steps = {each.link.scope: each for each in reached if not graph.is_test(each.link.path)}
    met = set(known)
    for each in islice(graph.definitions(steps).values(), NAMES_MAX):
        name = base_name(each.symbol.name)
        if not _COMPOUND.search(name) or graph.reader.graph.count_named(name) > ALIKE_MAX:
            continue
        through = steps[each.id]
        for link in graph.links.named(name, CALLS, ("name",), TESTS_MAX):
            if link.scope not in met and graph.is_test(link.path):
                met.add(link.scope)
                path, why = (each.id, *through.steps), "calls something of its name"
                yield replace(
                    at_link(link, "name", why, graph.names(path)), steps=path, distance=through.depth + 1
                )


def _is_test(place: Link | FoundPlace, graph: CodeGraph) -> bool:
    """Whether a place in a test file is in a test, by the names that its language's runners look for; in
    other languages any place may be in one."""
    number = place.scope if isinstance(place, Link) else place.node
    family = graph.family(place.path)
    if family not in _TESTS:
        return True
    known = graph.definitions([number]).get(number)
    pattern = (_TEST_CLASSES if known and known.symbol.kind in CLASSES else _TESTS).get(family)
    return bool(known and pattern and pattern.search(known.symbol.name))


_COMPOUND: Final = re.compile(r"[^\W_]_[^\W_]|[^\W\dA-Z_][A-Z]")

_TESTS: Final = {
    "python": re.compile(r"(?:^|\.)test"),
    "go": re.compile(r"^(?:Test|Benchmark|Example|Fuzz)(?![a-z])|\.Test[A-Z_]"),
}
"""How the names of test functions look, by family of languages; what is nested in one is part of it, while a
class has helpers too. Methods of Go's suites begin with `Test` as well."""

_TEST_CLASSES: Final = {
    "python": re.compile(r"(?:^|\.)(?:Test\w*|\w+Tests?|\w+TestCase)(?:~\d+)?$|(?:^|\.)test")
}
"""How the names of classes of tests look: what the body of one refers to, all of its tests reach."""


def _told_of_impact(reached: Sequence[Reached], graph: CodeGraph, meaning: Meaning) -> list[FoundPlace]:
    """Return the places of references; what only reaches the method that a subject overrides may reach it."""
    chosen = reached[:FOUND_MAX]
    bases = overridden_by(meaning.definitions, graph).keys() - set(meaning.ids)
    graph.definitions({step for each in chosen for step in each.steps})  # read at once
    return [
        FoundPlace(
            each.link.path,
            each.link.line,
            each.link.scope,
            "name" if each.steps[-1] in bases else meaning.certainty,
            graph.names(each.steps),
            WHY[each.link.kind],
            each.steps,
            distance=each.depth,
        )
        for each in chosen
    ]


def reaching(ids: Collection[int], graph: CodeGraph, depth: int) -> list[FoundPlace]:
    """Return the direct and indirect references to definitions that are affected themselves."""
    reached = list(graph.reached(ids, (), depth, REACHED_MAX))
    places = _told_of_impact(reached, graph, Meaning("", ""))
    return [replace(each, distance=each.distance + 1) for each in places]


def _by_name(meaning: Meaning, graph: CodeGraph, reached: Sequence[Reached]) -> list[FoundPlace]:
    """Return the calls of something of a subject's name, one in each definition, but none in the subject
    itself or where it is known to be reached."""
    if meaning.files and not meaning.definitions:
        return []
    known = {*graph.affected(meaning), *(each.link.scope for each in reached)}
    found: dict[tuple[str, int], FoundPlace] = {}
    for link in graph.by_name(meaning, CALLS, meaning.definitions):
        if not link.scope or link.scope not in known:
            key = (link.path, link.scope or -link.line)
            found.setdefault(key, at_link(link, "name", "calls something of its name", meaning.name))
    return list(found.values())


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


WHY = {
    "call": "calls it",
    "inherit": "inherits from it",
    "decorate": "is decorated with it",
    "type": "names it in a type",
    "use": "refers to it",
}
"""What a reference of each kind does with what it refers to."""
