"""Keeps projects' vectors up to date in the background: what to do next, and what to retry later."""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from functools import partial
from typing import TypeVar

import numpy as np
from msgspec import Struct

from ..core.errors import FovealError
from ..core.storage import DatabaseError, OtherVersion, damage_raised, may_pass
from ..core.system import System
from ..index.records import FILE_NAME, ChunkText
from ..index.service import Reader, check_index, embedded_text
from .embeddings import EmbeddingStore
from .endpoint_model import endpoint_key
from .lazy_model import LazyModel
from .messages import (
    DEFAULT_DIMENSIONS,
    DEFAULT_MODEL,
    Configure,
    ForgetVectors,
    Forgotten,
    Pushed,
    VectorProgress,
)
from .model import TextModel, model_key
from .project_vectors import ProjectVectors
from .sharing import LOOK_UP, SharedEmbeddings, Vectors
from .unit_vectors import Floats, as_ids

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

NICENESS = 5
"""The niceness that background threads add to that of their process. Beside one busy program on the same core
it leaves them a quarter of the core, which embeds 40 chunks a second."""

REGROWTH = 1.05
"""Factor by which the embeddings must grow after a pruning before the next one, if they still exceed the
limit because all are in use: searching for unused ones takes seconds."""

OpenShared = Callable[[str, Callable[[Sequence[bytes]], Vectors]], SharedEmbeddings]
"""Opens the shared store for a model's key; the second argument returns this machine's vectors."""

R = TypeVar("R")


class EmbeddedProject(Struct):
    """A project with vectors. Changed by the thread of `VectorUpdater`, and read by the thread for questions.

    - `vectors`: None until they are loaded.
    - `stale`: whether the project's chunks must be read again.
    - `problem`: why the last step failed, or empty; no step is tried until `again_at`.
    - `asked_at`: the time of the look-up in the shared store that isn't answered yet, 0 if there is none.
    """

    root: str
    folder: str
    vectors: ProjectVectors | None = None
    stale: bool = True
    problem: str = ""
    again_at: float = 0.0
    asked_at: float = 0.0


