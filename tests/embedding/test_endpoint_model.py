"""An endpoint that the user named embeds, over a real connection; whatever it or the network does is said, never
stored, and passes by itself."""

from __future__ import annotations

import json
import logging
import re
import socket
import threading
import zlib
from collections.abc import Callable, Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest
from foveal.daemon.config.settings import EmbeddingConfig
from foveal.daemon.core.events import EventHub
from foveal.daemon.core.model_endpoint import EndpointFailed, post
from foveal.daemon.core.work import Work
from foveal.daemon.embedding import endpoint_model
from foveal.daemon.embedding.embedder_client import EmbedderClient
from foveal.daemon.embedding.endpoint_model import (
    BATCH,
    CHARACTERS,
    FEWER_CHARACTERS,
    LONGEST_REST_S,
    REST_S,
    EndpointModel,
    open_endpoint,
)
from foveal.daemon.embedding.lazy_model import RETRY_S as LOAD_RETRY_S
from foveal.daemon.embedding.lazy_model import LazyModel
from foveal.daemon.embedding.messages import EmbeddingEndpoint, ModelUnavailable, ScoreTexts, SearchVectors
from foveal.daemon.embedding.text_scores import TextScorer
from foveal.daemon.embedding.vector_search import VectorSearch
from foveal.daemon.embedding.vector_updater import RETRY_S

from tests.endpoint_cases import Answerer
from tests.search_cases import Clock, chunk, put
from tests.updater_cases import Bench, some

Behaviour = Callable[["Handler", list[list[float]]], None]
SECRET = "sk-proj-" + "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z" * 2


class Handler(Answerer):
    """Answers as the test says, and keeps what was asked."""

    server: Service

    def do_POST(self) -> None:  # noqa: N802 - the name that the server calls
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, dict(self.headers), body))
        vectors = [_words(text, self.server.dim) for text in body["input"]]
        behaviour = self.server.behaviours.pop(0) if self.server.behaviours else self.server.usual
        behaviour(self, vectors)


def _words(text: str, dim: int) -> list[float]:
    """Return a vector in which each word has its place."""
    vector = [0.0] * dim
    for word in re.findall(r"[a-z]+|\d+", text.lower()):
        vector[zlib.crc32(word.encode()) % dim] += 1.0
    return vector


def rows(vectors: list[list[float]]) -> bytes:
    """Return an answer, its vectors in another order than asked."""
    data = [{"index": at, "embedding": vector} for at, vector in enumerate(vectors)]
    return json.dumps({"data": data[::-1], "model": "m"}).encode()


def well(handler: Handler, vectors: list[list[float]]) -> None:
    handler.send(rows(vectors))


def status(number: int, **headers: str) -> Behaviour:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda handler, _: handler.send(b"a secret error", number, named)


def says(data: bytes) -> Behaviour:
    return lambda handler, _: handler.send(data)


class Service(ThreadingHTTPServer):
    """An OpenAI-compatible service; `behaviours` are those of the next requests."""

    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.asked: list[tuple[str, dict[str, str], Any]] = []
        self.behaviours: list[Behaviour] = []
        self.usual: Behaviour = well
        self.dim = 64
        self.thread = threading.Thread(target=self.serve_forever, args=(0.01,))
        self.thread.start()

    @property
    def endpoint(self) -> EmbeddingEndpoint:
        return EmbeddingEndpoint(f"http://127.0.0.1:{self.server_port}/v1/", "", 5.0)

    def open(self, clock: Clock | None = None, **fields: Any) -> EndpointModel:
        endpoint = EmbeddingEndpoint(**{"url": self.endpoint.url, "key": "", "timeout_s": 5.0, **fields})
        environment = {"KEY": SECRET}
        return open_endpoint(endpoint, "nomic", environment, clock or Clock(), lambda phase, share: None)

    def stop(self) -> None:
        if self.thread.is_alive():
            self.shutdown()
            self.thread.join()
            self.server_close()


@pytest.fixture
def service() -> Iterator[Service]:
    one = Service()
    yield one
    one.stop()


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint_model, "BACKOFF_S", (0.001, 0.001))


def test_texts_are_embedded_in_their_order(service: Service) -> None:
    model = service.open(key="env:KEY")
    assert (model.dim, model.key) == (64, f"nomic@http://127.0.0.1:{service.server_port}/v1/1/64")
    texts = [f"text {number}" for number in range(BATCH + 3)]
    for vectors in (model.embed(texts), np.concatenate([model.embed_batch([text]) for text in texts])):
        expected = np.array([_words(text, 64) for text in texts])
        np.testing.assert_allclose(
            vectors, expected / np.linalg.norm(expected, axis=1, keepdims=True), rtol=1e-5
        )
    path, headers, body = service.asked[1]
    assert (path, headers["Authorization"]) == ("/v1/embeddings", f"Bearer {SECRET}")
    assert (body["model"], len(body["input"])) == ("nomic", BATCH)
    assert model.embed([]).shape == (0, 64)
    assert not model.embed_query("").any()


