"""Usages in the code graph: callers, references, callees and unused definitions, resolved ones first; the
neighbours of a node, and what a definition needs.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, Literal, NamedTuple

from msgspec import Struct

from ..index.records import Definition, Link
from ..index.service import Reader
from ..languages.shared.language import family_of, language_of
from ..languages.shared.qualified_names import base_name, without_number
from ..languages.shared.records import Symbol
from .code_graph import (
    CALLS,
    CLASSES,
    FOUND_MAX,
    Certainty,
    CodeGraph,
    Findings,
    FindPlaces,
    FoundPlace,
    Meaning,
    at_definition,
    at_link,
    find_places,
    in_order,
    is_constructor,
)
from .hierarchy import OWNERS_MAX, is_kin, overridden_by, subclasses, superclasses

ALIKE_MAX: Final = 3
"""Maximum number of definitions of a name that are offered for an unresolved call."""

NAMES_MAX: Final = 60
"""Maximum number of names of unresolved calls looked up."""


def callers(meaning: Meaning, graph: CodeGraph) -> Iterable[Sequence[FoundPlace]]:
    """Return the calls of definitions; the calls of a class are those of its constructor."""
    return _used(meaning, graph, CALLS, "calls")


def references(meaning: Meaning, graph: CodeGraph) -> Iterable[Sequence[FoundPlace]]:
    """Return every reference to definitions: calls, bases, types, decorators and plain uses."""
    return _used(meaning, graph, (), "refers to")


def uses_of_gone(path: str, name: str, graph: CodeGraph) -> Findings:
    """Return the references to a definition that its file no longer has, and the imports of its name from
    there. They are certain if nothing else in the project has its name."""
    base = base_name(name)
    links = graph.links.named(base, (), ("name", "external"), FOUND_MAX + 1)
    family = family_of(language_of(path))
    certainty: Certainty = "name" if graph.reader.graph.definitions_named(base, 1) else "resolved"
    found = [
        at_link(link, certainty, "uses its name")
        for link in links
        if graph.family(link.path) == family and (link.state == "name" or certainty == "resolved")
    ]
    found += [
        FoundPlace(edge.path, edge.line, 0, "resolved", "", "imports it")
        for edge in graph.reader.graph.imports_of(path, base)
    ]
    return Findings(in_order(found, graph.place), (), len(links) > FOUND_MAX)


def callees(meaning: Meaning, graph: CodeGraph) -> Iterable[Sequence[FoundPlace]]:
    """Return the callees of definitions and their members, in order of the calls.

    A resolved callee is shown at its definition, with the call in `reference`; others at the call.
    """
    ids = [each.id for each in graph.defined(meaning)]
    links = graph.links.out_of([*ids, *graph.links.inside(ids)], CALLS, FOUND_MAX)
    found = list(_called(graph, links))
    for certainty in ("resolved", "name"):
        yield [each for each in found if each.certainty == certainty]


def _used(meaning: Meaning, graph: CodeGraph, kinds: Collection[str], why: str) -> Iterator[list[FoundPlace]]:
    """Yield three lists: the resolved references, the references that may reach the subject through a base or
    an overload, and the references that only match by name."""
    if meaning.external:
        yield _external(meaning, graph, kinds, why)
        return
    definitions = graph.defined(meaning)
    stands_for = graph.made_by(definitions)
    names = graph.definitions(stands_for)
    tell = len(stands_for) > 1
    yield [
        at_link(link, meaning.certainty, f"{why} it", names[link.target].symbol.name if tell else "")
        for link in graph.uses(stands_for, kinds, FOUND_MAX + 1)
        if link.path not in meaning.files
    ]
    if not meaning.definitions:
        return
    bases = overridden_by(definitions, graph)
    themselves = {each.id for each in definitions}  # an override calls the method it overrides
    yield [
        at_link(link, "name", f"{why} what it overrides", bases[link.target].symbol.name)
        for link in graph.links.into(bases, kinds, FOUND_MAX + 1)
        if link.scope not in themselves
    ]
    overloads = _overloads(definitions, graph)
    yield [
        at_link(link, "name", f"{why} an overload of it", overloads[link.target])
        for link in graph.links.into(overloads, kinds, FOUND_MAX + 1)
    ]
    families = {graph.family(each.path) for each in definitions}
    yield [
        at_link(link, "name", f"{why} something of its name")
        for name in _borne(meaning, definitions)
        for link in graph.links.named(name, kinds, limit=FOUND_MAX + 1)
        if graph.family(link.path) in families
    ]


def _overloads(definitions: Sequence[Definition], graph: CodeGraph) -> dict[int, str]:
    """Return by id the other definitions with the same name in the same place. A link leads to the first
    overload, because it isn't known which overload is called."""
    own = {each.id for each in definitions}
    places = dict.fromkeys((each.path, without_number(each.symbol.name)) for each in definitions)
    if len(places) > OWNERS_MAX:
        return {}
    return {
        each.id: each.symbol.name
        for place in places
        for each in graph.links.definitions_at(*place)
        if each.id not in own
    }


