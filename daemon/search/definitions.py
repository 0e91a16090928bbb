"""Estimates, for each definition in the found files, the probability that the asker needs it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import exp, log, log1p
from typing import Final

from msgspec.structs import replace

from ..index.records import ChunkPlace
from ..index.service import document_terms, query_terms
from ..languages.shared.qualified_names import base_name
from ..languages.shared.records import Symbol
from ..project.service import is_built, role_of
from .candidates import SURELY_NAMED, Candidates, RankedFile
from .query import FoundDefinition, Hit
from .question import Question

FILES_MAX: Final = 16
"""Maximum number of files whose definitions are scored. In benchmarks/needed 30 files show no more of the
edited definitions and take twice as long."""

TERMS_KEPT: Final = 8_192
"""Maximum number of definitions whose terms are cached, about 1 KB each. The next question about a project
scores mostly the same ones, and computing their terms takes a third of the scoring time."""

FUNCTIONS: Final = frozenset({"function", "method"})
"""Kinds of definitions that are scored as a whole, with the definitions inside."""

WHOLE_LINES: Final = 100
"""Maximum lines of a function that is scored as a whole; the functions in a longer one are scored separately,
since some functions contain a whole module."""

PROBABILITY_MIN: Final = 0.002
"""Minimum probability of a returned definition. Of 1,000 less probable ones in benchmarks/needed two were
edited."""

ANSWERED: Final = {"resolved": 0.5, "name": 0.2, "": 0.3}
"""Probability of the first place in a graph answer, by its certainty: a resolved link ("resolved"), a match
by name alone ("name"), or a place that the question names ("")."""

NEAR: Final = 0.05
"""Probability of the first place if the graph answered about a name that is only spelled alike: a likely
place, never one that is shown whole."""

ANSWER_DECAY: Final = 0.93
"""Factor between the probabilities of one place in a graph answer and the next, since a long list is seldom
needed as a whole."""

USE_SHARE: Final = 0.2
"""Factor for tests and examples in a graph answer, unless the question asks for them. The weights below would
give 0.015, but a question about usages may mean the usages in tests too."""

EDITED_ODDS: Final = 2.4
"""Factor for the odds of a definition in a file that was just edited. Fitted on the tune half of
benchmarks/needed with the files of the commit before by the same author: its logarithm is .86, with a
standard error of .25."""

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
"""Weights of the logistic regression, by feature. `python -m benchmarks.needed.fit` fits them to the
definitions that commits edit in the `tune` half of its repositories."""


BUILT_SHARE: Final = 0.1
"""Factor for the probability of a definition in a built copy (`dist/`, `*.min.js`) whose source was found."""


def find_definitions(
    question: Question,
    ranked: Sequence[RankedFile],
    symbols_of: Callable[[str], Sequence[Symbol]],
    candidates: Candidates,
    languages: Mapping[str, str],
    rarity: Callable[[str], float],
) -> list[FoundDefinition]:
    """Return the definitions of the best files that overlap a found chunk, the most probable first."""
    definitions = []
    for one, features in with_features(question, ranked, symbols_of, candidates, languages, rarity):
        probability = probability_of(features)
        if probability >= PROBABILITY_MIN:
            path, symbol, first, last = one
            definitions.append(
                FoundDefinition(path, symbol, first, last, round(probability, 4), _reasons(features))
            )
    definitions.sort(key=lambda one: (-one.probability, one.path, one.first))
    return definitions


def with_edited(found: Iterable[FoundDefinition], edited: Collection[str]) -> list[FoundDefinition]:
    """Return found definitions, those in files that were just edited with a higher probability.

    What is improbable stays improbable: an edit says little about a prompt that concerns something else."""
    raised = []
    for one in found:
        odds = EDITED_ODDS * one.probability / max(1 - one.probability, 1e-6)
        probability = odds / (1 + odds) if one.path in edited else one.probability
        raised.append(replace(one, probability=round(probability, 4)))
    return raised


def with_sources_first(found: Iterable[FoundDefinition]) -> list[FoundDefinition]:
    """Return found definitions, those in built copies with a lower probability if another file has one of the
    same name that isn't built: who changes something changes the source."""
    found = list(found)
    sources = {
        base_name(one.symbol.name) for one in found if one.symbol is not None and not is_built(one.path)
    }
    return [
        replace(one, probability=round(one.probability * BUILT_SHARE, 4))
        if one.symbol is not None and base_name(one.symbol.name) in sources and is_built(one.path)
        else one
        for one in found
    ]


