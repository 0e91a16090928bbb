"""Candidates of a search: the chunks that each index finds for a question, best first, not yet merged."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from ..index.records import Changed, ChunkPlace, LexicalHit
from ..index.service import Reader, document_terms, query_terms
from ..languages.shared.records import Symbol
from ..project.service import Tree, best_suffix
from .filters import Filter
from .glossary import foreign_stop_words
from .mentions import QUOTED_CODE, SymbolMention
from .query import FoundDefinition, Hit, Need, Route
from .question import Question
from .stack_trace import Frame

if TYPE_CHECKING:
    from ..index.service import LexicalReader

LEXICAL_MAX = 400
"""Maximum number of chunks in the lexical list. 500 instead of 200 gave +.003 NDCG@10 and +.02 recall@10 on
175 commit messages."""

VECTOR_MAX = 200
"""Maximum number of chunks in the vector list. 400 gave the same results on 134 questions and 125 commit
messages, 100 lost .006 NDCG@10."""

COMPOUND_WEIGHT = 0.6
"""Weight of two neighbouring words joined into one name, relative to 1 for each word: `rate limit` also
searches for `ratelimit`, the term of `rateLimit` and `rate_limit`. It gave +.012 NDCG@10 on 175 commit
messages; 1.0 gave the same, 0.3 half of that."""

TITLE_WEIGHT = 1.75
"""Factor for the weights of the words in the first line, if a question has several lines. 1.5 gave +.004
NDCG@10 on 125 commit messages and +.03 on 31 issue texts, 2.0 +.001 and +.05, 3.0 -.007 and +.04."""

ERROR_WEIGHT = 0.5
"""Weight of the words of a pasted error or stack frame, relative to the words of the prose."""

SYMBOLS_MAX = 24
"""Maximum number of symbols of a question that are looked up, the most certain first."""

DEFINITIONS_MAX = 20
"""Maximum number of definitions of a name; a name with more definitions is ignored, because it doesn't show
which of them is meant."""

COVERED_CHUNKS = 100
"""Number of the best lexical chunks from which the share of candidates with a vector is estimated."""

COVERED_FILES = 60
"""Number of the best lexical files for which the share of the question's words is computed."""

TELLING_MAX = 12
"""Maximum number of words of a question for which the bytes of unread files are searched, 1 to 2 µs each in a
file."""

BEGINNING_LEAST = 3
"""Minimum characters of a word's beginning that stands for its other forms."""

RARE_FILES = 3
"""Maximum number of files with lexical hits that are all taken as meant, even tests and data."""

BEHIND_MAX = 20
"""Maximum number of files read whose lexical index is older than their chunks. Hundreds of files are in this
state for a short time after a switch of branches."""

PATH_MATCHES_MAX = 20
"""Maximum number of files that a written path may mean."""

OUTSIDE = 0.3
"""Factor for the certainty of a frame of which only the file's name is known to the project."""

_NAME = re.compile(r"\w+")


class Candidates(Struct, frozen=True):
    """The chunks found by each index, as lists of (chunk id, score), best first.

    Scores are comparable only within one list.

    - `lexical`: found by words; `vector`: found by meaning; `tree`: the files, lines and definitions that the
      question names.
    - `chunks`: the places of the chunks in the other lists, by id.

    By file:

    - `named`: the certainty (0 to 1) that the question names the file or a line of it.
    - `why`: the reasons for it and for a definition of a name in the question, in words.
    - `commits`: the number of the latest commits that changed the file.
    - `changed`: how similar to the question the messages of past commits are that changed the file.
    - `exact`: the share (0 to 1) of a quoted text that the file contains word for word; `lines` has the line
      of the text, by chunk id.
    - `definitions`, `lines_of`: the number of definitions and of lines.
    - `cover`: by file id, the share of the question's words in the file by weight, by number, and by weight
      in one chunk.

    `rare` are the files with lexical hits if there are at most `RARE_FILES`. `coverage` is the share (0 to 1)
    of the best lexical chunks that have a vector; the vector search can't find the others.
    """

    lexical: Sequence[tuple[int, float]] = ()
    vector: Sequence[tuple[int, float]] = ()
    tree: Sequence[tuple[int, float]] = ()
    chunks: Mapping[int, ChunkPlace] = field(default_factory=dict)
    named: Mapping[str, float] = field(default_factory=dict)
    why: Mapping[str, Sequence[str]] = field(default_factory=dict)
    commits: Mapping[str, int] = field(default_factory=dict)
    rare: frozenset[str] = frozenset()
    exact: Mapping[str, float] = field(default_factory=dict)
    lines: Mapping[int, int] = field(default_factory=dict)
    definitions: Mapping[str, int] = field(default_factory=dict)
    lines_of: Mapping[str, int] = field(default_factory=dict)
    cover: Mapping[int, tuple[float, float, float]] = field(default_factory=dict)
    coverage: float = 1.0
    changed: Mapping[str, Changed] = field(default_factory=dict)


