"""Keeps the vectors of one project in step with the chunks of its index, and searches them."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from msgspec import Struct

from ..core.system import System
from ..index.records import ChunkText
from ..index.service import Reader
from .embed_queue import EmbedQueue
from .embeddings import EmbeddingStore
from .messages import VectorHits
from .unit_vectors import Floats, Ids, as_ids, have_direction
from .vectors import Nearest, VectorIndex

FOLDER = "vectors"
"""Name of the folder with the vector index, inside a project's folder."""

OVERFETCH = 1.5
"""Factor by which more hits are fetched than wanted, since some found contents are in no chunk any more."""

GONE_SHARE = 50
SMALL_CHUNKS = 5_000
"""Vectors of deleted chunks are removed when more than a 50th of all chunks were deleted; this takes some
seconds in a project of a million chunks. In a project of at most `SMALL_CHUNKS` chunks they are removed at
each refresh (30 ms)."""

CHANGED_MAX = 256
"""Maximum number of new contents that are embedded before all waiting ones; more come from a checkout, not
from edits."""

_LATER = re.compile(
    r"(^|/)(tests?|specs?|__tests__|testdata|fixtures|examples?|samples?|benchmarks?|docs?|locales?|i18n)(/|$)"
    r"|[._-](test|spec)\.[a-z]+$|_test\.[a-z]+$|(^|/)test_[^/]*$"
)
"""Matches paths that are embedded last: tests, examples and documentation, which are seldom asked for."""


class _Size(Struct, frozen=True):
    """The number of chunks, and the highest chunk id ever assigned."""

    count: int
    last_id: int

    def gone_until(self, later: _Size) -> int:
        """Return how many chunks were deleted between this state and a later one."""
        return self.count + later.last_id - self.last_id - later.count


