"""Parallel definitions in the code graph: those that a change of one often changes too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..index.records import Definition
from ..languages.shared.qualified_names import base_name, without_number
from ..languages.shared.records import Symbol
from .code_graph import CLASSES, CONSTRUCTORS, CodeGraph
from .hierarchy import above, below

NAMED_MAX: Final = 100
"""Maximum number of definitions of a name that are read; a more common name tells nothing."""

BESIDE_MIN: Final = 2
"""Minimum number of files beside a definition's own that define its name; one may do so by chance."""

COMPARED: Final = CLASSES | {"function", "method"}
"""Kinds of definitions that have parallel ones."""


def parallels(path: str, symbol: Symbol, graph: CodeGraph) -> list[Definition]:
    """Return the definitions parallel to one, those of its folder first: the methods of its name in other
    classes of the same base, the other classes of its base, or what has its name and kind in the files
    beside it. Constructors and tests have none."""
    last = base_name(symbol.name)
    if symbol.kind not in COMPARED or last in CONSTRUCTORS or last.startswith("__") or graph.is_test(path):
        return []
    own = [each for each in graph.links.definitions_at(path, symbol.name) if each.symbol.name == symbol.name]
    found = {each.id: each for each in _of_bases(own, last, graph)} if len(own) == 1 else {}
    if not found:
        beside = _beside(path, symbol, last, graph)
        found = {each.id: each for each in beside if len({each.path for each in beside}) >= BESIDE_MIN}
    folder = path.rpartition("/")[0]
    return sorted(
        (each for each in found.values() if each.id != own[0].id and not graph.place(each.path)),
        key=lambda each: (each.path.rpartition("/")[0] != folder, each.path, each.symbol.start_line),
    )


def _of_bases(own: Sequence[Definition], last: str, graph: CodeGraph) -> list[Definition]:
    """Return the other classes of a class's direct bases, or the methods of a name in those of its class."""
    owners = own if own[0].symbol.kind in CLASSES else list(graph.reader.graph.owners([own[0].id]).values())
    owners = [each for each in owners if each.symbol.kind in CLASSES]
    bases = graph.definitions(each.id for each in above(owners, graph) if each.depth == 1)
    kin = [each.id for each in below(bases.values(), graph) if each.id not in {one.id for one in owners}]
    if not kin:
        return []
    if own[0].symbol.kind in CLASSES:
        return list(graph.definitions(kin).values())
    return [member for _, member in graph.reader.graph.members_named(kin, {last})]


def _beside(path: str, symbol: Symbol, last: str, graph: CodeGraph) -> list[Definition]:
    """Return what has a name and kind in other files of the folder, or in files of the same name in the
    folders beside it."""
    named = graph.reader.graph.definitions_named(last, NAMED_MAX)
    folder, _, file = path.rpartition("/")
    depth, family = without_number(symbol.name).count("."), graph.family(path)
    return [
        each
        for each in (named if len(named) < NAMED_MAX else ())
        if each.path != path
        and each.symbol.kind == symbol.kind
        and without_number(each.symbol.name).count(".") == depth
        and graph.family(each.path) == family
        and _is_beside(each.path, folder, file)
    ]


def _is_beside(path: str, folder: str, file: str) -> bool:
    other, _, name = path.rpartition("/")
    return other == folder or (name == file and other.rpartition("/")[0] == folder.rpartition("/")[0] != "")
