"""The formerly configured model, which answers while the vectors of the new model are made.

It embeds no more documents: its vectors are those that the store holds. The store also tells which model it
was, so that this is known after a restart too.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from ..core.system import System
from ..index.store import Reader
from .embeddings import EmbeddingStore
from .lazy_model import LazyModel
from .messages import ModelLoaded, ModelProgress
from .model import load_kept_model, name_in_key
from .project_vectors import PAGE, ProjectVectors

FORMER_SHARE = 0.5
"""A former model is worth its memory (130 MB) where it knows at least half of a project's chunks. With less,
as in a project that shares a few files with others, words and what a question has embedded do better."""


class Former(Struct, frozen=True):
    """A former model by its key, and the vectors of a project that it made."""

    key: str
    vectors: ProjectVectors
    model: LazyModel

    def covers_more_than(self, others: ProjectVectors | None) -> bool:
        """Whether more of the project is found by it than by the vectors that are being made."""
        return self.vectors.embedded > (0 if others is None else others.embedded)


class FormerModels:
    """Models other than that of `key`, as far as they can be had without fetching; `folder` has their files.

    For one thread; the models that it lends are safe across threads.
    """

    def __init__(self, key: str, folder: str, system: System) -> None:
        self._key = key
        self._folder = folder
        self._system = system
        self._models: dict[str, LazyModel] = {}

    def find(self, root: str, folder: str, store: EmbeddingStore, embedded: int) -> Former | None:
        """Return the model that covers the most of a project, and more than the `embedded` contents that have
        a vector already; None without such a model. Its vectors aren't loaded yet: `refresh` does that.

        Takes a second for a million chunks and each model that ever embedded anything.
        """
        names = {key: name_in_key(key) for key in store.models() if key != self._key}
        keys = [key for key, name in names.items() if name is not None]
        if not keys:
            return None
        total, counts = _coverage(folder, store, keys)
        best = max(counts, key=lambda key: counts[key])
        name, dim = names[best], store.dim(best)
        if name is None or dim is None or counts[best] <= max(embedded, FORMER_SHARE * total):
            return None
        vectors = ProjectVectors(root, folder, store, best, dim, self._system)
        return Former(best, vectors, self._models.setdefault(best, self._made(name)))

    def retain(self, formers: Iterable[Former]) -> None:
        """Unload all other models."""
        keys = {former.key for former in formers}
        for key in self._models.keys() - keys:
            self._models.pop(key).close()

    def _made(self, name: str) -> LazyModel:
        return LazyModel(name, self._folder, self._system, _unheard, _unasked, load_kept_model)


def _coverage(folder: str, store: EmbeddingStore, keys: list[str]) -> tuple[int, dict[str, int]]:
    """Count the chunks of a project that are worth embedding, and how many of these each model knows."""
    total, counts = 0, dict.fromkeys(keys, 0)
    reader = Reader(folder)
    try:
        seen = 0
        while rows := reader.chunks.to_embed(seen, PAGE):
            digests = {digest for _, _, digest in rows}
            total += len(digests)
            for key in keys:
                counts[key] += store.count(key, digests)
            seen = rows[-1][0]
    finally:
        reader.close()
    return total, counts


def _unheard(event: ModelLoaded | ModelProgress) -> None:
    """Ignore the loading of a former model: only the model that embeds is reported."""


def _unasked() -> None:
    """Do nothing when it is loaded: only questions need it."""
