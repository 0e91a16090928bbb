"""The embedding model at work: text in, vectors of length 1 out. The only file that imports fastembed.

The default model is read from installed packages and never touches the network. Any other is one that
fastembed knows by name, and fastembed fetches it.
"""

from __future__ import annotations

import difflib
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.system import System
from .messages import DEFAULT_DIMENSIONS, DEFAULT_MODEL, ModelUnavailable
from .model_cache import GRAPH_FILE, TOKEN_WINDOW, WEIGHTS, ModelFolder, Progress, open_model_folder

Vectors = NDArray[np.float32]
"""Embeddings, float32 (texts, dimensions), each row of length 1."""


TEXT_VERSION = 1
"""Raised when what is handed in for the same chunk changes: its header line, or how its text is cut."""

QUERY_WINDOWS_MAX = 16
"""A query is embedded up to here, about 7 KB of prose: an answer in 0.2 s on one core."""

QUERY_OVERLAP = 16
"""Tokens that one window of a query shares with the next, so that no phrase is only ever seen torn."""

CHARACTERS_PER_TOKEN = 32
"""No text is read further than this for each token of the window; code has 3 for a token, prose 5.

The tokenizer would otherwise take a second for each megabyte, to throw nearly all of it away.
"""


def model_key(name: str) -> str:
    """Return what is recorded with each embedding of a model; only embeddings of one key are comparable.

    It names the model and its revision, the window, and the form of the text. The default model has one key
    whether it was rebuilt or not: the weights are the same, and both lie closer to each other (cosine .994)
    than would matter to a ranking. Another model has no revision in its key, because the key is asked for
    before anything is fetched; fastembed goes on using what it once fetched.
    """
    revision = f"@{WEIGHTS.sha256[:12]}" if _is_default(name) else ""
    return f"{name.lower()}{revision}/{TOKEN_WINDOW}/{TEXT_VERSION}"


def name_in_key(key: str) -> str | None:
    """Return the name of the model that a key stands for, in lower case.

    None for one that can't be had any more: of another revision, window, or form of the text.
    """
    name = key.rsplit("/", 2)[0].partition("@")[0]
    return name if model_key(name) == key else None


class EmbeddingModel:
    """A model ready for use. Its methods may be called from any thread.

    `key` is `model_key` of its name, `dim` the size of its vectors. `degraded` says for a person why it is
    poorer than it could be, or is empty.
    """

    def __init__(self, name: str, runtime: _Runtime, dim: int, threads: int, degraded: str = "") -> None:
        self.name = name
        self.key = model_key(name)
        self.dim = dim
        self.degraded = degraded
        self._runtime = runtime
        self._window, self._tokenizer = _set_window(runtime)
        self._pieces = _pieces(self._window)
        # One text a call and a thread for each: padding a batch to its longest text costs more than batches
        # gain, and threads inside one call wait for each other. The sessions' calls don't hold the GIL.
        self._pool = ThreadPoolExecutor(threads, "embed") if threads > 1 else None

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return an embedding for each text, what lies beyond the window left out; (0, dim) for none.

        Any text has one, the empty one and one without a letter too.
        """
        return self._stack(texts, self._runtime.passage_embed)

    def embed_query(self, text: str) -> Vectors:
        """Return the embeddings of a query, (windows, dim): one for each window of text, overlapping.

        The similarity of a chunk to the query is the largest of those to its windows. What lies beyond
        `QUERY_WINDOWS_MAX` windows is left out.
        """
        return self._stack(self._windows(text), self._runtime.query_embed)

    def close(self) -> None:
        """Let go of the threads, when the texts that they work on are done."""
        if self._pool is not None:
            self._pool.shutdown()

    def _stack(self, texts: Sequence[str], embed: _Embed) -> Vectors:
        def one(text: str) -> Vectors:
            text = _readable(text, self._window * CHARACTERS_PER_TOKEN)
            beginning = self._pieces.match(text)
            (vector,) = embed([beginning[0] if beginning else text])
            return np.asarray(vector, np.float32)

        # A single one doesn't wait for the threads, which may have a batch before them.
        rows: Iterable[Vectors]
        rows = map(one, texts) if self._pool is None or len(texts) == 1 else self._pool.map(one, texts)
        vectors = np.empty((len(texts), self.dim), np.float32)
        for index, row in enumerate(rows):
            vectors[index] = row
        # The default model's have that length already; not every model of fastembed's is told to.
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), _TINY)
        return vectors

    def _windows(self, text: str) -> list[str]:
        """Cut a text where the tokenizer cuts it, and return at least one piece."""
        if self._tokenizer is None:
            return [text]
        text = _readable(text, self._window * CHARACTERS_PER_TOKEN * QUERY_WINDOWS_MAX)
        encoding = self._tokenizer.encode(text)
        pieces = []
        for part in [encoding, *encoding.overflowing][:QUERY_WINDOWS_MAX]:
            # The marks at both ends and padding have the empty span (0, 0).
            spans = [span for span in part.offsets if span[0] < span[1]]
            if spans:
                pieces.append(text[spans[0][0] : spans[-1][1]])
        return pieces or [text]


def load_model(name: str, cache_dir: str, threads: int, progress: Progress, system: System) -> EmbeddingModel:
    """Load a model and return it ready for use on `threads` threads.

    `DEFAULT_MODEL` is rebuilt on first use and kept in `cache_dir`. Another is one that fastembed knows by
    this name (upper and lower case are the same): it is fetched into `cache_dir` if it isn't there yet,
    which may take minutes, or without a connection half a minute to fail. Raises `ModelUnavailable`, and
    the message says what to do.
    """
    if _is_default(name):
        model = _load_default(cache_dir, threads, progress, system)
    else:
        model = _load_known(name, cache_dir, threads, progress)
    progress("ready", 1.0)
    return model


def load_kept_model(
    name: str, cache_dir: str, threads: int, progress: Progress, system: System
) -> EmbeddingModel:
    """Load a model like `load_model`, but fetch nothing: raises `ModelUnavailable` where its files are gone.

    Those of the default model are in installed packages.
    """
    if _is_default(name):
        return load_model(name, cache_dir, threads, progress, system)
    model = _load_cached(name, cache_dir, threads, progress)
    progress("ready", 1.0)
    return model


def _is_default(name: str) -> bool:
    return name.lower() == DEFAULT_MODEL.lower()


_Runtime = Any
"""fastembed's TextEmbedding, and the tokenizer inside it; imported only when a model is loaded."""

