"""The embedding of code bases: the product's model, store and vectors, driven as its embedder does."""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from foveal.daemon.core.system import System
from foveal.daemon.embedding.embeddings import EmbeddingStore
from foveal.daemon.embedding.messages import DEFAULT_MODEL
from foveal.daemon.embedding.model import EmbeddingModel, load_model, model_key
from foveal.daemon.embedding.project_vectors import ProjectVectors
from foveal.daemon.embedding.unit_vectors import Floats
from foveal.daemon.index.records import ChunkText
from foveal.daemon.index.service import embedded_text

BATCH = 64
"""Chunks between two commits, as many as the embedder takes."""

REPORT_CHUNKS = 4_096
"""After so many chunks a line says how far it is."""


class Embedder:
    """The model and the embeddings of all code bases, in one folder, on `threads` threads."""

    def __init__(self, folder: Path, threads: int) -> None:
        self._system = System()
        self.store = EmbeddingStore(str(folder / "embeddings.sqlite"), self._system)
        self.model: EmbeddingModel = load_model(
            DEFAULT_MODEL, str(folder / "models"), 1, lambda *step: None, self._system
        )
        self._threads = ThreadPoolExecutor(threads, "embed")

    def close(self) -> None:
        """End the threads and close the store."""
        self._threads.shutdown()
        self.store.close()

    def vectors(self, name: str, folder: Path) -> ProjectVectors:
        """Return the vectors of an indexed project, with those that are known already."""
        vectors = ProjectVectors(
            name, str(folder), self.store, model_key(DEFAULT_MODEL), self.model.dim, self._system
        )
        vectors.refresh()
        return vectors

    def embed_all(self, vectors: ProjectVectors) -> None:
        """Embed what waits; what was done stays when it is interrupted."""
        started, done = time.perf_counter(), 0
        while chunks := vectors.next_batch(BATCH):
            vectors.keep([chunk.digest for chunk in chunks], self.embed(chunks))
            done += len(chunks)
            if done % REPORT_CHUNKS < len(chunks):
                rate = done / (time.perf_counter() - started)
                print(f"  {done:,} embedded, {vectors.pending:,} wait, {rate:.0f}/s", file=sys.stderr)

    def embed(self, chunks: list[ChunkText]) -> Floats:
        """Return the embeddings of chunks (n, dim), from their stored text on."""
        return self.embed_texts([embedded_text(chunk.path, chunk.names, chunk.text) for chunk in chunks])

    def embed_texts(self, texts: list[str]) -> Floats:
        """Return the embeddings of texts (n, dim): nothing but the model."""
        return np.stack(list(self._threads.map(lambda text: self.model.embed([text])[0], texts)))
