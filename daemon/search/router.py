"""The stages of a search: choose the question's route, gather candidates from graph and words, rank them.

`gather` asks the code graph and the lexical index, which answer at once. The caller then waits for the vector
search and passes its hits to `conclude`, which ranks everything. Both functions block. Neither raises because
of the contents of a project.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from ..index.records import ChunkPlace, LexicalDamaged, LexicalHit, StoredChunk
from ..index.service import LexicalHandle, Reader, query_terms
from ..project.service import Tree
from . import structural
from .candidates import (
    COVERED_CHUNKS,
    COVERED_FILES,
    LEXICAL_MAX,
    RARE_FILES,
    SURELY_NAMED,
    Candidates,
    GatheredCandidates,
    RankedFile,
    as_they_are_now,
    held_chunks,
    in_order,
    named_chunks,
    only_exact,
    rarities,
    search_terms,
)
from .definitions import FILES_MAX, FUNCTIONS, find_definitions, with_edited, with_sources_first
from .exact_text import TextPlace, defines_alone, find_text, has_name, unknown_names, weight_of
from .filters import Filter
from .glossary import understand
from .named_lines import (
    named_lines,
    suspected_files,
    with_named_lines,
    with_suspected,
    without_named_lines,
)
from .need import Evidence, need_of
from .places import narrow
from .query import FoundDefinition, Hit, Relation, Route
from .question import Question
from .question_route import RoutedQuestion, decided_route
from .ranking import list_ranks, rank, topic_terms
from .test_blocks import rank_tests

if TYPE_CHECKING:
    from ..index.service import LexicalReader

NEAR = 0.6
"""Minimum score of a further chunk of a file in a hit, relative to the file's best chunk."""

MORE_MAX = 4
"""Maximum number of further chunks of a file in a hit."""

KINDS_OVERFETCH = 4
"""Factor for the number of lexical candidates if only some kinds of definitions are wanted."""

CHUNKS_WANTED = 8
"""Minimum number of lexical hits fetched for each wanted file."""

SYMBOL_FILES_MAX = 500
"""Maximum number of definitions whose files a filter by definition name searches."""

COPIES_MAX = 50
"""Maximum number of chunks with the same text that are read. Reading all copies of a text that is vendored a
thousand times would take a second."""

HIDDEN_SHARE = 0.05
"""Share of hidden files above which the searches are limited to the ids of the visible files."""

TEXT_PROBABILITY = 0.9
"""Probability that a definition that contains a whole quoted text is needed: slightly below the share of such
questions in benchmarks/literals whose place is ranked first."""

TEXT_LINES = 6
"""Lines shown above and below a quoted text in a long definition that isn't a function."""

TEXT_SHOWN = 60
"""Maximum characters of a found text that a reason quotes."""

MEANING_FLOOR = 0.3
"""Minimum cosine of a chunk that has no word of the question. The chunks nearest to a nonsense question lie
below it."""


