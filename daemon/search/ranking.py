"""Ranks files: merges the scores of their chunks, and adds the other evidence for and against each file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from math import log1p
from typing import Final, TypeVar

from ..index.records import ChunkPlace
from ..index.service import path_terms
from ..project.records import Role
from ..project.service import role_of
from .candidates import SURELY_NAMED, Candidates, RankedFile
from .file_order import ORDERED_MAX, KnownFile, PlacedFile, order_files
from .question import Question

K = TypeVar("K")

VECTOR, VECTOR_OF_NAMES = 0.5, 0.3
"""Share of the vector list in the fused score of a chunk, and the same for long questions and those with
identifiers, errors or stack frames; the lexical list has the rest."""

COHERENCE, PATH, NAMED, EXACT, COMMITS = 0.8, 1.0, 2.0, 4.0, 0.2
"""Weights of the evidence for a file, relative to the fused score of its best chunk, which is at most 1: its
other good chunks; the question's words in its path; that the question names it; that it contains a text of
the question word for word, more than all the rest together; how often it is changed."""

PENALTIES: Final[Mapping[Role, float]] = {
    "source": 1.0, "test": 0.3, "example": 0.5, "document": 0.3, "data": 0.5, "shim": 0.5, "barrel": 0.7,
    "stub": 0.7,
}  # fmt: skip
"""The factor for each role of a file, unless the question asks for this role."""

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
    most: int | None = None,
) -> list[RankedFile]:
    """Return the files with a candidate, best first, at most `most`; equal scores go by path.

    `rarity` gives a term's inverse document frequency. Files are sorted by the sum of their evidence, then
    the learned model reorders the best ones. Each place keeps its score, so the scores never rise.
    """
    files = by_evidence(question, candidates, languages, rarity)
    places = order_files(question, candidates, files[:ORDERED_MAX], rarity)
    places += [PlacedFile(place) for place in range(len(places), len(files))]
    ranked = []
    for one, file in list(zip(places, files, strict=True))[:most]:
        known = files[one.place]
        why = _reasons(candidates.why.get(known.path, ()), known.share)
        ranked.append(RankedFile(known.path, file.evidence, known.chunks, why, one.probability, one.reasons))
    return ranked


def by_evidence(
    question: Question,
    candidates: Candidates,
    languages: Mapping[str, str],
    rarity: Callable[[str], float],
) -> list[KnownFile]:
    """Return the files with a candidate, sorted by the sum of their evidence."""
    by_file: dict[str, list[tuple[ChunkPlace, float]]] = {}
    for chunk_id, score in _fused(question, candidates).items():
        chunk = candidates.chunks.get(chunk_id)
        if chunk is not None:
            by_file.setdefault(chunk.path, []).append((chunk, score))
    topic = _Topic(question, rarity)
    surely = {
        path
        for of in (candidates.named, candidates.exact)
        for path, score in of.items()
        if score >= SURELY_NAMED
    }
    meant = candidates.rare.union(surely)
    files = []
    for path, chunks in by_file.items():
        chunks.sort(key=lambda pair: (-pair[1], pair[0].id))
        share = topic.share(_terms_of_path(path))
        role = _role(path, languages.get(path, ""), candidates.definitions.get(path, 0))
        wanted = role in question.wanted
        factor = max(1.0 if wanted else PENALTIES[role], NAMED_FACTOR if path in meant else 0.0)
        changed = min(1.0, log1p(candidates.commits.get(path, 0)) / log1p(OFTEN_CHANGED))
        score = _evidence(path, chunks, share, candidates) * factor * (1 + COMMITS * changed)
        files.append(KnownFile(path, round(score, 6), chunks, share, role, wanted))
    return sorted(files, key=lambda file: (-file.evidence, file.path))


def _reasons(why: Sequence[str], share: float) -> list[str]:
    reasons = list(dict.fromkeys(why))
    if share >= TELLING_SHARE:
        reasons.append("its path has the words of the question")
    return reasons


def ranks(found: Sequence[tuple[K, float]]) -> dict[K, int]:
    """Return the rank of each item in a list, from 1; for an item that occurs twice, its first rank."""
    return {key: rank for rank, key in enumerate(dict.fromkeys(key for key, _ in found), 1)}


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


def fuse_scores(
    lists: Mapping[str, Sequence[tuple[K, float]]], weights: Mapping[str, float]
) -> dict[K, float]:
    """Merge lists, each best first, by score: the weighted sum of the scores, from 0 to 1.

    The scores of each list are first scaled from 0 (its last item) to 1 (its first item), or all to 1 if they
    are equal. An item that isn't in a list gets 0 from it; an empty list, or one without weight, doesn't
    count. Merging by ranks (RRF) gives .008 to .014 less NDCG@10.
    """
    present = {name: scored for name, scored in lists.items() if scored and weights[name] > 0}
    total = sum(weights[name] for name in present)
    fused: dict[K, float] = {}
    for name, scored in present.items():
        best: dict[K, float] = {}
        for key, score in scored:
            best[key] = max(score, best.get(key, score))
        low, high = min(best.values()), max(best.values())
        for key, score in best.items():
            share = (score - low) / (high - low) if high > low else 1.0
            fused[key] = fused.get(key, 0.0) + weights[name] * share / total
    return fused


def _fused(question: Question, candidates: Candidates) -> dict[int, float]:
    """Return each chunk's score, 0 to 1, merged from the lexical and the vector list."""
    share = (VECTOR_OF_NAMES if _names_things(question) else VECTOR) * candidates.coverage
    lists = {"lexical": candidates.lexical, "vector": candidates.vector}
    fused = fuse_scores(lists, {"lexical": 1 - share, "vector": share})
    for chunk_id, score in candidates.tree:
        fused[chunk_id] = max(fused.get(chunk_id, 0.0), NAMED_CHUNK * score)
    return fused


def _evidence(
    path: str, chunks: Sequence[tuple[ChunkPlace, float]], share: float, candidates: Candidates
) -> float:
    """Return the evidence for a file: its best chunk, its other chunks, its path, and mentions of it."""
    rest = sum([score for _, score in chunks[1:]])
    evidence = chunks[0][1] + COHERENCE * rest / (1 + rest) + PATH * share
    return evidence + EXACT * candidates.exact.get(path, 0.0) + NAMED * candidates.named.get(path, 0.0)


def _role(path: str, language: str, definitions: int) -> Role:
    """Return the role of a file; a file with enough definitions of its own is no barrel."""
    role = role_of(path, language)
    return "source" if role == "barrel" and definitions >= BARREL_DEFINITIONS else role


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
