"""A candidate for what a context shows: definitions by how probable it is that each one is needed.

They are printed whole, what is worth most for its length first, beside the contexts that the product gives
today: what it shows more is what they leave on the table.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import exp, log, log1p, sqrt
from pathlib import Path
from typing import Final

from foveal.daemon.index.records import ChunkPlace
from foveal.daemon.index.service import LexicalHandle, Reader, document_terms, query_terms
from foveal.daemon.languages.shared.records import Symbol
from foveal.daemon.project.service import Tree, role_of
from foveal.daemon.search.candidates import Candidates, RankedFile
from foveal.daemon.search.filters import EVERYTHING
from foveal.daemon.search.question import Question
from foveal.daemon.search.ranking import rank
from foveal.daemon.search.router import gather
from msgspec.structs import replace

from .passages import DEPTH, Passage

FILES_MAX: Final = 30
"""Maximum number of files whose definitions compete: what a commit edits lies in a later one in 3 of 100
tasks of benchmarks/needed."""

PROBABILITY_MIN: Final = 0.002
"""What is less probable is left out: among 1,000 such definitions of benchmarks/needed two were edited."""

WEIGHTS: Final[Mapping[str, float]] = {
    "constant": -13.51,
    "chunk": 2.648,
    "chunk, place": 0.7671,
    "commits": -0.1375,
    "file": -0.6077,
    "file and chunk": 0.03987,
    "file is named": 0.3058,
    "file, of the best": 3.457,
    "file, place": 0.7704,
    "head": -0.1945,
    "is named": 1.458,
    "kind class": 0.7228,
    "kind constant": 0.9777,
    "kind enum": 0.9575,
    "kind function": 1.532,
    "kind interface": 0.01617,
    "kind macro": 1.06,
    "kind method": 1.086,
    "kind module": -4.19,
    "kind property": 0.5804,
    "kind prototype": 0.2926,
    "kind section": -0.6664,
    "kind struct": 0.5915,
    "kind type": -2.734,
    "kind variable": 2.665,
    "lines": 0.4675,
    "name": -0.9008,
    "name is asked": 0.4106,
    "qualified name": 3.497,
    "role barrel": 3.245,
    "role data": -1.136,
    "role document": -1.037,
    "role example": -1.744,
    "role shim": -1.37,
    "role source": 2.364,
    "role test": -1.817,
    "words asked": 0.1551,
}
"""Of a logistic regression on the features, fitted by `python -m benchmarks.needed.fit` to the definitions
that commits edit in the `tune` half of its repositories."""


LINES_FREE: Final = 3
"""Lines that a definition is counted as more: its heading takes as much."""


class DefinitionRanking:
    """The candidate for one indexed project. `folder` is that of its index."""

    def __init__(self, root: Path, folder: Path) -> None:
        self._reader = Reader(str(folder))
        self._tree = Tree(str(root), 1, self._reader.load_files())
        self._lexical = LexicalHandle(str(folder))

    def close(self) -> None:
        """Close the index."""
        self._reader.close()

    def rank(self, text: str) -> list[Passage]:
        """Return the best definitions for a text."""
        found = [(probability_of(features), part) for part, features in self.features(text)]
        found = [(probability, part) for probability, part in found if probability >= PROBABILITY_MIN]

        def worth(pair: tuple[float, Part]) -> float:
            probability, (_, _, first, last) = pair
            return probability / sqrt(last - first + LINES_FREE)

        found.sort(key=lambda pair: (-worth(pair), pair[1][0], pair[1][2]))
        return [Passage(path, first, last) for _, (path, _, first, last) in found[:DEPTH]]

    def features(self, text: str) -> Iterator[tuple[Part, dict[str, float]]]:
        """Yield the definitions that compete for a text, by words and names, with what is known of each."""
        gathered = gather(text, self._tree, self._reader, self._lexical, EVERYTHING, "hybrid", DEPTH)
        languages = {chunk.path: chunk.language for chunk in gathered.candidates.chunks.values()}
        candidates = replace(gathered.candidates, commits=self._reader.commits(languages))

        def rarity(term: str) -> float:
            return gathered.rarity.get(term, 0.0)

        ranked = rank(gathered.question, candidates, languages, rarity)
        yield from with_features(
            gathered.question, ranked, self._reader.symbols, candidates, languages, rarity
        )


def probability_of(features: Mapping[str, float]) -> float:
    """Return how probable it is that a definition is needed, from 0 to 1."""
    total = WEIGHTS.get("constant", 0.0) + sum(
        WEIGHTS.get(name, 0.0) * value for name, value in features.items()
    )
    return 1 / (1 + exp(-max(min(total, 30.0), -30.0)))


Part = tuple[str, Symbol | None, int, int]
"""Path, definition, first and last line."""


def with_features(
    question: Question,
    ranked: Sequence[RankedFile],
    symbols_of: Callable[[str], Sequence[Symbol]],
    candidates: Candidates,
    languages: Mapping[str, str],
    rarity: Callable[[str], float],
) -> Iterator[tuple[Part, dict[str, float]]]:
    """Yield the definitions that compete with what is known of each, by name."""
    words = _Words(question, rarity)
    outright = dict(candidates.tree)
    best = ranked[0].score if ranked else 1.0
    for place, file in enumerate(ranked[:FILES_MAX]):
        of_file = {
            "file": log(file.score + 0.001),
            "file, of the best": file.score / (best or 1.0),
            "file, place": 1 / (1 + place),
            "file is named": min(candidates.named.get(file.path, 0.0), 1.0),
            "commits": log1p(candidates.commits.get(file.path, 0)),
            "words asked": log(1 + words.count),
            f"role {role_of(file.path, languages.get(file.path, ''))}": 1.0,
        }
        for symbol, first, last, chunks in _parts(file, symbols_of(file.path)):
            score = max(one for _, _, one in chunks)
            features = of_file | {
                "chunk": score,
                "chunk, place": 1 / (1 + min(rank for rank, _, _ in chunks)),
                "file and chunk": log(file.score * score + 0.0001),
                "is named": max(outright.get(chunk.id, 0.0) for _, chunk, _ in chunks),
                "lines": log(last - first + 1),
            }
            if symbol is not None:
                features |= words.features(symbol)
            yield (file.path, symbol, first, last), features


class _Words:
    """The words of a question, each weighing as it is rare."""

    def __init__(self, question: Question, rarity: Callable[[str], float]) -> None:
        terms = query_terms(question.asked or question.text).weights
        self._weights = {term: weight * (rarity(term) or 1.0) for term, weight in terms.items()}
        self._total = sum(self._weights.values()) or 1.0
        self.count = len(terms)

    def features(self, symbol: Symbol) -> dict[str, float]:
        """Return what a definition's name and head share with the question."""
        own = document_terms(symbol.name.rpartition(".")[2])
        return {
            "name": self._share(own),
            "qualified name": self._share(document_terms(symbol.name)),
            "head": self._share(document_terms(f"{symbol.signature} {symbol.doc}")),
            "name is asked": sum(term in self._weights for term in own) / max(len(own), 1),
            f"kind {symbol.kind}": 1.0,
        }

    def _share(self, terms: Sequence[str]) -> float:
        return sum(self._weights.get(term, 0.0) for term in set(terms)) / self._total


