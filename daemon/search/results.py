"""Puts hits into the form of the reply: place, lines around the best line, and for agents the best place."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, Final

from msgspec.structs import replace

from ..core.confined_folder import stamp_now
from ..graph.records import CLASSES, UNCALLED
from ..graph.service import CodeGraph, is_uncalled, needed_by
from ..index.records import StoredChunk
from ..index.service import Reader, document_terms, query_terms
from ..languages.shared.records import Symbol
from ..privacy.secret_values import mask_pieces
from ..project.service import ContentReader, is_current, role_of, split_lines
from ..workspace.records import ProjectSnapshot
from .filters import EVERYTHING, Filter
from .query import DescribedHits, Hit, SearchQuery, SearchResult

SNIPPET_LINES = 12
"""Maximum number of lines in a snippet, around the line with the most words of the question."""

SNIPPET_CHARACTERS = 1_200
LINE_CHARACTERS = 200

WORDS_CHARACTERS = 100_000
"""Maximum characters of a question that are read for the words that choose the snippet's lines."""


def describe_hits(snapshot: ProjectSnapshot, ask: SearchQuery, result: SearchResult) -> DescribedHits:
    """Return the hits in the form of the reply, and the stale files.

    A file is stale if it changed on disk after it was indexed, or in the index after the search. A hit whose
    chunk is deleted is left out. Blocks: it stats each file and reads the index. Raises `DatabaseError` if
    the index can't be read.
    """
    if not result.hits:
        return DescribedHits([], [])
    with snapshot.reader() as reader, reader.snapshot():
        if ask.for_agent:
            for_all = result.intent == "structural"
            return describe_for_agents(
                snapshot, ask.text, result.hits, ask.for_agent, reader, ask.filter, asks_for_all=for_all
            )
        return describe_each(snapshot, ask.text, result.hits, reader)


def describe_each(snapshot: ProjectSnapshot, text: str, hits: Sequence[Hit], reader: Reader) -> DescribedHits:
    """Return each hit in the form of the reply, and the stale files."""
    hits = [hit for hit in hits if not snapshot.policy.hides(hit.path)]
    if not hits:
        return DescribedHits([], [])
    # A hit with a line shows this line; only the other hits need the words of the question.
    words = frozenset[str]() if all(hit.line for hit in hits) else _words(text)
    shown = _shown(snapshot, hits, reader)
    paths = {hit.path for hit in hits if hit.chunk.id not in shown}
    stale = {path for path in paths if reader.record(path) is not None}
    stale.update(changed_files(snapshot, hits))
    found = [_describe(hit, shown[hit.chunk.id], words) for hit in hits if hit.chunk.id in shown]
    return DescribedHits(found, sorted(stale))


def changed_files(snapshot: ProjectSnapshot, hits: Sequence[Hit]) -> list[str]:
    """Return the files of hits that changed on disk after they were indexed; one stat a file, 2 µs."""
    return [path for path in {hit.path for hit in hits} if _changed(snapshot, path)]


def _words(text: str) -> frozenset[str]:
    """Return the words of a question that choose the lines to show."""
    return frozenset(term for term in query_terms(text[:WORDS_CHARACTERS]).weights if len(term) > 1)


def _changed(snapshot: ProjectSnapshot, path: str) -> bool:
    """Whether a file changed on disk after it was indexed."""
    record = snapshot.tree.files.get(path)
    if record is None:
        return False
    return stamp_now(snapshot.system, os.path.join(snapshot.tree.root, path)) != record.stamp


def _shown(snapshot: ProjectSnapshot, hits: Sequence[Hit], reader: Reader) -> dict[int, str]:
    """Return the texts of the hits by chunk id, with secrets masked if the policy says so.

    A chunk may begin or end inside a secret. Chunks that are deleted or damaged are left out."""
    texts = reader.chunks.texts_of({hit.chunk.id: hit.chunk for hit in hits}.values())
    if not snapshot.policy.mask_values:
        return texts
    return dict(zip(texts, mask_pieces(list(texts.values())), strict=True))


def _describe(hit: Hit, text: str, words: frozenset[str]) -> dict[str, Any]:
    chunk = hit.chunk
    start, text = _part(hit, text)
    first, snippet, line = _snippet(text, start, words, hit.line)
    place = hit.node or chunk
    symbol = hit.node_id.partition("#")[2]
    result: dict[str, Any] = {
        "node_id": hit.node_id,
        "path": chunk.path,
        "start_line": place.start_line,
        "end_line": place.end_line,
        "kind": "file" if hit.certainty and hit.node is None else place.kind,
        "score": hit.score,
        "sources": dict(hit.sources),
        "line": line,
        "snippet": snippet,
        "snippet_line": first,
        "language": chunk.language,
        "why": list(hit.why),
    }
    if symbol:
        result |= {"symbol": symbol, "enclosing": symbol}
    if hit.certainty:
        result["certainty"] = hit.certainty
    if hit.via:
        result["via"] = hit.via
    if hit.steps:
        result["steps"] = list(hit.steps)
    if hit.reference:
        result["reference"] = {"path": hit.reference[0], "line": hit.reference[1]}
    if hit.more:
        result["more"] = [_place(one) for one in hit.more]
    return result


