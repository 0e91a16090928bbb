"""Compares short texts by meaning that belong to no project's index, such as rules.

Each text is embedded once and stored by the hash of its content. The embeddings have their own file, separate
from those of projects, so that work on one file, or damage to it, doesn't affect the other.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np

from ..core.storage import DatabaseError, damage_raised, may_pass
from ..core.system import System
from .embeddings import EmbeddingStore
from .lazy_model import LazyModel
from .messages import ScoreTexts, TextScores
from .model import TextModel
from .unit_vectors import Floats, Halves, have_direction, unit_halves
from .vectors import cosines

log = logging.getLogger(__name__)

STORE_FILE = "texts.sqlite"

MAX_BYTES = 64_000_000
"""Maximum bytes of that file, about 70,000 texts; above it the least recently used are deleted."""

MAX_DOCUMENTS = 8_192
"""Maximum number of document vectors cached in memory, 768 bytes each."""

MAX_QUERIES = 256
"""Maximum number of cached queries: each request repeats the earlier messages of its conversation."""

MAX_THREADS = 4
"""Maximum number of threads that embed a batch while a caller waits: 151 chunks of rules take .75 s on one
core."""


class TextScorer:
    """Compares texts with the embedding model of the process.

    `answer` and `close` must be called from one thread, `hurry` from any. If the file can't be read or
    written, texts are embedded for each answer instead.
    """

    def __init__(self, folder: str, model: LazyModel, system: System) -> None:
        self._path = os.path.join(folder, STORE_FILE)
        self._model = model
        self._system = system
        self._store: EmbeddingStore | None = None
        self._distrusted = False
        """Whether the file was found damaged: it is then checked when it is next opened."""
        self._documents: OrderedDict[bytes, Halves] = OrderedDict()
        self._queries: OrderedDict[str, Halves] = OrderedDict()
        self._key = ""
        self._hurried = False
        self._threads = ThreadPoolExecutor(min(MAX_THREADS, os.cpu_count() or 1), "texts")

    def answer(self, command: ScoreTexts) -> TextScores:
        """Embed the texts without a vector, as far as time allows, and compare all texts.

        Raises `FovealError` without a model.
        """
        deadline = self._system.monotonic() + command.within_s
        model = self._model.get(max(0.0, min(command.wait_s, command.within_s)))
        if model.key != self._key:  # cached vectors are another model's
            self._key = model.key
            self._documents.clear()
            self._queries.clear()
        digests = [_digest(text) for text in command.documents]
        # Queries are embedded first: without them there is nothing to compare.
        queries = [self._query(model, text) for text in command.queries]
        self._learn(model, dict(zip(digests, command.documents, strict=True)), deadline)
        known = [n for n, digest in enumerate(digests) if digest in self._documents]
        matrix = np.stack([self._documents[digests[n]] for n in known]) if known else None
        rows = tuple(_row(matrix, known, len(digests), query) for query in queries)
        pending = tuple(sorted(set(range(len(digests))).difference(known)))
        _shrink(self._documents, MAX_DOCUMENTS)
        _shrink(self._queries, MAX_QUERIES)
        return TextScores(rows, pending)

    def hurry(self) -> None:
        """Stop embedding, for good, so that running calls return soon. From any thread."""
        self._hurried = True

    def close(self) -> None:
        """Close the file and end the threads."""
        self._threads.shutdown()
        if self._store is not None:
            self._store.close()

    def _query(self, model: TextModel, text: str) -> Halves:
        """Return the vectors of a query's windows, (windows, dim), without those that have no direction."""
        vectors = self._queries.get(text)
        if vectors is None:
            found = model.embed_query(text)
            vectors = self._queries[text] = unit_halves(found[have_direction(found)], model.dim)
        self._queries.move_to_end(text)
        return vectors

    def _learn(self, model: TextModel, texts: dict[bytes, str], deadline: float) -> None:
        """Load the vectors of documents into memory: from the file, or by embedding those missing there."""
        for digest in texts.keys() & self._documents.keys():
            self._documents.move_to_end(digest)
        missing = [digest for digest in texts if digest not in self._documents]
        if not missing:
            return
        self._read(model, missing)
        missing = [digest for digest in missing if digest not in self._documents]
        embedded = self._embed(model, [(digest, texts[digest]) for digest in missing], deadline)
        # A text whose vector has no direction gets a zero vector: its score is 0, and it isn't stored.
        nothing: Halves = np.zeros(model.dim, np.float16)
        self._documents.update((digest, nothing) for digest, vector in embedded if vector is None)
        found = {digest: vector for digest, vector in embedded if vector is not None}
        if found:
            matrix = unit_halves(np.stack(list(found.values())), model.dim)
            self._documents.update(zip(found, matrix, strict=True))
            self._keep(model, list(found), matrix)

    def _embed(
        self, model: TextModel, texts: Sequence[tuple[bytes, str]], deadline: float
    ) -> list[tuple[bytes, Floats | None]]:
        """Return the vectors of the texts embedded before the deadline; None for one without a direction."""

        def some(part: Sequence[tuple[bytes, str]]) -> list[tuple[bytes, Floats | None]]:
            if self._hurried or self._system.monotonic() > deadline:
                return []
            vectors = model.embed([text for _, text in part])
            directed = have_direction(vectors)
            return [(digest, vectors[n] if directed[n] else None) for n, (digest, _) in enumerate(part)]

        parts = [texts[start : start + model.batch] for start in range(0, len(texts), model.batch)]
        return [done for part in self._threads.map(some, parts) for done in part]

    def _read(self, model: TextModel, digests: Sequence[bytes]) -> None:
        try:
            with damage_raised():
                store = self._opened()
                ids = store.ids(model.key, digests)
                stored = store.vectors(model.key, ids.values())
        except (DatabaseError, OSError) as error:
            self._do_without(error)
            return
        matrix: Halves = stored.matrix.astype(np.float16)  # stored in 16 bits, so nothing is lost
        self._documents.update(zip(stored.digests, matrix, strict=True))

    def _keep(self, model: TextModel, digests: Sequence[bytes], matrix: Halves) -> None:
        try:
            with damage_raised():
                store = self._opened()
                store.put(model.key, digests, matrix.astype(np.float32))
                store.prune(MAX_BYTES)
        except (DatabaseError, OSError) as error:
            self._do_without(error)

    def _opened(self) -> EmbeddingStore:
        if self._store is None:
            self._store = EmbeddingStore(self._path, self._system, check=self._distrusted)
            self._distrusted = False
        return self._store

    def _do_without(self, error: DatabaseError | OSError) -> None:
        """Continue without the file; a damaged file is checked, and replaced, when it is next opened."""
        log.warning("embeddings of texts can't be kept for now: %s", error)
        if isinstance(error, DatabaseError) and not may_pass(error):
            self._distrusted = True
            if self._store is not None:
                with suppress(DatabaseError):
                    self._store.close()
                self._store = None


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _row(matrix: Halves | None, known: Iterable[int], count: int, query: Halves) -> tuple[float, ...]:
    """Return for each document the highest cosine with a query's windows, 0 for one without a vector."""
    row = [0.0] * count
    if matrix is not None and len(query):
        for n, score in zip(known, cosines(matrix, query).tolist(), strict=True):
            row[n] = score
    return tuple(row)


def _shrink(kept: OrderedDict[bytes, Halves] | OrderedDict[str, Halves], most: int) -> None:
    while len(kept) > most:
        kept.popitem(last=False)