_Embed = Callable[[list[str]], Iterable[Any]]

_TINY = np.float32(1e-12)
"""Below any length of an embedding: keeps a model's zero vector zero."""

_REGISTERING = threading.Lock()


def _load_default(cache_dir: str, threads: int, progress: Progress, system: System) -> EmbeddingModel:
    with open_model_folder(cache_dir, progress, system) as folder:
        progress("loading", 0.8)
        fastembed = _import_fastembed()
        registered = _register(fastembed, folder)
        try:
            runtime = fastembed.TextEmbedding(
                registered,
                # Never used, but made by fastembed if it isn't there.
                cache_dir=folder.path,
                threads=1,
                providers=_PROVIDERS,
                specific_model_path=folder.path,
                local_files_only=True,
            )
        # onnxruntime's exceptions have no common base of their own.
        except Exception as error:
            raise ModelUnavailable(
                f"the embedding model in {folder.path} can't be loaded ({error}); "
                "install foveal again, or set another model"
            ) from error
        return EmbeddingModel(DEFAULT_MODEL, runtime, DEFAULT_DIMENSIONS, threads, folder.reason)


def _load_known(name: str, cache_dir: str, threads: int, progress: Progress) -> EmbeddingModel:
    # Tried apart from fetching, so that it is known which of both takes the time.
    with suppress(_NotCached):
        return _load_cached(name, cache_dir, threads, progress)
    progress("fetching", 0.1)
    try:
        return _open_known(name, cache_dir, threads, local_files_only=False)
    except _CannotOpen as error:
        raise ModelUnavailable(
            f"the embedding model {name} can't be fetched or loaded ({error}); check the connection to "
            f"huggingface.co and the free space in {cache_dir}, or use the default model, "
            f"{DEFAULT_MODEL}, which needs no connection"
        ) from error


def _load_cached(name: str, cache_dir: str, threads: int, progress: Progress) -> EmbeddingModel:
    """Load a model that was fetched. Raises `_NotCached` if it wasn't, or can't be loaded."""
    progress("loading", 0.0)
    try:
        return _open_known(name, cache_dir, threads, local_files_only=True)
    except _CannotOpen as error:
        raise _NotCached(
            f"the embedding model {name} isn't in {cache_dir}, or can't be loaded ({error})"
        ) from error