Scored = tuple[int, ChunkPlace, float]
"""A chunk's place within its file, from 0, the chunk, and its score."""


def _parts(
    file: RankedFile, symbols: Sequence[Symbol]
) -> Iterator[tuple[Symbol | None, int, int, list[Scored]]]:
    """Yield the definitions of a file in which a chunk was found, and chunks outside of all."""
    scored = [(place, chunk, score) for place, (chunk, score) in enumerate(file.chunks)]
    spans = list(_spans(symbols))
    starts = [first for _, first, _ in spans]
    by_span: dict[int, list[Scored]] = {}
    for one in scored:
        chunk = one[1]
        place = bisect_left(starts, chunk.start_line)
        hit = False
        for index in (*([place - 1] if place else []), *range(place, len(spans))):
            _, first, last = spans[index]
            if first > chunk.end_line:
                break
            if last >= chunk.start_line:
                by_span.setdefault(index, []).append(one)
                hit = True
        if not hit:
            yield None, chunk.start_line, chunk.end_line, [one]
    for index, chunks in by_span.items():
        yield *spans[index], chunks


def _spans(symbols: Sequence[Symbol]) -> Iterator[tuple[Symbol, int, int]]:
    """Yield the definitions by their first line, each with its lines up to the first definition inside."""
    ordered = sorted(symbols, key=lambda one: (one.start_line, -one.end_line))
    for place, symbol in enumerate(ordered):
        inner = ordered[place + 1] if place + 1 < len(ordered) else None
        if inner is not None and symbol.start_line < inner.start_line <= symbol.end_line:
            yield symbol, symbol.start_line, inner.start_line - 1
        else:
            yield symbol, symbol.start_line, symbol.end_line
