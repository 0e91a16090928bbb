"""A model is loaded when it is first needed, once, on a thread that nobody has to wait for, and tried again."""

from __future__ import annotations

import threading

import pytest
from foveal.daemon.embedding import lazy_model
from foveal.daemon.embedding.lazy_model import RETRY_S, LazyModel
from foveal.daemon.embedding.messages import (
    DEFAULT_MODEL,
    ModelLoaded,
    ModelNotReady,
    ModelProgress,
    ModelUnavailable,
)
from foveal.daemon.embedding.model import EmbeddingModel

from tests.search_cases import Clock

GENEROUS_S = 60.0


class Bench:
    """A model; `heard` is what its loading told, `changed` how often it ended."""

    def __init__(self, name: str, folder: str = "") -> None:
        self.clock = Clock()
        self.heard: list[ModelLoaded | ModelProgress] = []
        self.changed = 0
        self.phase = threading.Event()
        """Something was told."""
        self.model = LazyModel(name, folder, self.clock, self._hear, self._note)

    def loads(self) -> int:
        return sum(isinstance(event, ModelLoaded) for event in self.heard)

    def _hear(self, event: ModelLoaded | ModelProgress) -> None:
        self.heard.append(event)
        self.phase.set()

    def _note(self) -> None:
        self.changed += 1


def test_closing_ends_all_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def load(*_: object) -> EmbeddingModel:
        begun.set()
        go_on.wait(GENEROUS_S)
        raise ModelUnavailable("too late")

    monkeypatch.setattr(lazy_model, "load_model", load)
    model = Bench(DEFAULT_MODEL).model
    errors: list[BaseException] = []

    def ask() -> None:
        try:
            model.get(10 * GENEROUS_S)
        except ModelNotReady as error:
            errors.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    assert begun.wait(GENEROUS_S)
    model.close()
    asking.join(GENEROUS_S)
    assert len(errors) == 1
    go_on.set()
    assert model.settle(GENEROUS_S)
    assert model.get_nowait() is None


def test_an_unavailable_model_is_not_retried_at_once() -> None:
    bench = Bench("no/such-model")
    errors = []
    for _ in range(3):
        with pytest.raises(ModelUnavailable, match="no/such-model") as raised:
            bench.model.get(GENEROUS_S)
        errors.append(raised.value)
        assert bench.model.problem == str(raised.value)
        patience = bench.model.patience()
        assert patience is not None
        assert 0 < patience <= RETRY_S
    assert len(set(map(id, errors))) == 3, "an error that is raised again would gather tracebacks"
    assert bench.heard.count(ModelProgress("failed", 1.0)) == 1, "and it was tried once"
    bench.clock.skipped_s += RETRY_S
    assert bench.model.patience() is None
    with pytest.raises(ModelUnavailable):
        bench.model.get(GENEROUS_S)
    assert bench.model.settle(GENEROUS_S)
    assert bench.model.patience() is not None
    assert bench.loads() == 0
