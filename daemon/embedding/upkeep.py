"""Keeps projects' vectors up to date in the background: what to do next, and what to retry later."""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from functools import partial
from typing import TypeVar

import numpy as np
from msgspec import Struct

from ..core.errors import FovealError
from ..core.storage import DatabaseError, OtherVersion, damage_raised, may_pass
from ..core.system import System
from ..index.chunk_table import ChunkText
from ..index.chunks import embedded_text
from ..index.store import FILE_NAME, Reader, check_index
from .embeddings import EmbeddingStore
from .exact import Floats, as_ids
from .lazy_model import Former, FormerModels, LazyModel
from .messages import (
    DEFAULT_DIMENSIONS,
    DEFAULT_MODEL,
    Configure,
    ForgetVectors,
    Forgotten,
    Pushed,
    VectorProgress,
)
from .model import EmbeddingModel, model_key
from .project_vectors import FOLDER, ProjectVectors
from .sharing import LOOK_UP, SharedEmbeddings, Vectors
from .vector_file import remove_other_vectors

log = logging.getLogger(__name__)

BATCH = 64
"""Number of chunks embedded between two commits: 0.4 s on two cores, the most that a killed process loses."""

RATE_BATCHES = 16
"""Number of the latest batches over which the reported rate is averaged."""

RETRY_S = 30.0
"""Seconds until failed work is tried again, for example after a full disk or a replaced index."""

ASKED_AHEAD = 20_000
"""Maximum number of contents that were looked up in vain in the shared store and still wait to be embedded;
embedding them takes two minutes. Look-ups pause above it."""

HOLD_S = 2.0
"""Maximum seconds that embedding waits for an answer of the shared store, if its last look-up succeeded."""

STORE_FILE = "embeddings.sqlite"
MODELS_FOLDER = "models"

REGROWTH = 1.05
"""Factor by which the embeddings must grow after a pruning before the next one, if they still exceed the
limit because all are in use: searching for unused ones takes seconds."""


def _only_in(folder: str, others: Iterable[str]) -> set[bytes]:
    """Return the digests of the contents that only the index in a folder has."""
    if not os.path.exists(os.path.join(folder, FILE_NAME)):
        return set()
    with closing(Reader(folder)) as reader:
        found = {digest for _, _, digest in reader.chunks.to_embed(-1, _ALL)}
    for other in others:
        if found and os.path.exists(os.path.join(other, FILE_NAME)):
            with closing(Reader(other)) as reader:
                found -= reader.chunks.alive(found)
    return found


_ALL = 2**62

OpenShared = Callable[[str, Callable[[Sequence[bytes]], Vectors]], SharedEmbeddings]
"""Opens the shared store for a model's key; the second argument returns this machine's vectors."""


