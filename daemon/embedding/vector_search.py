"""Answers questions by meaning: embeds a question and finds the nearest chunks of a project."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ..core.errors import FovealError
from ..core.storage import DatabaseError, damage_raised
from ..core.system import System
from ..index.records import ChunkText
from ..index.service import embedded_text
from .messages import ModelUnavailable, SearchVectors, VectorHits
from .model import TextModel
from .project_vectors import ProjectVectors
from .unit_vectors import Floats, have_direction, unit_halves
from .vector_updater import EmbeddedProject, VectorUpdater
from .vectors import cosines


class VectorSearch:
    """Answers searches on a separate thread. `later` runs a function on the thread of `updater`."""

    def __init__(
        self, updater: VectorUpdater, system: System, later: Callable[[Callable[[], None]], None]
    ) -> None:
        self._updater = updater
        self._system = system
        self._later = later

    def answer(self, command: SearchVectors) -> VectorHits:
        """Find the chunks nearest to the texts. Raises `FovealError` if that isn't possible now."""
        project = self._updater.get(command.root)
        if project is None:
            raise FovealError(_NOT_LOADED)
        vectors = project.vectors
        if vectors is None and project.problem:
            raise FovealError(project.problem)
        model = self._updater.model.get(command.wait_s)
        if vectors is None or vectors.dim != model.dim:
            raise FovealError(_NOT_LOADED)
        queries = _embedded(model, command.texts)
        if not len(queries):
            return VectorHits((), vectors.pending)
        try:
            with damage_raised():
                hits = vectors.search(queries, command.limit, command.files)
                lacking = vectors.lacking(command.first) if command.first_s > 0 else []
        except DatabaseError as error:
            self._later(partial(self._updater.note_failure, project, vectors, error))
            raise FovealError(project.problem or f"the vectors can't be read ({error})") from error
        if not hits.hits and not vectors.is_loaded:
            raise FovealError("the vectors of the project are being loaded")
        first = self._embed_first(project, vectors, model, lacking, command.first_s)
        if not first:
            return hits
        # Rounded like stored vectors, so that a content has the same score in this search and in later ones.
        matrix = unit_halves(np.stack(list(first.values())), model.dim)
        found = cosines(matrix, unit_halves(queries, model.dim))
        scored = dict(hits.hits) | dict(zip(first, found.tolist(), strict=True))
        ordered = sorted(scored.items(), key=lambda hit: (-hit[1], hit[0]))
        return VectorHits(tuple(ordered[: command.limit]), max(0, hits.pending - len(first)))

    def _embed_first(
        self,
        project: EmbeddedProject,
        vectors: ProjectVectors,
        model: TextModel,
        chunks: list[ChunkText],
        within_s: float,
    ) -> dict[bytes, Floats]:
        """Embed chunks without a vector, for up to `within_s` seconds."""
        deadline = self._system.monotonic() + within_s
        embedded: dict[bytes, Floats] = {}
        for chunk in chunks:
            if self._system.monotonic() > deadline:
                break
            try:
                vector = model.embed([embedded_text(chunk.path, chunk.names, chunk.text)])
            except ModelUnavailable:
                break  # what was found without these is an answer too
            if have_direction(vector).all():
                embedded[chunk.digest] = vector[0]
        if embedded:
            done = [chunk for chunk in chunks if chunk.digest in embedded]
            matrix = np.stack(list(embedded.values()))
            self._later(partial(self._updater.keep_embedded, project, vectors, done, matrix))
        return embedded


_NOT_LOADED = "the vectors of the project are not loaded yet"


def _embedded(model: TextModel, texts: tuple[str, ...]) -> Floats:
    """Return the embeddings of a question's texts, (windows, dim), without those that have no direction."""
    queries = np.concatenate([np.empty((0, model.dim), np.float32), *map(model.embed_query, texts)])
    return queries[have_direction(queries)]
