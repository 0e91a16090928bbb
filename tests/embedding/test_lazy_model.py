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


def test_closing_ends_all_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def load(*_: object) -> EmbeddingModel:
        begun.set()
        go_on.wait(GENEROUS_S)
        raise ModelUnavailable("too late")

    monkeypatch.setattr(lazy_model, "load_model", load)
    model = LazyModel(DEFAULT_MODEL, "", Clock(), lambda event: None, lambda: None)
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
    heard: list[ModelLoaded | ModelProgress] = []
    clock = Clock()
    model = LazyModel("no/such-model", "", clock, heard.append, lambda: None)
    errors = []
    for _ in range(3):
        with pytest.raises(ModelUnavailable, match="no/such-model") as raised:
            model.get(GENEROUS_S)
        errors.append(raised.value)
        assert model.problem == str(raised.value)
        patience = model.patience()
        assert patience is not None
        assert 0 < patience <= RETRY_S
    assert len(set(map(id, errors))) == 3, "an error that is raised again would gather tracebacks"
    assert heard.count(ModelProgress("failed", 1.0)) == 1, "and it was tried once"
    clock.skipped_s += RETRY_S
    assert model.patience() is None
    with pytest.raises(ModelUnavailable):
        model.get(GENEROUS_S)
    assert model.settle(GENEROUS_S)
    assert model.patience() is not None
    assert not any(isinstance(event, ModelLoaded) for event in heard)
