"""Import relations of files: importers, imports, outlines and import cycles."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from ..core.relative_paths import within
from ..index.store import Reader
from .code_graph import (
    FOUND_MAX,
    CodeGraph,
    Findings,
    FoundPlace,
    GenerationCache,
    Meaning,
    in_order,
    leads,
    several,
)

OUTLINE_DEPTH: Final = 1
"""Levels of members in an outline below the top level."""

CYCLES_MAX: Final = 50
"""Maximum number of import cycles in an answer, the shortest first."""

CYCLE_STEPS_MAX: Final = 20_000
"""Maximum number of imports followed in search of cycles, 4 ms."""


def importers(meanings: Sequence[Meaning], graph: CodeGraph) -> Findings:
    """Return the importers of files, of the files of definitions, or of a module outside of the project."""
    found: list[FoundPlace] = []
    more = False
    for meaning in meanings:
        found.extend(
            FoundPlace(edge.importer, edge.line, 0, meaning.certainty, edge.target, f"imports {edge.target}")
            for edge in graph.reader.graph.edges_into(_imported_as(meaning.paths, graph))
        )
        if meaning.external:
            module = meaning.module or meaning.written
            outside = graph.reader.graph.module_imports(module, FOUND_MAX + 1)
            more = more or len(outside) > FOUND_MAX
            found.extend(
                FoundPlace(each.path, each.line, 0, "resolved", each.module, f"imports {each.module}")
                for each in outside[:FOUND_MAX]
            )
    return Findings(in_order(found, graph.place), more=more)


def _imported_as(paths: Iterable[str], graph: CodeGraph) -> list[str]:
    """Return the files under which imports record these files: a Go package is imported as one of its
    files."""
    found = dict.fromkeys(paths)
    for path in list(found):
        if path.endswith(".go"):
            folder = path.rpartition("/")[0]
            layout = graph.tree.layout.folders.get(folder)
            names = layout.files if layout is not None else ()
            found.update(dict.fromkeys(within(folder, name) for name in names if name.endswith(".go")))
    return list(found)


def imports(meanings: Sequence[Meaning], graph: CodeGraph) -> Findings:
    """Return the imports of files: first the project's files in order, then the line of each other import."""
    found: list[FoundPlace] = []
    for meaning in meanings:
        for path in meaning.paths:
            for place, link in enumerate(graph.reader.imports(path)):
                line = link.imported.line
                if link.target:
                    here = (path, line)
                    via = f"{path}:{line}"
                    why = f"imported by {via}"
                    found.append(FoundPlace(link.target, 1, 0, meaning.certainty, via, why, (), here, place))
                elif link.imported.required:
                    module = link.imported.module
                    gone = "is missing" if link.missing else "isn't the project's"
                    why = f"imports {module}, which {gone}"
                    found.append(FoundPlace(path, line, 0, "name", module, why, distance=place))
    unique = {(each.path, each.line, each.via): each for each in found}
    return Findings(sorted(unique.values(), key=lambda each: (each.certainty != "resolved", each.distance)))


def outline(meanings: Sequence[Meaning], graph: CodeGraph) -> Findings:
    """Return the definitions in files, down to members, or inside of definitions, in source order."""
    found: list[FoundPlace] = []
    for meaning in meanings:
        inside = graph.members(meaning.ids) if meaning.definitions else ()
        files = () if inside else meaning.paths
        shown = [
            *inside,
            *(
                each
                for path in files
                for each in graph.links.definitions_at(path)
                if each.symbol.depth <= OUTLINE_DEPTH or each.symbol.kind == "section"
            ),
        ]
        found.extend(
            FoundPlace(each.path, each.symbol.start_line, each.id, meaning.certainty, each.symbol.name,
                  f"defines {each.symbol.name}")
            for each in shown
        )  # fmt: skip
    return Findings(found[:FOUND_MAX], tuple(filter(None, map(several, meanings))), len(found) > FOUND_MAX)


