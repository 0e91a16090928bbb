"""The embedding models of the process: loaded when first needed, and tried again after a failure.

A formerly configured model answers while the vectors of the new one are made. It embeds no more documents:
its vectors are those that the store holds, which also tells which model it was, after a restart too.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextlib import suppress

from msgspec import Struct

from ..core.errors import FovealError
from ..core.system import System
from ..index.store import Reader
from .embeddings import EmbeddingStore
from .messages import ModelLoaded, ModelNotReady, ModelProgress, ModelUnavailable
from .model import EmbeddingModel, load_kept_model, load_model, name_in_key
from .model_cache import Progress
from .project_vectors import PAGE, ProjectVectors

RETRY_S = 60.0
"""Seconds until an unavailable model is tried again: a connection may be back, a disk cleared."""

LoadModel = Callable[[str, str, int, Progress, System], EmbeddingModel]

SHORT_PHASES = frozenset({"starting", "loading", "ready"})
"""Phases that a question may wait for: a model on the disk is loaded in .3 s."""

FORMER_SHARE = 0.5
"""Minimum share of a project's chunks that a former model must know to be worth its memory (130 MB). With
less, words and the chunks that a question has embedded do better."""


class LazyModel:
    """The model of this name, kept in `folder`. Safe across threads.

    `send` receives the progress of loading, on the thread that loads; `changed` is called
    there when that has ended either way. An unexpected error is raised in the next caller.
    """

    def __init__(
        self,
        name: str,
        folder: str,
        system: System,
        send: Callable[[ModelLoaded | ModelProgress], None],
        changed: Callable[[], None],
        load: LoadModel = load_model,
    ) -> None:
        self.name = name
        self._folder = folder
        self._system = system
        self._send = send
        self._changed = changed
        self._load = load
        self._news = threading.Condition()
        self._model: EmbeddingModel | None = None
        self._phase = ""
        """What is being done to load it, empty while nothing is."""
        self._problem = ""
        self._fault: BaseException | None = None
        self._again_at = 0.0
        self._closed = False

    def get_nowait(self) -> EmbeddingModel | None:
        """Return the model if it is there. If not, have it loaded, unless it is too early to try again."""
        with self._news:
            return self._get()

    def get(self, wait_s: float) -> EmbeddingModel:
        """Return the model, waiting up to `wait_s` if it only has to be loaded.

        Raises `ModelUnavailable` where it can't be had, the same until it is tried again, and `ModelNotReady`
        where it will be later: at once where it has to be fetched or rebuilt.
        """
        with self._news:
            self._get()
            self._news.wait_for(lambda: self._closed or self._phase not in SHORT_PHASES, wait_s)
            model = self._get()
            if model is not None:
                return model
            if self._phase:
                raise ModelNotReady(f"the embedding model {self.name} is being made ready ({self._phase})")
            raise ModelUnavailable(self._problem)

    def settle(self, wait_s: float) -> bool:
        """Wait until nothing is done any more to load it; returns whether that was so in time."""
        with self._news:
            return self._news.wait_for(lambda: not self._phase, wait_s)

    def close(self) -> None:
        """End all waiting for the model, for good."""
        with self._news:
            self._closed = True
            self._news.notify_all()

    @property
    def problem(self) -> str:
        """Why there is no model, in words, or nothing."""
        return self._problem

    def patience(self) -> float | None:
        """Return in how many seconds it is tried again; None where it is there, or may be tried now."""
        left = self._again_at - self._system.monotonic()
        return left if self._problem and left > 0 else None

    def _get(self) -> EmbeddingModel | None:
        """Return the model, and begin to load it unless that is done or under way. Needs the lock."""
        if self._fault is not None:
            raise self._fault
        if self._model is None and not self._phase and not self._closed and self.patience() is None:
            self._phase = "starting"
            # A daemon thread, which the end of the process doesn't wait for.
            threading.Thread(target=self._run, name="model", daemon=True).start()
        return self._model

    def _run(self) -> None:
        model, problem = None, ""
        fault: BaseException | None = None
        try:
            model = self._load(self.name, self._folder, 1, self._tell, self._system)
            # Before anybody has the model, so that reports of its work come later.
            self._send(ModelLoaded(model.name, model.dim, model.degraded))
        except (BrokenPipeError, ConnectionResetError) as error:  # the daemon is gone
            fault = error
        except (FovealError, OSError) as error:
            problem = str(error)
        except BaseException as error:  # noqa: BLE001 - raised again where somebody can deal with it
            fault = error
        if problem:
            # Without a daemon the process ends anyway.
            with suppress(BrokenPipeError, ConnectionResetError):
                self._send(ModelProgress("failed", 1.0))
        with self._news:
            self._model, self._problem, self._fault, self._phase = model, problem, fault, ""
            self._again_at = self._system.monotonic() + RETRY_S
            self._news.notify_all()
        self._changed()

    def _tell(self, phase: str, fraction: float) -> None:
        with self._news:
            self._phase = phase
            self._news.notify_all()
        self._send(ModelProgress(phase, fraction))


class Former(Struct, frozen=True):
    """A former model by its key, and the vectors of a project that it made."""

    key: str
    vectors: ProjectVectors
    model: LazyModel

    def covers_more_than(self, others: ProjectVectors | None) -> bool:
        """Whether more of the project is found by it than by the vectors that are being made."""
        return self.vectors.embedded > (0 if others is None else others.embedded)


class FormerModels:
    """Models other than that of `key`, as far as they can be had without fetching; `folder` has their files.

    For one thread; the models that it lends are safe across threads.
    """

    def __init__(self, key: str, folder: str, system: System) -> None:
        self._key = key
        self._folder = folder
        self._system = system
        self._models: dict[str, LazyModel] = {}

    def find(self, root: str, folder: str, store: EmbeddingStore, embedded: int) -> Former | None:
        """Return the model that covers the most of a project, and more than the `embedded` contents that have
        a vector already; None without such a model. Its vectors aren't loaded yet: `refresh` does that.

        Takes a second for a million chunks and each model that ever embedded anything.
        """
        names = {key: name_in_key(key) for key in store.models() if key != self._key}
        keys = [key for key, name in names.items() if name is not None]
        if not keys:
            return None
        total, counts = _coverage(folder, store, keys)
        best = max(counts, key=lambda key: counts[key])
        name, dim = names[best], store.dim(best)
        if name is None or dim is None or counts[best] <= max(embedded, FORMER_SHARE * total):
            return None
        vectors = ProjectVectors(root, folder, store, best, dim, self._system)
        return Former(best, vectors, self._models.setdefault(best, self._made(name)))

    def retain(self, formers: Iterable[Former]) -> None:
        """Unload all other models."""
        keys = {former.key for former in formers}
        for key in self._models.keys() - keys:
            self._models.pop(key).close()

    def _made(self, name: str) -> LazyModel:
        return LazyModel(name, self._folder, self._system, _unheard, _unasked, load_kept_model)


def _coverage(folder: str, store: EmbeddingStore, keys: list[str]) -> tuple[int, dict[str, int]]:
    """Count the chunks of a project that are worth embedding, and how many of these each model knows."""
    total, counts = 0, dict.fromkeys(keys, 0)
    reader = Reader(folder)
    try:
        seen = 0
        while rows := reader.chunks.to_embed(seen, PAGE):
            digests = {digest for _, _, digest in rows}
            total += len(digests)
            for key in keys:
                counts[key] += store.count(key, digests)
            seen = rows[-1][0]
    finally:
        reader.close()
    return total, counts


def _unheard(event: ModelLoaded | ModelProgress) -> None:
    """Ignore the loading of a former model: only the model that embeds is reported."""


def _unasked() -> None:
    """Do nothing when it is loaded: only questions need it."""
