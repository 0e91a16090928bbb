"""The embedding model: turns text into vectors of length 1. The only file that imports fastembed.

The default model is part of foveal's package (`hatch_build.py` builds it) and never uses the network. Any
other model must be known to fastembed by its name, and fastembed downloads it.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import re
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from ..core.system import System
from .messages import DEFAULT_DIMENSIONS, DEFAULT_MODEL, ModelUnavailable

Vectors = NDArray[np.float32]
"""Embeddings, float32 (texts, dimensions), each row of length 1."""

Phase = Literal["fetching", "loading", "ready"]
Progress = Callable[[Phase, float], None]
"""Called with the current phase and the share of the whole preparation that is done, from 0 to 1."""

DEFAULT_MODEL_FOLDER = os.path.join(os.path.dirname(__file__), "default_model")
GRAPH_FILE = "model.onnx"
CHECKSUMS_FILE = "SHA256SUMS"

DEFAULT_REVISION = "8199be6f699a"
"""The first digits of the SHA-256 of the default model's weights."""

TOKEN_WINDOW = 128
"""Maximum tokens of a text that are embedded, including the start and end tokens.

On questions about code, 128 tokens found better results than 256; 64 were nearly as good.
"""

TEXT_VERSION = 1
"""Increment this when the text that is embedded for a chunk changes: its header line, or how it is cut."""

QUERY_WINDOWS_MAX = 16
"""Maximum number of windows of a query that are embedded, about 7 KB of prose: 0.2 s on one core."""

QUERY_OVERLAP = 16
"""Number of tokens that two neighbouring windows of a query share, so that a phrase at the border of one
window is whole in the other."""

CHARACTERS_PER_TOKEN = 32
"""Maximum characters of a text that are tokenized for each token of the window. Code has about 3 characters a
token, prose 5.

Without the limit the tokenizer would take a second for each megabyte, and discard nearly all of the result.
"""


def model_key(name: str) -> str:
    """Return the key that is stored with each embedding; only embeddings with the same key are comparable.

    The key names the model and its revision, the window, and the form of the text. The key of another model
    has no revision, because the key is needed before the download; fastembed keeps using the files that it
    downloaded first.
    """
    revision = f"@{DEFAULT_REVISION}" if _is_default(name) else ""
    return f"{name.lower()}{revision}/{TOKEN_WINDOW}/{TEXT_VERSION}"


class TextModel(Protocol):
    """A model ready for use, on this machine or at an endpoint. Its methods may be called from any thread.

    `key` is the key that is stored with its embeddings, `dim` the number of dimensions of its vectors,
    `batch` the number of texts that are best embedded together. `is_stale` says that it must be loaded again.
    All methods that embed may raise `ModelUnavailable`.
    """

    name: str
    key: str
    dim: int
    is_stale: bool
    batch: int

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return an embedding for each text, (texts, dim), for somebody who waits."""

    def embed_batch(self, texts: Sequence[str]) -> Vectors:
        """Return an embedding for each text in the background, with more patience."""

    def embed_query(self, text: str) -> Vectors:
        """Return the embeddings of a query's windows, (windows, dim)."""

    def close(self) -> None:
        """End the model's threads and waiting."""


