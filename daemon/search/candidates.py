"""Candidates of a search: what each index finds for a question, best first, ranked nowhere across them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field

from ..graph.subjects import best_suffix
from ..index.chunk_table import ChunkPlace
from ..index.lexical_reader import LexicalHit, LexicalReader
from ..index.store import Reader
from ..index.terms import document_terms, query_terms
from ..languages.shared.records import Symbol
from ..project.tree import Tree
from .filters import Filter
from .mentions import QUOTED_CODE, SymbolMention
from .question import Question
from .stack_trace import Frame

LEXICAL_MAX = 400
"""Chunks of the lexical list. 500 instead of 200 gave +.003 NDCG@10 and +.02 recall@10 on 175 commit
messages."""

VECTOR_MAX = 200
"""Chunks of the vectors' list. 400 gave no more on 134 questions and 125 commit messages, 100 lost .006
NDCG@10."""

COMPOUND_WEIGHT = 0.6
"""What two neighbouring words weigh as one name (`rate limit` as `ratelimit`, which `rateLimit` and
`rate_limit` give too), against 1 for each of them: +.012 NDCG@10 on 175 commit messages, 1.0 the
same, 0.3 half of it."""

TITLE_WEIGHT = 1.75
"""What the words of a long question's first line weigh against those below it: 1.5 gave +.004 NDCG@10 on 125
commit messages and +.03 on 31 issue texts, 2.0 +.001 and +.05, 3.0 -.007 and +.04."""

ERROR_WEIGHT = 0.5
"""What the words of a pasted error weigh against those of the prose around it."""

SYMBOLS_MAX = 24
"""Maximum number of named symbols looked up, the surest first."""

DEFINITIONS_MAX = 20
"""A name with more definitions says nothing about which is meant."""

COVERED_CHUNKS = 100
"""Chunks that the words rank first, by which it is told how much of what competes has a vector."""

COVERED_FILES = 60
"""Files that the words rank first, of which it is told how many of the question's words they have."""

RARE_FILES = 3
"""Words that stand in at most so many files mean these, be they tests or data."""

BEHIND_MAX = 20
"""Maximum number of files looked at whose words are older than their chunks; while a branch is switched
there are hundreds, and soon none."""

PATH_MATCHES_MAX = 20


class Candidates(Struct, frozen=True):
    """The chunks that the indexes name: ids with scores, best first, comparable within a list only.

    `lexical` is by words, `vector` by meaning, `tree` by what the question names outright: files, lines,
    definitions. `further` are chunks by words that come behind all ranked ones where many files are wanted.
    `chunks` holds what is known of all others. `named` tells for each file how surely the
    question names it or a line of it (0 to 1), `defined` for each file how surely it defines what is named;
    `why` says so in words, by file. `commits` counts for each file how many of the latest commits changed it.
    `rare` are the files with the question's words where hardly any file has them. `exact` tells for each file
    how much of a text that the question quotes stands there word for word (0 to 1), `lines` by chunk on which
    line. `definitions` and `lines_of` count the definitions and lines of each file. `cover` tells by a file's
    id how many of the question's words it has: by weight, by number, and by weight in one chunk. `coverage`
    tells which part of the chunks that the words rank first has been compared by meaning (0 to 1): others
    have no score there because nobody looked.
    """

    lexical: Sequence[tuple[int, float]] = ()
    further: Sequence[int] = ()
    vector: Sequence[tuple[int, float]] = ()
    tree: Sequence[tuple[int, float]] = ()
    chunks: Mapping[int, ChunkPlace] = field(default_factory=dict)
    named: Mapping[str, float] = field(default_factory=dict)
    defined: Mapping[str, float] = field(default_factory=dict)
    why: Mapping[str, Sequence[str]] = field(default_factory=dict)
    commits: Mapping[str, int] = field(default_factory=dict)
    rare: frozenset[str] = frozenset()
    exact: Mapping[str, float] = field(default_factory=dict)
    lines: Mapping[int, int] = field(default_factory=dict)
    definitions: Mapping[str, int] = field(default_factory=dict)
    lines_of: Mapping[str, int] = field(default_factory=dict)
    cover: Mapping[int, tuple[float, float, float]] = field(default_factory=dict)
    coverage: float = 1.0


