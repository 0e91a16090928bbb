"""The learned order of the best files: computes features of each file and weighs them by a linear model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import exp, log1p
from operator import mul
from typing import Final, NamedTuple

from ..index.records import ChunkPlace
from ..index.service import document_terms, path_terms, query_terms
from ..project.records import Role
from .candidates import Candidates
from .file_order_weights import CALIBRATION, WEIGHTS
from .question import Question

ORDERED_MAX: Final = 40
"""Maximum number of files that the model orders, the first by the sum of their evidence; it takes 1 ms. Files
behind them are seldom an answer, as measured on commits and questions of 32 code bases."""

NEIGHBOURS: Final = 12
"""Number of the best files whose evidence also counts for other files in the same folder."""

PREFIX_MIN, PREFIX_SHARE = 4, 0.7
"""Minimum letters of two terms that match because one begins with the other, and the factor for such a
match."""

SURE_TEXT, SURE_NAME = 0.5, 0.9
"""Minimum share of a quoted text in a file, and minimum certainty that the question names a file, for which
the file comes before all others. Such files keep the order of their evidence."""

ROLES: Final[tuple[Role, ...]] = ("test", "example", "document", "data", "shim", "barrel", "stub")

GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "its words": (
        "evidence", "evidence, of the best", "evidence, place", "words", "words, second", "words, all",
        "chunks with words", "words, stretched", "words, place", "file has words", "file has kinds of words",
        "chunk has words", "fused", "other chunks", "chunks",
    ),
    "its meaning": (
        "has meaning", "meaning", "meaning, second", "meaning, below the best", "meaning, stretched",
        "chunks with meaning",
    ),
    "its path": (
        "path", "name", "name, beginnings", "name is asked", "whole name is asked", "folders", "depth",
        "folder has others",
    ),
    "its size": ("lines", "definitions"),
    "what the question names": ("named", "quoted", "rare"),
    "its changes": ("commits", "changed for such words", "changed for such words, most"),
    "what kind of file it is": (*(f"role {role}" for role in ROLES), "no source"),
}  # fmt: skip
"""The features in groups, by the words that a reason uses for them. `FEATURES` has their order in the
model."""

OF_THE_BEST: Final = ("path", "name", "words, all", "other chunks", "file has words")
"""Features that the model has a second time, divided by the highest value of any file."""

BY_COVERAGE: Final = (
    "has meaning", "meaning", "meaning, below the best", "meaning, stretched", "words, stretched",
)  # fmt: skip
"""Features that the model has a second time, multiplied by the share of lexical hits that have a vector."""

_PLAIN: Final = tuple(name for names in GROUPS.values() for name in names)
FEATURES: Final = (
    *_PLAIN,
    *(f"{name}, of the best file" for name in OF_THE_BEST),
    *(f"{name}, by coverage" for name in BY_COVERAGE),
)
_GROUP_OF: Final = tuple(
    next(group for group, names in GROUPS.items() if name in names)
    for name in (*_PLAIN, *OF_THE_BEST, *BY_COVERAGE)
)
_PLACE_OF: Final = {name: place for place, name in enumerate(_PLAIN)}


class KnownFile(NamedTuple):
    """A file before the learned order: the sum of its evidence, its chunks with their fused scores, the share
    of the question's words in its path, its role, and whether the question asks for files of this role."""

    path: str
    evidence: float
    chunks: Sequence[tuple[ChunkPlace, float]]
    share: float
    role: Role
    wanted: bool


class PlacedFile(NamedTuple):
    """A file after the learned order: its index in the original list, the probability (0 to 1) that it
    answers the question, and the groups of features that rank it before the others, in words."""

    place: int
    probability: float = 0.0
    reasons: tuple[str, ...] = ()


def order_files(
    question: Question, candidates: Candidates, files: Sequence[KnownFile], rarity: Callable[[str], float]
) -> list[PlacedFile]:
    """Return the first `ORDERED_MAX` files in the order of the model. `files` are sorted by evidence."""
    rows = features(question, candidates, files[:ORDERED_MAX], rarity)
    weights = [WEIGHTS.get(name, 0.0) for name in FEATURES]
    scores = [sum(map(mul, weights, row)) for row in rows]
    best = max(scores, default=0.0)
    mean = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    sure = [_is_sure(file, candidates, first=not place) for place, file in enumerate(files[:ORDERED_MAX])]
    placed = sorted(
        range(len(rows)),
        key=lambda place: (0, place, "") if sure[place] else (1, -scores[place], files[place].path),
    )
    return [
        PlacedFile(place, _probability(scores[place], best), _reasons(weights, rows[place], mean))
        for place in placed
    ]


