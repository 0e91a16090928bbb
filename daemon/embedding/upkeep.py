"""Owns what is done in the background: whose vectors are kept, what is due for them, what has to wait."""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from ..errors import FovealError
from ..index.chunk_table import ChunkText
from ..index.embedded_text import embedded_text
from ..storage import DatabaseError, OperationalError
from ..system import System
from .defaults import DEFAULT_DIMENSIONS, DEFAULT_MODEL
from .embeddings import EmbeddingStore
from .exact import Floats
from .lazy_model import LazyModel
from .messages import Configure, VectorProgress
from .model import model_key
from .project_vectors import ProjectVectors

log = logging.getLogger(__name__)

BATCH = 64
"""Chunks embedded between two commits: 0.4 s on two cores, which is what a killed process loses."""

RATE_BATCHES = 16
"""The rate that is told is that of so many batches."""

RETRY_S = 30.0
"""What could not be done is tried again after this long: a disk was full, an index was being replaced."""

STORE_FILE = "embeddings.sqlite"


@dataclass(slots=True)
class Kept:
    """A project whose vectors are kept; without `vectors` they aren't loaded yet.

    `stale` says that its chunks are to be looked at. Until `again_at` nothing is done, because of `problem`.
    """

    root: str
    folder: str
    vectors: ProjectVectors | None = None
    stale: bool = True
    problem: str = ""
    again_at: float = 0.0


