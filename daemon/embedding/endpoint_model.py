"""An embedding model behind an OpenAI-compatible service, which the user named; Ollama is one too."""

from __future__ import annotations

import logging
import os
import stat
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated

import msgspec
import numpy as np
from msgspec import Meta, Struct

from ..core.model_endpoint import EndpointFailed, post, problem_of_url
from ..core.system import System
from ..privacy.secret_values import mask_piece
from .messages import EmbeddingEndpoint, ModelUnavailable
from .model import TEXT_VERSION, Vectors
from .shared_source import SourceError, read_credential
from .sharing import Breaker

log = logging.getLogger(__name__)

BATCH = 16
"""Texts in a request. A chunk has up to 1,620 characters, so that a request has about 7,000 tokens."""

CHARACTERS = 8_000
"""Maximum characters of a text that are sent; a question of 2,000 tokens."""

FEWER_CHARACTERS = 700
"""Characters of a text whose longer form the service refused; models of 512 tokens read about as much."""

REFUSALS = frozenset({400, 413, 422})
"""Statuses by which a service refuses what was sent: too much, too long, or with signs it doesn't take."""

ANSWER_BYTES = 32_000_000
"""Maximum bytes of an answer: 16 vectors of 8,192 dimensions have 3 MB."""

DIMENSIONS_MAX = 16_384

LARGEST = 1e9
"""Maximum size of a number in a vector, far above those of any model; larger ones are faults."""

WAITED_S = 5.0
"""Maximum seconds for a text that somebody waits for."""

BACKOFF_S = (0.5, 2.0, 8.0)
"""Seconds before each retry of a batch in the background."""

ASKED_WAIT_S = 10.0
"""Maximum seconds of waiting that a service may ask for before a retry; a longer wait is a failure."""

REST_S, LONGEST_REST_S = 2.0, 60.0
"""Seconds for which the service isn't used after a failure, doubled with each further one."""

_PROBE = "def embed(text): return vector"


class _Row(Struct):
    embedding: Annotated[list[float], Meta(min_length=1, max_length=DIMENSIONS_MAX)]
    index: int | None = None


class _Answer(Struct):
    data: list[_Row]


