"""The messages between the daemon and the embedder process: commands, events, replies and errors."""

from __future__ import annotations

from urllib.parse import urlsplit

from msgspec import Struct

from ..core.errors import FovealError


class SharedStore(Struct, frozen=True):
    """A store of embeddings that a team shares.

    It has the store's URL, where the password and the team's secret are found (`env:NAME`, `file:PATH`, or
    empty), and the days after which unused keys expire.
    """

    url: str
    password: str
    secret: str
    days: int

    @property
    def place(self) -> str:
        """The URL without user, password and options, for people."""
        return _place(self.url)

    def __repr__(self) -> str:
        """Return a text without the URL, which may hold a password."""
        return "SharedStore(...)"


class EmbeddingEndpoint(Struct, frozen=True):
    """An OpenAI-compatible service that embeds: its base URL, where its key is found (`env:NAME`,
    `file:PATH`, or empty), and the seconds that a batch may take."""

    url: str
    key: str
    timeout_s: float

    @property
    def place(self) -> str:
        """The URL without user, password and options, for people and for the key of embeddings."""
        return _place(self.url)

    def __repr__(self) -> str:
        """Return a text without the URL, which may hold a password."""
        return "EmbeddingEndpoint(...)"


def _place(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"


class Configure(Struct, frozen=True):
    """Set the model and the folder for embeddings. The first command; the reply is immediate.

    `folder` is the embedder's folder in the state folder. `model` is empty for the bundled model. `threads`
    is at least 1. `max_bytes` is the size above which the least recently used embeddings are deleted. With
    `endpoint` the model is one of that service.
    """

    folder: str
    model: str
    threads: int
    max_bytes: int
    shared: SharedStore | None = None
    endpoint: EmbeddingEndpoint | None = None


class KeepVectors(Struct, frozen=True):
    """Embed the chunks in the index of the project in `folder`, and keep their vectors up to date.

    The reply is immediate.
    """

    root: str
    folder: str


class DropVectors(Struct, frozen=True):
    """Unload a project's vectors; its embeddings stay on the disk."""

    root: str


class ChunksChanged(Struct, frozen=True):
    """Look for chunks of a project that have no vector yet; the reply is immediate."""

    root: str


class PreferFiles(Struct, frozen=True):
    """Embed the chunks of these files next, in this order."""

    root: str
    paths: tuple[str, ...]


class ForgetVectors(Struct, frozen=True):
    """Delete the embeddings of the contents that only the index in `folder` has, not those in `others`. The
    reply is `Forgotten`."""

    root: str
    folder: str
    others: tuple[str, ...]


class Forgotten(Struct, frozen=True):
    """The number of embeddings that were deleted."""

    embeddings: int


class PushVectors(Struct, frozen=True):
    """Write those embeddings of a project that the shared store lacks to it; the reply is `Pushed`."""

    root: str


class Pushed(Struct, frozen=True):
    """The result of a push.

    `contents` is the number of contents that the project uses, `written` the number that were written, and
    `present` the number that the store already had. `problem` says why the push ended early, or is empty.
    """

    contents: int
    written: int
    present: int
    problem: str = ""


class SharedProgress(Struct, frozen=True):
    """Counts of the exchange with the shared store at `place` since the process started.

    - `found`, `missing`: contents that the store had and lacked;
    - `rejected`: contents whose stored value failed the checks;
    - `written`, `waiting`: contents that were written, and that still wait to be written;
    - `dropped`: contents that weren't written because too many waited;
    - `received_bytes`, `sent_bytes`: bytes of values;
    - `problem`: why the last attempt failed, or empty.
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
    """Pause or resume background embedding; questions are still answered while it is paused."""

    paused: bool


class SearchVectors(Struct, frozen=True):
    """Find the chunks nearest in meaning to some texts; the reply is `VectorHits`.

    - `texts`: each is embedded separately; a chunk's score is its highest cosine with any of them.
    - `limit`: the maximum number of hits.
    - `files`: the ids of the files to search, None for all.
    - `first`: ids of chunks to embed before the answer if they have no vector, for up to `first_s` seconds.
    - `wait_s`: maximum seconds to wait for a model that only has to be loaded from the disk.
    """

    root: str
    texts: tuple[str, ...]
    limit: int
    files: tuple[int, ...] | None = None
    first: tuple[int, ...] = ()
    first_s: float = 0.0
    wait_s: float = 2.0


class VectorHits(Struct, frozen=True):
    """The chunks found by a search, best first, each as (digest of the chunk's content, cosine).

    `pending` is the number of contents without a vector, which the search couldn't find.
    """

    hits: tuple[tuple[bytes, float], ...]
    pending: int


class ScoreTexts(Struct, frozen=True):
    """Compare texts by meaning that belong to no project's index; the reply is `TextScores`.

    Each query is compared with each document; a long query is divided into windows, and the best one counts.
    Documents are embedded once and stored on the disk by their content. Without queries the documents are
    only embedded and stored. Embedding ends after `within_s` seconds, which include at most `wait_s` seconds
    of waiting for a model that only has to be loaded from the disk.
    """

    queries: tuple[str, ...]
    documents: tuple[str, ...]
    within_s: float
    wait_s: float = 2.0


class TextScores(Struct, frozen=True):
    """`rows` holds for each query its cosines with all documents. `pending` are the positions of documents
    that couldn't be embedded in time; their cosines are 0 and have no meaning."""

    rows: tuple[tuple[float, ...], ...]
    pending: tuple[int, ...]


class VectorProgress(Struct, frozen=True):
    """The progress of embedding a project.

    `chunks` is the number of contents worth embedding, `pending` the number of those without a vector.
    `per_second` is the rate of the last batches, 0 while nothing is embedded. `problem` says why nothing is
    embedded, or is empty. `index_damage` says why the project's index can't be read, or is empty.
    """

    root: str
    chunks: int
    pending: int
    per_second: float
    problem: str = ""
    index_damage: str = ""


class ModelProgress(Struct, frozen=True):
    """The progress of preparing the model: the current phase, and the share that is done, from 0 to 1.

    The last event has the phase `ready` or `failed`, and the share 1.
    """

    phase: str
    fraction: float


class ModelLoaded(Struct, frozen=True):
    """The model that embeds from now on: its name and the number of dimensions of its vectors."""

    name: str
    dim: int


EmbedderEvent = VectorProgress | ModelProgress | ModelLoaded | SharedProgress


DEFAULT_MODEL = "all-MiniLM-L6-v2"
DEFAULT_DIMENSIONS = 384


class ModelUnavailable(FovealError):
    """There is no embedding model: it isn't installed, isn't known, or can't be downloaded.

    The message says what to do. Search by words and by structure works without a model.
    """


class ModelNotReady(FovealError):
    """The embedding model is being downloaded or loaded, which takes too long to wait for."""