def test_secrets_are_masked_and_odd_text_is_sent(service: Service) -> None:
    model = service.open()
    model.embed([f"api_key = '{SECRET}'", "\ud800"])
    assert SECRET not in json.dumps(service.asked)
    model.embed(["x" * (CHARACTERS - 30) + f" api_key = '{SECRET}'"])
    assert SECRET[:12] not in json.dumps(service.asked[-1]), "masked before it is cut"
    model.embed([f"api_key = '{SECRET}'"])
    assert service.asked[-1][2]["input"][0].startswith("api_key = '")
    assert "Authorization" not in service.asked[-1][1]


@pytest.mark.parametrize(
    ("behaviour", "problem"),
    [
        (status(500), "status 500"), (status(429, Retry_After="9"), "status 429"), (status(401), "status 401"),
        (status(302, Location="http://127.0.0.1:1/"), "status 302"), (says(b"<html>"), "holds no embeddings"),
        (says(b'{"data": [{"embedding": ["a"]}]}'), "holds no embeddings"),
        (says(b'{"data": []}'), "0 vectors for 2 texts"), (lambda h, v: h.send(rows(v[:1])), "1 vectors for 2 texts"),
        (lambda h, v: h.send(rows([v[0], v[1][:3]])), "different dimensions"),
        (lambda h, v: h.send(rows([[*each, 1.0] for each in v])), "65 dimensions now, 64 before"),
        (says(b'{"data": [{"embedding": [1e39]}, {"embedding": [1]}]}'), "no usable numbers"),
        (says(b'{"data": [{"embedding": [1], "index": 0}, {"embedding": [1], "index": 0}]}'), "2 vectors for 2"),
        (lambda h, v: h.connection.shutdown(socket.SHUT_RDWR), "connection to the endpoint"),
    ],
)  # fmt: skip
def test_a_failure_is_said_and_passes(
    service: Service, caplog: pytest.LogCaptureFixture, behaviour: Behaviour, problem: str
) -> None:
    caplog.set_level(logging.DEBUG)
    clock = Clock()
    model = service.open(clock, key="env:KEY")
    service.behaviours = [behaviour]
    with pytest.raises(ModelUnavailable, match=problem) as error:
        model.embed(["a", "b"])
    asked = len(service.asked)
    with pytest.raises(ModelUnavailable, match=problem):  # at once, and without a request
        model.embed_query("a")
    assert len(service.asked) == asked
    clock.skipped_s += LONGEST_REST_S
    assert model.embed(["a", "b"]).shape == (2, 64)
    service.behaviours = [status(500)]
    with pytest.raises(ModelUnavailable):
        model.embed(["a"])
    clock.skipped_s += REST_S  # the first pause again: the failure before has passed
    assert model.embed(["a"]).shape == (1, 64)
    assert not {SECRET, "a secret error"} & set(
        re.findall(r"sk-\S+|a secret error", f"{error.value}{caplog.text}")
    )


def test_a_batch_in_the_background_is_tried_again(service: Service) -> None:
    model = service.open()
    service.behaviours = [status(429, Retry_After="0.01"), status(503)]
    assert model.embed_batch(["a"]).shape == (1, 64)
    assert len(service.asked) == 4
    for behaviours, requests in (
        ([status(401)], 1), ([status(429, Retry_After="3600")], 1), ([status(500), status(404)], 2),
    ):  # fmt: skip
        fresh = service.open()
        before, service.behaviours = len(service.asked), behaviours
        with pytest.raises(ModelUnavailable):
            fresh.embed_batch(["a"])
        assert len(service.asked) - before == requests


def test_texts_that_are_too_long_are_shortened(service: Service) -> None:
    model = service.open()
    service.behaviours = [status(413)]
    assert model.embed_batch(["a " * 5_000]).shape == (1, 64)
    assert [len(body["input"][0]) for _, _, body in service.asked[1::2]] == [8_000, FEWER_CHARACTERS]
    model.embed(["a " * 5_000])
    assert len(service.asked[-1][2]["input"][0]) == 8_000, "only the refused text is shortened"


def refusing(handler: Handler, vectors: list[list[float]]) -> None:
    if "poison" in json.dumps(handler.server.asked[-1][2]["input"]):
        handler.send(b"", 422)
    else:
        well(handler, vectors)