def _is_sure(file: KnownFile, candidates: Candidates, *, first: bool) -> bool:
    """Whether the question names a file, or quotes a text of which the file contains most; for the first file
    by evidence any part of the text is enough."""
    share = candidates.exact.get(file.path, 0.0)
    return share >= SURE_TEXT or (first and share > 0) or candidates.named.get(file.path, 0.0) >= SURE_NAME


def features(
    question: Question, candidates: Candidates, files: Sequence[KnownFile], rarity: Callable[[str], float]
) -> list[list[float]]:
    """Return the values of `FEATURES` for each file."""
    if not files:
        return []
    words = _PathWords(question, rarity)
    lists = _Lists(candidates, files)
    best = files[0].evidence or 1.0
    folders: dict[str, float] = {}
    for file in files[:NEIGHBOURS]:
        folder = file.path.rpartition("/")[0]
        folders[folder] = folders.get(folder, 0.0) + file.evidence / best / NEIGHBOURS
    rows = []
    ranks = _ranks([file.evidence for file in files])
    for place, (rank, file) in enumerate(zip(ranks, files, strict=True)):
        around = folders.get(file.path.rpartition("/")[0], 0.0)
        around -= file.evidence / best / NEIGHBOURS if place < NEIGHBOURS else 0.0
        rows.append(
            [
                file.evidence,
                file.evidence / best,
                1 / (1 + rank),
                *lists.by_words(file),
                *lists.by_meaning(file),
                *words.in_path(file),
                around,
                log1p(candidates.lines_of.get(file.path, 0)),
                log1p(candidates.definitions.get(file.path, 0)),
                min(candidates.named.get(file.path, 0.0), 1.0),
                min(candidates.exact.get(file.path, 0.0), 1.0),
                float(file.path in candidates.rare),
                log1p(candidates.commits.get(file.path, 0)),
                *lists.by_changes(file),
                *(float(file.role == role and not file.wanted) for role in ROLES),
                float(file.role != "source" and not file.wanted),
            ]
        )
    most = [max(row[_PLACE_OF[name]] for row in rows) or 1.0 for name in OF_THE_BEST]
    coverage = candidates.coverage if candidates.vector else 0.0
    for row in rows:
        row += [
            *[row[place] / highest for place, highest in zip(_OF_THE_BEST, most, strict=True)],
            *[coverage * row[place] for place in _BY_COVERAGE],
        ]
    return rows


_OF_THE_BEST = [_PLACE_OF[name] for name in OF_THE_BEST]
_BY_COVERAGE = [_PLACE_OF[name] for name in BY_COVERAGE]


class _Lists:
    """The features of a file from the lexical and the vector list."""

    def __init__(self, candidates: Candidates, files: Sequence[KnownFile]) -> None:
        self._cover = candidates.cover
        self._words = _by_path(candidates.lexical, candidates)
        self._meaning = _by_path(candidates.vector, candidates)
        self._changed = candidates.changed
        ranked = (self._changed[file.path].ranked for file in files if file.path in self._changed)
        self._most_changed = max(ranked, default=0.0) or 1.0
        self._most, self._least = _ends(candidates.lexical)
        self._nearest, self._farthest = _ends(candidates.vector)

    def by_words(self, file: KnownFile) -> tuple[float, ...]:
        ranked = self._words.get(file.path, [])
        shares = [score / self._most for _, score in ranked]
        stretched = (ranked[0][1] - self._least) / ((self._most - self._least) or 1.0) if ranked else 0.0
        fused = [score for _, score in file.chunks]
        rest = sum(fused[1:])
        of_file, kinds, of_chunk = self._cover.get(file.chunks[0][0].file_id, (0.0, 0.0, 0.0))
        return (
            shares[0] if shares else 0.0,
            shares[1] if len(shares) > 1 else 0.0,
            log1p(sum(shares)),
            log1p(len(shares)),
            stretched,
            log1p(ranked[0][0]) if ranked else 6.0,
            of_file,
            kinds,
            of_chunk,
            fused[0],
            rest / (1 + rest),
            log1p(len(fused)),
        )

    def by_changes(self, file: KnownFile) -> tuple[float, float]:
        changed = self._changed.get(file.path)
        return (0.0, 0.0) if changed is None else (changed.nearest, changed.ranked / self._most_changed)

    def by_meaning(self, file: KnownFile) -> tuple[float, ...]:
        scored = self._meaning.get(file.path)
        if not scored:
            return (0.0,) * 6
        nearest = scored[0][1]
        return (
            1.0,
            nearest,
            scored[1][1] if len(scored) > 1 else 0.0,
            nearest - self._nearest,
            (nearest - self._farthest) / ((self._nearest - self._farthest) or 1.0),
            log1p(len(scored)),
        )