def answered(question: Question, hits: Iterable[Hit], *, near: bool = False) -> list[Hit]:
    """Return the hits of a graph answer or a named place with their definitions and probabilities.

    `near` says that they are about a name that is only spelled like the one in the question."""
    result = []
    places = {True: 0, False: 0}
    for hit in hits:
        role = role_of(hit.path, hit.chunk.language)
        lower = role in {"test", "example"} and role not in question.wanted
        share = (
            (NEAR if near else ANSWERED[hit.certainty])
            * ANSWER_DECAY ** places[lower]
            * (USE_SHARE if lower else 1.0)
        )
        places[lower] += 1
        first, last = hit.chunk.start_line, hit.chunk.end_line
        if hit.node is not None:
            first, last = hit.node.start_line, hit.node.end_line
        found = FoundDefinition(hit.path, hit.node, first, last, round(share, 4), ("answer",))
        result.append(replace(hit, definitions=(found,)))
    return result


def probability_of(features: Mapping[str, float]) -> float:
    """Return the probability (0 to 1) that a definition is needed."""
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
    """Yield the definitions to score, each with its features by name."""
    words = _NameWords(question, rarity)
    outright = dict(candidates.tree)
    best = ranked[0].score if ranked else 1.0
    for place, file in enumerate(ranked[:FILES_MAX]):
        role = role_of(file.path, languages.get(file.path, ""))
        is_config = role == "data" and role in question.wanted
        if role in question.wanted or candidates.named.get(file.path, 0.0) >= SURELY_NAMED:
            role = "source"  # a test counts as source if the question asks for tests
        of_file = {
            "file": log(file.score + 0.001),
            "file, of the best": file.score / (best or 1.0),
            "file, place": 1 / (1 + place),
            "file is named": min(candidates.named.get(file.path, 0.0), 1.0),
            "commits": log1p(candidates.commits.get(file.path, 0)),
            "words asked": log(1 + words.count),
            f"role {role}": 1.0,
        }
        for symbol, first, last, chunks in _parts(file, symbols_of(file.path), candidates.lines):
            score = max(one for _, _, one in chunks)
            features = of_file | {
                "chunk": score,
                "chunk, place": 1 / (1 + min(rank for rank, _, _ in chunks)),
                "file and chunk": log(file.score * score + 0.0001),
                "is named": max(outright.get(chunk.id, 0.0) for _, chunk, _ in chunks),
                "lines": log(last - first + 1),
            }
            if _begins_only(symbol, first, last) and not features["is named"]:
                continue
            if symbol is not None:
                features |= words.features(symbol)
            if is_config:  # its blocks are what is asked for, unlike the sections of a document
                features.pop("kind section", None)
            yield (file.path, symbol, first, last), features


def _begins_only(symbol: Symbol | None, first: int, last: int) -> bool:
    """Whether the lines are only the head of a class; its members are scored instead."""
    return symbol is not None and last < symbol.end_line and last <= first + 1


class _NameWords:
    """The words of a question, weighted by rarity."""

    def __init__(self, question: Question, rarity: Callable[[str], float]) -> None:
        terms = query_terms(question.asked or question.text).weights
        self._weights = {term: weight * (rarity(term) or 1.0) for term, weight in terms.items()}
        self._total = sum(self._weights.values()) or 1.0
        self.count = len(terms)

    def features(self, symbol: Symbol) -> dict[str, float]:
        """Return the features for the words that a definition's name and head share with the question."""
        own, qualified, head = _terms_of(symbol.name, symbol.signature, symbol.doc)
        return {
            "name": self._share(own),
            "qualified name": self._share(qualified),
            "head": self._share(head),
            "name is asked": sum(term in self._weights for term in own) / max(len(own), 1),
            f"kind {symbol.kind}": 1.0,
        }

    def _share(self, terms: frozenset[str]) -> float:
        return sum(self._weights[term] for term in self._weights if term in terms) / self._total


