"""The background work on vectors: which projects have them, what is due, and what has to wait."""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TypeVar

import numpy as np
from msgspec import Struct

from ..core.errors import FovealError
from ..core.storage import DatabaseError, OtherVersion, damage_raised, may_pass
from ..core.system import System
from ..index.chunk_table import ChunkText
from ..index.chunks import embedded_text
from ..index.store import check_index
from .embeddings import EmbeddingStore
from .exact import Floats, as_ids
from .lazy_model import Former, FormerModels, LazyModel
from .messages import DEFAULT_DIMENSIONS, DEFAULT_MODEL, Configure, Pushed, VectorProgress
from .model import EmbeddingModel, model_key
from .project_vectors import FOLDER, ProjectVectors
from .sharing import LOOK_UP, SharedEmbeddings, Vectors
from .vector_file import remove_other_vectors

log = logging.getLogger(__name__)

BATCH = 64
"""Chunks embedded between two commits: 0.4 s on two cores, which is what a killed process loses."""

RATE_BATCHES = 16
"""Number of the latest batches whose rate is reported."""

RETRY_S = 30.0
"""What could not be done is tried again after this long: a disk was full, an index was being replaced."""

ASKED_AHEAD = 20_000
"""Contents that a shared store lacks of which look-ups go ahead of the embedding: two minutes of it."""

HOLD_S = 2.0
"""Seconds that embedding waits for an answer of a shared store that answered the last time."""

STORE_FILE = "embeddings.sqlite"
MODELS_FOLDER = "models"

REGROWTH = 1.05
"""Where all embeddings above the limit are in use, forgetting is tried again when there are so many more: to
look for some takes seconds."""


OpenShared = Callable[[str, Callable[[Sequence[bytes]], Vectors]], SharedEmbeddings]
"""Opens the shared store for the model of a key; the function tells what this machine has of contents."""