class Upkeep:
    """The projects of a process and their embeddings. For one thread, but for `get` and `hurry`.

    Nothing is raised for what may pass, such as a full disk: it is put off, and `report` hears the reason
    with the progress. `stand_back` is called before each text is embedded, and may wait; `give_way` once on
    each thread that works in the background.
    """

    def __init__(
        self,
        command: Configure,
        model: LazyModel,
        system: System,
        report: Callable[[VectorProgress], None],
        stand_back: Callable[[], None],
        give_way: Callable[[], None],
    ) -> None:
        self._path = os.path.join(command.folder, STORE_FILE)
        self._key = model_key(command.model or DEFAULT_MODEL)
        self._is_default = self._key == model_key(DEFAULT_MODEL)
        self.model = model
        self._system = system
        self._report = report
        self._stand_back = stand_back
        self._kept: dict[str, Kept] = {}
        self._rates: deque[tuple[int, float]] = deque(maxlen=RATE_BATCHES)
        self._paused = False
        self._max_bytes = command.max_bytes
        self._store: EmbeddingStore | None = None
        self._distrusted = False
        """The embeddings turned out to be damaged, so that they are checked when they are opened next."""
        self._threads = ThreadPoolExecutor(command.threads, "embed", give_way)
        # Vectors are loaded and graphs built at low priority too, and questions are not.
        self._thread = ThreadPoolExecutor(1, "vectors", give_way)

    def get(self, root: str) -> Kept | None:
        """Return a project that is kept. From any thread."""
        return self._kept.get(root)

    def keep(self, root: str, folder: str) -> None:
        """Keep the vectors of a project from now on, or again after its index was replaced."""
        self.drop(root)
        self._kept[root] = Kept(root, folder)
        self.advance(self._kept[root])

    def drop(self, root: str) -> None:
        """Keep a project's vectors no more."""
        kept = self._kept.pop(root, None)
        if kept is not None:
            _let_go(kept)

    def note_change(self, root: str) -> None:
        """Look for new chunks of a project, now."""
        kept = self._kept.get(root)
        if kept is not None:
            kept.stale = True
            self.advance(kept)

    def pause(self, *, paused: bool) -> None:
        """Stop or go on with embedding."""
        self._paused = paused
        for kept in self._kept.values():
            self._tell(kept)

    def hurry(self) -> None:
        """Make what takes long end soon, for good. From any thread."""
        for kept in list(self._kept.values()):
            if kept.vectors is not None:
                kept.vectors.close()

    def close(self) -> None:
        """Let go of everything; what was embedded is on the disk."""
        self._threads.shutdown()
        self._thread.shutdown()
        for root in list(self._kept):
            self.drop(root)
        if self._store is not None:
            self._store.close()

    def due(self) -> Kept | None:
        """Return the project with the least to do, so that a small one doesn't wait for a large one."""
        now = self._system.monotonic()
        due = [kept for kept in self._kept.values() if kept.again_at <= now]
        for kept in due:
            if kept.vectors is None or kept.stale:
                return kept
        if self._paused or not self.model.may_be_had:
            return None
        waiting = [kept for kept in due if kept.vectors is not None and kept.vectors.pending]
        return min(waiting, key=lambda kept: kept.vectors.pending if kept.vectors else 0, default=None)

    def patience(self) -> float | None:
        """Return in how many seconds something that was put off is due again; None for nothing."""
        now = self._system.monotonic()
        return min((kept.again_at - now for kept in self._kept.values() if kept.again_at > now), default=None)

    def advance(self, kept: Kept) -> None:
        """Take the next step for a project: load its vectors and look for new chunks, or embed some."""
        try:
            kept.problem, kept.again_at = "", 0.0
            vectors = kept.vectors = kept.vectors or self._load(kept)
            if kept.stale:
                self._thread.submit(vectors.refresh).result()
                kept.stale = False
            elif not self._paused:
                self._embed_batch(vectors)
        except (FovealError, DatabaseError, OSError) as error:
            self._put_off(kept, error)
        self._tell(kept)

    def keep_embedded(
        self, kept: Kept, vectors: ProjectVectors, chunks: list[ChunkText], matrix: Floats
    ) -> None:
        """Keep what was embedded for a question, unless its project was dropped meanwhile."""
        if self._kept.get(kept.root) is kept and kept.vectors is vectors:
            try:
                vectors.keep(chunks, matrix)
            except (DatabaseError, OSError) as error:
                self._put_off(kept, error)
            self._tell(kept)

    def note_failure(self, kept: Kept, vectors: ProjectVectors, error: DatabaseError) -> None:
        """Put a project off in which a question failed, unless that was dealt with already."""
        if self._kept.get(kept.root) is kept and kept.vectors is vectors:
            self._put_off(kept, error)
            self._tell(kept)

    def _load(self, kept: Kept) -> ProjectVectors:
        store = self._store = self._store or self._open_store()
        dim = DEFAULT_DIMENSIONS if self._is_default else store.dim(self._key)
        if dim is None:
            dim = self.model.get().dim
        vectors = ProjectVectors(kept.root, kept.folder, store, self._key, dim, self._system)
        if vectors.problem:
            log.warning("the vectors of %s are built anew: %s", kept.root, vectors.problem)
        return vectors

    def _embed_batch(self, vectors: ProjectVectors) -> None:
        started = self._system.monotonic()
        if chunks := vectors.next_batch(BATCH):
            matrix = self._embed(chunks)
            self._thread.submit(vectors.keep, chunks, matrix).result()
            self._rates.append((len(chunks), self._system.monotonic() - started))

    def _embed(self, chunks: list[ChunkText]) -> Floats:
        model = self.model.get()

        def one(chunk: ChunkText) -> Floats:
            self._stand_back()
            vector: Floats = model.embed([embedded_text(chunk.path, chunk)])[0]
            return vector

        return np.stack(list(self._threads.map(one, chunks)))

    def _put_off(self, kept: Kept, error: Exception) -> None:
        """Try again later what the model, a database or the disk didn't allow."""
        log.warning("the vectors of %s have to wait: %s", kept.root, error)
        # What the model lacks is said of all projects, as long as it lacks it.
        kept.problem = "" if str(error) == self.model.problem else f"vectors can't be kept for now ({error})"
        kept.again_at = self._system.monotonic() + RETRY_S
        kept.stale = True
        if isinstance(error, DatabaseError) and not isinstance(error, OperationalError):
            # Either the project's index, which is being replaced then, or the embeddings: these are checked.
            for one in self._kept.values():
                _let_go(one)
            self._distrusted = True
            if self._store is not None:
                self._store.close()
                self._store = None

    def _open_store(self) -> EmbeddingStore:
        store = EmbeddingStore(self._path, self._system, check=self._distrusted)
        if store.replaced:
            log.warning("%s", store.replaced)
        self._distrusted = False
        store.prune(self._max_bytes)
        return store

    def _tell(self, kept: Kept) -> None:
        contents, pending = (kept.vectors.contents, kept.vectors.pending) if kept.vectors else (0, 0)
        problem = kept.problem or self.model.problem
        seconds = sum(spent for _, spent in self._rates)
        rate = 0.0
        if pending and seconds and not self._paused and not problem:
            rate = sum(count for count, _ in self._rates) / seconds
        self._report(VectorProgress(kept.root, contents, pending, round(rate, 1), problem))


def _let_go(kept: Kept) -> None:
    if kept.vectors is not None:
        kept.vectors.close()
        kept.vectors, kept.stale = None, True