class EndpointModel:
    """The model at an endpoint, as `TextModel` says. Its methods may be called from any thread.

    While the service fails it is left alone for a while, in which everything raises `ModelUnavailable` at
    once. `is_stale` says that its vectors have other dimensions than before, so that it must be opened again.
    """

    batch = BATCH

    def __init__(self, endpoint: EmbeddingEndpoint, name: str, key: str, system: System) -> None:
        self.name = name
        self.is_stale = False
        self._endpoint = endpoint
        self._url = f"{endpoint.url.rstrip('/')}/embeddings"
        self._credential = key
        self._breaker = Breaker(system, REST_S, LONGEST_REST_S)
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._refused: set[int] = set()
        """Hashes of texts that were refused alone; they aren't sent again while the process runs."""
        self.dim = 0
        self.dim = len(self._asked([_PROBE], WAITED_S)[0])
        self.key = f"{endpoint_key(endpoint, name)}/{self.dim}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return an embedding for each text, (texts, dim), for somebody who waits.

        A text that the service refuses even shortened has zeros. Raises `ModelUnavailable`.
        """
        parts = [texts[start : start + BATCH] for start in range(0, len(texts), BATCH)]
        return np.concatenate(
            [np.empty((0, self.dim), np.float32), *(self._asked(p, WAITED_S) for p in parts)]
        )

    def embed_query(self, text: str) -> Vectors:
        """Return the embedding of a query, (1, dim). Raises `ModelUnavailable`."""
        return self._asked([text], WAITED_S)

    def embed_batch(self, texts: Sequence[str]) -> Vectors:
        """Return embeddings as `embed` does, in the background: with retries, and with patience."""
        return self._asked(texts, self._endpoint.timeout_s, BACKOFF_S)

    def close(self) -> None:
        """End the waiting for retries."""
        self._closed.set()

    def _asked(self, texts: Sequence[str], seconds: float, backoff: Sequence[float] = ()) -> Vectors:
        with self._lock:
            if not self._breaker.is_closed:
                raise self._unavailable(self._breaker.problem)
        # Masked before anything is cut: the half of a secret isn't recognised.
        sent = [mask_piece(text).text[:CHARACTERS].encode("utf-8", "replace").decode() for text in texts]
        asked = [at for at, text in enumerate(sent) if hash(text) not in self._refused]
        if not asked:
            return np.zeros((len(sent), self.dim), np.float32)
        try:
            found = self._sorted_out([sent[at] for at in asked], partial(self._tried, seconds, backoff))
        except EndpointFailed as error:
            with self._lock:
                self._breaker.note(str(error), error.wait_s)
            raise self._unavailable(str(error)) from error
        with self._lock:
            self._breaker.note("")
        vectors = np.zeros((len(sent), found.shape[1]), np.float32)
        vectors[asked] = found
        return vectors

    def _sorted_out(self, texts: Sequence[str], ask: Callable[[Sequence[str]], Vectors]) -> Vectors:
        """Return the vectors of texts, zeros for those that the service refuses alone. Raises
        `EndpointFailed`, also if the service refuses everything."""
        try:
            return ask(texts)
        except EndpointFailed as error:
            if error.status not in REFUSALS or not self.dim:
                raise
            ask([_PROBE])
            return self._apart(texts, ask)

    def _apart(self, texts: Sequence[str], ask: Callable[[Sequence[str]], Vectors]) -> Vectors:
        """Return the vectors of texts that were refused together, by halves; a single one is shortened."""
        half, first = len(texts) // 2, texts[0]
        if not half and len(first) <= FEWER_CHARACTERS:
            log.warning("%s refused a text, which gets no vector", self._endpoint.place)
            self._refused.add(hash(first))
            return np.zeros((1, self.dim), np.float32)
        found = []
        for part in (texts[:half], texts[half:]) if half else ([first[:FEWER_CHARACTERS]],):
            try:
                found.append(ask(part))
            except EndpointFailed as error:
                if error.status not in REFUSALS:
                    raise
                found.append(self._apart(part, ask))
        if not half and not found[0].any():
            self._refused.add(hash(first))
        return np.concatenate(found)

    def _tried(self, seconds: float, backoff: Sequence[float], texts: Sequence[str]) -> Vectors:
        """Return the vectors of texts, after retries of what may pass. Raises `EndpointFailed`."""
        waits = iter(backoff)
        while True:
            try:
                return self._request(texts, seconds)
            except EndpointFailed as error:
                wait = next(waits, None)
                is_worth_it = wait is not None and error.may_pass and error.wait_s <= ASKED_WAIT_S
                if not is_worth_it or self._closed.wait(max(wait or 0, error.wait_s)):
                    raise

    def _request(self, texts: Sequence[str], seconds: float) -> Vectors:
        body = {"model": self.name, "input": texts, "encoding_format": "float"}
        data = post(self._url, body, self._credential, seconds, ANSWER_BYTES)
        vectors = _vectors(data, len(texts))
        if self.dim and vectors.shape[1] != self.dim:
            self.is_stale = True
            raise EndpointFailed(f"its vectors have {vectors.shape[1]} dimensions now, {self.dim} before")
        return vectors

    def _unavailable(self, problem: str) -> ModelUnavailable:
        return ModelUnavailable(f"the embedding model {self.name} at {self._endpoint.place}: {problem}")


def _vectors(data: bytes, count: int) -> Vectors:
    """Return the unit vectors of an answer (count, dim). Raises `EndpointFailed` if it isn't complete."""
    try:
        rows = msgspec.json.decode(data, type=_Answer).data
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise EndpointFailed("the endpoint's answer holds no embeddings") from error
    places = [at if row.index is None else row.index for at, row in enumerate(rows)]
    if sorted(places) != list(range(count)):
        raise EndpointFailed(f"the endpoint answered with {len(rows)} vectors for {count} texts")
    if len({len(row.embedding) for row in rows}) != 1:
        raise EndpointFailed("the endpoint's vectors have different dimensions")
    vectors = np.empty((count, len(rows[0].embedding)))
    for place, row in zip(places, rows, strict=True):
        vectors[place] = row.embedding
    if not (np.abs(vectors) < LARGEST).all():
        raise EndpointFailed("the endpoint's vectors hold no usable numbers")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: Vectors = (vectors / np.maximum(lengths, 1e-12)).astype(np.float32)
    return scaled


def endpoint_key(endpoint: EmbeddingEndpoint, name: str) -> str:
    """Return the key for the embeddings of a model at an endpoint, to which its dimensions are added."""
    return f"{name}@{endpoint.place}/{TEXT_VERSION}"


def open_endpoint(
    endpoint: EmbeddingEndpoint,
    name: str,
    environment: Mapping[str, str],
    system: System,
    progress: Callable[[str, float], None],
) -> EndpointModel:
    """Ask an endpoint for the dimensions of its model's vectors and return it ready for use.

    Raises `ModelUnavailable`, whose message says what to do.
    """
    progress("loading", 0.0)
    try:
        key = read_credential(endpoint.key, environment, system)
    except SourceError as error:
        raise ModelUnavailable(f"embedding.endpoint_key: {error}") from error
    problem = problem_of_url("embedding.endpoint", endpoint.url, key, "embedding.endpoint_key")
    problem = problem or _problem_of_key_file(endpoint.key, system)
    if not name:
        problem = problem or "embedding.model is empty: name the model that embedding.endpoint is to use"
    if problem:
        raise ModelUnavailable(problem)
    model = EndpointModel(endpoint, name, key, system)
    progress("ready", 1.0)
    return model


def _problem_of_key_file(written: str, system: System) -> str:
    kind, _, path = written.partition(":")
    if kind == "file" and stat.S_IMODE(system.stat(os.path.expanduser(path)).st_mode) & 0o077:
        return f"{path} of embedding.endpoint_key can be read by others: chmod 600 {path}"
    return ""