class Upkeep:
    """The projects of the embedder process and their embeddings. For one thread, except `get` and `hurry`.

    Temporary errors, such as a full disk, are not raised: the work is postponed, and `report` receives the
    reason with the progress.

    - `stand_back` is called before each text is embedded, and may wait.
    - `give_way` is called once on each background thread with the niceness to add.
    - `later` may be called from any thread; it runs a function on this thread.
    - `open_shared` opens a shared store, in which embeddings are looked up before they are computed.
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
        """The bytes of the embeddings after the last pruning."""
        self._store: EmbeddingStore | None = None
        self._distrusted = False
        """Whether the embedding store was found damaged: it is then checked when it is next opened."""
        # Loading vectors and building graphs run at low priority on these threads too; answering questions
        # doesn't use them.
        self._threads = BackgroundThreads(command.threads, system, give_way)
        self._later = later
        self.shared = None if open_shared is None else open_shared(self._key, self._vectors_of)

    def get(self, root: str) -> EmbeddedProject | None:
        """Return a project whose vectors are kept, or None. From any thread."""
        return self._kept.get(root)

    def keep(self, root: str, folder: str) -> None:
        """Start keeping the vectors of a project, or start again after its index was replaced."""
        self.drop(root)
        self._kept[root] = EmbeddedProject(root, folder)
        self.advance(self._kept[root])

    def drop(self, root: str) -> None:
        """Stop keeping a project's vectors."""
        kept = self._kept.pop(root, None)
        if kept is not None:
            kept.let_go()
            self._unload_formers()

    def forget(self, command: ForgetVectors) -> Forgotten:
        """Delete the embeddings that only one project uses. Raises `DatabaseError` if an index that may use
        them can't be read."""
        self.drop(command.root)
        if not os.path.exists(self._path):
            return Forgotten(0)
        store = self._store = self._store or self._open_store()
        return Forgotten(store.forget(_only_in(command.folder, command.others)))

    def note_change(self, root: str) -> None:
        """Look for new chunks of a project, now."""
        kept = self._kept.get(root)
        if kept is not None:
            kept.stale = True
            self.advance(kept)

    def pause(self, *, paused: bool) -> None:
        """Pause or resume embedding."""
        self._paused = paused
        for kept in self._kept.values():
            self._tell(kept)

    def hurry(self) -> None:
        """Cancel long-running work, for good. From any thread."""
        self.model.close()
        for kept in list(self._kept.values()):
            vectors, former = kept.vectors, kept.former
            if vectors is not None:
                vectors.close()
            if former is not None:
                former.vectors.close()
                former.model.close()

    def close(self) -> None:
        """Close all files and end the threads; the embeddings are on the disk."""
        self._threads.close()
        if self.shared is not None:
            self.shared.close()
        for root in list(self._kept):
            self.drop(root)
        if self._store is not None:
            self._store.close()

    def due(self) -> EmbeddedProject | None:
        """Return the next project to work on, or None.

        Of the projects that wait to be embedded it is the one with the fewest pending contents, so that a
        small project doesn't wait for a large one. Starts loading the model if only that is missing, and
        raises unexpected errors of the loading.
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
        """Return the seconds until postponed work is due again, None if there is none."""
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
        """Report the progress of all projects after the model was loaded or failed to load."""
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
        """Store the embeddings computed for a question, unless its project was dropped meanwhile."""
        if self._kept.get(kept.root) is kept and kept.vectors is vectors:
            try:
                with damage_raised():
                    self._keep(vectors, chunks, matrix)
                    self._conclude(kept)
            except (DatabaseError, OSError) as error:
                self._put_off(kept, error)
            self._tell(kept)

    def note_failure(self, kept: EmbeddedProject, vectors: ProjectVectors, error: DatabaseError) -> None:
        """Postpone a project's work after a search in some vectors failed, unless these were closed since."""
        if self._kept.get(kept.root) is kept and vectors in kept.all_vectors():
            self._put_off(kept, error)
            self._tell(kept)

    def _wants_model(self, kept: EmbeddedProject) -> bool:
        """Whether a project needs the model to go on.

        It does if it has chunks to embed, or if its vectors aren't loaded: if nothing was ever embedded with
        this model, only the model itself tells the number of dimensions.
        """
        return kept.vectors is None or (kept.vectors.pending > 0 and not self._paused)

    def _look(self, kept: EmbeddedProject) -> None:
        """Load the vectors of a project if needed, and look for added and deleted chunks."""
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
        """Open the vectors of a project; None while their number of dimensions isn't known."""
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
        """Write a project's embeddings to the shared store; `done` receives the counts on another thread."""
        kept = self._kept.get(root)
        vectors = None if kept is None else kept.vectors
        if self.shared is None:
            raise FovealError("no shared store is configured (embedding.shared in config.toml)")
        if vectors is None or not vectors.is_loaded:
            raise FovealError("the vectors of the project are not loaded yet")
        self.shared.push(vectors.digests(), done)

    def _could_ask(self, kept: EmbeddedProject) -> bool:
        """Whether a project has waiting contents that should be looked up in the shared store."""
        if self.shared is None or self._paused or kept.vectors is None or kept.asked_at:
            return False
        return kept.vectors.asked < min(kept.vectors.pending, ASKED_AHEAD)

    def _may_ask(self, kept: EmbeddedProject) -> bool:
        return self._could_ask(kept) and self.shared is not None and self.shared.is_up

    def _holds(self, kept: EmbeddedProject) -> bool:
        """Whether embedding a project has to wait for an answer of the shared store."""
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
        """Store the vectors found in the shared store, unless the project was dropped meanwhile."""
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
                    self._tell(kept)  # before writing the file: searches already find all
                    self._threads.run(vectors.save)
        except (DatabaseError, OSError) as error:
            self._put_off(kept, error)
        self._tell(kept)

    def _vectors_of(self, digests: Sequence[bytes]) -> Vectors:
        """Return this machine's embeddings of contents. From any thread."""
        store = self._store
        if store is None:
            return {}
        stored = store.vectors(self._key, list(store.ids(self._key, digests).values()))
        return dict(zip(stored.digests, stored.matrix, strict=True))

    def _conclude(self, kept: EmbeddedProject) -> None:
        """Remove the vectors of other models once all chunks of a project are embedded."""
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
        """Prune the embedding store if it is too large, except the embeddings of kept projects."""
        store = self._store
        if store is None or store.used_bytes() <= max(self._max_bytes, REGROWTH * self._pruned_to):
            return
        if any(kept.stale and not kept.problem for kept in self._kept.values()):
            return  # the ids that this project uses aren't known yet
        used = [vectors.ids() for kept in self._kept.values() for vectors in kept.all_vectors()]
        ids = np.concatenate(used) if used else as_ids([])
        self._threads.run(partial(store.prune, self._max_bytes, ids))
        self._pruned_to = store.used_bytes()

    def _put_off(self, kept: EmbeddedProject, error: Exception) -> None:
        """Postpone a project's work after an error of the model, a database or the disk."""
        log.warning("the vectors of %s have to wait: %s", kept.root, error)
        kept.problem = f"vectors can't be kept for now ({error})"
        kept.again_at = self._system.monotonic() + RETRY_S
        kept.stale = True
        if isinstance(error, DatabaseError) and not may_pass(error):
            # Either the project's index is damaged or the embedding store. The store is checked when it is
            # next opened; damage in the index is reported to the daemon, which replaces it.
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
            return  # the number of chunks to embed isn't known yet
        seconds = sum(spent for _, spent in self._rates)
        rate = 0.0
        if pending and seconds and not self._paused and not problem:
            rate = sum(count for count, _ in self._rates) / seconds
        answers = former is not None and not former.model.problem and former.covers_more_than(vectors)
        name = former.model.name if former is not None and answers else ""
        damage, kept.index_damage = kept.index_damage, ""
        self._report(VectorProgress(kept.root, contents, pending, round(rate, 1), problem, name, damage))