class Upkeep:
    """The projects of a process and their embeddings. For one thread, but for `get` and `hurry`.

    Errors that may pass, such as a full disk, are not raised: work is put off, and `report` gets the reason
    with the progress. `stand_back` is called before each text is embedded, and may wait; `give_way` once on
    each thread that works in the background, with how nice it is to be. `later` has something done on this
    thread, from any. With `open_shared` embeddings are looked up in a shared store before they are made.
    """

    def __init__(
        self,
        command: Configure,
        model: LazyModel,
        system: System,
        report: Callable[[VectorProgress], None],
        stand_back: Callable[[], None],
        give_way: Callable[[int], None],
        later: Callable[[Callable[[], None]], None] = lambda work: work(),
        open_shared: OpenShared | None = None,
    ) -> None:
        self._path = os.path.join(command.folder, STORE_FILE)
        self._key = model_key(command.model or DEFAULT_MODEL)
        self._is_default = self._key == model_key(DEFAULT_MODEL)
        self.model = model
        self._formers = FormerModels(self._key, os.path.join(command.folder, MODELS_FOLDER), system)
        self._system = system
        self._report = report
        self._stand_back = stand_back
        self._kept: dict[str, EmbeddedProject] = {}
        self._rates: deque[tuple[int, float]] = deque(maxlen=RATE_BATCHES)
        self._paused = False
        self._max_bytes = command.max_bytes
        self._pruned_to = 0
        """The size of the embeddings after some were forgotten last, in bytes."""
        self._store: EmbeddingStore | None = None
        self._distrusted = False
        """The embeddings turned out to be damaged, so that they are checked when they are opened next."""
        # Vectors are loaded and graphs built at low priority too, and questions are not answered here.
        self._threads = BackgroundThreads(command.threads, system, give_way)
        self._later = later
        self.shared = None if open_shared is None else open_shared(self._key, self._vectors_of)

    def get(self, root: str) -> EmbeddedProject | None:
        """Return a project that is kept. From any thread."""
        return self._kept.get(root)

    def keep(self, root: str, folder: str) -> None:
        """Keep the vectors of a project from now on, or again after its index was replaced."""
        self.drop(root)
        self._kept[root] = EmbeddedProject(root, folder)
        self.advance(self._kept[root])

    def drop(self, root: str) -> None:
        """Keep a project's vectors no more."""
        kept = self._kept.pop(root, None)
        if kept is not None:
            kept.let_go()
            self._unload_formers()

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
        self.model.close()
        for kept in list(self._kept.values()):
            vectors, former = kept.vectors, kept.former
            if vectors is not None:
                vectors.close()
            if former is not None:
                former.vectors.close()
                former.model.close()

    def close(self) -> None:
        """Close everything; the embeddings are on the disk."""
        self._threads.close()
        if self.shared is not None:
            self.shared.close()
        for root in list(self._kept):
            self.drop(root)
        if self._store is not None:
            self._store.close()

    def due(self) -> EmbeddedProject | None:
        """Return the project with the least to do, so that a small one doesn't wait for a large one.

        Begins to load the model where only that is missing. Raises unexpected errors of that.
        """
        now = self._system.monotonic()
        due = [kept for kept in self._kept.values() if kept.again_at <= now]
        for kept in due:
            if kept.stale:
                return kept
        asking = [kept for kept in due if self._may_ask(kept)]
        if asking:
            return asking[0]
        waiting = [kept for kept in due if self._wants_model(kept) and not self._holds(kept)]
        if not waiting or self.model.get_nowait() is None:
            return None
        return min(waiting, key=lambda kept: kept.vectors.pending if kept.vectors else 0)

    def patience(self) -> float | None:
        """Return in how many seconds something that was put off is due again; None for nothing."""
        now = self._system.monotonic()
        left = [kept.again_at - now for kept in self._kept.values() if kept.again_at > now]
        left += [kept.asked_at + HOLD_S - now for kept in self._kept.values() if self._holds(kept)]
        # A project that is put off would be due at once for the store, and isn't: it has its own time above.
        asking = (kept for kept in self._kept.values() if kept.again_at <= now and self._could_ask(kept))
        if self.shared is not None and next(asking, None) is not None:
            left.append(self.shared.retry_in())
        model = self.model.patience()
        if model is not None and any(map(self._wants_model, self._kept.values())):
            left.append(model)
        return min(left, default=None)

    def note_model(self) -> None:
        """Tell of all projects that the model is there, or why it isn't."""
        for kept in self._kept.values():
            self._tell(kept)

    def advance(self, kept: EmbeddedProject) -> None:
        """Take the next step for a project: load its vectors and look for new chunks, or embed some."""
        try:
            kept.problem, kept.again_at = "", 0.0
            with damage_raised():
                if kept.stale or kept.vectors is None:
                    self._look(kept)
                elif self._may_ask(kept):
                    self._ask(kept, kept.vectors)
                elif not self._paused and (model := self.model.get_nowait()) is not None:
                    self._embed_batch(kept.vectors, model)
                self._conclude(kept)
                self._forget_surplus()
        except (FovealError, DatabaseError, OSError) as error:
            self._put_off(kept, error)
        self._tell(kept)

    def keep_embedded(
        self, kept: EmbeddedProject, vectors: ProjectVectors, chunks: list[ChunkText], matrix: Floats
    ) -> None:
        """Store the embeddings made for a question, unless its project was dropped meanwhile."""
        if self._kept.get(kept.root) is kept and kept.vectors is vectors:
            try:
                with damage_raised():
                    self._keep(vectors, chunks, matrix)
                    self._conclude(kept)
            except (DatabaseError, OSError) as error:
                self._put_off(kept, error)
            self._tell(kept)

    def note_failure(self, kept: EmbeddedProject, vectors: ProjectVectors, error: DatabaseError) -> None:
        """Put a project off where a question to some vectors failed, unless that was dealt with already."""
        if self._kept.get(kept.root) is kept and vectors in kept.all_vectors():
            self._put_off(kept, error)
            self._tell(kept)

    def _wants_model(self, kept: EmbeddedProject) -> bool:
        """Whether a project can't go on without the model: it has chunks to embed, or isn't even loaded, as
        nothing was ever embedded with this model and so the size of its vectors isn't known."""
        return kept.vectors is None or (kept.vectors.pending > 0 and not self._paused)

    def _look(self, kept: EmbeddedProject) -> None:
        """Load the vectors of a project, if they aren't, and look for chunks that came and went."""
        store = self._store = self._store or self._open_store()
        vectors = kept.vectors = kept.vectors or self._load(kept, store)
        if vectors is not None:
            self._threads.run(vectors.refresh)
        if not kept.former_sought and (vectors is None or vectors.pending):
            embedded = 0 if vectors is None else vectors.embedded
            kept.former = self._formers.find(kept.root, kept.folder, store, embedded)
            kept.former_sought = True
        if kept.former is not None:
            self._threads.run(kept.former.vectors.refresh)
        kept.stale = False

    def _load(self, kept: EmbeddedProject, store: EmbeddingStore) -> ProjectVectors | None:
        """Open the vectors of a project; None as long as their size isn't known."""
        dim = DEFAULT_DIMENSIONS if self._is_default else store.dim(self._key)
        if dim is None:
            model = self.model.get_nowait()
            if model is None:
                return None
            dim = model.dim
        vectors = ProjectVectors(kept.root, kept.folder, store, self._key, dim, self._system)
        if vectors.problem:
            log.warning("the vectors of %s are built anew: %s", kept.root, vectors.problem)
        return vectors

    def _embed_batch(self, vectors: ProjectVectors, model: EmbeddingModel) -> None:
        started = self._system.monotonic()
        if chunks := vectors.next_batch(BATCH):
            matrix = self._embed(chunks, model)
            self._threads.run(partial(self._keep, vectors, chunks, matrix))
            self._rates.append((len(chunks), self._system.monotonic() - started))

    def _embed(self, chunks: list[ChunkText], model: EmbeddingModel) -> Floats:
        def embed(chunk: ChunkText) -> Floats:
            vector: Floats = model.embed([embedded_text(chunk.path, chunk.names, chunk.text)])[0]
            return vector

        return np.stack(self._threads.map(embed, chunks, self._stand_back))

    def _keep(self, vectors: ProjectVectors, chunks: Sequence[ChunkText], matrix: Floats) -> None:
        digests = [chunk.digest for chunk in chunks]
        vectors.keep(digests, matrix)
        if self.shared is not None:
            self.shared.offer(digests)

    # The shared store

    def push(self, root: str, done: Callable[[Pushed], None]) -> None:
        """Write the embeddings of a project to the shared store; `done` gets the counts, from any thread."""
        kept = self._kept.get(root)
        vectors = None if kept is None else kept.vectors
        if self.shared is None:
            raise FovealError("no shared store is configured (embedding.shared in config.toml)")
        if vectors is None or not vectors.is_loaded:
            raise FovealError("the vectors of the project are not loaded yet")
        self.shared.push(vectors.digests(), done)

    def _could_ask(self, kept: EmbeddedProject) -> bool:
        """Whether a project has contents that wait and that the shared store wasn't asked for."""
        if self.shared is None or self._paused or kept.vectors is None or kept.asked_at:
            return False
        return kept.vectors.asked < min(kept.vectors.pending, ASKED_AHEAD)

    def _may_ask(self, kept: EmbeddedProject) -> bool:
        return self._could_ask(kept) and self.shared is not None and self.shared.is_up

    def _holds(self, kept: EmbeddedProject) -> bool:
        """Whether the embedding of a project waits for an answer of the shared store."""
        if self.shared is None or not kept.asked_at or not self.shared.is_trusted:
            return False
        return self._system.monotonic() < kept.asked_at + HOLD_S

    def _ask(self, kept: EmbeddedProject, vectors: ProjectVectors) -> None:
        assert self.shared is not None
        digests = vectors.unasked(LOOK_UP)
        kept.asked_at = self._system.monotonic()

        def answered(found: Vectors | None) -> None:
            self._later(partial(self._take_shared, kept, vectors, digests, found))

        self.shared.look_up(digests, vectors.dim, answered)

    def _take_shared(
        self, kept: EmbeddedProject, vectors: ProjectVectors, asked: Sequence[bytes], found: Vectors | None
    ) -> None:
        """Keep what the shared store has of contents, unless the project was dropped meanwhile."""
        kept.asked_at = 0.0
        if found is None or self._kept.get(kept.root) is not kept or kept.vectors is not vectors:
            return
        try:
            with damage_raised():
                vectors.note_asked(asked)
                if found:
                    self._threads.run(partial(vectors.take, list(found), np.stack(list(found.values()))))
                self._conclude(kept)
                if not self._could_ask(kept):
                    self._tell(kept)  # all can be found, before the file is written
                    self._threads.run(vectors.save)
        except (DatabaseError, OSError) as error:
            self._put_off(kept, error)
        self._tell(kept)

    def _vectors_of(self, digests: Sequence[bytes]) -> Vectors:
        """Return the embeddings that this machine has of contents. From any thread."""
        store = self._store
        if store is None:
            return {}
        stored = store.vectors(self._key, list(store.ids(self._key, digests).values()))
        return dict(zip(stored.digests, stored.matrix, strict=True))

    def _conclude(self, kept: EmbeddedProject) -> None:
        """Where all chunks of a project have their vectors, let go of the ones that other models made."""
        if kept.stale or kept.vectors is None or kept.vectors.pending:
            return
        if kept.former is not None:
            kept.former.vectors.close()
            kept.former = None
            self._unload_formers()
        if not kept.is_alone:
            remove_other_vectors(os.path.join(kept.folder, FOLDER), [self._key])
            kept.is_alone = True

    def _unload_formers(self) -> None:
        self._formers.retain(kept.former for kept in self._kept.values() if kept.former is not None)

    def _forget_surplus(self) -> None:
        """Forget embeddings where there are too many, but none that a project uses which is kept."""
        store = self._store
        if store is None or store.used_bytes() <= max(self._max_bytes, REGROWTH * self._pruned_to):
            return
        if any(kept.stale and not kept.problem for kept in self._kept.values()):
            return  # what that one uses isn't known yet
        used = [vectors.ids() for kept in self._kept.values() for vectors in kept.all_vectors()]
        ids = np.concatenate(used) if used else as_ids([])
        self._threads.run(partial(store.prune, self._max_bytes, ids))
        self._pruned_to = store.used_bytes()

    def _put_off(self, kept: EmbeddedProject, error: Exception) -> None:
        """Try again later what the model, a database or the disk didn't allow."""
        log.warning("the vectors of %s have to wait: %s", kept.root, error)
        kept.problem = f"vectors can't be kept for now ({error})"
        kept.again_at = self._system.monotonic() + RETRY_S
        kept.stale = True
        if isinstance(error, DatabaseError) and not may_pass(error):
            # Either the project's index, which is being replaced then, or the embeddings: these are checked.
            for project in self._kept.values():
                project.let_go()
            self._distrusted = True
            if self._store is not None:
                with suppress(DatabaseError):
                    self._store.close()
                self._store = None
            kept.index_damage = _index_damage(kept)

    def _open_store(self) -> EmbeddingStore:
        store = EmbeddingStore(self._path, self._system, check=self._distrusted)
        if store.replaced:
            log.warning("%s", store.replaced)
        self._distrusted = False
        return store

    def _tell(self, kept: EmbeddedProject) -> None:
        vectors, former = kept.vectors, kept.former
        problem = kept.problem or self.model.problem
        if vectors is not None:
            contents, pending = vectors.contents, vectors.pending
        elif former is not None:
            contents = pending = former.vectors.contents
        elif problem:
            contents = pending = 0
        else:
            return  # how much there is to do isn't known
        seconds = sum(spent for _, spent in self._rates)
        rate = 0.0
        if pending and seconds and not self._paused and not problem:
            rate = sum(count for count, _ in self._rates) / seconds
        answers = former is not None and not former.model.problem and former.covers_more_than(vectors)
        name = former.model.name if former is not None and answers else ""
        damage, kept.index_damage = kept.index_damage, ""
        self._report(VectorProgress(kept.root, contents, pending, round(rate, 1), problem, name, damage))


