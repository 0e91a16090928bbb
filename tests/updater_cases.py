"""Projects whose vectors are kept, driven by hand: real indexes, the real model, and a clock to put forward."""

from __future__ import annotations

import queue
from collections.abc import Callable
from pathlib import Path

from foveal.daemon.embedding.lazy_model import LazyModel
from foveal.daemon.embedding.messages import DEFAULT_MODEL, Configure, EmbeddingEndpoint
from foveal.daemon.embedding.records import VectorProgress
from foveal.daemon.embedding.vector_updater import MODELS_FOLDER, EmbeddedProject, OpenShared, VectorUpdater
from foveal.daemon.index.chunks import Chunk
from foveal.daemon.index.store import Store

from tests.search_cases import Clock, chunk, put

GENEROUS_S = 60.0


class Bench:
    """An updater that is driven by hand. `progress` is what was heard last of each project."""

    def __init__(
        self,
        base: Path,
        model: str = "",
        max_bytes: int = 10**9,
        open_shared: OpenShared | None = None,
        endpoint: EmbeddingEndpoint | None = None,
    ) -> None:
        self.base = base
        self.clock = Clock()
        self.progress: dict[str, VectorProgress] = {}
        self.order: list[str] = []
        self.texts = 0
        self.stores: dict[str, Store] = {}
        models = str(base / "embeddings" / MODELS_FOLDER)
        self.model = LazyModel(
            model or DEFAULT_MODEL, models, self.clock, lambda event: None, lambda: None, endpoint
        )
        command = Configure(str(base / "embeddings"), model, 2, max_bytes, None, endpoint)
        self.answers: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        """Answers of the shared store."""
        self.updater = VectorUpdater(
            command, self.model, self.clock, self._hear, self._count, self.answers.put, open_shared
        )

    def index(self, root: str) -> Store:
        if root not in self.stores:
            self.stores[root] = Store(self.folder(root), self.clock)
        return self.stores[root]

    def folder(self, root: str) -> str:
        return str(self.base / root)

    def keep(self, root: str, *chunks: Chunk) -> EmbeddedProject:
        put(self.index(root), "a.py", chunks)
        self.updater.keep(root, self.folder(root))
        return self.kept(root)

    def kept(self, root: str) -> EmbeddedProject:
        found = self.updater.get(root)
        assert found is not None
        return found

    def run(self, steps: int = 1_000) -> None:
        """Do what is due."""
        for _ in range(steps):
            kept = self.updater.due()
            known = filter(None, map(self.updater.get, self.progress))
            if kept is None and any(project.asked_at for project in known):
                self.answers.get(timeout=GENEROUS_S)()
                continue
            if kept is None:
                assert self.model.settle(GENEROUS_S)
                kept = self.updater.due()
            if kept is None:
                return
            self.order.append(kept.root)
            self.updater.advance(kept)

    def counts(self, root: str) -> tuple[int, int, str]:
        heard = self.progress[root]
        return heard.chunks, heard.pending, heard.problem

    def close(self) -> None:
        self.updater.close()
        for store in self.stores.values():
            store.close()

    def _hear(self, progress: VectorProgress) -> None:
        self.progress[progress.root] = progress

    def _count(self) -> None:
        self.texts += 1


def some(name: str, count: int) -> list[Chunk]:
    return [chunk(f"def {name}{n}(): return {n}", f"{name}{n}") for n in range(count)]