def _by_path(
    ranked_chunks: Sequence[tuple[int, float]], candidates: Candidates
) -> dict[str, list[tuple[int, float]]]:
    """Return, by file, the ranks (from 0) and scores of its chunks in a list, best first; equal scores have
    the same rank."""
    result: dict[str, list[tuple[int, float]]] = {}
    ranks = _ranks([score for _, score in ranked_chunks])
    for rank, (number, score) in zip(ranks, ranked_chunks, strict=True):
        chunk = candidates.chunks.get(number)
        if chunk is not None:
            result.setdefault(chunk.path, []).append((rank, score))
    return result


def _ranks(scores: Sequence[float]) -> Iterator[int]:
    """Yield the rank of each score in a list, from 0; equal scores have the same rank."""
    rank = 0
    for place, score in enumerate(scores):
        if score != scores[rank]:
            rank = place
        yield rank


def _ends(ranked_chunks: Sequence[tuple[int, float]]) -> tuple[float, float]:
    return (ranked_chunks[0][1] or 1.0, ranked_chunks[-1][1]) if ranked_chunks else (1.0, 0.0)


class _PathWords:
    """The words of a question, weighted by rarity, to compare with the names of files and folders."""

    def __init__(self, question: Question, rarity: Callable[[str], float]) -> None:
        terms = query_terms(question.asked or question.text).weights
        self._weights = {term: weight * (rarity(term) or 0.1) for term, weight in terms.items()}
        self._total = sum(self._weights.values()) or 1.0

    def in_path(self, file: KnownFile) -> tuple[float, ...]:
        name, folders, depth = _named(file.path)
        weights, total = self._weights, self._total
        asked = [term for term in name if term in weights]
        exact = sum([weights[term] for term in asked]) / total
        return (
            file.share,
            exact,
            exact + PREFIX_SHARE * self._begun(name) / total,
            len(asked) / (len(name) or 1),
            float(bool(name) and len(asked) == len(name)),
            sum([weights[term] for term in folders if term in weights]) / total,
            depth,
        )

    def _begun(self, name: frozenset[str]) -> float:
        """Return the weight of the question's terms that are a prefix of a term in a name, or the reverse."""
        long = [term for term in name if len(term) >= PREFIX_MIN]
        if not long:
            return 0.0
        return sum(
            weight
            for term, weight in self._weights.items()
            if len(term) >= PREFIX_MIN
            and term not in name
            and any(other.startswith(term) or term.startswith(other) for other in long)
        )


@lru_cache(maxsize=16_384)
def _named(path: str) -> tuple[frozenset[str], frozenset[str], float]:
    """Return the terms of a file's name without extensions, the terms of its folders, and its depth."""
    folder, _, name = path.rpartition("/")
    return frozenset(document_terms(name.partition(".")[0])), frozenset(path_terms(folder)), path.count("/")


def _probability(score: float, best: float) -> float:
    constant, own, below = CALIBRATION
    return round(1 / (1 + exp(-max(min(constant + own * score + below * (score - best), 30.0), -30.0))), 4)


def _reasons(weights: Sequence[float], row: Sequence[float], mean: Sequence[float]) -> tuple[str, ...]:
    """Return the groups of features that rank a file before the others, at most three."""
    added = dict.fromkeys(GROUPS, 0.0)
    for group, weight, value, usual in zip(_GROUP_OF, weights, row, mean, strict=True):
        added[group] += weight * (value - usual)
    said = sorted((group for group in added if added[group] > TELLING), key=lambda group: -added[group])
    return tuple(said[:3])


TELLING: Final = 0.3
"""Minimum amount that a group of features adds to the model's score of a file, compared with the mean, to be
given as a reason."""