class GatheredCandidates(Struct, frozen=True):
    """A question with its route and its candidates before the vector search.

    `intent` is the route that the question's words ask for, `route` the route that is taken. `answer` has the
    final hits, None if the candidates must be ranked. `files` are the ids of the files to search, None for
    all. `degraded` says which index could not be asked and why. `lexical_damaged` says that the lexical index
    must be rebuilt, `narrowed` that the question's own words limited the search to a part of the project.
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
    names: tuple[str, ...] = ()
    """Names that the graph doesn't have and that are searched as text; `used` if their uses are wanted."""
    used: bool = False
    only_names: bool = False
    """Whether only places with these names are wanted."""
    is_final: bool = False
    """Whether nothing else is to be searched, since the whole question asks for what there is not."""
    near: bool = False
    """Whether the answer is about a name that is only spelled like the one in the question."""
    unlinked: tuple[str, ...] = ()
    """Names that the answer is about and whose files may not be linked yet."""
    named_lines: tuple[FoundDefinition, ...] = ()
    """The definitions at the lines that the question names, such as the frames of a stack trace."""
    recent: tuple[str, ...] = ()
    """Files that were just edited (see `SearchQuery`)."""
    need: Need | None = None
    """The probability that the question needs code, if requested (see `with_need`)."""