class EmbeddingModel:
    """A model of this process, as `TextModel` says; `key` is `model_key` of its name."""

    is_stale = False
    batch = 1

    def __init__(self, name: str, runtime: _Runtime, dim: int, threads: int) -> None:
        self.name = name
        self.key = model_key(name)
        self.dim = dim
        self._runtime = runtime
        self._window, self._tokenizer = _set_window(runtime)
        self._pieces = _pieces(self._window)
        # Each call embeds one text on one thread: padding a batch to its longest text costs more than a batch
        # gains, and threads inside one call wait for each other. onnxruntime releases the GIL in its calls.
        self._pool = ThreadPoolExecutor(threads, "embed") if threads > 1 else None

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return an embedding for each text, (texts, dim). Text beyond the window is ignored.

        Any text has an embedding, even an empty one or one without letters.
        """
        return self._stack(texts, self._runtime.passage_embed)

    def embed_batch(self, texts: Sequence[str]) -> Vectors:
        """Return embeddings as `embed` does."""
        return self.embed(texts)

    def embed_query(self, text: str) -> Vectors:
        """Return the embeddings of a query, (windows, dim): one for each of its overlapping windows of text.

        The similarity of a chunk to the query is its highest similarity to any of the windows. Text beyond
        `QUERY_WINDOWS_MAX` windows is ignored.
        """
        return self._stack(self._windows(text), self._runtime.query_embed)

    def close(self) -> None:
        """End the threads after they have finished their current texts."""
        if self._pool is not None:
            self._pool.shutdown()

    def _stack(self, texts: Sequence[str], embed: _Embed) -> Vectors:
        def one(text: str) -> Vectors:
            text = _readable(text, self._window * CHARACTERS_PER_TOKEN)
            beginning = self._pieces.match(text)
            (vector,) = embed([beginning[0] if beginning else text])
            return np.asarray(vector, np.float32)

        # A single text is embedded here: the threads may be busy with a batch.
        rows: Iterable[Vectors]
        rows = map(one, texts) if self._pool is None or len(texts) == 1 else self._pool.map(one, texts)
        vectors = np.empty((len(texts), self.dim), np.float32)
        for index, row in enumerate(rows):
            vectors[index] = row
        # The default model's vectors already have length 1; some other models don't normalise theirs.
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), _TINY)
        return vectors

    def _windows(self, text: str) -> list[str]:
        """Divide a text into the tokenizer's overlapping windows; return at least one piece."""
        if self._tokenizer is None:
            return [text]
        text = _readable(text, self._window * CHARACTERS_PER_TOKEN * QUERY_WINDOWS_MAX)
        encoding = self._tokenizer.encode(text)
        pieces = []
        for part in [encoding, *encoding.overflowing][:QUERY_WINDOWS_MAX]:
            # The start and end tokens and padding have the empty span (0, 0).
            spans = [span for span in part.offsets if span[0] < span[1]]
            if spans:
                pieces.append(text[spans[0][0] : spans[-1][1]])
        return pieces or [text]


def load_model(name: str, cache_dir: str, threads: int, progress: Progress, system: System) -> EmbeddingModel:
    """Load a model and return it ready for use on `threads` threads.

    Any name but `DEFAULT_MODEL` must be known to fastembed (case doesn't matter). fastembed downloads that
    model into `cache_dir` if it isn't there yet, which may take minutes; without a connection the download
    fails after half a minute, and what fastembed logs says why. Raises `ModelUnavailable`, whose message says
    what to do.
    """
    if _is_default(name):
        progress("loading", 0.0)
        model = _load_default(DEFAULT_MODEL_FOLDER, threads, system)
    else:
        model = _load_known(name, cache_dir, threads, progress)
    progress("ready", 1.0)
    return model


def check_default_model(folder: str, system: System) -> None:
    """Compare the files of the default model with their checksums. Raises `ModelUnavailable`."""
    try:
        lines = system.read(os.path.join(folder, CHECKSUMS_FILE))[0].decode("ascii").splitlines()
        for digest, name in map(str.split, lines):
            data, _ = system.read(os.path.join(folder, name))
            if hashlib.sha256(data).hexdigest() != digest:
                raise ValueError(f"{name} is damaged")
    except (OSError, ValueError) as error:
        raise ModelUnavailable(
            f"the embedding model in {folder} can't be used ({error}); {_REINSTALL}"
        ) from error


def _is_default(name: str) -> bool:
    return name.lower() == DEFAULT_MODEL.lower()


_Runtime = Any
"""fastembed's TextEmbedding, and the tokenizer inside it; imported only when a model is loaded."""

_Embed = Callable[[list[str]], Iterable[Any]]

_TINY = np.float32(1e-12)
"""A length below that of any embedding; dividing by at least this much leaves a zero vector zero."""

_REGISTERING = threading.Lock()


def _load_default(folder: str, threads: int, system: System) -> EmbeddingModel:
    check_default_model(folder, system)
    fastembed = _import_fastembed()
    try:
        runtime = fastembed.TextEmbedding(
            _register(fastembed),
            # Not used, but fastembed would otherwise create its default cache folder.
            cache_dir=folder,
            threads=1,
            providers=_PROVIDERS,
            specific_model_path=folder,
            local_files_only=True,
        )
    # onnxruntime's exceptions have no common base of their own.
    except Exception as error:
        raise ModelUnavailable(
            f"the embedding model in {folder} can't be loaded ({error}); {_REINSTALL}"
        ) from error
    return EmbeddingModel(DEFAULT_MODEL, runtime, DEFAULT_DIMENSIONS, threads)


