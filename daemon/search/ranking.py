"""Ranks files: merges the scores of their chunks, and adds the other evidence for and against each file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from math import log1p
from operator import itemgetter
from typing import Literal, TypeVar

from msgspec import Struct, field

from ..index.chunk_table import ChunkPlace
from ..index.terms import path_terms
from ..project.text_kind import Role, role_of
from .candidates import SURELY_NAMED, Candidates, RankedFile
from .file_order import ORDERED_MAX, KnownFile, PlacedFile, order_files
from .question import Question

K = TypeVar("K")

Fusion = Literal["scores", "ranks"]

RANK_CONSTANT = 10
"""The constant of reciprocal rank fusion. The usual 60 suits lists of thousands; in lists of a few hundred
chunks it makes the first and the fiftieth chunk nearly equal (.809 NDCG@10 instead of .875 on 900 questions
about 45 repositories)."""


def fuse_ranks(
    lists: Mapping[str, Sequence[tuple[K, float]]], weights: Mapping[str, float]
) -> dict[K, float]:
    """Merge lists, each best first, by reciprocal rank fusion: the sum of weight / (constant + rank).

    The scores in the lists are ignored, so they need no common scale. An item that is in a list twice counts
    by its first place. The result is scaled to 0 to 1: an item that is first in every list gets 1.
    """
    present = _counting(lists, weights)
    most = sum(weights[name] for name in present) / (RANK_CONSTANT + 1)
    fused: dict[K, float] = {}
    for name, found in present.items():
        for key, rank in ranks(found).items():
            fused[key] = fused.get(key, 0.0) + weights[name] / (RANK_CONSTANT + rank) / most
    return fused


def fuse_scores(
    lists: Mapping[str, Sequence[tuple[K, float]]], weights: Mapping[str, float]
) -> dict[K, float]:
    """Merge lists, each best first, by score: the weighted sum of the scores, from 0 to 1.

    The scores of each list are first scaled from 0 (its last item) to 1 (its first item), or all to 1 if they
    are equal. An item that isn't in a list gets 0 from it.
    """
    present = _counting(lists, weights)
    total = sum(weights[name] for name in present)
    fused: dict[K, float] = {}
    for name, found in present.items():
        best: dict[K, float] = {}
        for key, score in found:
            best[key] = max(score, best.get(key, score))
        low, high = min(best.values()), max(best.values())
        for key, score in best.items():
            share = (score - low) / (high - low) if high > low else 1.0
            fused[key] = fused.get(key, 0.0) + weights[name] * share / total
    return fused


def ranks(found: Sequence[tuple[K, float]]) -> dict[K, int]:
    """Return the rank of each item in a list, from 1; for an item that occurs twice, its first rank."""
    return {key: rank for rank, key in enumerate(dict.fromkeys(key for key, _ in found), 1)}


def _counting(
    lists: Mapping[str, Sequence[tuple[K, float]]], weights: Mapping[str, float]
) -> dict[str, Sequence[tuple[K, float]]]:
    """Return the lists that aren't empty and have a weight; only these affect the fused scores."""
    return {name: found for name, found in lists.items() if found and weights[name] > 0}


class RankWeights(Struct, frozen=True):
    """The weights of the evidence for a file, relative to the fused score of its best chunk, at most 1.

    - `vector`: the share of the vector list in the fused score; the lexical list has the rest.
    - `vector_of_names`: the same share for long questions and those with identifiers, errors or stack frames.
    - `fusion`: whether lists are merged by scores or by ranks.
    - `coherence`: other good chunks of the file.
    - `path`: the question's words in the file's path.
    - `named`: the question names the file.
    - `exact`: the file contains a text of the question word for word; more than all the rest together.
    - `commits`: the file is changed often.
    - `learned`: whether the learned model orders the best files (`file_order.py`).
    - `penalties`: the factor for each role of a file, unless the question asks for this role.

    benchmarks/retrieval measures each weight by leaving it out.
    """

    vector: float = 0.5
    vector_of_names: float = 0.3
    fusion: Fusion = "scores"
    coherence: float = 0.8
    path: float = 1.0
    named: float = 2.0
    exact: float = 4.0
    commits: float = 0.2
    learned: bool = True
    penalties: Mapping[Role, float] = field(
        default_factory=lambda: {
            "source": 1.0, "test": 0.3, "example": 0.5, "document": 0.3, "data": 0.5, "shim": 0.5,
            "barrel": 0.7, "stub": 0.7,
        }
    )  # fmt: skip