def _external(meaning: Meaning, graph: CodeGraph, kinds: Collection[str], why: str) -> list[FoundPlace]:
    """Return the usages of an external name; with a module, only in the files that import it."""
    links = graph.links.named(meaning.name, kinds, ("external", "name"), FOUND_MAX + 1)
    if meaning.module:
        importing = {each.path for each in graph.reader.graph.module_imports(meaning.module, -1)}
        links = [
            link
            for link in links
            if link.path in importing and (link.state == "external" or meaning.module == meaning.name)
        ]
    return [at_link(link, "name", f"{why} it, which isn't the project's", meaning.module) for link in links]


def _borne(meaning: Meaning, definitions: Sequence[Definition]) -> list[str]:
    """Return the names under which definitions are called: a constructor by the name of its class."""
    names: dict[str, None] = {}
    for each in definitions if len(definitions) <= OWNERS_MAX else ():
        owner, _, last = without_number(each.symbol.name).rpartition(".")
        if owner and is_constructor(last, owner) and last not in {"new", "initialize", "init"}:
            names[base_name(owner)] = None
        else:
            names[last] = None
    return list(names) or [meaning.name]


def _called(graph: CodeGraph, links: Sequence[Link]) -> Iterator[FoundPlace]:
    """Yield the targets of calls, in order; targets outside of the project come last."""
    targets = graph.definitions(link.target for link in links)
    alike: dict[tuple[str, str], list[Definition]] = {}
    for place, link in enumerate(links):
        here = (link.path, link.line)
        via = f"{link.path}:{link.line}"
        target = targets.get(link.target)
        if target is not None:
            yield at_definition(target, "resolved", "called", via, (), here, place)
        elif link.state == "name":
            key = (link.name, graph.family(link.path))
            if key not in alike:
                alike[key] = _alike(graph, *key) if len(alike) < NAMES_MAX else []
            for definition in alike[key]:
                yield at_definition(definition, "name", "called", via, (), here, place)
            if not alike[key]:
                yield FoundPlace(*here, link.scope, "name", link.name, "calls", distance=place)
        else:
            why, last = "calls what isn't the project's", place + len(links)
            yield FoundPlace(*here, link.scope, "name", link.name, why, distance=last)


def _alike(graph: CodeGraph, name: str, family: str) -> list[Definition]:
    found = graph.reader.graph.definitions_named(name, ALIKE_MAX + 1)
    kept = [each for each in found if graph.family(each.path) == family]
    return kept if len(found) <= ALIKE_MAX else []


KINDS: Final = ("class", "function", "macro", "method", "struct", "trait", "interface")
"""Kinds of definitions that may be reported as unused; a constant or field may be read as an attribute of an
unknown object."""

LIMITS: Final = (
    "nobody refers to these in the project's code; what frameworks, templates, strings, runners of tests or"
    " other projects call may be among them"
)


def unused(
    meanings: Sequence[Meaning], graph: CodeGraph, most: int, paths: Collection[str] | None
) -> Findings:
    """Return definitions without a reference outside of tests, at most `most`, by path and line.

    Excluded are names that languages and frameworks call, methods that override or are overridden, decorated
    definitions, and members of unused definitions.
    """
    named = [path for meaning in meanings for path in meaning.paths]
    candidates = graph.reader.graph.unreferenced(KINDS, named or paths)
    chosen = (
        each for each in candidates if not _SPARED.search(each.symbol.name) and not graph.is_test(each.path)
    )
    found: list[Definition] = []
    while len(found) <= most and (batch := list(islice(chosen, max(most, 20)))):
        found.extend(_kept(batch, found, graph))
    shown = [at_definition(each, "resolved", "nobody refers to it") for each in found[:most]]
    return Findings(shown, (LIMITS,) if shown else (), len(found) > most)


