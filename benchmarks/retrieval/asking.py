"""A question's way through the product, once for all variants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from foveal.daemon.embedding.model import EmbeddingModel
from foveal.daemon.embedding.project_vectors import ProjectVectors
from foveal.daemon.index.service import LexicalHandle, Reader
from foveal.daemon.project.service import Tree
from foveal.daemon.search.candidates import (
    VECTOR_MAX,
    GatheredCandidates,
)
from foveal.daemon.search.filters import EVERYTHING
from foveal.daemon.search.router import conclude, gather
from msgspec.structs import replace

from .variants import LEXICAL, TREE, VECTOR, Variant

DEPTH = 50
"""Files that are asked for; what comes later counts as not found."""

Hits = Sequence[tuple[bytes, float]]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the product knows of a question before it ranks: under the route that it chose, and without."""

    routed: tuple[GatheredCandidates, Hits]
    unrouted: tuple[GatheredCandidates, Hits]


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

    def evidence(self, text: str) -> Evidence:
        """Ask everything that is asked before the ranking: under the route that the product chooses and,
        where the route decided anything, without one."""
        gathered = gather(text, self.tree, self.reader, self.lexical, EVERYTHING, None, DEPTH)
        routed = gathered, () if gathered.answer is not None else self._search_vectors(gathered)
        if gathered.answer is None and gathered.files is None:
            return Evidence(routed, routed)
        again = gather(text, self.tree, self.reader, self.lexical, EVERYTHING, "hybrid", DEPTH)
        return Evidence(routed, (again, self._search_vectors(again)))

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

    def _search_vectors(self, gathered: GatheredCandidates) -> Hits:
        """Embed a question as the embedder does, and search; nothing where it wouldn't be asked to."""
        question, model = gathered.question, self._model
        # As in daemon/search/search_service.py.
        texts = question.windows or ((question.text[:1_000],) if question.text.strip() else ())
        if model is None or self._vectors is None or not texts:
            return ()
        queries = np.concatenate([model.embed_query(text) for text in texts])
        return self._vectors.search(queries, VECTOR_MAX, gathered.files).hits
