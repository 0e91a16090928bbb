"""Inheritance in the code graph: subclasses, superclasses, implementations and overrides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from ..index.link_table import Definition, Link
from ..languages.shared.qualified_names import base_name
from .code_graph import (
    CLASSES,
    FOUND_MAX,
    Certainty,
    CodeGraph,
    Findings,
    FoundPlace,
    Meaning,
    in_order,
    leads,
    several,
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


def subclasses(meanings: Sequence[Meaning], graph: CodeGraph) -> Findings:
    """Return the direct and indirect subclasses of classes."""
    return _classes(meanings, graph, "inherits from it")


def superclasses(meanings: Sequence[Meaning], graph: CodeGraph) -> Findings:
    """Return the direct and indirect superclasses of classes."""
    found: list[FoundPlace] = []
    remarks: list[str] = []
    for meaning in meanings:
        starts = _of_classes(meaning)
        kin = above(starts, graph)
        known = graph.definitions(each.id for each in kin)
        for each in kin:
            target = known.get(each.id)
            if target is not None:
                via = leads([known[step].symbol.name for step in each.steps[:-1] if step in known])
                here = (each.link.path, each.link.line)
                line, sure = target.symbol.start_line, meaning.certainty
                found.append(
                    FoundPlace(
                        target.path,
                        line,
                        target.id,
                        sure,
                        via,
                        "inherited from",
                        each.steps,
                        here,
                        each.depth,
                    )
                )
        found.extend(
            FoundPlace(link.path, link.line, link.scope, "name", link.name, "inherits from it")
            for link in graph.links.out_of([each.id for each in starts], ("inherit",), FOUND_MAX)
            if not link.target
        )
        remarks.append(several(meaning))
    return Findings(in_order(found, graph.place), tuple(filter(None, remarks)))


def implementations(meanings: Sequence[Meaning], graph: CodeGraph) -> Findings:
    """Return the implementations of interfaces, traits and bases, and of their methods."""
    classes = [each for each in meanings if _of_classes(each) or not each.definitions]
    methods = [each for each in meanings if each not in classes]
    first = _classes(classes, graph, "implements it")
    second = overrides(methods, graph, upwards=False) if methods else Findings()
    return Findings(
        [*first.found, *second.found], tuple(dict.fromkeys((*first.remarks, *second.remarks))), first.more
    )


def overrides(meanings: Sequence[Meaning], graph: CodeGraph, *, upwards: bool = True) -> Findings:
    """Return the methods that override others; with `upwards` also the methods that those override."""
    found: list[FoundPlace] = []
    remarks: list[str] = []
    for meaning in meanings:
        for member, kin, owner in _counterparts(meaning.definitions, graph, down=True):
            found.append(_counterpart(member, kin, owner, meaning.certainty, "overrides it", 0))
        if upwards:
            meant = {each.id for each in meaning.definitions}
            for member, kin, owner in _counterparts(meaning.definitions, graph, down=False):
                if member.id in meant:
                    continue  # reported as the overridden methods
                found.append(
                    _counterpart(member, kin, owner, meaning.certainty, "overridden by it", DEPTH_MAX)
                )
        if len(meaning.definitions) > OWNERS_MAX:
            count = len(meaning.definitions)
            remarks.append(f"{count} definitions bear the name, too many to follow: say whose is meant")
        remarks.append(several(meaning))
    return Findings(in_order(found, graph.place), tuple(filter(None, remarks)))


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


def _classes(meanings: Sequence[Meaning], graph: CodeGraph, why: str) -> Findings:
    found: list[FoundPlace] = []
    remarks: list[str] = []
    more = False
    for meaning in meanings:
        starts = _of_classes(meaning)
        kin = below(starts, graph)
        more = more or len(kin) >= FOUND_MAX
        known = graph.definitions(step for each in kin for step in each.steps)
        for each in kin:
            via = (
                leads([known[step].symbol.name for step in each.steps if step in known])
                if each.depth > 1
                else ""
            )
            found.append(
                FoundPlace(each.link.path, each.link.line, each.id, meaning.certainty, via, why, each.steps,
                      distance=each.depth)
            )  # fmt: skip
        families = {graph.family(each.path) for each in starts}
        states = ("external", "name") if meaning.external else ("name",)
        found.extend(
            FoundPlace(link.path, link.line, link.scope, "name", "", f"{why}, by the name")
            for link in graph.links.named(meaning.name, ("inherit",), states, FOUND_MAX)
            if meaning.external or graph.family(link.path) in families
        )
        remarks.append(several(meaning))
    return Findings(in_order(found, graph.place), tuple(filter(None, remarks)), more)


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
    return FoundPlace(
        member.path,
        member.symbol.start_line,
        member.id,
        sure,
        method.symbol.name,
        why,
        (*kin.steps[:-1], method.id),
        distance=distance + kin.depth,
    )


def _of_classes(meaning: Meaning) -> list[Definition]:
    return [each for each in meaning.definitions if each.symbol.kind in CLASSES]
