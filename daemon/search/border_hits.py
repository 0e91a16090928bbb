"""What answers of the graph gain over the borders of linked projects: code of one that uses another."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from itertools import islice
from typing import Any, Final

from msgspec.structs import replace

from ..core.storage import DatabaseError
from ..graph.records import CALLS, CROSSING, INHERITS, UNCALLED, Decided
from ..graph.service import CodeGraph, Crossing, Side, across, meaning_of
from ..languages.shared.imports import ImportResolver
from ..project.service import ContentReader
from ..workspace.records import ProjectSnapshot
from .query import Hit, Route, SearchQuery, SearchResult
from .question import take_apart
from .question_route import route_question, with_relation
from .structural import SUBJECTS_MAX, asked, hits_of, is_name

_STRUCTURAL: Final[Route] = "structural"


def over_borders(
    question: SearchQuery, answered: Sequence[tuple[ProjectSnapshot, str, SearchResult]]
) -> list[SearchResult]:
    """Return the results of some projects, each with what crosses from it into the others, or from them into
    it. Each project is given by what the agent may see of it, and its label.

    Blocks: it reads the indexes. A project whose index can't be read keeps its result.
    """
    results = [result for _, _, result in answered]
    with ExitStack() as stack:
        sides = _sides(stack, [(snapshot, label) for snapshot, label, _ in answered])
        words = take_apart(question.text)
        decided = (
            with_relation(question.relation, words)
            if question.relation
            else route_question(words, lambda word: any(_knows(side, word) for side in sides.values()))
        )
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
        for place, own in sides.items() if meant else ():
            others = [side for side in sides.values() if side is not own]
            findings, lines = across(relation, meant, own, others, depth)
            if own in guessing:  # another project has the name itself
                results[place] = replace(results[place], hits=())
            if findings.found or lines:
                snapshot = answered[place][0]
                allowed = question.filter.files(snapshot.tree)
                hits = hits_of(findings.found, own.graph, question.filter, allowed)
                seen = (hit for hit in hits if not snapshot.policy.hides(hit.path))
                crossing = list(islice(seen, question.graph_limit))
                said = (*decided.evidence, *findings.remarks)
                results[place] = _joined(results[place], crossing, lines, said, question.graph_limit)
                is_used = is_used or any(not own.graph.is_aside(hit.path) for hit in crossing)
    if is_used:
        results = [replace(each, evidence=tuple(filter(_holds, each.evidence))) for each in results]
    return results


def neighbours_over_borders(
    projects: Sequence[tuple[ProjectSnapshot, str]], path: str, symbol: str
) -> dict[str, list[dict[str, Any]]]:
    """Return the neighbours in other projects of a definition in the first one, by relation, in the form of
    GetNode. Each project is given with the prefix of its paths. Blocks: it reads the indexes."""
    with ExitStack() as stack:
        sides = _sides(stack, projects)
        if 0 not in sides:
            return {}
        own, others = sides[0], [side for place, side in sides.items() if place]
        meaning = meaning_of(f"{path}#{symbol}", own.graph)
        found: dict[str, list[dict[str, Any]]] = {}
        for above, below, kinds in (("callees", "callers", CALLS), ("superclasses", "subclasses", INHERITS)):
            for each in Crossing(own, others).used_by(meaning, kinds):
                target = _placed(each.side.label, f"{each.definition.path}#{each.definition.symbol.name}")
                entry = {"path": _placed(own.label, each.path), "line": each.line, "certainty": "resolved"}
                found.setdefault(above, []).append(entry | {"node_id": target, "name": each.name})
            for side in others:
                uses = Crossing(side, [own]).uses([(own, meaning)], kinds, members=False)
                scopes = side.graph.definitions(each.scope for each in uses)
                for each in uses:
                    place = _placed(side.label, each.path)
                    scope = scopes.get(each.scope)
                    node_id = f"{place}#{scope.symbol.name}" if scope is not None else place
                    entry = {"path": place, "line": each.line, "certainty": "resolved", "node_id": node_id}
                    found.setdefault(below, []).append(entry)
    return found


def _placed(prefix: str, path: str) -> str:
    return f"{prefix}/{path}" if prefix else path


def _sides(stack: ExitStack, projects: Sequence[tuple[ProjectSnapshot, str]]) -> dict[int, Side]:
    """Return the projects whose index can be read, by their places."""
    sides: dict[int, Side] = {}
    for place, (snapshot, label) in enumerate(projects):
        try:
            reader = stack.enter_context(snapshot.reader())
            stack.enter_context(reader.snapshot())
        except DatabaseError:
            continue
        sides[place] = Side(CodeGraph(snapshot.tree, reader), _resolver(snapshot), label)
    return sides


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
