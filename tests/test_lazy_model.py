"""The model is loaded when it is first needed, once, and one that can't be had is tried again later."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest
from foveal.daemon.embedding import bundled_model
from foveal.daemon.embedding.defaults import DEFAULT_DIMENSIONS, DEFAULT_MODEL
from foveal.daemon.embedding.errors import ModelUnavailable
from foveal.daemon.embedding.lazy_model import RETRY_S, LazyModel
from foveal.daemon.embedding.messages import ModelLoaded, ModelProgress
from foveal.daemon.embedding.model import EmbeddingModel

from tests.search_cases import Clock


class Bench:
    def __init__(self, name: str, folder: Path) -> None:
        self.clock = Clock()
        self.heard: list[ModelLoaded | ModelProgress] = []
        self.model = LazyModel(name, str(folder), self.clock, self.heard.append)

    def loads(self) -> int:
        return sum(isinstance(event, ModelLoaded) for event in self.heard)


def test_it_is_loaded_once_by_whoever_comes_first(models: Path) -> None:
    bench = Bench(DEFAULT_MODEL, models)
    assert (bench.heard, bench.model.problem, bench.model.may_be_had) == ([], "", True)
    found: list[EmbeddingModel] = []
    threads = [threading.Thread(target=lambda: found.append(bench.model.get())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(one) for one in found}) == 1
    assert found[0].embed(["def login(): ..."]).shape == (1, DEFAULT_DIMENSIONS)
    assert bench.heard[-1] == ModelLoaded(DEFAULT_MODEL, DEFAULT_DIMENSIONS, "")
    assert bench.loads() == 1
    assert bench.heard[-2] == ModelProgress("ready", 1.0)


def test_one_that_can_not_be_had_is_not_tried_again_at_once(models: Path) -> None:
    bench = Bench("no/such-model", models)
    errors = []
    for _ in range(3):
        with pytest.raises(ModelUnavailable, match="no/such-model") as raised:
            bench.model.get()
        errors.append(raised.value)
        assert (bench.model.problem, bench.model.may_be_had) == (str(raised.value), False)
    assert errors[0] is errors[1] is errors[2]
    bench.clock.skipped_s += RETRY_S
    assert bench.model.may_be_had
    with pytest.raises(ModelUnavailable) as raised:
        bench.model.get()
    assert raised.value is not errors[0]
    assert not bench.model.may_be_had
    assert bench.loads() == 0


def test_one_that_comes_back_is_loaded(models: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    bench = Bench(DEFAULT_MODEL, tmp_path / "models")
    with monkeypatch.context() as patched:
        patched.setattr(bundled_model, "_find", lambda file: str(tmp_path / "nowhere"))
        with pytest.raises(ModelUnavailable, match="can't be read"):
            bench.model.get()
    shutil.copytree(models, tmp_path / "models", dirs_exist_ok=True)
    bench.clock.skipped_s += RETRY_S
    assert bench.model.get().dim == DEFAULT_DIMENSIONS
    assert (bench.model.problem, bench.model.may_be_had, bench.loads()) == ("", True, 1)
