"""The messages between the daemon and the embedder process: commands down, events, replies and errors up."""

from __future__ import annotations

from urllib.parse import urlsplit

from msgspec import Struct

from ..core.errors import FovealError


class SharedStore(Struct, frozen=True):
    """A store of embeddings that a team shares: its URL, how its password and the team's secret are had
    (`env:NAME`, `file:PATH`, or empty), and the days after which unused keys expire."""

    url: str
    password: str
    secret: str
    days: int

    @property
    def place(self) -> str:
        """The URL without user, password and options, for people."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"

    def __repr__(self) -> str:
        """Return a text without the URL, which may hold a password."""
        return "SharedStore(...)"


class Configure(Struct, frozen=True):
    """Say what to embed with and where embeddings are kept; the first command, replied at once.

    `folder` is the embedder's own one in the state folder. `model` is empty for the bundled one. `threads`
    is at least 1, `max_bytes` the size above which embeddings that nothing used for long are forgotten.
    """

    folder: str
    model: str
    threads: int
    max_bytes: int
    shared: SharedStore | None = None


class KeepVectors(Struct, frozen=True):
    """Embed what the index of a project in `folder` holds, and keep its vectors; replied at once."""

    root: str
    folder: str


class DropVectors(Struct, frozen=True):
    """Drop a project's vectors; its embeddings stay on the disk."""

    root: str


class ChunksChanged(Struct, frozen=True):
    """Look for chunks of a project that have no vector yet; replied at once."""

    root: str


class PreferFiles(Struct, frozen=True):
    """Embed the chunks of these files next, in this order."""

    root: str
    paths: tuple[str, ...]


class PushVectors(Struct, frozen=True):
    """Write a project's embeddings to the shared store, those that it lacks; replied with `Pushed`."""

    root: str


class Pushed(Struct, frozen=True):
    """What a push did: the contents that the project uses, those that were written, and those that the store
    had. `problem` says why it ended early, or is empty."""

    contents: int
    written: int
    present: int
    problem: str = ""


class SharedProgress(Struct, frozen=True):
    """What was exchanged with the shared store at `place` since the process started.

    Contents that were found and missing there, that were found but not believed, that were written, that wait
    to be written, and that were dropped because too many waited; bytes of values received and sent; and what
    the last try failed of, or nothing.
    """

    place: str
    found: int = 0
    missing: int = 0
    rejected: int = 0
    written: int = 0
    waiting: int = 0
    dropped: int = 0
    received_bytes: int = 0
    sent_bytes: int = 0
    problem: str = ""


class SetPaused(Struct, frozen=True):
    """Pause or resume background embedding; questions are answered all the same."""

    paused: bool


class SearchVectors(Struct, frozen=True):
    """Find the chunks nearest in meaning to a text; replied with `VectorHits`.

    `texts` are embedded each by itself, and a chunk counts by the best of them. `files` are ids of the
    files to search, None for all; `kinds` those of the chunks. `first` are chunk ids that are embedded
    before the answer where they have no vector yet, as many as `first_s` seconds allow. With `min_score`
    all chunks are returned whose cosine is at least that, at most `limit`. `wait_s` is how long the answer
    may wait for a model that only has to be loaded.
    """

    root: str
    texts: tuple[str, ...]
    limit: int
    files: tuple[int, ...] | None = None
    kinds: tuple[str, ...] = ()
    first: tuple[int, ...] = ()
    first_s: float = 0.0
    min_score: float | None = None
    wait_s: float = 2.0


class VectorHits(Struct, frozen=True):
    """What was found, best first: (digest of the chunk's content, cosine); how many chunks have no vector
    yet, so that they could not be found; and in words, if another model answered than the configured one, or
    could not."""

    hits: tuple[tuple[bytes, float], ...]
    pending: int
    note: str = ""


class ScoreTexts(Struct, frozen=True):
    """Compare texts by meaning that belong to no project's index; replied with `TextScores`.

    Each query is compared with each document, a long one by the best of its windows. Documents are embedded
    once and kept on the disk by their content; without queries that is all that is done. Embedding ends after
    `within_s` seconds, of which at most `wait_s` are waited for a model that only has to be loaded.
    """

    queries: tuple[str, ...]
    documents: tuple[str, ...]
    within_s: float
    wait_s: float = 2.0


class TextScores(Struct, frozen=True):
    """For each query its cosines with all documents, and the positions of those documents that have no vector
    yet, as the time was up; their cosines are 0 and say nothing."""

    rows: tuple[tuple[float, ...], ...]
    pending: tuple[int, ...]


class VectorProgress(Struct, frozen=True):
    """How far the embedding of a project is.

    `chunks` counts contents worth embedding, `pending` those without a vector. `per_second` is the rate of
    the last batches, 0 while nothing is embedded. `problem` says why nothing is, or is empty, `index_damage`
    why the project's index can't be read.
    """

    root: str
    chunks: int
    pending: int
    per_second: float
    problem: str = ""
    former: str = ""
    index_damage: str = ""


class ModelProgress(Struct, frozen=True):
    """What is done to get the model ready: a phase in words and how far it is, from 0 to 1.

    The last one says `ready` or `failed`, and 1.
    """

    phase: str
    fraction: float


class ModelLoaded(Struct, frozen=True):
    """The model that embeds from now on: its name, the size of its vectors, and why it is poorer than it
    could be, or nothing."""

    name: str
    dim: int
    degraded: str


EmbedderEvent = VectorProgress | ModelProgress | ModelLoaded | SharedProgress


DEFAULT_MODEL = "all-MiniLM-L6-v2"
DEFAULT_DIMENSIONS = 384


class ModelUnavailable(FovealError):
    """There is no embedding model: it isn't installed, isn't known, or can't be fetched.

    The message says what to do. Lexical and structural answers need no model and go on.
    """


class ModelNotReady(FovealError):
    """The embedding model is being fetched, rebuilt or loaded, which takes too long to wait for."""


class RebuildFailed(FovealError):
    """The bundled model can't be rebuilt here; it can still be used as it is, several times slower."""
