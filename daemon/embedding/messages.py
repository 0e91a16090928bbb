"""Owns what crosses between the daemon and the embedder process: commands down, events and replies up."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Configure:
    """Say what to embed with and where embeddings are kept; the first command, replied at once.

    `folder` is the embedder's own one in the state folder. `model` is empty for the bundled one. `threads`
    is at least 1, `max_bytes` the size above which embeddings that nothing used for long are forgotten.
    """

    folder: str
    model: str
    threads: int
    max_bytes: int


@dataclass(frozen=True, slots=True)
class KeepVectors:
    """Embed what the index of a project in `folder` holds, and keep its vectors; replied at once."""

    root: str
    folder: str


@dataclass(frozen=True, slots=True)
class DropVectors:
    """Keep a project's vectors no more; what was embedded stays on the disk."""

    root: str


@dataclass(frozen=True, slots=True)
class ChunksChanged:
    """Look for chunks of a project that have no vector yet; replied at once."""

    root: str


@dataclass(frozen=True, slots=True)
class PreferFiles:
    """Embed the chunks of these files next, in this order."""

    root: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SetPaused:
    """Embed nothing in the background until told otherwise; questions are answered all the same."""

    paused: bool


@dataclass(frozen=True, slots=True)
class SearchVectors:
    """Find the chunks nearest in meaning to a text; replied with `VectorHits`.

    `texts` are embedded each by itself, and a chunk counts by the best of them. `files` are ids of the
    files to search, None for all; `kinds` those of the chunks. `first` are chunk ids that are embedded
    before the answer where they have no vector yet, as many as `first_s` seconds allow. With `min_score`
    all chunks are returned whose cosine is at least that, at most `limit`.
    """

    root: str
    texts: tuple[str, ...]
    limit: int
    files: tuple[int, ...] | None = None
    kinds: tuple[str, ...] = ()
    first: tuple[int, ...] = ()
    first_s: float = 0.0
    min_score: float | None = None


@dataclass(frozen=True, slots=True)
class VectorHits:
    """What was found, best first: (digest of the chunk's content, cosine); and how many chunks have no
    vector yet, so that they could not be found."""

    hits: tuple[tuple[bytes, float], ...]
    pending: int


@dataclass(frozen=True, slots=True)
class VectorProgress:
    """How far the embedding of a project is.

    `chunks` counts contents worth embedding, `pending` those without a vector. `per_second` is the rate of
    the last batches, 0 while nothing is embedded. `problem` says why nothing is, or is empty.
    """

    root: str
    chunks: int
    pending: int
    per_second: float
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ModelProgress:
    """What is done to get the model ready: a phase in words and how far it is, from 0 to 1."""

    phase: str
    fraction: float


@dataclass(frozen=True, slots=True)
class ModelLoaded:
    """The model that embeds from now on: its name, the size of its vectors, and why it is poorer than it
    could be, or nothing."""

    name: str
    dim: int
    degraded: str


EmbedderEvent = VectorProgress | ModelProgress | ModelLoaded