def gather(
    text: str,
    tree: Tree,
    reader: Reader,
    handle: LexicalHandle,
    chosen: Filter,
    route: Route | None,
    limit: int,
    relation: Relation | None = None,
    files_wanted: int = 0,
    on_words: Callable[[Question, tuple[int, ...] | None], None] = lambda _question, _files: None,
    *,
    linked_first: bool = False,
    recent: tuple[str, ...] = (),
) -> GatheredCandidates:
    """Divide a question into its parts, choose its route, and ask the code graph and the lexical index.

    With `relation` only the graph answers, with this relation of the names in the text. `on_words` is called
    before the lexical search, with the question and the ids of the files to search (None for all).
    `linked_first` says that the files that mention the names in the question are linked. `recent` are files
    that were just edited.

    Raises `ValueError` for a glob that can't be used.
    """
    known = partial(structural.is_name, tree=tree, reader=reader)
    question = understand(text, known)
    decided = decided_route(
        question,
        relation,
        known,
        lambda word: not tree.pending and _occurs((word,), reader, handle) is False,
    )
    taken, evidence = decided.route, decided.evidence
    if route is not None and route != taken:
        evidence = (*evidence, f"the caller chose {route} over {taken}")
    taken = route or taken
    given = chosen
    section = structural.section(decided, tree, reader, limit, chosen) if taken == "positional" else ()
    if not section and (taken == "positional" or (taken == "structural" and decided.places)):
        chosen, where = narrow(chosen, decided.places, tree, reader)
        if taken == decided.route == "positional" and decided.alone and chosen == given:
            evidence = (*evidence, f"there is no section {decided.places[0].name}")
            nothing = Candidates()
            return GatheredCandidates(
                question, taken, taken, evidence, chosen, nothing, {}, None, answer=(), is_final=True
            )
        evidence = (*evidence, where)
    paths = chosen.files(tree)
    if chosen.symbol:
        bearing = {path for path, _ in reader.definitions_named(chosen.symbol, SYMBOL_FILES_MAX)}
        paths = sorted(bearing if paths is None else bearing.intersection(paths))
    searched = paths
    if paths is None and tree.hidden > HIDDEN_SHARE * len(tree.files):
        searched = list(tree.files)  # otherwise hidden files would fill most of each result list
    files = None if searched is None else tuple(sorted(reader.chunks.file_ids(searched).values()))
    start = GatheredCandidates(question, decided.route, taken, evidence, chosen, Candidates(), {}, files)
    start = replace(start, narrowed=chosen != given, recent=recent)
    if files is not None and not files:
        return replace(start, answer=())
    if section:
        return replace(start, answer=section, is_final=True)
    if taken == "structural":
        forced = route == "structural" or relation is not None
        start = _structural(
            start,
            decided,
            tree,
            reader,
            handle,
            paths,
            limit,
            forced=forced,
            linked_first=linked_first,
        )
        if start.answer is not None:
            return start
    _ = question.windows  # computed and cached here, since the vector search starts on the event loop
    on_words(question, start.files)
    return _with_candidates(start, tree, reader, handle, paths, files_wanted)


def conclude(
    gathered: GatheredCandidates,
    vector_hits: Sequence[tuple[bytes, float]],
    tree: Tree,
    reader: Reader,
    limit: int,
    *,
    definitions: bool = False,
    embedded: bool = True,
) -> list[Hit]:
    """Rank all candidates and return one hit for each file, best first, at most `limit`.

    With `definitions` each hit lists the definitions that may be needed. `embedded` says whether all chunks
    of the project have vectors."""
    candidates, languages = candidates_of(gathered, vector_hits, tree, reader, embedded=embedded)
    if gathered.only_names:
        candidates = only_exact(candidates)
        languages = {path: languages[path] for path in candidates.exact if path in languages}

    def rarity(term: str) -> float:
        return gathered.rarity.get(term, 0.0)

    most = max(limit, FILES_MAX) if definitions else limit
    ranked = rank(gathered.question, candidates, languages, rarity, most)
    by_path: dict[str, list[FoundDefinition]] = {}
    if definitions:
        symbols_of = cache(reader.symbols)
        definitions_found = find_definitions(
            gathered.question,
            ranked,
            symbols_of,
            without_named_lines(candidates, gathered.named_lines),
            languages,
            rarity,
        )
        wanted = "test" in gathered.question.wanted
        definitions_found = rank_tests(definitions_found, languages, reader, symbols_of, wanted=wanted)
        definitions_found = with_edited(with_sources_first(definitions_found), gathered.recent)
        definitions_found = with_named_lines(definitions_found, gathered.named_lines)
        for definition in with_suspected(definitions_found, suspected_files(gathered)):
            by_path.setdefault(definition.path, []).append(
                _with_text(definition, candidates, used=gathered.used)
            )
        for found in by_path.values():
            found.sort(key=lambda one: (-one.probability, one.first))
    return _hits(ranked[:limit], candidates, by_path, reader)


def with_need(
    gathered: GatheredCandidates, found: Sequence[Hit], handle: LexicalHandle
) -> GatheredCandidates:
    """Add the probability that the question needs code, computed from its words and what they found.

    `found` are the hits of a search without vectors. If the lexical index can't be read, `need` stays None.
    """
    try:
        need = need_of(gathered.question, handle.current(), evidence_in(gathered, found))
        return replace(gathered, need=need)
    except (LexicalDamaged, OSError):
        return gathered


def evidence_in(gathered: GatheredCandidates, found: Sequence[Hit]) -> Evidence:
    """Return what the words of a question found; a text found word for word doesn't count as a name."""
    candidates = gathered.candidates
    named = (score for number, score in candidates.tree if number not in candidates.lines)
    return Evidence(
        max(named, default=0.0),
        max(candidates.exact.values(), default=0.0),
        [definition.probability for hit in found for definition in hit.definitions],
    )


