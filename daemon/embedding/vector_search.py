"""The search of a question among vectors: by which model, through which vectors, what is embedded for it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from msgspec.structs import replace

from ..core.errors import FovealError
from ..core.storage import DatabaseError, damage_raised
from ..core.system import System
from ..index.embedded_text import embedded_text
from .exact import Floats, scores, stored_halves, unit
from .lazy_model import Former
from .messages import SearchVectors, VectorHits
from .model import EmbeddingModel
from .project_vectors import ProjectVectors, have_direction, no_vectors
from .upkeep import EmbeddedProject, Upkeep


class VectorSearch:
    """Answers questions, on a thread of its own. `later` has something done on the thread of `upkeep`."""

    def __init__(self, upkeep: Upkeep, system: System, later: Callable[[Callable[[], None]], None]) -> None:
        self._upkeep = upkeep
        self._system = system
        self._later = later

    def answer(self, command: SearchVectors) -> VectorHits:
        """Find chunks: by the configured model, or by a former one as long as that one's vectors cover more.

        Raises `FovealError` with the reason where none can be asked for now.
        """
        kept = self._upkeep.get(command.root)
        if kept is None:
            raise FovealError(_NOT_LOADED)
        deadline = self._system.monotonic() + command.wait_s
        former = kept.former
        if former is None or not former.covers_more_than(kept.vectors):
            return self._by_present(kept, command, deadline)
        try:
            return self._by_former(kept, former, command)
        except FovealError as error:
            note = f"the former embedding model can't answer meanwhile: {error}"
        try:
            return replace(self._by_present(kept, command, deadline), note=note)
        except FovealError as error:
            raise FovealError(f"{error}; {note}") from error

    def _by_former(self, kept: EmbeddedProject, former: Former, command: SearchVectors) -> VectorHits:
        model = former.model.get(command.wait_s)
        queries = _embedded(model, command.texts)
        if not len(queries):
            return VectorHits((), former.vectors.pending)
        hits = self._search(kept, former.vectors, queries, command)
        name = self._upkeep.model.name
        return replace(
            hits, note=f"searched with the model {former.model.name} until {name} has embedded all"
        )

    def _by_present(self, kept: EmbeddedProject, command: SearchVectors, deadline: float) -> VectorHits:
        vectors = kept.vectors
        if vectors is None and kept.problem:
            raise FovealError(kept.problem)
        model = self._upkeep.model.get(max(0.0, deadline - self._system.monotonic()))
        if vectors is None:
            raise FovealError(_NOT_LOADED)
        queries = _embedded(model, command.texts)
        if not len(queries):
            return VectorHits((), vectors.pending)
        hits = self._search(kept, vectors, queries, command)
        first = self._embed_first(kept, vectors, model, command)
        if not first:
            return hits
        # As they are kept, so that a content has one score, whether it is found the first time or later.
        found = scores(stored_halves(np.stack(list(first.values())), model.dim), unit(queries, model.dim))
        scored = dict(hits.hits) | dict(zip(first, found.tolist(), strict=True))
        ordered = sorted(scored.items(), key=lambda hit: (-hit[1], hit[0]))
        if command.min_score is not None:
            ordered = [hit for hit in ordered if hit[1] >= command.min_score]
        return VectorHits(tuple(ordered[: command.limit]), max(0, hits.pending - len(first)))

    def _search(
        self, kept: EmbeddedProject, vectors: ProjectVectors, queries: Floats, command: SearchVectors
    ) -> VectorHits:
        try:
            with damage_raised():
                hits = vectors.search(queries, command.limit, command.files, command.kinds, command.min_score)
        except DatabaseError as error:
            raise self._failed(kept, vectors, error) from error
        if not hits.hits and not vectors.is_loaded:
            raise FovealError("the vectors of the project are being loaded")
        return hits

    def _embed_first(
        self, kept: EmbeddedProject, vectors: ProjectVectors, model: EmbeddingModel, command: SearchVectors
    ) -> dict[bytes, Floats]:
        """Embed what a question needs and has no vector yet, as far as its time allows."""
        deadline = self._system.monotonic() + command.first_s
        try:
            with damage_raised():
                chunks = vectors.lacking(command.first) if command.first_s > 0 else []
        except DatabaseError as error:
            raise self._failed(kept, vectors, error) from error
        embedded: dict[bytes, Floats] = {}
        for chunk in chunks:
            if self._system.monotonic() > deadline:
                break
            vector = model.embed([embedded_text(chunk.path, chunk)])
            if have_direction(vector).all():
                embedded[chunk.digest] = vector[0]
        if embedded:
            done = [chunk for chunk in chunks if chunk.digest in embedded]
            matrix = np.stack(list(embedded.values()))
            self._later(partial(self._upkeep.keep_embedded, kept, vectors, done, matrix))
        return embedded

    def _failed(self, kept: EmbeddedProject, vectors: ProjectVectors, error: DatabaseError) -> FovealError:
        """Have a failure dealt with where nothing else is being done for the project; returns what to say."""
        self._later(partial(self._upkeep.note_failure, kept, vectors, error))
        return FovealError(kept.problem or f"the vectors can't be read ({error})")


_NOT_LOADED = "the vectors of the project are not loaded yet"


def _embedded(model: EmbeddingModel, texts: tuple[str, ...]) -> Floats:
    """Return the embeddings of a question's texts (windows, dim), without those that have no direction."""
    queries = np.concatenate([no_vectors(model.dim), *map(model.embed_query, texts)])
    return queries[have_direction(queries)]
