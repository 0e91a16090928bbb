"""A question's way through the product, once for all variants, and how long each stage of it takes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np
from foveal.daemon.embedding.messages import VectorHits
from foveal.daemon.embedding.model import EmbeddingModel
from foveal.daemon.embedding.project_vectors import ProjectVectors
from foveal.daemon.embedding.unit_vectors import Floats
from foveal.daemon.index.lexical_handle import LexicalHandle
from foveal.daemon.index.store import Reader
from foveal.daemon.project.tree import Tree
from foveal.daemon.search.candidates import (
    VECTOR_MAX,
    GatheredCandidates,
)
from foveal.daemon.search.filters import EVERYTHING
from foveal.daemon.search.router import conclude, gather
from msgspec.structs import replace

from .variants import LEXICAL, TREE, VECTOR, Variant

T = TypeVar("T")

DEPTH = 50
"""Files that are asked for; what comes later counts as not found."""

WHOLE = "whole"
STAGES = ("gathering", "embedding the question", "vectors", "ranking", WHOLE)
"""In the order of the table; `whole` is the way from text to hits, the sum of the others."""

WARM_UP = 3
"""So many questions are asked of a project before its times count: files are mapped, caches are filled."""

Hits = Sequence[tuple[bytes, float]]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the product knows of a question before it ranks: under the route that it chose, and without."""

    routed: tuple[GatheredCandidates, Hits]
    unrouted: tuple[GatheredCandidates, Hits]


@dataclass
class Clock:
    """Times by stage in milliseconds."""

    times: dict[str, list[float]] = field(default_factory=lambda: {stage: [] for stage in STAGES})

    def time(self, stage: str, work: Callable[[], T]) -> T:
        """Return what the work returns."""
        started = time.perf_counter()
        result = work()
        self.times[stage].append((time.perf_counter() - started) * 1000)
        return result


class Asked:
    """An indexed project that is asked. `vectors` and `model` are None where nothing is embedded."""

    def __init__(self, folder: Path, vectors: ProjectVectors | None, model: EmbeddingModel | None) -> None:
        self.reader = Reader(str(folder))
        self.tree = Tree(str(folder), 1, self.reader.load_files())
        self.lexical = LexicalHandle(str(folder))
        self._vectors = vectors
        self._model = model

    def close(self) -> None:
        """Close what was opened here."""
        self.reader.close()

    def warm_up(self, texts: Sequence[str]) -> None:
        """Ask a few questions whose times don't count."""
        for text in texts[:WARM_UP]:
            self.evidence(text, Clock())

    def evidence(self, text: str, clock: Clock) -> Evidence:
        """Ask everything that is asked before the ranking, and time it."""
        gathered = clock.time(
            "gathering",
            lambda: gather(text, self.tree, self.reader, self.lexical, EVERYTHING, None, DEPTH),
        )
        stages = ["gathering"]
        hits: Hits = ()
        if gathered.answer is None:
            queries = self._queries(gathered, clock)
            if queries is not None:
                hits = self._search_vectors(gathered, queries, clock)
                stages += ["embedding the question", "vectors"]
            clock.time("ranking", lambda: conclude(gathered, hits, self.tree, self.reader, DEPTH))
            stages.append("ranking")
        clock.times[WHOLE].append(sum(clock.times[stage][-1] for stage in stages))
        return Evidence((gathered, hits), self._unrouted(text, gathered, hits))

    def rank(self, evidence: Evidence, variant: Variant) -> list[str]:
        """Return the files that a variant finds, best first; a file may stand there twice."""
        gathered, hits = evidence.routed if variant.routed else evidence.unrouted
        if gathered.answer is not None:
            return [hit.path for hit in gathered.answer]
        candidates = gathered.candidates
        if LEXICAL not in variant.lists:
            candidates = replace(candidates, lexical=())
        if TREE not in variant.lists:
            candidates = replace(candidates, tree=(), named={}, why={})
        asked = replace(gathered, candidates=candidates)
        found = conclude(asked, hits if VECTOR in variant.lists else (), self.tree, self.reader, DEPTH)
        return [hit.path for hit in found]

    def _unrouted(
        self, text: str, gathered: GatheredCandidates, hits: Hits
    ) -> tuple[GatheredCandidates, Hits]:
        """Gather again without a route where the route decided anything."""
        if gathered.answer is None and gathered.files is None:
            return gathered, hits
        again = gather(text, self.tree, self.reader, self.lexical, EVERYTHING, "hybrid", DEPTH)
        queries = self._queries(again, Clock())
        return again, () if queries is None else self._search_vectors(again, queries, Clock())

    def _queries(self, gathered: GatheredCandidates, clock: Clock) -> Floats | None:
        """Embed a question as the embedder does, None where it wouldn't be asked to."""
        question, model = gathered.question, self._model
        # As in daemon/search/search_service.py.
        texts = question.windows or ((question.text[:1_000],) if question.text.strip() else ())
        if model is None or self._vectors is None or not texts:
            return None
        return clock.time(
            "embedding the question", lambda: np.concatenate([model.embed_query(text) for text in texts])
        )

    def _search_vectors(self, gathered: GatheredCandidates, queries: Floats, clock: Clock) -> Hits:
        vectors = self._vectors
        assert vectors is not None  # there are queries
        found: VectorHits = clock.time("vectors", lambda: vectors.search(queries, VECTOR_MAX, gathered.files))
        return found.hits