def _index_damage(kept: EmbeddedProject) -> str:
    """Return why a project's index can't be read, "" where it is whole or there is none."""
    try:
        check_index(kept.folder)
    except DatabaseError as error:
        return "" if may_pass(error) or isinstance(error, OtherVersion) else str(error)
    return ""


T = TypeVar("T")
R = TypeVar("R")

NICEST = 10
"""How nice the threads are above their process while they get enough."""

LEAST_SHARE = 0.25
"""What all of them together are to get of one core: 40 chunks a second of the 160 that one core embeds. Where
they would get less even as nice as their process, they get as much as any other."""

STEPS = 2
"""How much nicer they could be before they are: else each measurement would change something."""

_WEIGHT = 1.25
"""By how much more of a processor the kernel gives to each step of niceness (`sched_prio_to_weight`)."""


class BackgroundThreads:
    """Threads for work that can wait. For one thread, which the threads' niceness counts from.

    `give_way` is called on each of them with how much nicer it is to be than the process.
    """

    def __init__(self, count: int, system: System, give_way: Callable[[int], None]) -> None:
        self.nice = NICEST
        self._count = count
        self._system = system
        self._give_way = give_way
        self._threads = self._start()

    def map(self, work: Callable[[T], R], items: Iterable[T], stand_back: Callable[[], None]) -> list[R]:
        """Do the same with all items; returns the results in order. `stand_back` is called before each, and
        may wait."""
        spent: list[tuple[float, float]] = []

        def measured(item: T) -> R:
            stand_back()
            begun, used = self._system.monotonic(), self._system.thread_time()
            result = work(item)
            spent.append((self._system.thread_time() - used, self._system.monotonic() - begun))
            return result

        results = list(self._threads.map(measured, items))
        used, passed = (sum(column) for column in zip(*spent, strict=True)) if spent else (0.0, 0.0)
        if used > 0 and passed > 0:
            self._adapt(min(used / passed, 1.0))
        return results

    def run(self, work: Callable[[], R]) -> R:
        """Do one thing and wait for it."""
        return self._threads.submit(work).result()

    def close(self) -> None:
        """End the threads."""
        self._threads.shutdown()

    def _adapt(self, share: float) -> None:
        """Take other threads where those that got this share of a core each are too nice, or could be nicer.

        A thread may become nicer by itself, but not the reverse unless the user may do that.
        """
        wanted = nicest(self.nice, share, LEAST_SHARE / self._count)
        if wanted < self.nice or wanted >= min(self.nice + STEPS, NICEST) > self.nice:
            self.nice = wanted
            self._threads.shutdown()
            self._threads = self._start()

    def _start(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self._count, "embed", self._give_way, (self.nice,))


