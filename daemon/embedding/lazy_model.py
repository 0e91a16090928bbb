"""The embedding model of the process: loaded when first needed, and tried again after a failure."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import MappingProxyType

from ..core.errors import FovealError
from ..core.system import System
from .endpoint_model import open_endpoint
from .messages import EmbeddingEndpoint, ModelLoaded, ModelNotReady, ModelProgress, ModelUnavailable
from .model import TextModel, load_model

RETRY_S = 60.0
"""Seconds until an unavailable model is tried again: the network or the disk may work again by then."""

SHORT_PHASES = frozenset({"starting", "loading", "ready"})
"""Loading phases short enough for a question to wait: a model on the disk is loaded in .3 s."""


class LazyModel:
    """The model with this name, whose files are in `folder`, or which is at an `endpoint`. Safe across
    threads.

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
        endpoint: EmbeddingEndpoint | None = None,
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.name = name
        self._folder = folder
        self._system = system
        self._send = send
        self._changed = changed
        self._endpoint = endpoint
        self._environment = environment
        self._news = threading.Condition()
        self._model: TextModel | None = None
        self._phase = ""
        """The current phase of loading, empty while the model isn't being loaded."""
        self._problem = ""
        self._fault: BaseException | None = None
        self._again_at = 0.0
        self._closed = False

    def get_nowait(self) -> TextModel | None:
        """Return the model if it is loaded. If not, start loading it, unless it is too early to try again."""
        with self._news:
            return self._get()

    def get(self, wait_s: float) -> TextModel:
        """Return the model, waiting up to `wait_s` seconds if it only has to be loaded from the disk.

        Raises `ModelUnavailable` if loading failed, with the same message until loading is tried again, and
        `ModelNotReady` if the model isn't ready in time. A model that has to be downloaded isn't waited for:
        `ModelNotReady` is raised at once.
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
            if self._model is not None:
                self._model.close()

    @property
    def problem(self) -> str:
        """Why there is no model, in words, or an empty string."""
        return self._problem

    def patience(self) -> float | None:
        """Return the seconds until loading is tried again, None if it is loaded or may be tried now."""
        left = self._again_at - self._system.monotonic()
        return left if self._problem and left > 0 else None

    def _get(self) -> TextModel | None:
        """Return the model if loaded, else start loading it unless that is under way. Needs the lock."""
        if self._fault is not None:
            raise self._fault
        if self._model is not None and self._model.is_stale:
            self._model = None
        if self._model is None and not self._phase and not self._closed and self.patience() is None:
            self._phase = "starting"
            # A daemon thread: the process doesn't wait for it when it exits.
            threading.Thread(target=self._run, name="model", daemon=True).start()
        return self._model

    def _run(self) -> None:
        model: TextModel | None = None
        problem = ""
        fault: BaseException | None = None
        try:
            if self._endpoint is None:
                model = load_model(self.name, self._folder, 1, self._tell, self._system)
            else:
                model = open_endpoint(self._endpoint, self.name, self._environment, self._system, self._tell)
            # Sent before any caller gets the model, so that reports of its work come later.
            self._send(ModelLoaded(model.name, model.dim))
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