def _part(hit: Hit, text: str) -> tuple[int, str]:
    """Return the first line number and the text of a hit. If a definition was found, only its own lines are
    returned, since a chunk may contain several definitions."""
    chunk, node = hit.chunk, hit.node
    if node is None or hit.certainty:
        return chunk.start_line, text
    first = max(chunk.start_line, node.start_line)
    own = text.split("\n")[first - chunk.start_line : node.end_line - chunk.start_line + 1]
    return (first, "\n".join(own)) if own else (chunk.start_line, text)


def _place(chunk: StoredChunk) -> dict[str, Any]:
    node_id = f"{chunk.path}#{chunk.symbol}" if chunk.symbol else chunk.path
    return {
        "node_id": node_id,
        "start_line": chunk.start_line,
        "end_line": chunk.end_line,
        "kind": chunk.kind,
    }


def _snippet(text: str, start_line: int, words: frozenset[str], line: int) -> tuple[int, str, int]:
    """Return a snippet: its first line number, its text, and the number of its best line."""
    lines = text.split("\n")
    best = line - start_line if line else _telling(lines, words)
    best = min(max(best, 0), len(lines) - 1)
    first = max(0, min(best - SNIPPET_LINES // 3, len(lines) - SNIPPET_LINES))
    kept: list[str] = []
    room = SNIPPET_CHARACTERS
    for one in lines[first : first + SNIPPET_LINES]:
        shown = f"{one[:LINE_CHARACTERS]}…" if len(one) > LINE_CHARACTERS else one
        room -= len(shown) + 1
        if room < 0 and kept:
            break
        kept.append(shown)
    while kept and not kept[-1].strip():
        kept.pop()
    return start_line + first, "\n".join(kept), start_line + best


def _telling(lines: Sequence[str], words: frozenset[str]) -> int:
    """Return the index of the first line with the most words of a question."""
    scores = [len(words.intersection(document_terms(line[:LINE_CHARACTERS]))) for line in lines]
    return scores.index(max(scores))


CLEARLY, AHEAD = 0.25, 2.0
"""Minimum probability of a clearly best place, and its minimum ratio to the probability of the second."""

NOISE, NOISE_SHARE = 0.01, 0.08
"""Minimum probability of a shown place, and its minimum share of the best probability; both must hold."""

OF_FILE_MAX: Final = 3
"""Maximum number of definitions of one file that compete for the shown places."""

WHOLE_LINES: Final = 120
"""Maximum number of lines shown of the best definition; a longer one is cut after them."""

NEEDED_CHARACTERS: Final = 200
"""Maximum characters of a line in `needs` (the code that a definition depends on)."""


def describe_for_agents(
    snapshot: ProjectSnapshot,
    text: str,
    hits: Sequence[Hit],
    limit: int,
    reader: Reader,
    chosen: Filter = EVERYTHING,
    *,
    asks_for_all: bool = False,
) -> DescribedHits:
    """Return the places that an agent should see, and the stale files, which must be indexed again.

    If one place is clearly the best, it is returned alone, with its whole text in `definition`. Its `needs`
    are the values of constants that it uses, and the heads of the functions that it calls and of the class
    around it. Otherwise all probable places are returned with their matching lines, at most `limit` of those
    found by lexical or vector search. These places have a `probability`. `asks_for_all` says that the
    question asks for all usages; if the graph has no answer, no place is then returned alone. Blocks. Raises
    `DatabaseError`.
    """
    placed = [item for hit in hits for item in _placed(hit, reader, chosen)]
    answered = [item for item in placed if item[0].certainty]
    ranked = sorted(
        (item for item in placed if not item[0].certainty), key=lambda item: (item[0].is_beyond, -item[1])
    )
    best = None if asks_for_all and not answered else _best(answered, ranked)
    if best is not None:
        shown = [best]
    else:
        best_there = max((each for _, each in ranked), default=0.0)
        floor = max(NOISE, NOISE_SHARE * best_there)
        likely = [item for item in ranked if item[1] >= floor or item is ranked[0]]
        shown = _together(answered, likely, limit)
    results, stale = describe_each(snapshot, text, [hit for hit, _ in shown], reader)
    probabilities = {hit.node_id: each for hit, each in shown if not hit.certainty}
    for result in results:
        if result["node_id"] in probabilities:
            result["probability"] = probabilities[result["node_id"]]
    if best is not None and results and not stale:
        whole = _whole(snapshot, reader, best[0])
        if whole is None:
            stale = [best[0].path]
        else:
            results[0] |= whole
    return DescribedHits(results, stale)


Placed = tuple[Hit, float]
"""A hit at a definition that may be meant, and the probability that it is."""


def _placed(hit: Hit, reader: Reader, chosen: Filter) -> Iterator[Placed]:
    """Yield the hit once for each definition of its file that may be meant and has a chosen kind, with the
    definition's chunk."""
    if hit.certainty or not hit.definitions:
        yield hit, 0.0
        return
    meant_here = [each for each in hit.definitions if _has_kind(each.symbol, chosen)][:OF_FILE_MAX]
    if not meant_here:  # the place itself has the kind
        yield hit, hit.definitions[0].probability
    for meant in meant_here:
        chunk = hit.chunk
        if not (chunk.start_line <= meant.last and meant.first <= chunk.end_line):
            stored = reader.chunks.at([(hit.path, meant.first)]).get((hit.path, meant.first))
            if stored is None:
                continue
            chunk = stored
        line = hit.line if meant.first <= hit.line <= meant.last else 0
        yield replace(hit, chunk=chunk, node=meant.symbol, line=line, more=()), meant.probability


def _has_kind(symbol: Symbol | None, chosen: Filter) -> bool:
    return not chosen.kinds or (symbol is not None and symbol.kind in chosen.kinds)


def _best(answered: Sequence[Placed], ranked: Sequence[Placed]) -> Placed | None:
    """Return the place that is clearly the best, or None: the only definition in a graph answer, or a
    definition that is probable and far more probable than all others."""
    if answered:
        alone = len(answered) == 1 and not ranked and "defined here" in answered[0][0].why
        return answered[0] if alone and answered[0][0].node is not None else None
    if not ranked or ranked[0][0].node is None or ranked[0][1] < CLEARLY:
        return None
    second = ranked[1][1] if len(ranked) > 1 else 0.0
    return ranked[0] if ranked[0][1] >= AHEAD * second else None


def _together(answered: Sequence[Placed], ranked: Sequence[Placed], limit: int) -> list[Placed]:
    """Return the places of the graph answer, then the others, then the tests of the graph answer."""
    if not ranked:
        return list(answered)
    sources = [item for item in answered if role_of(item[0].path, item[0].chunk.language) != "test"]
    tests = [item for item in answered if item not in sources]
    return [*sources[:limit], *ranked[:limit], *tests[: max(limit - len(sources), 0)]]


def _whole(snapshot: ProjectSnapshot, reader: Reader, hit: Hit) -> dict[str, Any] | None:
    """Return the text of a hit's definition and its `needs`, empty for a hidden file.

    Returns None if the file changed after it was indexed, for example if it was saved a moment ago."""
    contents = ContentReader(
        snapshot.tree.root, snapshot.system, snapshot.config.scan.max_file_bytes, {}, snapshot.policy
    )
    content = contents.read(hit.path)
    if content.shown is not None and not is_current(reader.record(hit.path), content):
        return None
    lines = _lines(contents, reader, hit.path)
    symbol = hit.node
    if symbol is None or not lines:
        return {}
    last = min(symbol.end_line, symbol.start_line + WHOLE_LINES - 1)
    whole: dict[str, Any] = {
        "definition": "\n".join(lines[symbol.start_line - 1 : last]),
        "truncated": last < symbol.end_line,
    }
    if is_uncalled(hit.path, symbol, CodeGraph(snapshot.tree, reader)):
        whole["remark"] = UNCALLED
    needs = list(_needs(contents, reader, hit.path, symbol))
    return whole | ({"needs": needs} if needs else {})


def _needs(contents: ContentReader, reader: Reader, path: str, symbol: Symbol) -> Iterator[dict[str, Any]]:
    if symbol.kind in CLASSES:
        return  # a class is shown with its members, so it needs nothing else
    for one in needed_by(reader, path, symbol):
        lines = _lines(contents, reader, one.path)
        text = "\n".join(line[:NEEDED_CHARACTERS] for line in lines[one.first - 1 : one.last])
        if text.strip():
            yield {
                "node_id": f"{one.path}#{one.symbol.name}",
                "role": one.role,
                "start_line": one.first,
                "text": text,
            }


def _lines(contents: ContentReader, reader: Reader, path: str) -> list[str]:
    """Return the lines of a file, or none if it changed after it was indexed or is hidden."""
    content = contents.read(path)
    return split_lines(content.text) if is_current(reader.record(path), content) else []