def _load_known(name: str, cache_dir: str, threads: int, progress: Progress) -> EmbeddingModel:
    # The cache is tried before the download, so that progress can tell loading from downloading.
    progress("loading", 0.0)
    with suppress(_CannotOpen):
        return _open_known(name, cache_dir, threads, local_files_only=True)
    progress("fetching", 0.1)
    try:
        return _open_known(name, cache_dir, threads, local_files_only=False)
    except _CannotOpen as error:
        raise ModelUnavailable(
            f"the embedding model {name} can't be fetched or loaded ({error}); check the connection to "
            f"huggingface.co and the free space in {cache_dir}, or use the default model, "
            f"{DEFAULT_MODEL}, which needs no connection"
        ) from error


def _open_known(name: str, cache_dir: str, threads: int, *, local_files_only: bool) -> EmbeddingModel:
    fastembed = _import_fastembed()
    known = {model["model"].lower(): model for model in fastembed.TextEmbedding.list_supported_models()}
    description = known.get(name.lower())
    if description is None:
        near = [key for key in known if name.lower() in key] or difflib.get_close_matches(name.lower(), known)
        names = ", ".join(known[key]["model"] for key in near[:3]) or DEFAULT_MODEL
        raise ModelUnavailable(f"fastembed knows no embedding model named {name}; is it one of {names}?")
    try:
        runtime = fastembed.TextEmbedding(
            name, cache_dir=cache_dir, threads=1, providers=_PROVIDERS, local_files_only=local_files_only
        )
    # The exceptions depend on the model, on the version of huggingface_hub, and on onnxruntime.
    except Exception as error:
        raise _CannotOpen(str(error)) from error
    return EmbeddingModel(name, runtime, description["dim"], threads)


class _CannotOpen(Exception):
    """fastembed can't download or load a model; the message is fastembed's."""


_REINSTALL = "install foveal again with: pip install --force-reinstall --no-deps foveal; or set another model"

_PROVIDERS = ("CPUExecutionProvider",)
"""onnxruntime's execution providers: only the CPU, which gives the same vectors on every machine. A
background process shouldn't use the graphics card."""

_QUIET = {
    "HF_HUB_DISABLE_TELEMETRY": "1",
    # Nothing that fastembed knows needs the user's token, so it isn't sent.
    "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1",
    "HF_HUB_VERBOSITY": "critical",
    # It comes without a cache and a log of its own in the user's cache folder.
    "HF_HUB_DISABLE_XET": "1",
}
"""Environment variables for huggingface_hub, which reads them only once, when it is imported.

Progress bars can't be switched off here, since fastembed switches them on again; they only appear on
terminals.
"""


def _import_fastembed() -> Any:
    os.environ.update(_QUIET)
    import fastembed

    return fastembed


def _register(fastembed: Any) -> str:
    """Register the default model with fastembed, once per process; return its name in fastembed."""
    from fastembed.common.model_description import ModelSource, PoolingType

    registered = f"foveal/{DEFAULT_MODEL}"
    with _REGISTERING:
        known = {model["model"] for model in fastembed.TextEmbedding.list_supported_models()}
        if registered not in known:
            fastembed.TextEmbedding.add_custom_model(
                registered,
                # The graph contains pooling and normalisation.
                pooling=PoolingType.DISABLED,
                normalization=False,
                # fastembed requires a source; a model with its own path isn't downloaded from there.
                sources=ModelSource(hf=f"sentence-transformers/{DEFAULT_MODEL}"),
                dim=DEFAULT_DIMENSIONS,
                model_file=GRAPH_FILE,
            )
    return registered


def _set_window(runtime: _Runtime) -> tuple[int, Any]:
    """Set a model's truncation; return its window in tokens, and its tokenizer or None."""
    tokenizer = getattr(runtime.model, "tokenizer", None)
    if tokenizer is None:
        return TOKEN_WINDOW, None
    truncation = tokenizer.truncation or {}
    window = min(TOKEN_WINDOW, truncation.get("max_length", TOKEN_WINDOW))
    # The tokenizer returns truncated text as further windows; `_windows` divides queries by these.
    tokenizer.enable_truncation(
        window, stride=min(QUERY_OVERLAP, window // 4), direction=truncation.get("direction", "right")
    )
    return window, tokenizer


def _pieces(window: int) -> re.Pattern[str]:
    """Return a pattern that matches the first `window` words and punctuation characters of a text.

    WordPiece makes at least one token of each, so they fill the window. Tokenizing the rest of a chunk, only
    to discard it, would take 4 % of the whole time.
    """
    return re.compile(rf"(?:\s*(?:\w+|[^\w\s])){{0,{window}}}")


def _readable(text: str, limit: int) -> str:
    """Return at most `limit` characters, without the lone surrogates that the tokenizer refuses."""
    return text[:limit].encode("utf-8", "replace").decode("utf-8")