@lru_cache(maxsize=TERMS_KEPT)
def _terms_of(name: str, signature: str, doc: str) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Return the terms of a definition's own name, its qualified name, and its head."""
    own = document_terms(name.rpartition(".")[2])
    return (
        frozenset(own),
        frozenset(document_terms(name)),
        frozenset(document_terms(f"{signature} {doc}")),
    )


Scored = tuple[int, ChunkPlace, float]
"""The rank of a chunk in its file (from 0), the chunk, and its score."""


def _parts(
    file: RankedFile, symbols: Sequence[Symbol], lines: Mapping[int, int]
) -> Iterator[tuple[Symbol | None, int, int, list[Scored]]]:
    """Yield the definitions of a file that overlap a found chunk, and the parts of chunks outside of them."""
    scored = [(place, chunk, score) for place, (chunk, score) in enumerate(file.chunks)]
    spans = list(_spans(symbols))
    starts = [first for _, first, _ in spans]
    by_span: dict[int, list[Scored]] = {}
    for item in scored:
        chunk = item[1]
        place = bisect_left(starts, chunk.start_line)
        hit = False
        after = chunk.start_line
        for index in (*([place - 1] if place else []), *range(place, len(spans))):
            _, first, last = spans[index]
            if first > chunk.end_line:
                break
            if last >= chunk.start_line:
                by_span.setdefault(index, []).append(item)
                hit = True
                if after <= lines.get(chunk.id, 0) < first:
                    yield None, after, first - 1, [item]
                after = max(after, last + 1)
        if not hit:
            yield None, chunk.start_line, chunk.end_line, [item]
        elif after <= lines.get(chunk.id, 0) <= chunk.end_line:  # an exact text after the last definition
            yield None, after, chunk.end_line, [item]
    for index, chunks in by_span.items():
        symbol, first, last = spans[index]
        yield symbol, first, last, chunks


def _spans(symbols: Sequence[Symbol]) -> Iterator[tuple[Symbol, int, int]]:
    """Yield the definitions in source order, each with its lines up to the first definition inside.

    A function of fewer than `WHOLE_LINES` lines includes the definitions inside."""
    ordered: list[Symbol] = []
    within = 0
    for one in sorted(symbols, key=lambda one: (one.start_line, -one.end_line)):
        if one.end_line <= within:
            continue
        ordered.append(one)
        if one.kind in FUNCTIONS and one.end_line - one.start_line < WHOLE_LINES:
            within = one.end_line
    for place, symbol in enumerate(ordered):
        inner = ordered[place + 1] if place + 1 < len(ordered) else None
        if inner is not None and symbol.start_line < inner.start_line <= symbol.end_line:
            yield symbol, symbol.start_line, inner.start_line - 1
        else:
            yield symbol, symbol.start_line, symbol.end_line


def _reasons(features: Mapping[str, float]) -> tuple[str, ...]:
    """Return the names of the features that add most to the probability, at most three."""
    added = {name: WEIGHTS.get(name, 0.0) * value for name, value in features.items()}
    said = (_SAID.get(name) for name in sorted(added, key=lambda one: -added[one]) if added[name] > 0)
    return tuple(dict.fromkeys(filter(None, said)))[:3]


_SAID: Final = {
    "chunk": "its words",
    "chunk, place": "its words",
    "file, of the best": "its file",
    "file, place": "its file",
    "head": "its signature",
    "is named": "named in the prompt",
    "name is asked": "its name",
    "qualified name": "its name",
}
"""The words for features that a reason can name. Other features are never given as a reason."""