DEFAULT = RankWeights()

OFTEN_CHANGED = 30
"""Number of commits, of the latest 500, from which on a file gets the full weight of `commits`."""

NAMED_CHUNK = 0.5
"""Minimum fused score of a chunk if the question names its lines or its definition with certainty 1."""

BARREL_DEFINITIONS = 5
"""Number of own definitions from which on a file is no barrel (a file that only re-exports), whatever its
name: `mod.rs` may contain the code itself. Variables count too, of which a barrel has up to four: `__all__`,
`__version__`, a fallback for what couldn't be imported."""

NAMED_FACTOR = 0.8
"""Minimum factor for the role of a file that the question surely names (`SURELY_NAMED`)."""

TELLING_SHARE = 0.5
"""Minimum share of the question's words in a path for the path to be given as a reason."""

SURE_NAME = 0.7
"""Minimum certainty of a symbol for which a question gets the weight `vector_of_names`."""


def rank(
    question: Question,
    candidates: Candidates,
    languages: Mapping[str, str],
    rarity: Callable[[str], float],
    weights: RankWeights = DEFAULT,
    most: int | None = None,
) -> list[RankedFile]:
    """Return the files with a candidate, best first, at most `most`; equal scores go by path.

    `rarity` gives a term's inverse document frequency. Files are sorted by the sum of their evidence, then
    the learned model reorders the best ones. Each place keeps its score, so the scores never rise.
    """
    found = by_evidence(question, candidates, languages, rarity, weights)
    places = (
        order_files(question, candidates, found[:ORDERED_MAX], rarity)
        if weights.learned
        else [PlacedFile(place) for place in range(len(found))]
    )
    places += [PlacedFile(place) for place in range(len(places), len(found))]
    ranked = []
    for one, file in list(zip(places, found, strict=True))[:most]:
        known = found[one.place]
        why = _reasons(candidates.why.get(known.path, ()), known.share)
        ranked.append(RankedFile(known.path, file.evidence, known.chunks, why, one.probability, one.reasons))
    return ranked


def by_evidence(
    question: Question,
    candidates: Candidates,
    languages: Mapping[str, str],
    rarity: Callable[[str], float],
    weights: RankWeights = DEFAULT,
) -> list[KnownFile]:
    """Return the files with a candidate, sorted by the sum of their evidence."""
    by_file: dict[str, list[tuple[ChunkPlace, float]]] = {}
    places = candidates.chunks
    for chunk_id, score in _fused(question, candidates, weights).items():
        chunk = places.get(chunk_id)
        if chunk is not None:
            by_file.setdefault(chunk.path, []).append((chunk, score))
    topic = _Topic(question, rarity)
    evidence = _Evidence(question, candidates, weights)
    scored = []
    for path, chunks in by_file.items():
        if len(chunks) > 1:
            chunks.sort(key=_best_first)
        share = topic.share(_terms_of_path(path))
        role = evidence.role(path, languages.get(path, ""))
        score = evidence.of(path, chunks, share) * evidence.factor(path, role)
        scored.append((-round(score, 6), path, share, role))
    scored.sort(key=itemgetter(0, 1))
    return [
        KnownFile(path, -score, by_file[path], share, role, role in question.wanted)
        for score, path, share, role in scored
    ]


def _reasons(why: Sequence[str], share: float) -> list[str]:
    reasons = list(dict.fromkeys(why))
    if share >= TELLING_SHARE:
        reasons.append("its path has the words of the question")
    return reasons


def list_ranks(candidates: Candidates) -> dict[str, dict[int, int]]:
    """Return each chunk's rank in every list that has it."""
    return {
        "tree": ranks(candidates.tree),
        "vector": ranks(candidates.vector),
        "lexical": ranks(candidates.lexical),
    }