def _kept(batch: Sequence[Definition], earlier: Sequence[Definition], graph: CodeGraph) -> list[Definition]:
    decorated = {link.scope for link in graph.links.out_of([each.id for each in batch], ("decorate",))}
    unused_names = {(each.path, each.symbol.name) for each in (*earlier, *batch)}
    kept = []
    for each in batch:
        owner = each.symbol.name.rpartition(".")[0]
        inner = (each.path, owner) in unused_names
        if each.id not in decorated and not inner and not (owner and is_kin(each, graph)):
            kept.append(each)
    return kept


CALLERS_READ: Final = 50
"""Maximum number of references read to find one outside of tests and examples."""

UNCALLED: Final = "has no callers outside tests and examples"
"""The remark about such a definition, to follow its name."""


def is_uncalled(path: str, symbol: Symbol, graph: CodeGraph) -> bool:
    """Whether nothing but tests and examples refers to a public definition of a source file, by links or by
    its name. False if that isn't known, as for what frameworks and languages call: decorated definitions,
    overrides, constructors and the like, and while files wait to be read or linked."""
    last = base_name(symbol.name)
    if symbol.kind not in KINDS or last.startswith("_") or _SPARED.search(symbol.name) or graph.place(path):
        return False
    if graph.tree.pending or graph.links.unlinked():
        return False
    own = [each for each in graph.links.definitions_at(path, symbol.name) if each.symbol.name == symbol.name]
    meant = {*graph.made_by(own)}
    if "." in symbol.name:  # it may be called through an interface that has its name
        meant |= {each.id for each in graph.reader.graph.definitions_named(last, CALLERS_READ)}
    links = [
        *graph.links.into(meant, (), CALLERS_READ),
        *graph.links.named(last, (), ("name",), CALLERS_READ),
    ]
    inside = {*(each.id for each in own), *graph.links.inside([each.id for each in own])}
    if len(links) >= CALLERS_READ or any(
        not graph.is_aside(link.path) and link.scope not in inside for link in links
    ):
        return False
    is_method = "." in symbol.name
    return (
        bool(own)
        and not graph.links.out_of(list(inside), ("decorate",), 1)
        and not (is_method and is_kin(own[0], graph))
    )


_SPARED = re.compile(
    r"(?:^|\.)(?:__\w+__|main|Main|init|new|constructor|setUp|tearDown|toString|equals|hashCode|fmt|drop|from|default"
    r"|[Tt]est\w*|operator\W*|visit_\w+|do_[A-Z]+)(?:~\d+)?$|^[Tt]ests?\."
)


NEIGHBOURS_MAX: Final = 50
"""Maximum number of neighbours of each relation in an answer."""


class Neighbour(Struct, frozen=True, omit_defaults=True):
    """A neighbour: its node id, the place of the reference, and its certainty. `via` is as in a search hit.

    An unknown callee has no node id; its `name` is the name in the call.
    """

    path: str
    line: int
    certainty: str
    node_id: str = ""
    name: str = ""
    via: str = ""


def neighbours(
    graph: CodeGraph, path: str, symbol: Symbol | None
) -> tuple[dict[str, list[Neighbour]], list[str]]:
    """Return the neighbours of a definition, or of a file if there is no definition, by relation, resolved
    ones first; and the relations that have more than `NEIGHBOURS_MAX`."""
    if symbol is None:
        meanings = [Meaning(path, path, files=(path,))]
    else:
        found = [
            each for each in graph.links.definitions_at(path, symbol.name) if each.symbol.name == symbol.name
        ]
        meanings = [Meaning(symbol.name, base_name(symbol.name), tuple(found), len(found))]
    relations: dict[str, FindPlaces] = {"callers": callers, "callees": callees}
    if symbol is not None and symbol.kind in CLASSES:
        relations |= {"subclasses": subclasses, "superclasses": superclasses}
    shown: dict[str, list[Neighbour]] = {}
    more: list[str] = []
    for relation, find in relations.items():
        findings = find_places(find, meanings, graph)
        chosen = findings.found[:NEIGHBOURS_MAX]
        known = graph.definitions(each.node for each in chosen)
        shown[relation] = [_neighbour(relation, each, known.get(each.node)) for each in chosen]
        if findings.more or len(findings.found) > len(chosen):
            more.append(relation)
    return shown, more


