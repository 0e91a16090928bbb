"""Owns how a hit is told to clients: its place, its lines that speak for it, and whether they still stand."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from ..index.chunk_table import StoredChunk
from ..index.store import Reader
from ..index.terms import document_terms, query_terms
from ..privacy.secret_values import mask_pieces
from ..project.snapshot import ProjectSnapshot
from ..rules.zone import stamp_now
from .hits import Hit
from .search import DescribedHits, SearchQuery, SearchResult
from .shown_chunks import SHOWN

SNIPPET_LINES = 12
"""A snippet shows so many lines of a chunk, around those with the most words of the question."""

SNIPPET_CHARACTERS = 1_200
LINE_CHARACTERS = 200

WORDS_CHARACTERS = 100_000
"""Maximum characters of a question searched for words that choose the lines."""


def describe_hits(snapshot: ProjectSnapshot, ask: SearchQuery, found: SearchResult) -> DescribedHits:
    """Return hits as clients see them, and the files that aren't what was found in them any more.

    Those changed on the disk since they were indexed, or in the index since they were found; a hit whose
    chunk is gone is left out. Blocks: a stat for each file, and the texts of the index. Raises
    `DatabaseError` where there is no index that can be read.
    """
    if not found.hits:
        return DescribedHits([], [])
    with snapshot.reader() as reader, reader.snapshot():
        return describe_from(snapshot, ask, found.intent, found.hits, reader)


def describe_from(
    snapshot: ProjectSnapshot, ask: SearchQuery, intent: str, hits: Sequence[Hit], reader: Reader
) -> DescribedHits:
    """Return what `describe_hits` does, from one state of the index that is read already."""
    if ask.for_agent:
        from .agent_results import describe_for_agents

        return describe_for_agents(
            snapshot, ask.text, hits, ask.for_agent, reader, asks_for_all=intent == "structural"
        )
    return describe_each(snapshot, ask.text, hits, reader)


def describe_each(snapshot: ProjectSnapshot, text: str, hits: Sequence[Hit], reader: Reader) -> DescribedHits:
    """Return each hit as clients see it."""
    hits = [hit for hit in hits if not snapshot.policy.hides(hit.path)]
    if not hits:
        return DescribedHits([], [])
    # A hit that stands on a line shows that one, whatever was asked.
    words = frozenset[str]() if all(hit.line for hit in hits) else _words(text)
    shown = _shown(snapshot, hits, reader)
    paths = {hit.path for hit in hits if hit.chunk.id not in shown}
    stale = {path for path in paths if reader.record(path) is not None}
    stale.update(changed_files(snapshot, hits))
    found = [_describe(hit, shown[hit.chunk.id], words) for hit in hits if hit.chunk.id in shown]
    return DescribedHits(found, sorted(stale))


def changed_files(snapshot: ProjectSnapshot, hits: Sequence[Hit]) -> list[str]:
    """Return the files of hits that aren't what was indexed any more: a stat for each file, 2 µs."""
    return [path for path in {hit.path for hit in hits} if _changed(snapshot, path)]


def _words(text: str) -> frozenset[str]:
    """Return the words of a question that choose the lines to show."""
    return frozenset(term for term in query_terms(text[:WORDS_CHARACTERS]).weights if len(term) > 1)


def _changed(snapshot: ProjectSnapshot, path: str) -> bool:
    """Whether a file isn't what was indexed any more."""
    record = snapshot.tree.files.get(path)
    if record is None:
        return False
    return stamp_now(snapshot.system, os.path.join(snapshot.tree.root, path)) != record.stamp


def _shown(snapshot: ProjectSnapshot, hits: Sequence[Hit], reader: Reader) -> dict[int, str]:
    """Return the texts of hits by chunk, as the policy has them, each of which may begin or end within a
    secret; those that are gone, or whose text is damaged, are left out."""
    masked = snapshot.policy.mask_values
    chunks = {hit.chunk.id: hit.chunk for hit in hits}
    kept = {number: SHOWN.get(chunk.digest, masked=masked) for number, chunk in chunks.items()}
    known = {number: text for number, text in kept.items() if text is not None}
    found = {number: known[number] for number in reader.chunks.present(known)}
    texts = reader.chunks.texts_of(chunk for number, chunk in chunks.items() if number not in known)
    new = dict(zip(texts, mask_pieces(list(texts.values())), strict=True)) if masked else texts
    SHOWN.keep({chunks[number].digest: text for number, text in new.items()}, masked=masked)
    return found | new


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
    """Return the first line and the text of a chunk, of a definition that was found only what is its own: one
    chunk may hold several."""
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
    """Return the first line number, the lines, and the line that says most."""
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
    scores = [len(words.intersection(document_terms(one[:LINE_CHARACTERS]))) for one in lines]
    return scores.index(max(scores))