class ProjectVectors:
    """The vectors of a project in one process.

    `refresh`, `prefer`, `next_batch` and `keep` must be called from the thread that embeds; `search` and
    `lacking` may run on another thread at the same time. All raise `DatabaseError` if the project's index or
    the embeddings can't be read, and `OSError` if the folder or the disk fails.
    """

    def __init__(
        self, root: str, folder: str, store: EmbeddingStore, model: str, dim: int, system: System
    ) -> None:
        self.root = root
        self._folder = folder
        self._store = store
        self._model = model
        self.dim = dim
        self._index = VectorIndex(os.path.join(folder, FOLDER), dim, model, system)
        self._queue = EmbedQueue()
        self._seen = 0
        """The highest chunk id handled so far; chunk ids increase and are never reused."""
        self._size: _Size | None = None
        """The number of chunks when all chunks were last read; None before."""

    @property
    def is_loaded(self) -> bool:
        """Whether all chunks have been read once; before that, vectors may be missing."""
        return self._size is not None

    @property
    def pending(self) -> int:
        """The number of contents that have no vector yet."""
        return len(self._queue)

    @property
    def contents(self) -> int:
        """The number of contents with a vector and of those waiting for one."""
        return len(self._index) + len(self._queue)

    def ids(self) -> Ids:
        """Return the ids of the embeddings that the project uses, in arbitrary order."""
        return self._index.ids()

    def refresh(self) -> None:
        """Read the chunks added since the last call, and load their vectors from the store if it has them.

        If many chunks were deleted since, all chunks are read again, and vectors of deleted ones are removed.
        """
        with self._reader() as reader:
            size = _Size(*reader.chunks.size())
        if self._size is None or size.last_id < self._seen or self._many_gone(self._size, size):
            self._take_all()
            self._size = size
        elif size.last_id > self._seen:
            self._take_new()

    def prefer(self, paths: Iterable[str]) -> None:
        """Embed the chunks of these files next, in this order."""
        digests: list[bytes] = []
        with self._reader() as reader:
            for path in dict.fromkeys(paths):
                digests.extend(chunk.digest for chunk in reader.chunks.of_paths([path]))
        self._queue.prefer(digests)

    def next_batch(self, size: int) -> list[ChunkText]:
        """Return the next chunks to embed, at most `size`; chunks deleted meanwhile are skipped.

        The list may be shorter than `size` while chunks still wait, but it is empty only when none wait. A
        content that was embedded for another project meanwhile uses that embedding.
        """
        while chosen := self._queue.first(size):
            self._take_known(chosen)
            with self._reader() as reader:
                texts = reader.chunks.texts(chosen.values())
                found = {chunk.digest: chunk for chunk in texts.values()}
                # If the index was replaced, another chunk may have the same id.
                gone = [digest for digest in chosen if digest not in found]
                others = {chunk.digest: chunk for chunk in reader.chunks.by_digests(gone)}
                others = {key: chunk for key, chunk in others.items() if chunk.id not in chosen.values()}
            self._queue.forget(digest for digest in gone if digest not in others)
            for digest, chunk in others.items():
                self._queue.put(digest, chunk.id)
            if batch := [found[digest] for digest in chosen if digest in found]:
                return batch
        return []

    def keep(self, digests: Sequence[bytes], matrix: Floats) -> None:
        """Store the vectors of contents durably, except contents whose chunks were deleted meanwhile."""
        with self._reader() as reader:
            alive = reader.chunks.alive(digests)
        directed = have_direction(matrix)
        rows = [row for row, digest in enumerate(digests) if digest in alive and directed[row]]
        ids = self._store.put(self._model, [digests[row] for row in rows], matrix[rows])
        self._index.add(ids, matrix[rows])
        self._queue.forget(digests)
        self._index.save(growing=bool(self._queue))

    def digests(self) -> list[bytes]:
        """Return the digests of the contents that have a vector in this project."""
        return list(self._store.digests(self._index.ids()).values())

    def unasked(self, count: int) -> list[bytes]:
        """Return the next waiting contents that weren't requested from a shared store, at most `count`."""
        return self._queue.unasked(count)

    def note_asked(self, digests: Iterable[bytes]) -> None:
        """Record that these contents were requested from a shared store."""
        self._queue.note_asked(digests)

    @property
    def asked(self) -> int:
        """The number of waiting contents that were requested from a shared store, which lacks them."""
        return self._queue.asked

    def lacking(self, chunk_ids: Sequence[int]) -> list[ChunkText]:
        """Return the chunks whose content has no vector yet, in the given order, each content once."""
        if not self._queue:
            return []
        with self._reader() as reader:
            stored = reader.chunks.by_ids(chunk_ids)
            wanted = {
                stored[chunk_id].digest: chunk_id
                for chunk_id in reversed(chunk_ids)
                if chunk_id in stored and stored[chunk_id].digest in self._queue
            }
            texts = reader.chunks.texts(wanted.values())
        return [texts[chunk_id] for chunk_id in chunk_ids if chunk_id in texts]

    def search(self, queries: Floats, limit: int, files: Sequence[int] | None) -> VectorHits:
        """Return the contents nearest to any of the queries, only of these files if given."""
        among = None
        if files is not None:
            with self._reader() as reader:
                digests = reader.chunks.digests_of(files)
            among = list(self._store.ids(self._model, digests).values())
        size = int(limit * OVERFETCH) + 1
        while True:
            nearest = self._index.search(queries, size, among)
            hits = self._alive(nearest)
            if len(hits) >= limit or len(nearest.ids) < size:
                return VectorHits(tuple(hits[:limit]), self.pending)
            size *= 4

    def _many_gone(self, before: _Size, now: _Size) -> bool:
        gone = before.gone_until(now)
        return gone * GONE_SHARE > now.count or (gone > 0 and now.count <= SMALL_CHUNKS)

    def _take_all(self) -> None:
        """Read all chunks: load their vectors, let the other contents wait, and drop everything else."""
        rows: list[int] = []
        missing: set[bytes] = set()
        seen = 0
        while page := self._page(seen):
            known = self._store.ids(self._model, [digest for _, _, digest in page.rows])
            rows.extend(known.values())
            missing.update(self._wait(page, known))
            seen = page.last
        self._queue.retain(missing)
        self._index.sync(as_ids(rows), partial(self._store.vectors, self._model))
        self._seen = seen

    def _take_new(self) -> None:
        """Read the chunks added since the last call: load their vectors, and let the other contents wait."""
        while page := self._page(self._seen):
            known = self._store.ids(self._model, [digest for _, _, digest in page.rows])
            self._add_stored(known.values())
            missing = self._wait(page, known)
            if len(missing) <= CHANGED_MAX:
                self._queue.prefer(missing)
            self._seen = page.last

    def _take_known(self, chosen: dict[bytes, int]) -> None:
        """Load the vectors of contents that the store has, and remove these contents from `chosen`."""
        known = self._store.ids(self._model, chosen)
        if known:
            self._add_stored(known.values())
            self._queue.forget(known)
            for digest in known:
                del chosen[digest]

    def _add_stored(self, ids: Iterable[int]) -> None:
        stored = self._store.vectors(self._model, ids)
        self._index.add(stored.ids, stored.matrix)

    def _page(self, after: int) -> _ChunkPage | None:
        with self._reader() as reader:
            rows = reader.chunks.to_embed(after, PAGE)
            if not rows:
                return None
            paths = reader.chunks.paths({file_id for _, file_id, _ in rows})
        later = {file_id for file_id, path in paths.items() if _LATER.search(path.lower())}
        return _ChunkPage(rows, later)

    def _wait(self, page: _ChunkPage, known: dict[bytes, int]) -> dict[bytes, None]:
        """Let the contents of a page without an embedding wait; return them in their order."""
        missing: dict[bytes, None] = {}
        for chunk_id, file_id, digest in page.rows:
            if digest not in known:
                self._queue.put(digest, chunk_id, later=file_id in page.later)
                missing[digest] = None
        return missing

    def _alive(self, nearest: Nearest) -> list[tuple[bytes, float]]:
        """Return the hits as (content digest, score), best first, without contents of deleted chunks."""
        digests = self._store.digests(nearest.ids)
        with self._reader() as reader:
            alive = reader.chunks.alive(digests.values())
        found = zip(nearest.ids.tolist(), nearest.scores.tolist(), strict=True)
        hits = [(digests[key], score) for key, score in found if key in digests and digests[key] in alive]
        return sorted(hits, key=lambda hit: (-hit[1], hit[0]))

    @contextlib.contextmanager
    def _reader(self) -> Iterator[Reader]:
        """Open a connection whose reads see one state; always a new one, since the file may be replaced."""
        reader = Reader(self._folder)
        try:
            with reader.snapshot():
                yield reader
        finally:
            reader.close()


PAGE = 20_000
"""Number of chunks read at a time."""


class _ChunkPage(Struct, frozen=True):
    """Chunks (id, file id, digest) ordered by id, and the ids of their files that are embedded last."""

    rows: Sequence[tuple[int, int, bytes]]
    later: set[int]

    @property
    def last(self) -> int:
        return self.rows[-1][0]
