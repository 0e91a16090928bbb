"""Inheritance in the code graph: subclasses, superclasses, implementations and overrides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from ..index.records import Definition, Link
from ..languages.shared.qualified_names import base_name
from .code_graph import (
    CLASSES,
    FOUND_MAX,
    Certainty,
    CodeGraph,
    FoundPlace,
    Meaning,
    at_definition,
    at_link,
)

DEPTH_MAX: Final = 12
"""Maximum number of levels of inheritance followed."""

OWNERS_MAX: Final = 20
"""Maximum number of methods of one name whose classes are followed; a more common name identifies none."""


class Kin(NamedTuple):
    """A class above or below another. `steps` lead from it to the start of the walk, which is last; `link` is
    the reference of the last step."""

    id: int
    link: Link
    depth: int
    steps: tuple[int, ...]


def subclasses(meaning: Meaning, graph: CodeGraph) -> Iterable[Sequence[FoundPlace]]:
    """Return the direct and indirect subclasses of classes."""
    return _classes(meaning, graph, "inherits from it")


def superclasses(meaning: Meaning, graph: CodeGraph) -> Iterable[Sequence[FoundPlace]]:
    """Return the direct and indirect superclasses of classes."""
    starts = _of_classes(meaning)
    kin = above(starts, graph)
    known = graph.definitions(each.id for each in kin)
    yield [
        at_definition(
            known[each.id],
            meaning.certainty,
            "inherited from",
            graph.names(each.steps[:-1]),
            each.steps,
            (each.link.path, each.link.line),
            each.depth,
        )
        for each in kin
        if each.id in known
    ]
    links = graph.links.out_of([each.id for each in starts], ("inherit",), FOUND_MAX)
    yield [at_link(link, "name", "inherits from it", link.name) for link in links if not link.target]


def implementations(meaning: Meaning, graph: CodeGraph) -> Iterable[Sequence[FoundPlace]]:
    """Return the implementations of interfaces, traits and bases, and of their methods."""
    if _of_classes(meaning) or not meaning.definitions:
        return _classes(meaning, graph, "implements it")
    return [_overriding(meaning, graph)]


def overrides(meaning: Meaning, graph: CodeGraph) -> Iterable[Sequence[FoundPlace]]:
    """Return the methods that override others, and the methods that those override."""
    yield _overriding(meaning, graph)
    meant = set(meaning.ids)
    yield [
        _counterpart(member, kin, owner, meaning.certainty, "overridden by it", DEPTH_MAX)
        for member, kin, owner in _counterparts(meaning.definitions, graph, down=False)
        if member.id not in meant  # else it is reported as an overridden method
    ]


def _overriding(meaning: Meaning, graph: CodeGraph) -> list[FoundPlace]:
    return [
        _counterpart(member, kin, owner, meaning.certainty, "overrides it", 0)
        for member, kin, owner in _counterparts(meaning.definitions, graph, down=True)
    ]


def overridden_by(definitions: Sequence[Definition], graph: CodeGraph) -> dict[int, Definition]:
    """Return by id the methods of base classes that these methods override."""
    return {member.id: member for member, _, _ in _counterparts(definitions, graph, down=False)}


def counterparts(ids: Iterable[int], graph: CodeGraph, *, down: bool) -> Iterator[tuple[int, int]]:
    """Yield (counterpart, method) for the methods among definitions: those that override them, or with
    `down` false those that they override."""
    methods = iter([each for each in graph.definitions(ids).values() if "." in each.symbol.name])
    while batch := list(islice(methods, OWNERS_MAX)):
        for member, _, method in _counterparts(batch, graph, down=down):
            yield member.id, method.id


def is_kin(method: Definition, graph: CodeGraph) -> bool:
    """Whether a method overrides another, or is overridden."""
    return any(next(_counterparts([method], graph, down=down), None) for down in (False, True))


def above(starts: Iterable[Definition], graph: CodeGraph) -> list[Kin]:
    """Return the superclasses of classes, nearest first, without duplicates."""
    return _kin(starts, graph, down=False)


def below(starts: Iterable[Definition], graph: CodeGraph) -> list[Kin]:
    """Return the subclasses of classes, nearest first, without duplicates, at most about `FOUND_MAX`."""
    return _kin(starts, graph, down=True)


def _kin(starts: Iterable[Definition], graph: CodeGraph, *, down: bool) -> list[Kin]:
    found: dict[int, Kin] = {}
    frontier: dict[int, tuple[int, ...]] = {each.id: (each.id,) for each in starts}
    begun = set(frontier)
    links_of = graph.links.into if down else graph.links.out_of
    for depth in range(1, DEPTH_MAX + 1):
        following: dict[int, tuple[int, ...]] = {}
        for link in links_of(frontier, ("inherit",), FOUND_MAX) if frontier else ():
            near, far = (link.target, link.scope) if down else (link.scope, link.target)
            if far and far not in found and far not in begun:
                found[far] = Kin(far, link, depth, frontier[near])
                following[far] = (far, *frontier[near])
        frontier = following if not down or len(found) < FOUND_MAX else {}
    return list(found.values())


def _classes(meaning: Meaning, graph: CodeGraph, why: str) -> Iterable[Sequence[FoundPlace]]:
    starts = _of_classes(meaning)
    yield [
        FoundPlace(
            each.link.path,
            each.link.line,
            each.id,
            meaning.certainty,
            graph.names(each.steps) if each.depth > 1 else "",
            why,
            each.steps,
            distance=each.depth,
        )
        for each in below(starts, graph)
    ]
    yield [
        at_link(link, "name", f"{why}, by the name") for link in graph.by_name(meaning, ("inherit",), starts)
    ]


def _counterparts(
    definitions: Sequence[Definition], graph: CodeGraph, *, down: bool
) -> Iterator[tuple[Definition, Kin, Definition]]:
    """Yield the methods of the same name in subclasses or superclasses: the method, its class's link, and the
    method it corresponds to. Yields nothing if too many methods have the name."""
    if len(definitions) > OWNERS_MAX:
        return
    known = {each.id: each for each in definitions}
    owners = graph.reader.graph.owners(known)
    methods = {of.id: known[method] for method, of in owners.items() if of.symbol.kind in CLASSES}
    seen: set[int] = set()
    # Each method is treated separately, because one of several methods with a name often overrides another.
    for owner, method in methods.items():
        kin = {each.id: each for each in (below if down else above)([owners[method.id]], graph)}
        named = {base_name(method.symbol.name)}
        for holder, member in graph.reader.graph.members_named(kin, named) if kin else ():
            if member.id not in seen and kin[holder].steps[-1] == owner:
                seen.add(member.id)
                yield member, kin[holder], method


def _counterpart(
    member: Definition, kin: Kin, method: Definition, sure: Certainty, why: str, distance: int
) -> FoundPlace:
    steps = (*kin.steps[:-1], method.id)
    return at_definition(member, sure, why, method.symbol.name, steps, distance=distance + kin.depth)


def _of_classes(meaning: Meaning) -> list[Definition]:
    return [each for each in meaning.definitions if each.symbol.kind in CLASSES]
