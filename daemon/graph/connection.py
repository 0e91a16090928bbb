"""How two things are connected: a shortest path of references, searched from both ends."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from .code_graph import CONSTRUCTORS, Certainty, CodeGraph, Findings, FoundPlace, Meaning, leads, several
from .hierarchy import counterparts

VISITED_MAX: Final = 400
"""Maximum number of definitions visited from both ends together. In Django 800 found no more paths between
120 pairs drawn at random, and took twice as long."""

LENGTH_MAX: Final = 14
"""Maximum number of references on a path; a longer path explains nothing."""

LINKS_MAX: Final = 1_000
"""Maximum number of references followed at a time."""

FILES_MAX: Final = 200
"""Maximum number of files visited along imports."""

COMMON_DEPTH: Final = 4
COMMON_MAX: Final = 100
"""Maximum number of references followed in search of a common caller."""


def connection(meanings: Sequence[Meaning], graph: CodeGraph) -> Findings:
    """Return the definitions on a shortest path of references between two subjects.

    The first of these that exists is returned: a path from the first subject to the second; one from the
    second to the first; one that may also lead from a method to its overrides; paths from the nearest common
    caller to both; the files on a path of imports.
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
                names = graph.definitions(path)
                said = leads([names[each].symbol.name for each in path if each in names])
                how = "connected, if methods are called that override others" if overrides else "connected"
                return Findings(
                    _told(path, graph, said, "name" if overrides else certainty),
                    (*filter(None, remarks), f"{how}: {said}"),
                )
    common = _common(_ids(first, graph), _ids(second, graph), graph)
    if common:
        return Findings(
            common, (*filter(None, remarks), "neither reaches the other: a common caller reaches both")
        )
    for start, end in ((first, second), (second, first)):
        files = _files(_paths(start), _paths(end), graph)
        if files:
            said = leads([each.path for each in files])
            return Findings(files, (*filter(None, remarks), f"connected by imports alone: {said}"))
    return Findings((), (*filter(None, remarks), f"no path of at most {LENGTH_MAX} references connects them"))


def _ids(meaning: Meaning, graph: CodeGraph) -> list[int]:
    """Return the ids of a subject and its members: reaching a method means reaching its class."""
    ids = meaning.ids or [each.id for file in meaning.files for each in graph.links.definitions_at(file)]
    return [*ids, *graph.links.inside(ids)]


def _paths(meaning: Meaning) -> list[str]:
    return list(meaning.files or dict.fromkeys(each.path for each in meaning.definitions))


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
            near = _onward(near, forward, graph, overrides=overrides)
            met = next((each for each in near if each in backward), 0)
        else:
            far = _back(far, backward, graph, overrides=overrides)
            met = next((each for each in far if each in forward), 0)
        if met:
            return _joined(met, forward, backward)
    return []


def _onward(
    frontier: Sequence[int], before: dict[int, int], graph: CodeGraph, *, overrides: bool
) -> list[int]:
    """Follow the references one step forward; a class leads on to its constructors."""
    following: list[int] = []
    for scope, target in graph.reader.graph.leads_on(frontier, LINKS_MAX):
        if target not in before:
            before[target] = scope
            following.append(target)
    classes = graph.reader.graph.constructors(following, CONSTRUCTORS)
    for constructor, owner in classes.items():
        if constructor not in before:
            before[constructor] = owner
            following.append(constructor)
    for method, base in list(counterparts(following, graph, down=True)) if overrides else ():
        if method not in before:
            before[method] = base
            following.append(method)
    return following


def _back(frontier: Sequence[int], behind: dict[int, int], graph: CodeGraph, *, overrides: bool) -> list[int]:
    """Follow the references one step backward; a constructor is reached through its class."""
    following: list[int] = []
    for base, method in counterparts(frontier, graph, down=False) if overrides else ():
        if base not in behind:
            behind[base] = method
            following.append(base)
    for constructor, owner in graph.reader.graph.constructed(frontier, CONSTRUCTORS).items():
        if owner not in behind:
            behind[owner] = constructor
            following.append(owner)
    for scope, target in graph.reader.graph.leads_back([*frontier, *following], LINKS_MAX):
        if scope not in behind:
            behind[scope] = target
            following.append(scope)
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


def _common(first: Collection[int], second: Collection[int], graph: CodeGraph) -> list[FoundPlace]:
    """Return the paths from the nearest common caller to both sets of definitions."""
    first_callers = {
        each.link.scope: each
        for each in graph.reached(first, (), COMMON_DEPTH, COMMON_MAX)
        if each.link.scope
    }
    second_callers = {
        each.link.scope: each
        for each in graph.reached(second, (), COMMON_DEPTH, COMMON_MAX)
        if each.link.scope
    }
    shared = [each for each in first_callers if each in second_callers]
    if not shared:
        return []
    best = min(
        shared,
        key=lambda each: (
            first_callers[each].depth + second_callers[each].depth,
            first_callers[each].link.path,
            first_callers[each].link.line,
        ),
    )
    found: list[FoundPlace] = []
    for reached in (first_callers[best], second_callers[best]):
        names = graph.definitions([best, *reached.steps])
        via = leads([names[each].symbol.name for each in (best, *reached.steps) if each in names])
        found.append(
            FoundPlace(reached.link.path, reached.link.line, best, "resolved", via, "reaches both",
                       reached.steps, None, len(found))
        )  # fmt: skip
    return found


def _files(starts: Iterable[str], ends: Collection[str], graph: CodeGraph) -> list[FoundPlace]:
    """Return the files on a shortest path of imports."""
    before: dict[str, tuple[str, int]] = dict.fromkeys(starts, ("", 0))
    frontier = list(before)
    wanted = set(ends) - set(before)
    for _ in range(LENGTH_MAX):
        following: list[str] = []
        for edge in graph.reader.graph.import_edges(frontier) if frontier and wanted else ():
            if edge.target not in before:
                before[edge.target] = (edge.importer, edge.line)
                following.append(edge.target)
                if edge.target in wanted:
                    return _imported(edge.target, before)
        frontier = following if len(before) < FILES_MAX else []
    return []


def _imported(end: str, before: dict[str, tuple[str, int]]) -> list[FoundPlace]:
    path = [(end, 1)]
    while before[path[-1][0]][0]:
        path.append(before[path[-1][0]])
    path.reverse()
    via = leads([each for each, _ in path])
    return [
        FoundPlace(each, line, 0, "resolved", via, f"step {place + 1} of {len(path)}", distance=place)
        for place, (each, line) in enumerate(path)
    ]