def search_terms(question: Question, lexical: LexicalReader) -> dict[str, float]:
    """Return the weighted terms of a question: its words, its names, neighbours as one name, its errors."""
    asked = question.asked or question.text
    weights = dict(query_terms(asked).weights)
    title, _, below = asked.strip().partition("\n")
    if below:
        _raise(weights, {term: weights.get(term, 0.0) for term in query_terms(title).weights}, TITLE_WEIGHT)
    for frame in question.frames[:8]:
        _raise(weights, query_terms(f"{frame.function} {frame.path}").weights, ERROR_WEIGHT)
    for error in question.errors[:8]:
        _raise(
            weights,
            query_terms(f"{error.type} {' '.join(error.phrases) or error.message}").weights,
            ERROR_WEIGHT,
        )
    for symbol in question.symbols:
        _raise(weights, query_terms(symbol.name).weights, 1.0)
    for first, second in zip(question.words, question.words[1:], strict=False):
        for term in document_terms(first + second)[-1:]:
            if term not in weights and lexical.document_frequency(term):
                weights[term] = COMPOUND_WEIGHT
    return weights


def named_chunks(
    question: Question, tree: Tree, reader: Reader
) -> tuple[list[tuple[ChunkPlace, float]], dict[str, float], dict[str, float], dict[str, list[str]]]:
    """Return the chunks that a question names outright with how surely it does, best first; and by file how
    surely it is named, how surely it defines what is named, and why."""
    why: dict[str, list[str]] = {}
    lines: dict[str, dict[int, float]] = {}
    named: dict[str, float] = {}
    for path, line, score, reason in _places(question, tree):
        named[path] = max(named.get(path, 0.0), score)
        lines.setdefault(path, {}).setdefault(line, score)
        why.setdefault(path, []).append(reason)
    defined: dict[str, float] = {}
    spans: dict[str, list[tuple[int, float]]] = {}
    for path, symbol, score in _definitions(question, reader):
        defined[path] = max(defined.get(path, 0.0), score)
        spans.setdefault(path, []).append((symbol.start_line, score))
        why.setdefault(path, []).append(f"defines {symbol.name}")
    found: dict[int, tuple[ChunkPlace, float]] = {}
    for chunk in reader.chunks.places_in([*lines, *spans]) if lines or spans else ():
        scores = [
            score
            for line, score in (*lines.get(chunk.path, {}).items(), *spans.get(chunk.path, ()))
            if chunk.start_line <= line <= chunk.end_line
        ]
        if scores:
            found[chunk.id] = (chunk, max(scores))
    ordered = sorted(found.values(), key=lambda pair: (-pair[1], pair[0].path, pair[0].start_line))
    return ordered, named, defined, why


def definitions_of(reader: Reader, name: str) -> Sequence[tuple[str, Symbol]]:
    """Return the definitions of a name as written (`a.b`, `a::b`, `A#b`), or of fewer and fewer of its last
    parts where there are none; at most one more than `DEFINITIONS_MAX`."""
    parts = name.replace("::", ".").replace("->", ".").replace("#", ".").strip(".$()").split(".")
    for start in range(len(parts)):
        found = reader.definitions_named(".".join(parts[start:]), DEFINITIONS_MAX + 1)
        found = tuple((path, symbol) for path, symbol in found if symbol.kind != "section")
        if found:
            return found
    return ()


def as_they_are_now(
    hits: Sequence[LexicalHit], chunks: dict[int, ChunkPlace], reader: Reader
) -> list[tuple[int, float]]:
    """Return the chunks that were found by words with their scores, best first.

    A file that was saved a moment ago has other chunks than those that the words lead to: its first one takes
    their place, and is added to `chunks`, so that the file isn't missing until its words are committed.
    """
    behind: dict[int, float] = {}
    for hit in hits:
        if hit.chunk_id not in chunks:
            behind.setdefault(hit.file_id, hit.score)
    found = [(hit.chunk_id, hit.score) for hit in hits if hit.chunk_id in chunks]
    if not behind:
        return in_order(found, chunks)
    paths = reader.chunks.paths(list(behind)[:BEHIND_MAX])
    first: dict[int, ChunkPlace] = {}
    for chunk in reader.chunks.places_in(paths.values()):
        first.setdefault(chunk.file_id, chunk)
    chunks.update((chunk.id, chunk) for chunk in first.values())
    found += [(chunk.id, behind[file_id]) for file_id, chunk in first.items()]
    return in_order(found, chunks)


