"""Owns the way of a question: who is asked, in which order, and what comes of all answers together.

`gather` asks what answers at once, `conclude` ranks that with what the vectors said, which are asked between
the two by somebody who can wait. Both block; neither raises for what a project contains.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ..index.chunk_table import StoredChunk
from ..index.lexical_files import LexicalDamaged
from ..index.lexical_handle import LexicalHandle
from ..index.lexical_reader import LexicalReader
from ..index.store import Reader
from ..project.globs import compile_glob
from ..project.tree import Tree
from . import structural
from .candidates import LEXICAL_MAX, RARE_FILES, Candidates, files_named, named_chunks, search_terms
from .classify import Classification, classify
from .filters import Filter
from .hits import Hit
from .question import Question, take_apart
from .ranking import DEFAULT, RankedFile, Weights, list_ranks, rank, topic_terms
from .routes import Route

NEAR = 0.6
"""Other chunks of a file are shown with its best one when their score is at least this share of its."""

MORE_MAX = 4

KINDS_OVERFETCH = 4
"""So many times the usual candidates are fetched where only some kinds of definitions are wanted."""

SYMBOL_FILES_MAX = 500
"""A filter by a definition's name searches the files of at most so many definitions."""

MEANING_FLOOR = 0.3
"""A chunk without a word of the question must be at least this near in meaning (cosine): below it lie the
chunks that are nearest to nonsense."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """What is known of a question before the vectors are asked.

    `intent` is the route that the question's words ask for, `route` the one that is taken. `answer` is final
    where it isn't None. `files` are the ids of the files to search, None for all.
    `degraded` says who could not be asked and why; `lexical_damaged` that the lexical index must be rebuilt;
    `narrowed` that the question's own words left out most of the project: its place, or a definition's name.
    """

    question: Question
    intent: Route
    route: Route
    evidence: tuple[str, ...]
    filter: Filter
    candidates: Candidates
    rarity: Mapping[str, float]
    files: tuple[int, ...] | None
    answer: tuple[Hit, ...] | None = None
    degraded: tuple[str, ...] = ()
    lexical_damaged: bool = False
    narrowed: bool = False


def gather(
    text: str,
    tree: Tree,
    reader: Reader,
    handle: LexicalHandle,
    chosen: Filter,
    route: Route | None,
    limit: int,
) -> Gathered:
    """Take a question apart, choose its route, and ask the structure and the words.

    Raises `ValueError` for a glob that can't be used.
    """
    question = take_apart(text)
    decided = classify(question)
    taken, evidence = decided.route, decided.evidence
    if route is not None and route != taken:
        evidence = (*evidence, f"the caller chose {route} over {taken}")
    taken = route or taken
    given = chosen
    if taken == "positional":
        chosen, where = _narrowed(chosen, decided, tree, reader)
        evidence = (*evidence, where)
    paths = chosen.files(tree)
    if chosen.symbol:
        bearing = {path for path, _ in reader.definitions_named(chosen.symbol, SYMBOL_FILES_MAX)}
        paths = sorted(bearing if paths is None else bearing.intersection(paths))
    files = None if paths is None else tuple(sorted(reader.chunks.file_ids(paths).values()))
    start = Gathered(question, decided.route, taken, evidence, chosen, Candidates(), {}, files)
    start = replace(start, narrowed=chosen != given)
    if files is not None and not files:
        return replace(start, answer=())
    if taken == "structural":
        hits, more = _structural(decided, tree, reader, chosen, paths, limit)
        if hits:
            narrowed = decided.relation == "definition"
            return replace(start, answer=tuple(hits), evidence=(*evidence, *more), narrowed=narrowed)
        start = replace(start, evidence=(*evidence, *more))
    return _with_candidates(start, tree, reader, handle, paths)


def conclude(
    gathered: Gathered,
    vector_hits: Sequence[tuple[bytes, float]],
    tree: Tree,
    reader: Reader,
    limit: int,
    weights: Weights = DEFAULT,
) -> list[Hit]:
    """Rank everything that was found, one hit a file, best first, at most `limit`."""
    candidates = _with_vectors(gathered, vector_hits, reader)
    languages = {
        chunk.path: chunk.language for chunk in candidates.chunks.values() if chunk.path in tree.files
    }
    kinds = gathered.filter.kinds
    lines = reader.lines_of_kinds(languages, kinds) if kinds else {}
    kept = {
        number: chunk
        for number, chunk in candidates.chunks.items()
        if chunk.path in languages and gathered.filter.holds_chunk(chunk, lines.get(chunk.path, ()))
    }
    candidates = replace(candidates, chunks=kept, commits=reader.commits(languages))
    ranked = rank(
        gathered.question, candidates, languages, lambda term: gathered.rarity.get(term, 0.0), weights
    )
    ranks = list_ranks(candidates)
    outright = dict(candidates.tree)
    return [_hit(file, ranks, outright) for file in ranked[:limit]]


def _with_candidates(
    start: Gathered, tree: Tree, reader: Reader, handle: LexicalHandle, paths: Sequence[str] | None
) -> Gathered:
    named, by_name, by_definition, why = named_chunks(start.question, tree, reader)
    if paths is not None:
        allowed = set(paths)
        named = [pair for pair in named if pair[0].path in allowed]
    found: list[tuple[int, float]] = []
    rarity: dict[str, float] = {}
    degraded: tuple[str, ...] = ()
    damaged = False
    try:
        lexical = handle.current()
        terms = search_terms(start.question, lexical)
        # A chunk of several small definitions has one kind of its own, so kinds are looked at afterwards.
        most = LEXICAL_MAX * (KINDS_OVERFETCH if start.filter.kinds else 1)
        hits = lexical.search(terms, most, files=start.files)
        found = [(hit.chunk_id, hit.score) for hit in hits]
        rarity = _rarities(start.question, lexical)
    except (LexicalDamaged, OSError) as error:
        degraded = (f"not searched by words, the lexical index is being rebuilt: {error}",)
        damaged = isinstance(error, LexicalDamaged)
    chunks = reader.chunks.by_ids([number for number, _ in found])
    chunks.update((chunk.id, chunk) for chunk, _ in named)
    holders = {chunks[number].path for number, _ in found if number in chunks}
    candidates = Candidates(
        rare=frozenset(holders) if len(holders) <= RARE_FILES else frozenset(),
        lexical=found,
        tree=[(chunk.id, score) for chunk, score in named],
        chunks=chunks,
        named=by_name,
        defined=by_definition,
        why=why,
    )
    return replace(start, candidates=candidates, rarity=rarity, degraded=degraded, lexical_damaged=damaged)


def _with_vectors(
    gathered: Gathered, vector_hits: Sequence[tuple[bytes, float]], reader: Reader
) -> Candidates:
    """Add the chunks of contents that were found by meaning; a content may stand in several files."""
    scores = dict(vector_hits)
    by_words = {number for number, _ in (*gathered.candidates.lexical, *gathered.candidates.tree)}
    chunks = dict(gathered.candidates.chunks)
    vector = []
    for chunk in reader.chunks.by_digests(scores):
        near = scores[chunk.digest] >= MEANING_FLOOR or chunk.id in by_words
        if near and (gathered.files is None or chunk.file_id in gathered.files):
            vector.append((chunk.id, scores[chunk.digest]))
            chunks[chunk.id] = chunk
    vector.sort(key=lambda pair: (-pair[1], pair[0]))
    return replace(gathered.candidates, vector=vector, chunks=chunks)


def _rarities(question: Question, lexical: LexicalReader) -> dict[str, float]:
    """Return the inverse document frequency of the terms that paths are held against."""
    documents = lexical.documents
    rarity = {}
    for term in topic_terms(question):
        frequency = lexical.document_frequency(term)
        total = max(documents, frequency)
        rarity[term] = math.log(1 + (total - frequency + 0.5) / (frequency + 0.5))
    return rarity


def _structural(
    decided: Classification,
    tree: Tree,
    reader: Reader,
    chosen: Filter,
    paths: Sequence[str] | None,
    limit: int,
) -> tuple[list[Hit], tuple[str, ...]]:
    """Return the answer of the structure, and what is to be said about it."""
    if decided.relation not in structural.ANSWERED:
        return [], (f"{decided.relation or 'the relation'} isn't indexed; searched by words and meaning",)
    allowed = None if paths is None else set(paths)

    def holds(chunk: StoredChunk) -> bool:
        return (allowed is None or chunk.path in allowed) and chosen.holds_chunk(chunk)

    hits = structural.answer(decided.relation, decided.subjects, tree, reader, limit, holds)
    if hits:
        return hits, ()
    named = ", ".join(decided.subjects) or "what is asked for"
    return [], (f"no {decided.relation} of {named} is known; searched by words and meaning",)


def _narrowed(chosen: Filter, decided: Classification, tree: Tree, reader: Reader) -> tuple[Filter, str]:
    """Keep to the place that a question gives, if there is such a place and the caller gave none."""
    if not decided.places:
        return chosen, "no place is named that could be searched"
    if chosen.path_prefix or chosen.symbol:
        return chosen, "the caller's own place is kept to"
    for place in decided.places:
        for narrowed in _meanings(place.name, place.kind, tree, reader):
            both = replace(
                chosen,
                path_prefix=narrowed.path_prefix,
                glob=chosen.glob or narrowed.glob,
                symbol=narrowed.symbol,
            )
            return both, f"kept to {narrowed.path_prefix or narrowed.glob or narrowed.symbol}"
    named = ", ".join(place.name for place in decided.places)
    return chosen, f"there is no such place as {named}; searched everywhere"


def _meanings(name: str, kind: str, tree: Tree, reader: Reader) -> Iterator[Filter]:
    """Yield what a place may mean, the likeliest first."""
    if kind == "glob":
        with contextlib.suppress(ValueError):  # what looks like one and isn't means nothing
            compile_glob(name)
            yield Filter(glob=name)
    files = [name] if name in tree.files else files_named(name, tree)
    if len(files) == 1:
        yield Filter(path_prefix=files[0])
    folder = name.strip("/")
    folders = [path for path in tree.layout.folders if path == folder or path.endswith(f"/{folder}")]
    if folders and folder:
        yield Filter(path_prefix=f"{min(folders, key=lambda path: (path.count('/'), path))}/")
    if files:
        yield Filter(path_prefix=files[0])
    found = reader.definitions_named(name, 2)
    if found:
        path, symbol = found[0]
        yield Filter(path_prefix=path if len(found) == 1 else "", symbol=symbol.name)


def _hit(file: RankedFile, ranks: Mapping[str, Mapping[int, int]], outright: Mapping[int, float]) -> Hit:
    """Return a file's hit: at the place that the question names outright, else at its best one."""
    chunks = sorted(file.chunks, key=lambda pair: -outright.get(pair[0].id, 0.0))
    best, score = chunks[0]
    sources = {name: places[best.id] for name, places in ranks.items() if best.id in places}
    more = [chunk for chunk, other in chunks[1:] if other >= NEAR * score][:MORE_MAX]
    # Scores have no upper end; this keeps their order and brings them between 0 and 1.
    return Hit(best, round(file.score / (1 + file.score), 4), sources, tuple(more), why=tuple(file.why))
