"""Import relations of files: importers, imports, outlines and import cycles."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from graphlib import CycleError, TopologicalSorter
from typing import Final

from ..core.relative_paths import within
from ..index.service import Reader
from .code_graph import (
    FOUND_MAX,
    CodeGraph,
    Findings,
    FoundPlace,
    GenerationCache,
    Meaning,
    at_definition,
    leads,
    several,
)

OUTLINE_DEPTH: Final = 1
"""Levels of members in an outline below the top level."""

CYCLES_MAX: Final = 50
"""Maximum number of import cycles in an answer, the shortest first."""

CYCLE_STEPS_MAX: Final = 20_000
"""Maximum number of imports followed in search of cycles, 4 ms."""


def importers(meaning: Meaning, graph: CodeGraph) -> Iterable[Sequence[FoundPlace]]:
    """Return the importers of files, of the files of definitions, or of a module outside of the project."""
    yield [
        FoundPlace(edge.importer, edge.line, 0, meaning.certainty, edge.target, f"imports {edge.target}")
        for edge in graph.reader.graph.edges_into(_imported_as(meaning.paths, graph))
    ]
    if meaning.external:
        module = meaning.module or meaning.written
        yield [
            FoundPlace(each.path, each.line, 0, "resolved", each.module, f"imports {each.module}")
            for each in graph.reader.graph.module_imports(module, FOUND_MAX + 1)
        ]


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
        shown = graph.members(meaning.ids) if meaning.definitions else []
        if not shown:
            files = (each for path in meaning.paths for each in graph.links.definitions_at(path))
            shown = [
                each for each in files if each.symbol.depth <= OUTLINE_DEPTH or each.symbol.kind == "section"
            ]
        for each in shown:
            name = each.symbol.name
            found.append(at_definition(each, meaning.certainty, f"defines {name}", name))
    return Findings(found[:FOUND_MAX], tuple(filter(None, map(several, meanings))), len(found) > FOUND_MAX)


def cycles(meanings: Sequence[Meaning], graph: CodeGraph) -> Findings:
    """Return import cycles, the shortest first; with a subject, only the cycles through its files."""
    lines, following = _all_imports.get(graph.tree, graph.reader)
    wanted = {path for meaning in meanings for path in meaning.paths} if meanings else None
    found = []
    for circle in _circles(following, wanted):
        via = leads([*circle, circle[0]])
        line = lines[circle[0], circle[1 % len(circle)]]
        why = f"a circle of {len(circle)}"
        found.append(FoundPlace(circle[0], line, 0, "resolved", via, why, distance=len(circle)))
    remark = "imports inside functions, and those for types alone, count as well"
    return Findings(found, (remark,) if found else ("no circle of imports is known",))


def _read(reader: Reader) -> tuple[Mapping[tuple[str, str], int], Mapping[str, Sequence[str]]]:
    """Return all imports of a project with their lines, and those between files that may be on a cycle, by
    importer. 20,000 imports take 50 ms."""
    edges = reader.graph.import_edges()
    lines = {(edge.importer, edge.target): edge.line for edge in edges}
    following: dict[str, list[str]] = {}
    for importer, target in lines:
        following.setdefault(importer, []).append(target)
    leading: dict[str, list[str]] = {}
    for importer, target in lines:
        leading.setdefault(target, []).append(importer)
    on_cycles = _blocked(following) & _blocked(leading)
    kept = {
        path: [target for target in targets if target in on_cycles]
        for path, targets in following.items()
        if path in on_cycles
    }
    return lines, kept


_all_imports = GenerationCache(_read)


def _blocked(following: Mapping[str, Sequence[str]]) -> set[str]:
    """Return the files that are on a cycle or lead to one."""
    sorter = TopologicalSorter(following)
    with suppress(CycleError):  # it sorts all the files before the cycles nevertheless
        sorter.prepare()
    left = {*following, *(target for targets in following.values() for target in targets)}
    while ready := sorter.get_ready():
        left.difference_update(ready)
        sorter.done(*ready)
    return left


def _circles(following: Mapping[str, Sequence[str]], wanted: Collection[str] | None) -> list[tuple[str, ...]]:
    """Return a shortest cycle through each file that is on one; each cycle once, from its first file by
    name."""
    found: dict[tuple[str, ...], None] = {}
    steps = CYCLE_STEPS_MAX
    for start in sorted(following):
        if steps > 0 and (wanted is None or start in wanted):
            circle, taken = _shortest(start, following, steps)
            steps -= taken
            if circle:
                least = circle.index(min(circle))
                found[(*circle[least:], *circle[:least])] = None
    return sorted(found, key=lambda circle: (len(circle), circle))[:CYCLES_MAX]


def _shortest(start: str, following: Mapping[str, Sequence[str]], most: int) -> tuple[tuple[str, ...], int]:
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
            if target not in before:
                before[target] = at
                queue.append(target)
    return (), taken