def in_order(
    scored: Iterable[tuple[int, float]], chunks: Mapping[int, ChunkPlace]
) -> list[tuple[int, float]]:
    """Return chunks by score, those of the same score by path and line: their numbers come in the order in
    which several processes read the files."""
    return sorted(scored, key=lambda pair: (-pair[1], chunks[pair[0]].path, chunks[pair[0]].start_line))


def held_chunks(
    chosen: Filter, chunks: Iterable[ChunkPlace], tree: Tree, reader: Reader
) -> dict[int, ChunkPlace]:
    """Return by id the chunks that a filter leaves, in files that still are there."""
    files = tree.files
    present = {chunk.id: chunk for chunk in chunks if chunk.path in files}
    if not chosen.kinds and not chosen.symbol:
        return present
    paths = {chunk.path for chunk in present.values()}
    lines = reader.lines_of_kinds(paths, chosen.kinds) if chosen.kinds else {}
    stored = reader.chunks.by_ids(present)
    return {
        number: chunk
        for number, chunk in present.items()
        if number in stored and chosen.holds_chunk(stored[number], lines.get(chunk.path, ()))
    }


def rarities(terms: Iterable[str], lexical: LexicalReader) -> dict[str, float]:
    """Return the inverse document frequency of terms."""
    documents = lexical.documents
    rarity = {}
    for term in terms:
        frequency = lexical.document_frequency(term)
        total = max(documents, frequency)
        rarity[term] = math.log(1 + (total - frequency + 0.5) / (frequency + 0.5))
    return rarity


def _raise(weights: dict[str, float], others: Mapping[str, float], factor: float) -> None:
    for term, weight in others.items():
        weights[term] = max(weights.get(term, 0.0), weight * factor)


def _places(question: Question, tree: Tree) -> Iterable[tuple[str, int, float, str]]:
    """Yield the files that a question names: path, line (0 for none), how surely, why."""
    framed = {frame.path for frame in question.frames}
    mentions = [
        (mention.path, mention.line, 1.0, "named in the question")
        for mention in question.paths
        if mention.path not in framed
    ]
    mentions += [
        (frame.path, frame.line, 0.9**place * (0.3 if frame.library else 1.0), _frame_reason(frame))
        for place, frame in enumerate(question.frames)
        if frame.path
    ]
    if not mentions:
        return
    bearers: dict[str, list[str]] = {path.rstrip("/").rpartition("/")[2]: [] for path, *_ in mentions}
    for path in tree.files:
        names = bearers.get(path.rpartition("/")[2])
        if names is not None:
            names.append(path)
    for written, line, score, reason in mentions:
        matches = best_suffix(written, bearers[written.rstrip("/").rpartition("/")[2]])
        if 0 < len(matches) <= PATH_MATCHES_MAX:
            for path in matches:
                yield path, line, score / math.sqrt(len(matches)), reason


def _frame_reason(frame: Frame) -> str:
    return f"in the stack trace, line {frame.line}" if frame.line else "in the stack trace"


def _definitions(question: Question, reader: Reader) -> Iterable[tuple[str, Symbol, float]]:
    """Yield the definitions of the symbols that a question names: path, symbol, how surely it is meant."""
    alone = (SymbolMention(question.only_word, QUOTED_CODE),) if question.only_word else ()
    for mention in (*question.symbols, *alone)[:SYMBOLS_MAX]:
        found = definitions_of(reader, mention.name)
        if 0 < len(found) <= DEFINITIONS_MAX:
            for path, symbol in found:
                yield path, symbol, mention.certainty / (1 + math.log(len(found)))