def test_a_refused_text_has_no_vector_and_stops_no_other(service: Service, tmp_path: Path) -> None:
    bench = Bench(tmp_path, "nomic", endpoint=service.endpoint)
    service.usual = refusing
    texts = [*some("f", BATCH * 2), chunk("def poison(): bad", "poison")]
    bench.keep("p", *texts)
    bench.run()
    assert bench.counts("p") == (BATCH * 2, 0, "")
    assert search(bench, "f1")
    asked = len(service.asked)
    put(bench.index("p"), "a.py", [texts[-1], *some("f", 3)])
    bench.updater.note_change("p")
    bench.run()
    assert bench.counts("p") == (3, 0, "")
    assert len(service.asked) == asked, "the refused text isn't sent again"
    bench.close()


def test_a_service_that_refuses_everything_is_at_fault(service: Service) -> None:
    model = service.open()
    service.usual = status(400)
    with pytest.raises(ModelUnavailable, match="400"):
        model.embed_batch(["a", "b"])
    assert len(service.asked) == 3


def test_what_arrived_is_kept_though_a_part_failed(service: Service, tmp_path: Path) -> None:
    bench = Bench(tmp_path, "nomic", endpoint=service.endpoint)
    bench.keep("p")
    bench.run()
    service.behaviours = [well, status(404)]
    bench.keep("p", *some("f", BATCH * 2))
    bench.run()
    assert bench.counts("p")[1] == BATCH
    assert "status 404" in bench.counts("p")[2]
    bench.close()


