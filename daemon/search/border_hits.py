"""What answers of the graph gain over the borders of linked projects: code of one that uses another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Final

from msgspec.structs import replace

from ..core.storage import DatabaseError
from ..graph.records import CALLS, CROSSING, INHERITS, UNCALLED, Decided
from ..graph.service import CodeGraph, Crossing, CrossingBudget, Side, across, meaning_of
from ..index.service import Reader
from ..languages.shared.imports import ImportResolver
from ..project.service import ContentReader
from ..workspace.records import ProjectSnapshot
from ..workspace.service import read_together
from .glossary import understand
from .query import Hit, Route, SearchQuery, SearchResult
from .question_route import decided_route
from .structural import SUBJECTS_MAX, asked, hits_of, is_name

_STRUCTURAL: Final[Route] = "structural"


def over_borders(
    question: SearchQuery, answered: Sequence[tuple[ProjectSnapshot, str, SearchResult]], until: float
) -> list[SearchResult]:
    """Return the results of some projects, each with what crosses from it into the others, or from them into
    it, as far as it is found before `until` (on `time.monotonic`). Each project is given by what the agent
    may see of it, and its label.

    Blocks: it reads the indexes. A project whose index can't be read keeps its result, and says so.
    """

    def read(readers: Mapping[int, Reader], unread: Mapping[int, str]) -> list[SearchResult]:
        results = [
            _incomplete(result, unread_index(unread[place])) if place in unread else result
            for place, (_, _, result) in enumerate(answered)
        ]
        sides = {place: _side(*answered[place][:2], reader) for place, reader in readers.items()}
        budget = CrossingBudget(until)
        return _crossed(question, answered, results, sides, budget)

    try:
        return read_together({place: snapshot for place, (snapshot, _, _) in enumerate(answered)}, read)
    except DatabaseError as error:
        results = [result for _, _, result in answered]
        return [_incomplete(results[0], f"{UNCROSSED}: {unread_index(error)}"), *results[1:]]


UNCROSSED: Final = "references between projects may be missing or known by name only"

LATE: Final = f"{UNCROSSED}: not all files that may have some were read"


def unread_index(why: object) -> str:
    """Return the message about an index that can't be read."""
    return f"the index can't be read ({why}): ask again when it was built anew"


def _incomplete(result: SearchResult, why: str) -> SearchResult:
    return replace(result, degraded=tuple(dict.fromkeys((*result.degraded, why))))


def _crossed(
    question: SearchQuery,
    answered: Sequence[tuple[ProjectSnapshot, str, SearchResult]],
    results: list[SearchResult],
    sides: Mapping[int, Side],
    budget: CrossingBudget,
) -> list[SearchResult]:

    def is_known(word: str) -> bool:
        return any(_knows(side, word) for side in sides.values())

    words = understand(question.text, is_known)
    decided = decided_route(words, question.relation, is_known)
    relation, subjects, depth = asked(words, decided)
    if (question.route or decided.route) != _STRUCTURAL or relation not in CROSSING:
        return results
    meanings = [
        (side, meaning_of(subject.removeprefix(f"{side.label}/"), side.graph))
        for side in sides.values()
        for subject in subjects[:SUBJECTS_MAX]
    ]
    meant = [(side, each) for side, each in meanings if each.definitions and not each.guess]
    guessing = [side for side, each in meanings if each.guess]
    is_used = False
    waiting = list(sides.items()) if meant else []
    for number, (place, own) in enumerate(waiting):
        others = [side for side in sides.values() if side is not own]
        findings, lines = across(relation, meant, own, others, depth, budget.share(len(waiting) - number))
        if own in guessing:  # another project has the name itself
            results[place] = replace(results[place], hits=())
        if findings.found or lines:
            snapshot = answered[place][0]
            wanted = question.filter if place == 0 else replace(question.filter, path_prefix="")
            hits = hits_of(findings.found, own.graph, wanted, wanted.files(snapshot.tree))
            seen = (hit for hit in hits if not snapshot.policy.hides(hit.path))
            crossing = list(islice(seen, question.graph_limit))
            said = (*decided.evidence, *findings.remarks)
            results[place] = _joined(results[place], crossing, lines, said, question.graph_limit)
            is_used = is_used or any(not own.graph.is_aside(hit.path) for hit in crossing)
    if is_used or budget.was_cut:
        results = [replace(each, evidence=tuple(filter(_holds, each.evidence))) for each in results]
    if budget.was_cut:
        results[0] = _incomplete(results[0], LATE)
    return results


Neighbours = tuple[dict[str, list[dict[str, Any]]], list[str]]
"""Neighbours by relation, and why some may be missing."""