def _with_text(one: FoundDefinition, candidates: Candidates, *, used: bool) -> FoundDefinition:
    """Return a definition with a higher probability if it contains a text that the question quotes.

    A function stays whole; a long class or section is cut to the lines around the text. If several files
    contain the text, they share the probability, unless all uses are wanted."""
    share = candidates.exact.get(one.path, 0.0)
    lines = (line for number, line in candidates.lines.items() if candidates.chunks[number].path == one.path)
    line = next((line for line in lines if one.first <= line <= one.last), 0)
    if not share or not line:
        return one
    alike = sum(other >= share for other in candidates.exact.values()) if not used else 1
    probability = max(one.probability, round(TEXT_PROBABILITY * min(share, 1.0) / alike, 4))
    one = replace(one, probability=probability, reasons=("text", *one.reasons))
    if one.last - one.first < 2 * TEXT_LINES or (one.symbol is not None and one.symbol.kind in FUNCTIONS):
        return one
    first, last = max(line - TEXT_LINES, one.first), min(line + TEXT_LINES, one.last)
    return replace(one, symbol=None, first=first, last=last)


def candidates_of(
    gathered: GatheredCandidates,
    vector_hits: Sequence[tuple[bytes, float]],
    tree: Tree,
    reader: Reader,
    *,
    embedded: bool = True,
) -> tuple[Candidates, dict[str, str]]:
    """Return all candidates that pass the filter, and the language of each of their files."""
    candidates = _with_vectors(gathered, vector_hits, reader, embedded=embedded)
    chunks = held_chunks(gathered.filter, candidates.chunks.values(), tree, reader)
    candidates = _with_named_files(gathered, replace(candidates, chunks=chunks), tree, reader)
    languages = {chunk.path: chunk.language for chunk in candidates.chunks.values()}
    definitions = {path: tree.files[path].symbols for path in languages}
    lines = {path: tree.files[path].lines for path in languages}
    question = gathered.question
    changed = reader.changed_for(query_terms(question.asked or question.text).weights, languages)
    commits = reader.commits(languages)
    complete = replace(candidates, commits=commits, changed=changed, definitions=definitions, lines_of=lines)
    return complete, languages


def _with_candidates(
    start: GatheredCandidates,
    tree: Tree,
    reader: Reader,
    handle: LexicalHandle,
    paths: Sequence[str] | None,
    files_wanted: int,
) -> GatheredCandidates:
    places = named_lines(start.question, tree, reader)
    named, by_name, why = named_chunks(start.question, tree, reader, places)
    if paths is not None:
        allowed = set(paths)
        named = [pair for pair in named if pair[0].path in allowed]
        places = [place for place in places if place.path in allowed]
    start = replace(start, named_lines=tuple(places))
    for path in suspected_files(start):
        by_name[path] = max(by_name.get(path, 0.0), SURELY_NAMED)
        why.setdefault(path, []).append("edited just before")
    exact: list[TextPlace] = []
    hits: list[LexicalHit] = []
    rarity: dict[str, float] = {}
    cover: dict[int, tuple[float, float, float]] = {}
    degraded: tuple[str, ...] = ()
    damaged = False
    try:
        lexical = handle.current()
        terms = search_terms(start.question, lexical)
        # A chunk of several small definitions has only one kind, so kinds are filtered afterwards.
        most = LEXICAL_MAX * (KINDS_OVERFETCH if start.filter.kinds else 1)
        hits = lexical.search(terms, max(most, CHUNKS_WANTED * files_wanted), files=start.files)
        rarity = rarities(topic_terms(start.question), lexical)
        cover = _cover(terms, hits, lexical)
        exact = find_text(
            start.question,
            start.names or unknown_names(start.question, reader),
            reader,
            lexical,
            start.files,
            used=start.used,
        )
    except (LexicalDamaged, OSError) as error:
        degraded = (f"not searched by words, the lexical index is being rebuilt: {error}",)
        damaged = isinstance(error, LexicalDamaged)
    chunks = reader.chunks.places([hit.chunk_id for hit in hits])
    fresh = as_they_are_now(hits, chunks, reader)
    chunks.update((chunk.id, chunk) for chunk, _ in named)
    holders = {chunks[number].path for number, _ in fresh if number in chunks}
    outright = {chunk.id: score for chunk, score in named}
    shares = {} if start.names else defines_alone(start.question, reader)
    for one in exact:
        share = one.share * (1.0 if one.text in start.names else weight_of(one.text, start.question))
        chunks[one.chunk.id] = one.chunk
        outright[one.chunk.id] = max(outright.get(one.chunk.id, 0.0), share)
        shares[one.chunk.path] = max(shares.get(one.chunk.path, 0.0), share)
        why.setdefault(one.chunk.path, []).append(f"has {one.text[:TEXT_SHOWN]!r} on line {one.line}")
    candidates = Candidates(
        rare=frozenset(holders) if len(holders) <= RARE_FILES else frozenset(),
        lexical=fresh,
        tree=in_order(outright.items(), chunks),
        chunks=chunks,
        named=by_name,
        why=why,
        exact=shares,
        lines={place.chunk.id: place.line for place in reversed(exact)},
        cover=cover,
    )
    degraded = (*start.degraded, *degraded)
    return replace(start, candidates=candidates, rarity=rarity, degraded=degraded, lexical_damaged=damaged)