def only_exact(candidates: Candidates) -> Candidates:
    """Return only the chunks that have a text of the question word for word."""
    chunks = {number: chunk for number, chunk in candidates.chunks.items() if number in candidates.lines}
    paths = {chunk.path for chunk in chunks.values()}

    def kept(pairs: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
        return [pair for pair in pairs if pair[0] in chunks]

    return replace(
        candidates,
        lexical=kept(candidates.lexical),
        vector=kept(candidates.vector),
        tree=kept(candidates.tree),
        chunks=chunks,
        named={},
        exact={path: share for path, share in candidates.exact.items() if path in paths},
    )


SURELY_NAMED = 0.5
"""Minimum certainty that the question names a file for which the file is probably meant, even if it is a test
or a document."""


class FramedFile(NamedTuple):
    """A file of the project that a frame of a stack trace names, with the certainty (0 to 1) that it is
    meant; `is_sure` if the frame surely lies in the project."""

    path: str
    frame: Frame
    certainty: float
    is_sure: bool


class RankedFile(NamedTuple):
    """A found file: its score, its chunks with their scores, and the reasons for its place, in words.

    The best files also have the probability that they answer the question, and in `reasons` the groups of
    features that rank them before the others."""

    path: str
    score: float
    chunks: Sequence[tuple[ChunkPlace, float]]
    why: Sequence[str]
    probability: float = 0.0
    reasons: tuple[str, ...] = ()


def search_terms(question: Question, lexical: LexicalReader) -> dict[str, float]:
    """Return the weighted search terms of a question: words, names, neighbouring words joined, and errors."""
    asked = question.asked or question.text
    weights = dict(query_terms(asked).weights)
    for term in document_terms(" ".join(foreign_stop_words(asked))):
        weights.pop(term, None)
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


def telling_words(question: Question) -> tuple[str, ...]:
    """Return the beginnings of a question's names and words, in lower case, by which unread files are found.

    A beginning is common to a word and its stem, so that other forms of the word have it too. Long words are
    rare in most files, so if there are many, the short ones are left out.
    """
    names = (name.lower() for symbol in question.symbols for name in _NAME.findall(symbol.name)[-1:])
    words = sorted(question.words, key=len, reverse=True)
    return tuple(islice(dict.fromkeys((*names, *map(_beginning, words))), TELLING_MAX))


def _beginning(word: str) -> str:
    stem = next(iter(document_terms(word)), word).removesuffix("i")  # `queri` of `queries`
    return stem if len(stem) >= BEGINNING_LEAST and word.startswith(stem) else word


def named_chunks(
    question: Question, tree: Tree, reader: Reader, places: Sequence[FoundDefinition] = ()
) -> tuple[list[tuple[ChunkPlace, float]], dict[str, float], dict[str, list[str]]]:
    """Return the chunks that a question names, with their certainties, best first; and, by file, the values
    of `named` and `why` in `Candidates`. `places` are the definitions at the lines that it names."""
    why: dict[str, list[str]] = {}
    lines: dict[str, dict[int, float]] = {}
    named: dict[str, float] = {}
    for path, line, score, reason in _places(question, tree):
        named[path] = max(named.get(path, 0.0), score)
        lines.setdefault(path, {}).setdefault(line, score)
        why.setdefault(path, []).append(reason)
    for path in dict.fromkeys(place.path for place in places):
        own = [place for place in places if place.path == path]
        kept = {
            line: score
            for line, score in lines.get(path, {}).items()
            if any(place.first <= line <= place.last for place in own)  # others are of another version
        }
        lines[path] = {place.first: place.probability for place in own} | kept
        named[path] = max(named.get(path, 0.0), own[0].probability)
        why.setdefault(path, list(own[0].reasons))
    spans: dict[str, list[tuple[int, float]]] = {}
    for path, symbol, score in _definitions(question, reader):
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
    return ordered, named, why


def definitions_of(reader: Reader, name: str) -> Sequence[tuple[str, Symbol]]:
    """Return the definitions of a name as written (`a.b`, `a::b`, `A#b`). If there are none,
    the search is repeated without the first part of the name. Returns at most `DEFINITIONS_MAX` + 1."""
    parts = name.replace("::", ".").replace("->", ".").replace("#", ".").strip(".$()").split(".")
    for start in range(len(parts)):
        definitions = reader.definitions_named(".".join(parts[start:]), DEFINITIONS_MAX + 1)
        definitions = tuple((path, symbol) for path, symbol in definitions if symbol.kind != "section")
        if definitions:
            return definitions
    return ()


def as_they_are_now(
    hits: Sequence[LexicalHit], chunks: dict[int, ChunkPlace], reader: Reader
) -> list[tuple[int, float]]:
    """Return the chunks of lexical hits with their scores, best first.

    For a file saved a moment ago the lexical index still has the ids of deleted chunks. The file's first
    chunk replaces them, and is added to `chunks`, so that the file isn't missing from the results.
    """
    behind: dict[int, float] = {}
    for hit in hits:
        if hit.chunk_id not in chunks:
            behind.setdefault(hit.file_id, hit.score)
    scored = [(hit.chunk_id, hit.score) for hit in hits if hit.chunk_id in chunks]
    if not behind:
        return in_order(scored, chunks)
    paths = reader.chunks.paths(list(behind)[:BEHIND_MAX])
    first: dict[int, ChunkPlace] = {}
    for chunk in reader.chunks.places_in(paths.values()):
        first.setdefault(chunk.file_id, chunk)
    chunks.update((chunk.id, chunk) for chunk in first.values())
    scored += [(chunk.id, behind[file_id]) for file_id, chunk in first.items()]
    return in_order(scored, chunks)


def in_order(
    scored: Iterable[tuple[int, float]], chunks: Mapping[int, ChunkPlace]
) -> list[tuple[int, float]]:
    """Return chunks by score, and chunks with the same score by path and line. Chunk ids
    would give no stable order, because they depend on the order in which several processes read the files."""
    return sorted(scored, key=lambda pair: (-pair[1], chunks[pair[0]].path, chunks[pair[0]].start_line))


def held_chunks(
    chosen: Filter, chunks: Iterable[ChunkPlace], tree: Tree, reader: Reader
) -> dict[int, ChunkPlace]:
    """Return, by id, the chunks that pass a filter and whose files still exist."""
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
    """Yield the files that a question names: path, line (0 for none), certainty (0 to 1), and reason."""
    framed = {frame.path for frame in question.frames}
    for place, of in enumerate(framed_files(question.frames, tree)):
        yield of.path, of.frame.line, 0.9**place * of.certainty, _frame_reason(of.frame)
    mentions = [mention for mention in question.paths if mention.path not in framed]
    bearers = _bearers([mention.path for mention in mentions], tree)
    for mention in mentions:
        matches = best_suffix(mention.path, bearers[_name_of(mention.path)])
        if 0 < len(matches) <= PATH_MATCHES_MAX:
            for path in matches:
                yield path, mention.line, 1.0 / math.sqrt(len(matches)), "named in the question"


def framed_files(frames: Iterable[Frame], tree: Tree) -> list[FramedFile]:
    """Return the files of the project that frames name; those that surely lie in the project come first.

    A frame surely lies there if the project has its whole path, or a folder and a name of it. A project may
    itself be an installed package, so that a path of such a package may mean it too.
    """
    frames = [frame for frame in frames if frame.path]
    bearers = _bearers([frame.path for frame in frames], tree)
    found: list[FramedFile] = []
    for frame in frames:
        matches = best_suffix(frame.path, bearers[_name_of(frame.path)])
        if 0 < len(matches) <= PATH_MATCHES_MAX:
            is_sure = _is_of_project(frame, matches[0], tree.root)
            certainty = (1.0 if is_sure else OUTSIDE) / math.sqrt(len(matches))
            found += [FramedFile(path, frame, certainty, is_sure) for path in matches]
    return sorted(found, key=lambda one: not one.is_sure)


def _is_of_project(frame: Frame, path: str, root: str) -> bool:
    """Whether a frame shares a folder and a name with a file of the project, or all that is known of it."""
    *folders, name = frame.path.strip("/").split("/")
    if not folders:
        return not frame.library
    folder = folders[-1].partition("@")[0]  # Go writes the version of a module behind its name
    return path.endswith(f"{folder}/{name}") or ("/" not in path and folder == _name_of(root))


def _bearers(written: Iterable[str], tree: Tree) -> dict[str, list[str]]:
    """Return the paths of a project by the file names of written paths."""
    bearers: dict[str, list[str]] = {_name_of(path): [] for path in written}
    for path in tree.files if bearers else ():
        named = bearers.get(path.rpartition("/")[2])
        if named is not None:
            named.append(path)
    return bearers


def _name_of(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def _frame_reason(frame: Frame) -> str:
    return f"in the stack trace, line {frame.line}" if frame.line else "in the stack trace"


def _definitions(question: Question, reader: Reader) -> Iterable[tuple[str, Symbol, float]]:
    """Yield the definitions of the names in a question: path, definition, and the certainty of each."""
    alone = (SymbolMention(question.only_word, QUOTED_CODE),) if question.only_word else ()
    for mention in (*question.symbols, *alone)[:SYMBOLS_MAX]:
        definitions = definitions_of(reader, mention.name)
        if 0 < len(definitions) <= DEFINITIONS_MAX:
            for path, symbol in definitions:
                yield path, symbol, mention.certainty / (1 + math.log(len(definitions)))
