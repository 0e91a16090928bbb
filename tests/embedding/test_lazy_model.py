"""A model is loaded when it is first needed, once, on a thread that nobody has to wait for, and tried again."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from foveal.daemon.embedding import lazy_model
from foveal.daemon.embedding import model as model_file
from foveal.daemon.embedding.lazy_model import RETRY_S, LazyModel
from foveal.daemon.embedding.messages import (
    DEFAULT_DIMENSIONS,
    DEFAULT_MODEL,
    ModelLoaded,
    ModelNotReady,
    ModelProgress,
    ModelUnavailable,
)
from foveal.daemon.embedding.model import EmbeddingModel

from tests.model_cases import slow_download
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


def test_the_first_caller_loads_the_model_once() -> None:
    bench = Bench(DEFAULT_MODEL)
    assert (bench.heard, bench.model.problem, bench.model.patience()) == ([], "", None)
    found: list[EmbeddingModel] = []
    threads = [threading.Thread(target=lambda: found.append(bench.model.get(GENEROUS_S))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(one) for one in found}) == 1
    assert found[0].embed(["def login(): ..."]).shape == (1, DEFAULT_DIMENSIONS)
    assert bench.heard[-1] == ModelLoaded(DEFAULT_MODEL, DEFAULT_DIMENSIONS)
    assert bench.loads() == 1
    assert bench.heard[-2] == ModelProgress("ready", 1.0)
    assert bench.model.get_nowait() is found[0]
    assert bench.model.get(0.0) is found[0]


def test_a_question_does_not_wait_for_a_download() -> None:
    bench = Bench(DEFAULT_MODEL)
    with slow_download():
        with pytest.raises(ModelNotReady, match=rf"{DEFAULT_MODEL} is being made ready \(fetching\)"):
            bench.model.get(10 * GENEROUS_S)
        assert bench.phase.wait(GENEROUS_S)
        with pytest.raises(ModelNotReady):
            bench.model.get(10 * GENEROUS_S)
        assert (bench.model.get_nowait(), bench.loads(), bench.changed) == (None, 0, 0)
        assert not bench.model.settle(0.0)
    assert bench.model.settle(GENEROUS_S)
    assert bench.model.get(0.0).dim == DEFAULT_DIMENSIONS
    assert bench.loads() == 1
    phases = [event.phase for event in bench.heard if isinstance(event, ModelProgress)]
    assert (phases[0], phases[-1]) == ("fetching", "ready")


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


def test_a_model_that_becomes_available_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(DEFAULT_MODEL)
    monkeypatch.setattr(model_file, "DEFAULT_MODEL_FOLDER", str(tmp_path))
    assert bench.model.get_nowait() is None
    assert bench.model.settle(GENEROUS_S)
    with pytest.raises(ModelUnavailable, match="can't be used"):
        bench.model.get(0.0)
    monkeypatch.undo()
    bench.clock.skipped_s += RETRY_S
    assert bench.model.get(GENEROUS_S).dim == DEFAULT_DIMENSIONS
    assert (bench.model.problem, bench.model.patience(), bench.loads()) == ("", None, 1)


def test_an_unexpected_error_is_raised_in_the_next_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(*_: object) -> EmbeddingModel:
        raise ZeroDivisionError

    monkeypatch.setattr(lazy_model, "load_model", load)
    model = Bench(DEFAULT_MODEL).model
    with pytest.raises(ZeroDivisionError):
        model.get(GENEROUS_S)
    with pytest.raises(ZeroDivisionError):
        model.get_nowait()