def _with_vectors(
    gathered: GatheredCandidates,
    vector_hits: Sequence[tuple[bytes, float]],
    reader: Reader,
    *,
    embedded: bool,
) -> Candidates:
    """Add the chunks of the vector hits; several files may have a chunk with the same text."""
    scores = dict(vector_hits)
    by_words = {number for number, _ in (*gathered.candidates.lexical, *gathered.candidates.tree)}
    chunks = dict(gathered.candidates.chunks)
    files = None if gathered.files is None else frozenset(gathered.files)
    vector = []
    for digest, place in reader.chunks.places_by_digests(scores, COPIES_MAX, files):
        if scores[digest] >= MEANING_FLOOR or place.id in by_words:
            vector.append((place.id, scores[digest]))
            chunks[place.id] = place
    candidates = replace(gathered.candidates, vector=in_order(vector, chunks), chunks=chunks)
    return candidates if embedded else replace(candidates, coverage=_coverage(gathered, scores, reader))


def _coverage(gathered: GatheredCandidates, scores: Mapping[bytes, float], reader: Reader) -> float:
    """Return the share of the best lexical hits that have a vector."""
    first = [number for number, _ in gathered.candidates.lexical[:COVERED_CHUNKS]]
    stored = reader.chunks.by_ids(first)
    return sum(stored[number].digest in scores for number in first if number in stored) / len(first or "-")


def _with_named_files(
    gathered: GatheredCandidates, candidates: Candidates, tree: Tree, reader: Reader
) -> Candidates:
    """Add the first chunk of each file that the question names and no search found."""
    paths = {chunk.path for chunk in candidates.chunks.values()}
    missing = [path for path in candidates.named if path not in paths]
    if not missing:
        return candidates
    files = None if gathered.files is None else frozenset(gathered.files)
    chunks = [one for one in reader.chunks.places_in(missing) if files is None or one.file_id in files]
    first: dict[str, ChunkPlace] = {}
    for chunk in held_chunks(gathered.filter, chunks, tree, reader).values():  # in order
        first.setdefault(chunk.path, chunk)
    beginnings = [(chunk.id, candidates.named[path]) for path, chunk in first.items()]
    with_named = {**candidates.chunks, **{chunk.id: chunk for chunk in first.values()}}
    named = in_order((pair for pair in (*candidates.tree, *beginnings) if pair[0] in with_named), with_named)
    return replace(candidates, tree=named, chunks=with_named)


def _cover(
    terms: Mapping[str, float], hits: Sequence[LexicalHit], lexical: LexicalReader
) -> dict[int, tuple[float, float, float]]:
    """Return, for the best files, the share of the question's terms that they have, weighted by rarity."""
    documents = max(lexical.documents, 1)
    frequencies = {term: lexical.document_frequency(term) for term in terms}
    weights = {
        term: terms[term] * math.log(1 + (max(documents, count) - count + 0.5) / (count + 0.5))
        for term, count in frequencies.items()
        if count
    }
    files = list(dict.fromkeys(hit.file_id for hit in hits))[:COVERED_FILES]
    return lexical.coverage(weights, files)