def _index_damage(kept: EmbeddedProject) -> str:
    """Return why a project's index can't be read, "" if it is intact or missing."""
    try:
        check_index(kept.folder)
    except DatabaseError as error:
        return "" if may_pass(error) or isinstance(error, OtherVersion) else str(error)
    return ""


T = TypeVar("T")
R = TypeVar("R")

NICEST = 10
"""Maximum niceness of the threads, relative to their process; used while they get enough processor time."""

LEAST_SHARE = 0.25
"""Minimum share of one core that all threads together should get: it embeds 40 chunks a second, a whole core
160. If they get less even at the process's own niceness, they keep that niceness."""

STEPS = 2
"""Minimum increase of niceness that is applied; smaller ones are ignored, so that not every measurement
starts new threads."""

_WEIGHT = 1.25
"""Factor by which a thread's scheduling weight falls with each step of niceness (Linux's
`sched_prio_to_weight`)."""


class BackgroundThreads:
    """Low-priority threads for background work. Must be used from one thread.

    `give_way` is called once on each thread with the niceness to add to that of the process.
    """

    def __init__(self, count: int, system: System, give_way: Callable[[int], None]) -> None:
        self.nice = NICEST
        self._count = count
        self._system = system
        self._give_way = give_way
        self._threads = self._start()

    def map(self, work: Callable[[T], R], items: Iterable[T], stand_back: Callable[[], None]) -> list[R]:
        """Call `work` with each item and return the results in order. `stand_back` is called before each
        item, and may wait."""
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
        """Run one function on a thread and return its result."""
        return self._threads.submit(work).result()

    def close(self) -> None:
        """End the threads."""
        self._threads.shutdown()

    def _adapt(self, share: float) -> None:
        """Replace the threads if they should have another niceness, given the share of a core that each got.

        New threads are needed because a thread can raise its niceness but, without privileges, not lower it.
        """
        wanted = nicest(self.nice, share, LEAST_SHARE / self._count)
        if wanted < self.nice or wanted >= min(self.nice + STEPS, NICEST) > self.nice:
            self.nice = wanted
            self._threads.shutdown()
            self._threads = self._start()

    def _start(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self._count, "embed", self._give_way, (self.nice,))


def nicest(nice: int, share: float, least: float) -> int:
    """Return the highest niceness at which a thread still gets the share `least` of a core.

    `share` is the share that the thread got at the niceness `nice`. Returns 0 if no niceness is enough.
    """
    # The weight of all other threads that compete for the core, relative to a thread of niceness 0.
    others = _WEIGHT**-nice * (1 - share) / share
    for wanted in range(NICEST, 0, -1):
        weight = _WEIGHT**-wanted
        if weight >= least * (weight + others):
            return wanted
    return 0


class EmbeddedProject(Struct):
    """A project with vectors. Changed by the thread of `Upkeep`, and read by the thread for questions.

    - `vectors`: None until they are loaded.
    - `former`: the former model, which answers while it covers more of the project.
    - `former_sought`: whether a former model was looked for.
    - `stale`: whether the project's chunks must be read again.
    - `is_alone`: whether no vector files of other models are left.
    - `problem`: why the last step failed, or empty; no step is tried until `again_at`.
    - `index_damage`: why the project's index can't be read; cleared once it is reported.
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
    """The time of the look-up in the shared store that isn't answered yet, 0 if there is none."""

    def all_vectors(self) -> list[ProjectVectors]:
        """Return the loaded vectors: those of the configured model, and those of a former one."""
        found = [self.vectors, None if self.former is None else self.former.vectors]
        return [vectors for vectors in found if vectors is not None]

    def let_go(self) -> None:
        """Close all vectors; they are loaded again at the next step."""
        for vectors in self.all_vectors():
            vectors.close()
        self.vectors, self.former, self.former_sought, self.stale = None, None, False, True
