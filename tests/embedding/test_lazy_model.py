"""A model is loaded when it is first needed, once, on a thread that nobody has to wait for, and tried again."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest
from foveal.daemon.embedding import model_cache as bundled_model
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

from tests.model_cases import held_lock
from tests.search_cases import Clock

GENEROUS_S = 60.0


class Bench:
    """A model; `heard` is what its loading told, `changed` how often it ended."""

    def __init__(self, name: str, folder: Path) -> None:
        self.clock = Clock()
        self.heard: list[ModelLoaded | ModelProgress] = []
        self.changed = 0
        self.phase = threading.Event()
        """Something was told."""
        self.model = LazyModel(name, str(folder), self.clock, self._hear, self._note)

    def loads(self) -> int:
        return sum(isinstance(event, ModelLoaded) for event in self.heard)

    def _hear(self, event: ModelLoaded | ModelProgress) -> None:
        self.heard.append(event)
        self.phase.set()

    def _note(self) -> None:
        self.changed += 1


def test_it_is_loaded_once_by_whoever_comes_first(models: Path) -> None:
    bench = Bench(DEFAULT_MODEL, models)
    assert (bench.heard, bench.model.problem, bench.model.patience()) == ([], "", None)
    found: list[EmbeddingModel] = []
    threads = [threading.Thread(target=lambda: found.append(bench.model.get(GENEROUS_S))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(one) for one in found}) == 1
    assert found[0].embed(["def login(): ..."]).shape == (1, DEFAULT_DIMENSIONS)
    assert bench.heard[-1] == ModelLoaded(DEFAULT_MODEL, DEFAULT_DIMENSIONS, "")
    assert bench.loads() == 1
    assert bench.heard[-2] == ModelProgress("ready", 1.0)
    assert bench.model.get_nowait() is found[0]
    assert bench.model.get(0.0) is found[0]


def test_who_does_not_wait_has_it_loaded_and_is_told(models: Path) -> None:
    bench = Bench(DEFAULT_MODEL, models)
    assert bench.model.get_nowait() is None
    assert bench.model.settle(GENEROUS_S)
    assert bench.model.get_nowait() is not None
    assert bench.loads() == 1


def test_a_question_does_not_wait_for_what_takes_long(tmp_path: Path) -> None:
    bench = Bench(DEFAULT_MODEL, tmp_path / "models")
    with held_lock(tmp_path / "models"):
        with pytest.raises(ModelNotReady, match=rf"{DEFAULT_MODEL} is being made ready \(waiting\)"):
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
    assert (phases[0], phases[-1]) == ("waiting", "ready")


def test_nobody_waits_any_more_when_it_is_closed(models: Path) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def load(*_: object) -> EmbeddingModel:
        begun.set()
        go_on.wait(GENEROUS_S)
        raise ModelUnavailable("too late")

    model = LazyModel(DEFAULT_MODEL, str(models), Clock(), lambda event: None, lambda: None, load)
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


def test_one_that_can_not_be_had_is_not_tried_again_at_once(models: Path) -> None:
    bench = Bench("no/such-model", models)
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


def test_one_that_comes_back_is_loaded(models: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    bench = Bench(DEFAULT_MODEL, tmp_path / "models")
    monkeypatch.setattr(bundled_model, "_find", lambda file: str(tmp_path / "nowhere"))
    assert bench.model.get_nowait() is None
    assert bench.model.settle(GENEROUS_S)
    with pytest.raises(ModelUnavailable, match="can't be read"):
        bench.model.get(0.0)
    monkeypatch.undo()
    shutil.copytree(models, tmp_path / "models", dirs_exist_ok=True)
    bench.clock.skipped_s += RETRY_S
    assert bench.model.get(GENEROUS_S).dim == DEFAULT_DIMENSIONS
    assert (bench.model.problem, bench.model.patience(), bench.loads()) == ("", None, 1)


def test_what_nobody_foresaw_is_raised_by_whoever_asks(models: Path) -> None:
    def load(*_: object) -> EmbeddingModel:
        raise ZeroDivisionError

    model = LazyModel(DEFAULT_MODEL, str(models), Clock(), lambda event: None, lambda: None, load)
    with pytest.raises(ZeroDivisionError):
        model.get(GENEROUS_S)
    with pytest.raises(ZeroDivisionError):
        model.get_nowait()