def neighbours_over_borders(
    projects: Sequence[tuple[ProjectSnapshot, str]], path: str, symbol: str, until: float
) -> Neighbours:
    """Return the neighbours in other projects of a definition in the first one, by relation, in the form of
    GetNode, as far as they are found before `until`, and why some may be missing. Each project is given with
    the prefix of its paths. Blocks: it reads the indexes."""

    def read(readers: Mapping[int, Reader], unread: Mapping[int, str]) -> Neighbours:
        said = [": ".join(filter(None, (projects[at][1], unread_index(why)))) for at, why in unread.items()]
        if 0 not in readers:
            return {}, said
        budget = CrossingBudget(until)
        sides = [_side(*projects[place], reader) for place, reader in readers.items()]
        found = _neighbours(sides[0], sides[1:], f"{path}#{symbol}", budget)
        return found, [*said, *([LATE] if budget.was_cut else ())]

    try:
        return read_together({place: snapshot for place, (snapshot, _) in enumerate(projects)}, read)
    except DatabaseError as error:
        return {}, [f"{UNCROSSED}: {unread_index(error)}"]


def _neighbours(
    own: Side, others: Sequence[Side], node_id: str, budget: CrossingBudget
) -> dict[str, list[dict[str, Any]]]:
    meaning, kinds = meaning_of(node_id, own.graph), (*CALLS, *INHERITS)
    found: dict[str, list[dict[str, Any]]] = {}
    for each in Crossing(own, others, budget.share(len(others) + 1)).used_by(meaning, kinds):
        target = _placed(each.side.label, f"{each.definition.path}#{each.definition.symbol.name}")
        entry = {"path": _placed(own.label, each.path), "line": each.line, "certainty": "resolved"}
        above = "superclasses" if each.kind in INHERITS else "callees"
        found.setdefault(above, []).append(entry | {"node_id": target, "name": each.name})
    for number, side in enumerate(others):
        crossing = Crossing(side, [own], budget.share(len(others) - number))
        uses = crossing.uses([(own, meaning)], kinds, members=False)
        scopes = side.graph.definitions(each.scope for each in uses)
        for each in uses:
            place = _placed(side.label, each.path)
            scope = scopes.get(each.scope)
            node_id = f"{place}#{scope.symbol.name}" if scope is not None else place
            entry = {"path": place, "line": each.line, "certainty": "resolved", "node_id": node_id}
            below = "subclasses" if each.kind in INHERITS else "callers"
            found.setdefault(below, []).append(entry)
    return found


def _placed(prefix: str, path: str) -> str:
    return f"{prefix}/{path}" if prefix else path


def _side(snapshot: ProjectSnapshot, label: str, reader: Reader) -> Side:
    return Side(CodeGraph(snapshot.tree, reader), _resolver(snapshot), label)


def _knows(side: Side, word: str) -> bool:
    return is_name(word, side.graph.tree, side.graph.reader)


def _holds(remark: str) -> bool:
    """Whether a remark of one project still holds when another one uses what was asked for."""
    return not remark.endswith(UNCALLED)


def _joined(
    result: SearchResult,
    crossing: Sequence[Hit],
    decided: Decided,
    said: Sequence[str],
    limit: int,
) -> SearchResult:
    """Return a result with hits over a border: behind what is resolved in its project, before what is known
    by name. What is decided isn't repeated by name."""
    known = [hit for hit in result.hits if hit.certainty]
    if not crossing and not known:
        return result
    certain = [hit for hit in known if hit.certainty == "resolved"]
    taken = decided | {(hit.path, hit.line, "") for hit in crossing}
    by_name = [
        hit
        for hit in known
        if hit.certainty == "name" and taken.isdisjoint((hit.path, hit.line, via) for via in ("", hit.via))
    ]
    ordered = [*certain, *crossing, *by_name][:limit]
    hits = tuple(
        replace(hit, score=round(1 / (1 + place / 10), 4), sources={"tree": place + 1})
        for place, hit in enumerate(ordered)
    )
    own_remarks = result.evidence if known else ()
    evidence = tuple(dict.fromkeys((*own_remarks, *said)))
    return replace(
        result, hits=hits, intent=_STRUCTURAL, route=_STRUCTURAL, evidence=evidence, hint="", near=False
    )


def _resolver(snapshot: ProjectSnapshot) -> ImportResolver:
    """Return the meanings of imports in what an agent may see of a project."""
    unmasked = replace(snapshot.policy, mask_values=False)
    most = snapshot.config.scan.max_file_bytes
    contents = ContentReader(snapshot.tree.root, snapshot.system, most, {}, unmasked)

    def read(path: str) -> bytes | None:
        content = contents.read(path)
        return None if content.problem else content.text.encode("utf-8", "replace")

    return ImportResolver(snapshot.tree.files, read)
