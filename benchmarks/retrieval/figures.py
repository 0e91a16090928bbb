"""The figures that need a quiet moment: how fast chunks are embedded, what memory a searcher takes."""

from __future__ import annotations

import multiprocessing
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import psutil
from foveal.daemon.core.system import System
from foveal.daemon.embedding.embeddings import EmbeddingStore
from foveal.daemon.index.chunks import embedded_text
from foveal.daemon.index.store import FILE_NAME

from .asking import Asked, Clock
from .embedding import BATCH, Embedder

ROUNDS = 24
"""Batches that are embedded by the product and by the model alone in turns, so that a machine whose load
changes slows both alike; the medians count."""


def throughput(embedder: Embedder, folder: Path) -> dict[str, float]:
    """Return the chunks a second of the product, of the model alone on the same chunks, and the share.

    The product takes chunks from the index, makes their text, and keeps what was embedded, durably, in an
    empty store. The model is given finished texts. Empty for a project without chunks.
    """
    product: list[float] = []
    model: list[float] = []
    with tempfile.TemporaryDirectory(prefix="fv-") as temporary:
        store = EmbeddingStore(f"{temporary}/embeddings.sqlite", System())
        work = Path(temporary) / "project"
        work.mkdir()
        (work / FILE_NAME).symlink_to((folder / FILE_NAME).resolve())
        vectors = embedder.vectors("throughput", work, store)
        for _ in range(ROUNDS):
            started = time.perf_counter()
            if not (chunks := vectors.next_batch(BATCH)):
                break
            vectors.keep([chunk.digest for chunk in chunks], embedder.embed(chunks))
            product.append((time.perf_counter() - started) / len(chunks))
            texts = [embedded_text(chunk.path, chunk.names, chunk.text) for chunk in chunks]
            started = time.perf_counter()
            embedder.embed_texts(texts)
            model.append((time.perf_counter() - started) / len(chunks))
        store.close()
    if not product:
        return {}
    shares = [alone / whole for alone, whole in zip(model, product, strict=True)]
    return {
        "chunks a second while embedding": 1 / median(product),
        "chunks a second of the model alone": 1 / median(model),
        "share of the model alone": median(shares),
    }


@dataclass(frozen=True, slots=True)
class Searcher:
    """What a process that searches needs to know."""

    embeddings: Path
    name: str
    folder: Path
    questions: tuple[str, ...]


def memory(searcher: Searcher) -> dict[str, float]:
    """Return the resident megabytes of a process of its own, after each thing that it loads."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_search, searcher).result()


def _search(searcher: Searcher) -> dict[str, float]:
    steps = {"memory MB: imports": _resident_mb()}
    embedder = Embedder(searcher.embeddings, 1)
    embedder.model.embed_query("warm")
    steps["memory MB: with the model"] = _resident_mb()
    vectors = embedder.vectors(searcher.name, searcher.folder)
    steps[f"memory MB: with the vectors of {searcher.name}"] = _resident_mb()
    asked = Asked(searcher.folder, vectors, embedder.model)
    for text in searcher.questions:
        asked.evidence(text, Clock())
    steps[f"memory MB: after {len(searcher.questions)} questions"] = _resident_mb()
    asked.close()
    embedder.close()
    return steps


def _resident_mb() -> float:
    return float(psutil.Process().memory_info().rss) / 1e6
