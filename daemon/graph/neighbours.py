"""The neighbours of a node: callers, callees, superclasses and subclasses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from ..index.store import Reader
from ..languages.shared.qualified_names import base_name
from ..languages.shared.records import Symbol
from ..project.tree import Tree
from .code_graph import CLASSES, CodeGraph
from .found import Certainty, Findings
from .hierarchy import subclasses, superclasses
from .meaning import Meaning
from .usages import callees, callers

NEIGHBOURS_MAX: Final = 50
"""Maximum number of neighbours of each relation in an answer."""


class Neighbour(Struct, frozen=True):
    """A neighbour: its node id, the place of the reference, and its certainty. `via` is as in a search hit.

    An unknown callee has no node id; its `name` is the name in the call.
    """

    node_id: str
    name: str
    path: str
    line: int
    certainty: Certainty
    via: str


class Neighbours(Struct, frozen=True):
    """Neighbours in one relation, resolved ones first; `more` says that there are others."""

    shown: tuple[Neighbour, ...]
    more: bool


def neighbours(tree: Tree, reader: Reader, path: str, symbol: Symbol | None) -> Mapping[str, Neighbours]:
    """Return the neighbours of a definition, or of a file if there is no definition, by relation."""
    graph = CodeGraph(tree, reader)
    if symbol is None:
        meanings = [Meaning(path, path, files=(path,))]
    else:
        found = [
            each for each in graph.links.definitions_at(path, symbol.name) if each.symbol.name == symbol.name
        ]
        meanings = [Meaning(symbol.name, base_name(symbol.name), tuple(found), len(found))]
    relations = {"callers": callers, "callees": callees}
    if symbol is not None and symbol.kind in CLASSES:
        relations |= {"subclasses": subclasses, "superclasses": superclasses}
    return {name: _shown(name, relation(meanings, graph), graph) for name, relation in relations.items()}


def _shown(relation: str, findings: Findings, graph: CodeGraph) -> Neighbours:
    chosen = findings.found[:NEIGHBOURS_MAX]
    known = graph.definitions(each.node for each in chosen)
    shown = []
    for each in chosen:
        node = known.get(each.node)
        place = each.reference or (each.path, each.line)
        if relation in _OUTGOING and each.reference is None:
            shown.append(Neighbour("", each.via, *place, each.certainty, ""))
            continue
        node_id = f"{node.path}#{node.symbol.name}" if node is not None else each.path
        via = "" if each.reference else each.via
        shown.append(Neighbour(node_id, node.symbol.name if node else "", *place, each.certainty, via))
    return Neighbours(tuple(shown), findings.more or len(findings.found) > len(chosen))


_OUTGOING = frozenset({"callees", "superclasses"})