def _structural(
    start: GatheredCandidates,
    decided: RoutedQuestion,
    tree: Tree,
    reader: Reader,
    handle: LexicalHandle,
    paths: Sequence[str] | None,
    limit: int,
    *,
    forced: bool,
    linked_first: bool,
) -> GatheredCandidates:
    """Ask the graph, and return `start` with its answer or with the reason why there is none.

    `forced` says that the caller chose the graph: then its answer is final even if it is empty. Otherwise, if
    the graph has no answer, `answer` stays None, and the lexical and vector search follow, with the names of
    the question as exact texts. A name that occurs in the project exactly as written isn't corrected to a
    similar one.
    """
    relation, subjects, depth = structural.asked(start.question, decided)
    answer = structural.answer(
        relation, subjects, tree, reader, limit, start.filter, paths, depth, linked_first=linked_first
    )
    start = replace(start, unlinked=answer.unlinked)
    evidence, degraded = (*start.evidence, *answer.remarks), (*start.degraded, *answer.degraded)
    # Abbreviations occur often in prose, and stand for longer names: `CORS` for CORSMiddleware.
    names = tuple(
        subject
        for subject in subjects
        if structural.is_code(subject) and not (subject.isalpha() and subject.isupper())
    )
    in_text = not forced and answer.guess and bool(names) and _occurs(names, reader, handle) is True
    if answer.hits and not in_text:
        return replace(start, answer=answer.hits, evidence=evidence, degraded=degraded, near=answer.near)
    if in_text:
        evidence = (*start.evidence, f"the project doesn't define {', '.join(subjects)}")
    elif relation not in {"connection", "cycles"}:  # their remarks already say so
        evidence = (*start.evidence, _nothing(relation, subjects, answer))
    if forced:
        return replace(start, answer=(), evidence=evidence, degraded=degraded)
    if decided.alone and subjects and relation != "definition" and not answer.degraded:
        if not in_text and (answer.defined or _occurs(names or subjects, reader, handle) is False):
            return replace(start, answer=(), evidence=evidence, degraded=degraded, is_final=True)
        if names:
            has = f"the project doesn't define {', '.join(names)}, but has it as text"
            evidence = (*start.evidence, has)
            return replace(
                start, evidence=evidence, degraded=degraded, names=names, used=True, only_names=True
            )
    said = "searched as text, by words and by meaning" if names else "searched by words and meaning"
    used = relation != "definition"
    return replace(start, evidence=(*evidence, said), degraded=degraded, names=names, used=used)


def _nothing(relation: Relation, subjects: Sequence[str], answer: structural.GraphAnswer) -> str:
    """Return in one line that nothing has a relation, and why."""
    if not answer.known:
        return f"no {relation}: {'; '.join(answer.remarks)}"
    are = "is" if relation in _SINGULAR else "are"
    known = f"no {relation} of {', '.join(subjects) or 'the project'} {are} known"
    return "; ".join((known, *answer.remarks))


_SINGULAR: Final = frozenset({"definition", "impact", "outline"})


def _occurs(names: Sequence[str], reader: Reader, handle: LexicalHandle) -> bool | None:
    """Whether all names occur in the project exactly as written; None if that is unknown."""
    try:
        lexical = handle.current()
        return all(has_name(name, reader, lexical) for name in names)
    except (LexicalDamaged, OSError):
        return None


def _hits(
    files: Sequence[RankedFile],
    candidates: Candidates,
    definitions: Mapping[str, Sequence[FoundDefinition]],
    reader: Reader,
) -> list[Hit]:
    """Return a hit for each file: at the chunk that the question names, otherwise at the best chunk."""
    outright = dict(candidates.tree)
    shown = []
    for file in files:
        chunks = (
            sorted(file.chunks, key=lambda pair: -outright.get(pair[0].id, 0.0)) if outright else file.chunks
        )
        best, score = chunks[0]
        shown.append((file, best, [chunk for chunk, other in chunks[1:] if other >= NEAR * score][:MORE_MAX]))
    ranks = list_ranks(candidates)
    stored = reader.chunks.by_ids(chunk.id for _, best, more in shown for chunk in (best, *more))
    return [
        Hit(
            _stored(best, stored),
            # Scores have no upper limit; this maps them to 0 to 1 and keeps their order.
            round(file.score / (1 + file.score), 4),
            {name: places[best.id] for name, places in ranks.items() if best.id in places},
            tuple(_stored(chunk, stored) for chunk in more),
            candidates.lines.get(best.id, 0),
            why=tuple(file.why),
            definitions=tuple(definitions.get(file.path, ())),
            probability=file.probability,
            reasons=file.reasons,
        )
        for file, best, more in shown
    ]


def _stored(place: ChunkPlace, stored: Mapping[int, StoredChunk]) -> StoredChunk:
    """Return a stored chunk, or only its place if it is deleted, so that its file counts as stale."""
    return stored.get(place.id) or StoredChunk(*place, "", "", (), b"")