def topic_terms(question: Question) -> list[str]:
    """Return the terms of a question's words and names, to compare with the terms of paths, each once."""
    terms = {term for word in question.words for term in path_terms(word)}
    terms.update(term for symbol in question.symbols for term in path_terms(symbol.name))
    return sorted(terms)


def _fused(question: Question, candidates: Candidates, weights: RankWeights) -> dict[int, float]:
    """Return each chunk's score, 0 to 1, merged from the lexical and the vector list."""
    fuse = fuse_scores if weights.fusion == "scores" else fuse_ranks
    share = weights.vector_of_names if _names_things(question) else weights.vector
    share *= candidates.coverage
    lists = {"lexical": candidates.lexical, "vector": candidates.vector}
    fused = fuse(lists, {"lexical": 1 - share, "vector": share})
    for chunk_id, score in candidates.tree:
        fused[chunk_id] = max(fused.get(chunk_id, 0.0), NAMED_CHUNK * score)
    return fused


class _Evidence:
    """The evidence for and against each file."""

    def __init__(self, question: Question, candidates: Candidates, weights: RankWeights) -> None:
        self._weights = weights
        self._exact, self._named, self._commits = candidates.exact, candidates.named, candidates.commits
        self._definitions = candidates.definitions
        self._factors = {
            role: 1.0 if role in question.wanted else penalty for role, penalty in weights.penalties.items()
        }
        surely = (
            path for of in (self._named, self._exact) for path, score in of.items() if score >= SURELY_NAMED
        )
        self._meant = candidates.rare.union(surely)

    def of(self, path: str, chunks: Sequence[tuple[ChunkPlace, float]], share: float) -> float:
        """Return the evidence for a file: its best chunk, its other chunks, its path, and mentions of it."""
        weights = self._weights
        evidence = chunks[0][1]
        if len(chunks) > 1:
            rest = sum([score for _, score in chunks[1:]])
            evidence += weights.coherence * rest / (1 + rest)
        evidence += weights.path * share
        evidence += weights.exact * self._exact.get(path, 0.0)
        return evidence + weights.named * self._named.get(path, 0.0)

    def factor(self, path: str, role: Role) -> float:
        """Return the factor of a file's evidence for its role and for how often it changes."""
        factor = self._factors[role]
        if factor < NAMED_FACTOR and path in self._meant:
            factor = NAMED_FACTOR
        commits = self._commits.get(path, 0)
        changed = log1p(commits) / log1p(OFTEN_CHANGED) if commits else 0.0
        return factor * (1 + self._weights.commits * min(1.0, changed))

    def role(self, path: str, language: str) -> Role:
        """Return the role of a file; a file with enough definitions of its own is no barrel."""
        role = role_of(path, language)
        if role == "barrel" and self._definitions.get(path, 0) >= BARREL_DEFINITIONS:
            return "source"
        return role


def _best_first(pair: tuple[ChunkPlace, float]) -> tuple[float, int]:
    return -pair[1], pair[0].id


@lru_cache(maxsize=65_536)
def _terms_of_path(path: str) -> tuple[str, ...]:
    return tuple(path_terms(path))


class _Topic:
    """The words of a question, weighted by rarity."""

    def __init__(self, question: Question, rarity: Callable[[str], float]) -> None:
        self._weights = {term: rarity(term) for term in topic_terms(question)}
        self._total = sum(self._weights.values()) or 1.0
        self._known = frozenset(self._weights)

    def share(self, terms: Sequence[str]) -> float:
        """Return the share of the question's words that are among some terms, from 0 to 1."""
        if self._known.isdisjoint(terms):
            return 0.0
        return sum([self._weights.get(term, 0.0) for term in terms]) / self._total


def _names_things(question: Question) -> bool:
    """Whether a question contains names that must match exactly, instead of a description."""
    named = any(symbol.certainty >= SURE_NAME for symbol in question.symbols)
    return named or bool(question.errors or question.frames) or question.is_long
