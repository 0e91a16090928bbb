"""An embedding model of the process, loaded when first needed and tried again after a failure.

Fetching one takes minutes and rebuilding one seconds, so it is done on a thread that nothing waits for: no
command, no question, and not the end of the process.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

from ..core.errors import FovealError
from ..core.system import System
from .messages import ModelLoaded, ModelNotReady, ModelProgress, ModelUnavailable
from .model import EmbeddingModel, load_model
from .model_cache import Progress

RETRY_S = 60.0
"""A model that can't be had is tried again after this long: a connection may be back, a disk cleared."""

LoadModel = Callable[[str, str, int, Progress, System], EmbeddingModel]

SHORT_PHASES = frozenset({"starting", "loading", "ready"})
"""What a question may wait for: a model that is there is loaded in .3 s."""


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