def _open_known(name: str, cache_dir: str, threads: int, *, local_files_only: bool) -> EmbeddingModel:
    fastembed = _import_fastembed()
    known = {model["model"].lower(): model for model in fastembed.TextEmbedding.list_supported_models()}
    description = known.get(name.lower())
    if description is None:
        near = [key for key in known if name.lower() in key] or difflib.get_close_matches(name.lower(), known)
        names = ", ".join(known[key]["model"] for key in near[:3]) or DEFAULT_MODEL
        raise ModelUnavailable(f"fastembed knows no embedding model named {name}; is it one of {names}?")
    with _logged_errors() as logged:
        try:
            runtime = fastembed.TextEmbedding(
                name,
                cache_dir=cache_dir,
                threads=1,
                providers=_PROVIDERS,
                local_files_only=local_files_only,
            )
        # What it raises depends on the model, on huggingface_hub's version, and on onnxruntime.
        except Exception as error:
            raise _CannotOpen(" ".join([str(error), *logged[:1]])) from error
    return EmbeddingModel(name, runtime, description["dim"], threads)


class _CannotOpen(Exception):
    """What fastembed says of a model that it can't fetch or load."""


class _NotCached(ModelUnavailable):
    """A model was never fetched, or its files are gone or damaged."""


_PROVIDERS = ("CPUExecutionProvider",)
"""The same vectors everywhere; a background process leaves the graphics card to others."""

_QUIET = {
    "HF_HUB_DISABLE_TELEMETRY": "1",
    # Nothing that fastembed knows needs the user's token, so it isn't sent.
    "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1",
    "HF_HUB_VERBOSITY": "critical",
}
"""huggingface_hub takes these from the environment alone, once, when it is imported.

Its progress bars appear on terminals only, and fastembed switches them on again wherever they are off.
"""


def _import_fastembed() -> Any:
    os.environ.update(_QUIET)
    import fastembed

    return fastembed


@contextmanager
def _logged_errors() -> Iterator[list[str]]:
    """Collect what fastembed logs as errors on this thread: why a fetch failed stands there, not in what it
    raises."""
    from loguru import logger

    # Nobody else here uses loguru, whose standard sink, the first of all, writes to the error stream.
    with suppress(ValueError):
        logger.remove(0)
    thread = threading.get_ident()
    messages: list[str] = []
    sink = logger.add(
        lambda message: messages.append(message.strip()),
        level="ERROR",
        format="{message}",
        filter=lambda record: (
            (record["name"] or "").startswith("fastembed") and record["thread"].id == thread
        ),
    )
    try:
        yield messages
    finally:
        logger.remove(sink)


def _register(fastembed: Any, folder: ModelFolder) -> str:
    """Tell fastembed of the default model, once in a process, and return the name that it has there."""
    from fastembed.common.model_description import ModelSource, PoolingType

    registered = f"foveal/{DEFAULT_MODEL}" + ("" if folder.rebuilt else "-plain")
    with _REGISTERING:
        known = {model["model"] for model in fastembed.TextEmbedding.list_supported_models()}
        if registered not in known:
            fastembed.TextEmbedding.add_custom_model(
                registered,
                # The rebuilt graph pools and normalises itself.
                pooling=PoolingType.DISABLED if folder.rebuilt else PoolingType.MEAN,
                normalization=not folder.rebuilt,
                # Named because fastembed wants one; a model with a path of its own isn't fetched.
                sources=ModelSource(hf=f"sentence-transformers/{DEFAULT_MODEL}"),
                dim=DEFAULT_DIMENSIONS,
                model_file=GRAPH_FILE,
            )
    return registered


def _set_window(runtime: _Runtime) -> tuple[int, Any]:
    """Set a model's truncation, and return its window in tokens and its tokenizer, None if it has none."""
    tokenizer = getattr(runtime.model, "tokenizer", None)
    if tokenizer is None:
        return TOKEN_WINDOW, None
    truncation = tokenizer.truncation or {}
    window = min(TOKEN_WINDOW, truncation.get("max_length", TOKEN_WINDOW))
    # What overflows comes in windows of its own, which is how queries are cut.
    tokenizer.enable_truncation(
        window, stride=min(QUERY_OVERLAP, window // 4), direction=truncation.get("direction", "right")
    )
    return window, tokenizer


def _pieces(window: int) -> re.Pattern[str]:
    """Return what matches the beginning of a text that can enter a window: so many words and signs.

    WordPiece makes one token or more of each, so the window is full before they end. Tokenizing the rest of
    a chunk, only to throw it away, would take 4 % of the whole time.
    """
    return re.compile(rf"(?:\s*(?:\w+|[^\w\s])){{0,{window}}}")


def _readable(text: str, limit: int) -> str:
    """Return at most `limit` characters, without the lone surrogates that the tokenizer refuses."""
    return text[:limit].encode("utf-8", "replace").decode("utf-8")
