"""Owns the embedding model of a process: loaded when it is first needed, and tried again when it can't be."""

from __future__ import annotations

import threading
from collections.abc import Callable

from ..errors import FovealError
from ..system import System
from .messages import ModelLoaded, ModelProgress
from .model import EmbeddingModel, load_model

RETRY_S = 60.0
"""A model that can't be had is tried again after this long: a connection may be back, a disk cleared."""


class LazyModel:
    """The model of this name, kept in `folder`. Safe across threads; `send` hears how its loading goes."""

    def __init__(
        self, name: str, folder: str, system: System, send: Callable[[ModelLoaded | ModelProgress], None]
    ) -> None:
        self._name = name
        self._folder = folder
        self._system = system
        self._send = send
        self._loading = threading.Lock()
        self._model: EmbeddingModel | None = None
        self._error: FovealError | None = None
        self._again_at = 0.0

    def get(self) -> EmbeddingModel:
        """Return the model. Raises `FovealError` where it can't be had, the same until it is tried again."""
        with self._loading:
            if self._model is None:
                if self._error is not None and not self.may_be_had:
                    raise self._error
                try:
                    self._model = load_model(self._name, self._folder, 1, self._tell, self._system)
                except FovealError as error:
                    self._error, self._again_at = error, self._system.monotonic() + RETRY_S
                    raise
                self._error = None
                self._send(ModelLoaded(self._model.name, self._model.dim, self._model.degraded))
            return self._model

    @property
    def problem(self) -> str:
        """Why there is no model, in words, or nothing."""
        return "" if self._error is None else str(self._error)

    @property
    def may_be_had(self) -> bool:
        """Whether it is there, or it is time to try."""
        return self._error is None or self._system.monotonic() >= self._again_at

    def _tell(self, phase: str, fraction: float) -> None:
        self._send(ModelProgress(phase, fraction))
