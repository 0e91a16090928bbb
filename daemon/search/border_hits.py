"""What answers of the graph gain over the borders of linked projects: code of one that uses another."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from itertools import islice
from typing import Final

from msgspec.structs import replace

from ..core.storage import DatabaseError
from ..graph.records import CROSSING, UNCALLED, Decided
from ..graph.service import CodeGraph, Side, across, meaning_of
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
        sides: dict[int, Side] = {}
        for place, (snapshot, label, _) in enumerate(answered):
            try:
                reader = stack.enter_context(snapshot.reader())
                stack.enter_context(reader.snapshot())
            except DatabaseError:
                continue
            sides[place] = Side(CodeGraph(snapshot.tree, reader), _resolver(snapshot), label)
        words = take_apart(question.text)
        if question.relation:
            decided = with_relation(question.relation, words)
        else:
            graphs = [side.graph for side in sides.values()]
            decided = route_question(
                words, lambda word: any(is_name(word, each.tree, each.reader) for each in graphs)
            )
        relation, subjects, depth = asked(words, decided)
        if (question.route or decided.route) != _STRUCTURAL or relation not in CROSSING:
            return results
        meant = [
            (side, meaning)
            for side in sides.values()
            for subject in subjects[:SUBJECTS_MAX]
            for meaning in (meaning_of(subject.removeprefix(f"{side.label}/"), side.graph),)
            if meaning.definitions and not meaning.guess
        ]
        is_used = False
        for place, own in sides.items() if meant else ():
            others = [side for side in sides.values() if side is not own]
            findings, decided_lines = across(relation, meant, own, others, depth)
            if findings.found or decided_lines:
                snapshot = answered[place][0]
                hits = hits_of(
                    findings.found, own.graph, question.filter, question.filter.files(snapshot.tree)
                )
                seen = (hit for hit in hits if not snapshot.policy.hides(hit.path))
                crossing = list(islice(seen, question.graph_limit))
                said = (*decided.evidence, *findings.remarks)
                results[place] = _joined(results[place], crossing, decided_lines, said, question.graph_limit)
                is_used = is_used or any(not own.graph.is_aside(hit.path) for hit in crossing)
    if is_used:
        results = [replace(each, evidence=tuple(filter(_holds, each.evidence))) for each in results]
    return results


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