def _neighbour(relation: str, place: FoundPlace, node: Definition | None) -> Neighbour:
    path, line = place.reference or (place.path, place.line)
    if relation in {"callees", "superclasses"} and place.reference is None:
        return Neighbour(path, line, place.certainty, name=place.via)
    node_id = f"{node.path}#{node.symbol.name}" if node is not None else place.path
    return Neighbour(path, line, place.certainty, node_id, via="" if place.reference else place.via)


VALUE_LINES: Final = 3
"""Maximum lines shown of a constant's value; longer values are tables, whose beginning says enough."""

NEEDED_MAX: Final = 12
"""Maximum number of definitions listed as needed by another, the first named first."""

LINKS_MAX: Final = 300
"""Maximum number of references followed from a definition."""

VALUES: Final = frozenset({"constant", "variable", "field", "property", "macro"})
"""Kinds of definitions that are shown with their value, if it has few lines."""

Role = Literal["within", "value", "call"]


class Needed(NamedTuple):
    """A definition that another one needs. `role` says why: `within` is the class around it, `value` a
    constant that it names, `call` a function that it calls. `first` and `last` are the lines to show, from 1,
    both inclusive: all lines of a value, at most `VALUE_LINES`; the head of other definitions."""

    path: str
    symbol: Symbol
    role: Role
    first: int
    last: int


def needed_by(reader: Reader, path: str, symbol: Symbol) -> list[Needed]:
    """Return the definitions that a definition needs, at most `NEEDED_MAX`: the class around it, then the
    constants it names, then the functions it calls, each in order of first use.

    Only resolved links count, and names that the same file defines once; nothing inside the definition
    itself. For a class, only references of the class itself count, not those of its members.
    """
    own = [each for each in reader.links.definitions_at(path, symbol.name) if each.symbol == symbol]
    if not own:
        return []
    at_home = reader.links.definitions_at(path)
    inside = [] if symbol.kind in CLASSES else reader.links.inside([own[0].id])
    links = reader.links.out_of([own[0].id, *inside], ("call", "use", "type"), LINKS_MAX)
    found: dict[int, Needed] = {}
    for link, target in _targets(reader, links, at_home, own[0].symbol.name.rpartition(".")[0]):
        within = target.path == path and symbol.start_line <= target.symbol.start_line <= symbol.end_line
        needed = None if within or target.id in found else _needed(target, link)
        if needed is not None:
            found[target.id] = needed
    around = _around(at_home, own[0])
    ordered = [item for item in found.values() if item.role == "value"]
    ordered += [item for item in found.values() if item.role == "call"]
    return [*around, *(needed for needed in ordered if needed[:2] not in {each[:2] for each in around})][
        :NEEDED_MAX
    ]


def head_lines(symbol: Symbol) -> tuple[int, int]:
    """Return the first and last line of a definition's head, which ends with its signature."""
    return symbol.start_line, min(symbol.start_line + symbol.signature.count("\n"), symbol.end_line)


def _targets(
    reader: Reader, links: Sequence[Link], at_home: Sequence[Definition], owner: str
) -> Iterator[tuple[Link, Definition]]:
    """Yield the targets of references; unresolved names only where the file defines the name once, at its top
    level or in the class `owner` of the referring definition."""
    targets = reader.links.definitions([link.target for link in links if link.target])
    named: dict[str, list[Definition]] = {}
    for each in at_home:
        around, _, name = without_number(each.symbol.name).rpartition(".")
        if around in {"", owner}:
            named.setdefault(name, []).append(each)
    for link in links:
        target = targets.get(link.target)
        if target is None and link.state == "name":
            bearers = named.get(link.name, ())
            target = bearers[0] if len(bearers) == 1 else None
        if target is not None:
            yield link, target


def _needed(target: Definition, link: Link) -> Needed | None:
    symbol = target.symbol
    if symbol.kind in VALUES and link.kind != "type":  # the value of a type alias explains nothing
        last = min(symbol.end_line, symbol.start_line + VALUE_LINES - 1)
        return Needed(target.path, symbol, "value", symbol.start_line, last)
    if link.kind == "call":
        return Needed(target.path, symbol, "call", *head_lines(symbol))
    return None


def _around(at_home: Sequence[Definition], own: Definition) -> list[Needed]:
    """Return the class around a definition, found by its name, if it is in the same file."""
    owner = own.symbol.name.rpartition(".")[0]
    for each in at_home:
        if owner and each.symbol.name == owner and each.symbol.kind in CLASSES:
            return [Needed(each.path, each.symbol, "within", *head_lines(each.symbol))]
    return []