def test_a_slow_service_is_not_waited_for(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    model = service.open(timeout_s=0.1)
    goes_on = threading.Event()

    def hang(_handler: Handler, _vectors: list[list[float]]) -> None:
        goes_on.wait(9)

    monkeypatch.setattr(endpoint_model, "WAITED_S", 0.1)
    monkeypatch.setattr(endpoint_model, "BACKOFF_S", ())
    service.behaviours = [hang, hang]
    with pytest.raises(ModelUnavailable, match="took too long"):
        model.embed_query("a")
    with pytest.raises(ModelUnavailable, match="took too long"):
        service.open(timeout_s=0.1).embed_batch(["a"])
    goes_on.set()


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"url": "ftp://a"}, "must be an http or https URL"), ({"url": "http://u:p@a/v1"}, "must hold no password"),
        ({"url": "http://1.2.3.4/v1", "key": "env:KEY"}, "must be https"), ({"url": "http://[a"}, "no URL"),
        ({"key": "env:NONE"}, "NONE isn't set"), ({"key": "abc"}, "endpoint_key: the key, password or secret is neither env:NAME nor file:PATH"),
    ],
)  # fmt: skip
def test_settings_that_cannot_work_are_said(service: Service, fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(ModelUnavailable, match=problem) as error:
        service.open(**fields)
    assert SECRET not in str(error.value)
    assert not service.asked


@pytest.mark.parametrize("scheme", ["https", "HTTPS", "Https"])
def test_certificates_are_checked_however_https_is_written(
    scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    verified: list[bool] = []

    def client(*, verify: bool, **_: Any) -> None:
        verified.append(verify)
        raise httpx2.ConnectError("")

    monkeypatch.setattr(httpx2, "AsyncClient", client)
    with pytest.raises(EndpointFailed):
        post(f"{scheme}://a.example/v1", {}, "", 1.0, 1)
    assert verified == [True]


def test_a_key_file_must_be_private(service: Service, tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_text(f"{SECRET}\n")
    path.chmod(0o640)
    with pytest.raises(ModelUnavailable, match="chmod 600"):
        service.open(key=f"file:{path}")
    path.chmod(0o600)
    service.open(key=f"file:{path}")
    assert service.asked[0][1]["Authorization"] == f"Bearer {SECRET}"


def search(bench: Bench, text: str) -> list[bytes]:
    """Return the contents that a question finds."""
    searches = VectorSearch(bench.updater, bench.clock, lambda work: work())
    return [digest for digest, _ in searches.answer(SearchVectors("p", (text,), 5)).hits]


def test_a_project_is_embedded_and_found(service: Service, tmp_path: Path) -> None:
    bench = Bench(tmp_path, "nomic", endpoint=service.endpoint)
    login, price = (
        chunk("def login(user): check the password", "login"),
        chunk("def price(cart): sum", "price"),
    )
    bench.keep("p", login, price, *some("f", BATCH * 5))
    bench.run()
    assert bench.counts("p") == (BATCH * 5 + 2, 0, "")
    assert search(bench, "check password of user")[0] == login.digest
    assert len(service.asked) == 1 + 6 + 1, "the dimensions, batches, and the question"
    bench.close()
    for endpoint in (None, service.endpoint):
        again = Bench(tmp_path, "nomic" if endpoint else "", endpoint=endpoint)
        again.stores["p"] = again.index("p")
        before = len(service.asked)
        again.updater.keep("p", again.folder("p"))
        if endpoint is None:
            assert again.counts("p")[1] == BATCH * 5 + 2, "nothing of the other model is used"
        else:
            again.run()
            assert again.counts("p") == (BATCH * 5 + 2, 0, "")
            assert len(service.asked) - before == 1, "only the dimensions were asked for"
        again.close()


def test_a_service_that_is_down_is_said_and_comes_back(service: Service, tmp_path: Path) -> None:
    bench = Bench(tmp_path, "nomic", endpoint=service.endpoint)
    bench.keep("p", *some("f", 3))
    bench.run()
    port, service.usual = service.server_port, status(500)
    bench.keep("q", *some("g", 3))
    bench.run()
    assert "status 500" in bench.counts("q")[2]
    with pytest.raises(ModelUnavailable, match="status 500"):
        search(bench, "f1")
    service.stop()
    bench.clock.skipped_s += LONGEST_REST_S
    with pytest.raises(ModelUnavailable, match="can't be reached"):
        search(bench, "f1")
    back = Service(port)
    bench.clock.skipped_s += LONGEST_REST_S + RETRY_S
    bench.run()
    assert bench.counts("q") == (3, 0, "")
    assert search(bench, "f1")
    bench.close()
    back.stop()


def test_a_service_that_was_never_there_is_tried_again(service: Service, tmp_path: Path) -> None:
    port = service.server_port
    service.stop()
    bench = Bench(tmp_path, "nomic", endpoint=service.endpoint)
    bench.keep("p", *some("f", 3))
    bench.run()
    bench.updater.note_model()
    assert "can't be reached" in bench.counts("p")[2]
    back = Service(port)
    bench.clock.skipped_s += LOAD_RETRY_S
    bench.run()
    assert bench.counts("p") == (3, 0, "")
    bench.close()
    back.stop()


def test_other_dimensions_are_embedded_anew(service: Service, tmp_path: Path) -> None:
    bench = Bench(tmp_path, "nomic", endpoint=service.endpoint)
    bench.keep("p", *some("f", 3))
    bench.run()
    scorer = TextScorer(str(tmp_path), bench.model, bench.clock)
    asked = ScoreTexts(("a rule",), ("a rule", "another thing"), 60.0)
    assert scorer.answer(asked).rows[0][0] == pytest.approx(1.0, abs=1e-3)
    service.dim = 32
    with pytest.raises(ModelUnavailable, match="32 dimensions now, 64 before"):
        search(bench, "f1")
    assert bench.model.get(60.0).dim == 32
    with pytest.raises(Exception, match="not loaded yet"):
        search(bench, "f1")
    bench.updater.note_model()
    bench.run()
    assert bench.counts("p") == (3, 0, "")
    assert search(bench, "f1")
    assert scorer.answer(asked).rows[0][0] == pytest.approx(1.0, abs=1e-3)
    scorer.close()
    bench.close()


def test_waiting_for_a_retry_ends_with_the_process(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    model = LazyModel("nomic", "", Clock(), lambda event: None, lambda: None, service.endpoint)
    loaded = model.get(60.0)
    monkeypatch.setattr(endpoint_model, "BACKOFF_S", (600.0,))
    service.usual = status(500)
    problems: list[Exception] = []

    def embed() -> None:
        with pytest.raises(ModelUnavailable) as error:
            loaded.embed_batch(["a"])
        problems.append(error.value)

    thread = threading.Thread(target=embed)
    thread.start()
    model.close()
    thread.join(60.0)
    assert problems


@pytest.mark.parametrize(
    ("url", "leaves"),
    [("http://127.0.0.1:11434/v1", False), ("http://localhost/v1", False), ("https://a.example/v1", True)],
)
def test_status_says_whether_texts_leave_the_machine(url: str, leaves: bool, tmp_path: Path) -> None:
    config = EmbeddingConfig(endpoint=url, model="nomic", endpoint_key="env:KEY")
    found = EmbedderClient(config, str(tmp_path), Work(), EventHub(Clock())).describe()
    assert found is not None
    assert (found["source"], found["model"], found["endpoint"], found["leaves_machine"]) == (
        "endpoint", "nomic", url, leaves,
    )  # fmt: skip