class VectorUpdater:
    """The projects of the embedder process and their embeddings. For one thread, except `get`.

    Temporary errors, such as a full disk, are not raised: the work is postponed, and `report` receives the
    reason with the progress.

    - `stand_back` is called before each text is embedded, and may wait.
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
        later: Callable[[Callable[[], None]], None] = lambda work: work(),
        open_shared: OpenShared | None = None,
    ) -> None:
        self._path = os.path.join(command.folder, STORE_FILE)
        self._key = model_key(command.model or DEFAULT_MODEL)
        if command.endpoint is not None:
            self._key = endpoint_key(command.endpoint, command.model)  # until it tells its dimensions
        self.model = model
        self._system = system
        self._report = report
        self._stand_back = stand_back
        self._projects: dict[str, EmbeddedProject] = {}
        self._rates: deque[tuple[int, float]] = deque(maxlen=RATE_BATCHES)
        self._paused = False
        self._max_bytes = command.max_bytes
        self._pruned_to = 0
        """The bytes of the embeddings after the last pruning."""
        self._store: EmbeddingStore | None = None
        self._distrusted = False
        """Whether the embedding store was found damaged: it is then checked when it is next opened."""
        # Loading vectors runs at low priority on these threads too; answering questions
        # doesn't use them.
        self._threads = ThreadPoolExecutor(command.threads, "embed", _lower_priority)
        self._later = later
        self.shared = None if open_shared is None else open_shared(self._key, self._vectors_of)

    def get(self, root: str) -> EmbeddedProject | None:
        """Return a project whose vectors are kept, or None. From any thread."""
        return self._projects.get(root)

    def keep(self, root: str, folder: str) -> None:
        """Start keeping the vectors of a project, or start again after its index was replaced."""
        self.drop(root)
        self._projects[root] = EmbeddedProject(root, folder)
        self.advance(self._projects[root])

    def drop(self, root: str) -> None:
        """Stop keeping a project's vectors."""
        self._projects.pop(root, None)

    def forget(self, command: ForgetVectors) -> Forgotten:
        """Delete the embeddings that only one project uses. Raises `DatabaseError` if an index that may use
        them can't be read."""
        self.drop(command.root)
        if not os.path.exists(self._path):
            return Forgotten(0)
        return Forgotten(self._opened_store().forget(_only_in(command.folder, command.others)))

    def note_change(self, root: str) -> None:
        """Look for new chunks of a project, now."""
        project = self._projects.get(root)
        if project is not None:
            project.stale = True
            self.advance(project)

    def pause(self, *, paused: bool) -> None:
        """Pause or resume embedding."""
        self._paused = paused
        self.report_all()

    def close(self) -> None:
        """Close all files and end the threads; the embeddings are on the disk."""
        self._threads.shutdown()
        if self.shared is not None:
            self.shared.close()
        if self._store is not None:
            self._store.close()

    def due(self) -> EmbeddedProject | None:
        """Return the next project to work on, or None.

        Of the projects that wait to be embedded it is the one with the fewest pending contents, so that a
        small project doesn't wait for a large one. Starts loading the model if only that is missing, and
        raises unexpected errors of the loading.
        """
        now = self._system.monotonic()
        due = [project for project in self._projects.values() if project.again_at <= now]
        for project in due:
            if project.stale or self._may_ask(project):
                return project
        waiting = [project for project in due if self._wants_model(project) and not self._holds(project)]
        if not waiting or self.model.get_nowait() is None:
            return None
        return min(waiting, key=lambda project: project.vectors.pending if project.vectors else 0)

    def patience(self) -> float | None:
        """Return the seconds until postponed work is due again, None if there is none."""
        now = self._system.monotonic()
        projects = self._projects.values()
        left = [project.again_at - now for project in projects if project.again_at > now]
        left += [project.asked_at + HOLD_S - now for project in projects if self._holds(project)]
        if self.shared is not None and any(p.again_at <= now and self._could_ask(p) for p in projects):
            left.append(self.shared.retry_in())
        model = self.model.patience()
        if model is not None and any(map(self._wants_model, projects)):
            left.append(model)
        return min(left, default=None)

    def note_model(self) -> None:
        """Continue with a model that was loaded, or report why it wasn't.

        The model of an endpoint may have been replaced by one of other dimensions.
        """
        model = self.model.get_nowait()
        for project in self._projects.values():
            if model is not None and project.vectors is not None and project.vectors.dim != model.dim:
                self._key, project.vectors, project.stale = model.key, None, True
        self.report_all()

    def report_all(self) -> None:
        """Report the progress of all projects, as after the model was loaded or failed to load."""
        for project in self._projects.values():
            self._tell(project)

    def advance(self, project: EmbeddedProject) -> None:
        """Take the next step for a project: load its vectors and look for new chunks, or embed some."""
        project.problem, project.again_at = "", 0.0
        with self._postponing(project):
            if project.stale or project.vectors is None:
                self._refresh(project)
            elif self._may_ask(project):
                self._ask(project, project.vectors)
            elif not self._paused and (model := self.model.get_nowait()) is not None:
                self._embed_batch(project.vectors, model)
            self._prune()

    def keep_embedded(
        self, project: EmbeddedProject, vectors: ProjectVectors, chunks: list[ChunkText], matrix: Floats
    ) -> None:
        """Store the embeddings computed for a question, unless its project was dropped meanwhile."""
        if self._is_current(project, vectors):
            with self._postponing(project):
                self._keep(vectors, chunks, matrix)

    def note_failure(self, project: EmbeddedProject, vectors: ProjectVectors, error: DatabaseError) -> None:
        """Postpone a project's work after a search in its vectors failed, unless these were closed since."""
        if self._is_current(project, vectors):
            with self._postponing(project):
                raise error

    def _is_current(self, project: EmbeddedProject, vectors: ProjectVectors) -> bool:
        return self._projects.get(project.root) is project and project.vectors is vectors

    def _wants_model(self, project: EmbeddedProject) -> bool:
        """Whether a project needs the model to go on.

        It does if it has chunks to embed, or if its vectors aren't loaded: if nothing was ever embedded with
        this model, only the model itself tells the number of dimensions.
        """
        return project.vectors is None or (project.vectors.pending > 0 and not self._paused)

    def _refresh(self, project: EmbeddedProject) -> None:
        """Load the vectors of a project if needed, and look for added and deleted chunks."""
        if project.vectors is None and (dim := self._dim()) is not None:
            store = self._opened_store()
            project.vectors = ProjectVectors(
                project.root, project.folder, store, self._key, dim, self._system
            )
        if project.vectors is not None:
            self._run(project.vectors.refresh)
        project.stale = False

    def _dim(self) -> int | None:
        """Return the number of dimensions of the model's vectors, None while it isn't known."""
        if self._key == model_key(DEFAULT_MODEL):
            return DEFAULT_DIMENSIONS
        known = self._opened_store().dim(self._key)
        model = self.model.get_nowait() if known is None else None
        if model is not None:
            self._key = model.key
        return known if model is None else model.dim

    def _embed_batch(self, vectors: ProjectVectors, model: TextModel) -> None:
        def embed(chunks: Sequence[ChunkText]) -> Floats:
            self._stand_back()
            return model.embed_batch([embedded_text(chunk.path, chunk.names, chunk.text) for chunk in chunks])

        started = self._system.monotonic()
        if chunks := vectors.next_batch(BATCH):
            parts = [chunks[start : start + model.batch] for start in range(0, len(chunks), model.batch)]
            answers = [self._threads.submit(embed, part) for part in parts]
            # What arrived is kept even if another part failed.
            done = [at for at, answer in enumerate(answers) if answer.exception() is None]
            if done:
                kept = [chunk for at in done for chunk in parts[at]]
                matrix = np.concatenate([answers[at].result() for at in done])
                self._run(partial(self._keep, vectors, kept, matrix))
                self._rates.append((len(kept), self._system.monotonic() - started))
            for answer in answers:
                answer.result()

    def _keep(self, vectors: ProjectVectors, chunks: Sequence[ChunkText], matrix: Floats) -> None:
        digests = [chunk.digest for chunk in chunks]
        vectors.keep(digests, matrix)
        if self.shared is not None:
            self.shared.offer(digests)

    def _run(self, work: Callable[[], R]) -> R:
        """Run a function on a thread of low priority and return its result."""
        return self._threads.submit(work).result()

    # The shared store

    def push(self, root: str, done: Callable[[Pushed], None]) -> None:
        """Write a project's embeddings to the shared store; `done` receives the counts on another thread."""
        project = self._projects.get(root)
        vectors = None if project is None else project.vectors
        if self.shared is None:
            raise FovealError("no shared store is configured (embedding.shared in config.toml)")
        if vectors is None or not vectors.is_loaded:
            raise FovealError("the vectors of the project are not loaded yet")
        self.shared.push(vectors.digests(), done)

    def _could_ask(self, project: EmbeddedProject) -> bool:
        """Whether a project has waiting contents that should be looked up in the shared store."""
        if self.shared is None or self._paused or project.vectors is None or project.asked_at:
            return False
        return project.vectors.asked < min(project.vectors.pending, ASKED_AHEAD)

    def _may_ask(self, project: EmbeddedProject) -> bool:
        return self._could_ask(project) and self.shared is not None and self.shared.is_up

    def _holds(self, project: EmbeddedProject) -> bool:
        """Whether embedding a project has to wait for an answer of the shared store."""
        if self.shared is None or not project.asked_at or not self.shared.is_trusted:
            return False
        return self._system.monotonic() < project.asked_at + HOLD_S

    def _ask(self, project: EmbeddedProject, vectors: ProjectVectors) -> None:
        assert self.shared is not None
        digests = vectors.unasked(LOOK_UP)
        project.asked_at = self._system.monotonic()

        def answered(found: Vectors | None) -> None:
            self._later(partial(self._take_shared, project, vectors, digests, found))

        self.shared.look_up(digests, vectors.dim, answered)

    def _take_shared(
        self, project: EmbeddedProject, vectors: ProjectVectors, asked: Sequence[bytes], found: Vectors | None
    ) -> None:
        """Store the vectors found in the shared store, unless the project was dropped meanwhile."""
        project.asked_at = 0.0
        if found is None or not self._is_current(project, vectors):
            return
        with self._postponing(project):
            vectors.note_asked(asked)
            if found:
                self._run(partial(vectors.keep, list(found), np.stack(list(found.values()))))

    def _vectors_of(self, digests: Sequence[bytes]) -> Vectors:
        """Return this machine's embeddings of contents. From any thread."""
        store = self._store
        if store is None:
            return {}
        stored = store.vectors(self._key, list(store.ids(self._key, digests).values()))
        return dict(zip(stored.digests, stored.matrix, strict=True))

    # The embedding store, and failures

    def _opened_store(self) -> EmbeddingStore:
        if self._store is None:
            self._store = EmbeddingStore(self._path, self._system, check=self._distrusted)
            self._distrusted = False
        return self._store

    def _prune(self) -> None:
        """Prune the embedding store if it is too large, except the embeddings of kept projects."""
        store = self._store
        if store is None or store.used_bytes() <= max(self._max_bytes, REGROWTH * self._pruned_to):
            return
        if any(project.stale and not project.problem for project in self._projects.values()):
            return  # the ids that this project uses aren't known yet
        used = [project.vectors.ids() for project in self._projects.values() if project.vectors is not None]
        self._run(partial(store.prune, self._max_bytes, np.concatenate([as_ids([]), *used])))
        self._pruned_to = store.used_bytes()

    @contextmanager
    def _postponing(self, project: EmbeddedProject) -> Iterator[None]:
        """Postpone a project's work if the model, a database or the disk fails; report its progress."""
        damage = ""
        try:
            with damage_raised():
                yield
        except (FovealError, DatabaseError, OSError) as error:
            log.warning("the vectors of %s have to wait: %s", project.root, error)
            project.problem = f"vectors can't be kept for now ({error})"
            project.again_at = self._system.monotonic() + RETRY_S
            project.stale = True
            if isinstance(error, DatabaseError) and not may_pass(error):
                # Either the project's index is damaged or the embedding store. The store is checked when it
                # is next opened; damage in the index is reported to the daemon, which replaces it.
                self._distrust_store()
                damage = _index_damage(project.folder)
        self._tell(project, damage)

    def _distrust_store(self) -> None:
        for project in self._projects.values():
            project.vectors, project.stale = None, True  # loaded again at the next step
        self._distrusted = True
        if self._store is not None:
            with suppress(DatabaseError):
                self._store.close()
            self._store = None

    def _tell(self, project: EmbeddedProject, index_damage: str = "") -> None:
        vectors = project.vectors
        problem = project.problem or self.model.problem
        if vectors is None and not problem:
            return  # the number of chunks to embed isn't known yet
        contents, pending = (0, 0) if vectors is None else (vectors.contents, vectors.pending)
        seconds = sum(spent for _, spent in self._rates)
        rate = 0.0
        if pending and seconds and not self._paused and not problem:
            rate = sum(count for count, _ in self._rates) / seconds
        self._report(VectorProgress(project.root, contents, pending, round(rate, 1), problem, index_damage))


def _lower_priority() -> None:
    """Raise the niceness of this thread. Only on Linux, since elsewhere it would affect the whole process.

    The thread also gets the scheduling policy for batch jobs (SCHED_BATCH), so that it doesn't preempt a
    process that wakes up, such as an editor. Questions are answered at the daemon's own priority.
    """
    if sys.platform == "linux":
        thread = threading.get_native_id()
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + NICENESS)
        with suppress(OSError):
            os.sched_setscheduler(thread, os.SCHED_BATCH, os.sched_param(0))


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


def _index_damage(folder: str) -> str:
    """Return why a project's index can't be read, "" if it is intact or missing."""
    try:
        check_index(folder)
    except DatabaseError as error:
        return "" if may_pass(error) or isinstance(error, OtherVersion) else str(error)
    return ""