def nicest(nice: int, share: float, least: float) -> int:
    """Return how nice a thread may be so that it gets the least share of a core, where it gets this share at
    this niceness; 0 where it can't be had."""
    # What all others weigh that want the same core, against a thread of niceness 0.
    others = _WEIGHT**-nice * (1 - share) / share
    for wanted in range(NICEST, 0, -1):
        weight = _WEIGHT**-wanted
        if weight >= least * (weight + others):
            return wanted
    return 0


class EmbeddedProject(Struct):
    """A project with vectors. Changed by one thread, and read by that of questions.

    `vectors` is None until they are loaded. `former` answers as long as it covers more; `former_sought` says
    that it was looked for. `stale` says that the project's chunks have to be looked at. `is_alone` says that
    no vector files of other models are left. Until `again_at` nothing is done, because of `problem`.
    `index_damage` says why the project's index can't be read, until it is reported.
    """

    root: str
    folder: str
    vectors: ProjectVectors | None = None
    former: Former | None = None
    former_sought: bool = False
    stale: bool = True
    is_alone: bool = False
    problem: str = ""
    index_damage: str = ""
    again_at: float = 0.0
    asked_at: float = 0.0
    """When the shared store was asked for contents and hasn't answered yet, else 0."""

    def all_vectors(self) -> list[ProjectVectors]:
        """Return the vectors that are loaded: of the configured model, and of a former one."""
        found = [self.vectors, None if self.former is None else self.former.vectors]
        return [vectors for vectors in found if vectors is not None]

    def let_go(self) -> None:
        """Close and forget all vectors, so that they are loaded anew."""
        for vectors in self.all_vectors():
            vectors.close()
        self.vectors, self.former, self.former_sought, self.stale = None, None, False, True
