"""The embedding models of the process: loaded when first needed, and tried again after a failure.

After the configured model was changed, the former model answers questions until the new model has embedded
the project. The former model only embeds queries, no documents: its vectors are those in the store. The store
also records which model was used before, so this works after a restart too.
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
"""Seconds until an unavailable model is tried again: the network or the disk may work again by then."""

LoadModel = Callable[[str, str, int, Progress, System], EmbeddingModel]

SHORT_PHASES = frozenset({"starting", "loading", "ready"})
"""Loading phases short enough for a question to wait: a model on the disk is loaded in .3 s."""

FORMER_SHARE = 0.5
"""Minimum share of a project's chunks that a former model must have embedded to be worth its memory (130 MB).
With less, results are better from the search by words and from the few chunks embedded for the question."""


class LazyModel:
    """The model with this name, whose files are in `folder`. Safe across threads.

    `send` receives the progress of loading, on the loading thread. `changed` is called on that thread when
    loading has ended, successfully or not. An unexpected error is raised in the next caller.
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
        """The current phase of loading, empty while the model isn't being loaded."""
        self._problem = ""
        self._fault: BaseException | None = None
        self._again_at = 0.0
        self._closed = False

    def get_nowait(self) -> EmbeddingModel | None:
        """Return the model if it is loaded. If not, start loading it, unless it is too early to try again."""
        with self._news:
            return self._get()

    def get(self, wait_s: float) -> EmbeddingModel:
        """Return the model, waiting up to `wait_s` seconds if it only has to be loaded from the disk.

        Raises `ModelUnavailable` if loading failed, with the same message until loading is tried again, and
        `ModelNotReady` if the model isn't ready in time. A model that has to be downloaded or rebuilt isn't
        waited for: `ModelNotReady` is raised at once.
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
        """Wait up to `wait_s` seconds until the model isn't being loaded; return whether that is so."""
        with self._news:
            return self._news.wait_for(lambda: not self._phase, wait_s)

    def close(self) -> None:
        """End all waiting for the model, for good."""
        with self._news:
            self._closed = True
            self._news.notify_all()

    @property
    def problem(self) -> str:
        """Why there is no model, in words, or an empty string."""
        return self._problem

    def patience(self) -> float | None:
        """Return the seconds until loading is tried again, None if it is loaded or may be tried now."""
        left = self._again_at - self._system.monotonic()
        return left if self._problem and left > 0 else None

    def _get(self) -> EmbeddingModel | None:
        """Return the model if loaded, else start loading it unless that is under way. Needs the lock."""
        if self._fault is not None:
            raise self._fault
        if self._model is None and not self._phase and not self._closed and self.patience() is None:
            self._phase = "starting"
            # A daemon thread: the process doesn't wait for it when it exits.
            threading.Thread(target=self._run, name="model", daemon=True).start()
        return self._model

    def _run(self) -> None:
        model, problem = None, ""
        fault: BaseException | None = None
        try:
            model = self._load(self.name, self._folder, 1, self._tell, self._system)
            # Sent before any caller gets the model, so that reports of its work come later.
            self._send(ModelLoaded(model.name, model.dim, model.degraded))
        except (BrokenPipeError, ConnectionResetError) as error:  # the daemon is gone
            fault = error
        except (FovealError, OSError) as error:
            problem = str(error)
        except BaseException as error:  # noqa: BLE001 - raised again in the next caller
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
    """A formerly configured model with its key, and the vectors of one project that it made."""

    key: str
    vectors: ProjectVectors
    model: LazyModel

    def covers_more_than(self, others: ProjectVectors | None) -> bool:
        """Whether the former model embedded more of the project than the configured one has so far."""
        return self.vectors.embedded > (0 if others is None else others.embedded)


class FormerModels:
    """The models other than that of `key` that can be loaded without a download; `folder` holds their files.

    Not safe across threads, but the models that it returns are.
    """

    def __init__(self, key: str, folder: str, system: System) -> None:
        self._key = key
        self._folder = folder
        self._system = system
        self._models: dict[str, LazyModel] = {}

    def find(self, root: str, folder: str, store: EmbeddingStore, embedded: int) -> Former | None:
        """Return the model that embedded the most contents of a project, None if there is no suitable one.

        It must have embedded more than the `embedded` contents that already have a vector of the configured
        model. Its vectors aren't loaded yet: `refresh` does that. The search takes a second for a million
        chunks, for each model that has ever embedded anything.
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
    """Count the chunks of a project that are worth embedding, and how many of them each model embedded."""
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
    """Ignore the loading progress of a former model: only that of the configured model is reported."""


def _unasked() -> None:
    """Do nothing when a former model is loaded: only questions use it, and they wait for it themselves."""