def cycles(meanings: Sequence[Meaning], graph: CodeGraph) -> Findings:
    """Return import cycles, the shortest first; with a subject, only the cycles through its files."""
    lines, following, components = _all_imports.get(graph.tree, graph.reader)
    files = [path for meaning in meanings for path in meaning.paths]
    wanted = set(files) if meanings else None
    found = []
    for circle in _circles(following, components, wanted):
        via = leads([*circle, circle[0]])
        first, second = circle[0], circle[1 % len(circle)]
        found.append(
            FoundPlace(first, lines[first, second], 0, "resolved", via, f"a circle of {len(circle)}",
                  distance=len(circle))
        )  # fmt: skip
    remark = "imports inside functions, and those for types alone, count as well"
    return Findings(found, (remark,) if found else ("no circle of imports is known",))


def _read(
    reader: Reader,
) -> tuple[Mapping[tuple[str, str], int], Mapping[str, Sequence[str]], Sequence[Collection[str]]]:
    """Return all imports of a project with their lines, by importer, and the sets of files that hold cycles.
    20,000 imports take 50 ms."""
    edges = reader.graph.import_edges()
    following: dict[str, list[str]] = {}
    for edge in edges:
        following.setdefault(edge.importer, []).append(edge.target)
    lines = {(edge.importer, edge.target): edge.line for edge in edges}
    return lines, following, _components(following)


_all_imports = GenerationCache(_read)


def _circles(
    following: Mapping[str, Sequence[str]],
    components: Iterable[Collection[str]],
    wanted: Collection[str] | None,
) -> list[tuple[str, ...]]:
    """Return a shortest cycle through each file that is on one; each cycle once, from its first file by
    name."""
    found: dict[tuple[str, ...], None] = {}
    steps = CYCLE_STEPS_MAX
    for component in components:
        for start in sorted(component):
            if steps > 0 and (wanted is None or start in wanted):
                circle, taken = _shortest(start, component, following, steps)
                steps -= taken
                if circle:
                    least = circle.index(min(circle))
                    found[(*circle[least:], *circle[:least])] = None
    return sorted(found, key=lambda circle: (len(circle), circle))[:CYCLES_MAX]


def _shortest(
    start: str, component: Collection[str], following: Mapping[str, Sequence[str]], most: int
) -> tuple[tuple[str, ...], int]:
    """Return a shortest cycle through a file, and the number of imports followed to find it."""
    before: dict[str, str] = {}
    queue = deque([start])
    taken = 0
    while queue and taken < most:
        at = queue.popleft()
        for target in following.get(at, ()):
            taken += 1
            if target == start:
                circle = [at]
                while circle[-1] != start:
                    circle.append(before[circle[-1]])
                return tuple(reversed(circle)), taken
            if target in component and target not in before:
                before[target] = at
                queue.append(target)
    return (), taken


def _components(following: Mapping[str, Sequence[str]]) -> list[set[str]]:
    """Return the strongly connected components: files that all reach each other, or a file that imports
    itself.

    Tarjan's algorithm (1972) with an explicit stack, since chains of imports may exceed Python's recursion
    limit.
    """
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    found: list[set[str]] = []
    for root in following:
        work = [(root, 0)] if root not in number else []
        while work:
            at, place = work.pop()
            if not place:
                number[at] = low[at] = len(number)
                stack.append(at)
                on_stack.add(at)
            targets = following.get(at, ())
            descended = False
            for index in range(place, len(targets)):
                target = targets[index]
                if target not in number:
                    work += [(at, index + 1), (target, 0)]
                    descended = True
                    break
                if target in on_stack:
                    low[at] = min(low[at], number[target])
            if descended:
                continue
            if low[at] == number[at]:
                component: set[str] = set()
                while at not in component:
                    last = stack.pop()
                    on_stack.discard(last)
                    component.add(last)
                if len(component) > 1 or at in targets:
                    found.append(component)
            if work:
                above = work[-1][0]
                low[above] = min(low[above], low[at])
    return found
