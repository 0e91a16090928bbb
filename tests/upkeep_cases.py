"""Projects whose vectors are kept, driven by hand: real indexes, the real model, and a clock to put forward."""

from __future__ import annotations

from pathlib import Path

from foveal.daemon.embedding.lazy_model import LazyModel
from foveal.daemon.embedding.messages import DEFAULT_MODEL, Configure, VectorProgress
from foveal.daemon.embedding.upkeep import MODELS_FOLDER, EmbeddedProject, Upkeep
from foveal.daemon.index.chunks import Chunk
from foveal.daemon.index.store import Store

from tests.search_cases import Clock, chunk, put

GENEROUS_S = 60.0


class Bench:
    """An upkeep that is driven by hand. `progress` is what was heard last of each project."""

    def __init__(self, base: Path, models: Path, model: str = "", max_bytes: int = 10**9) -> None:
        self.base = base
        self.clock = Clock()
        self.progress: dict[str, VectorProgress] = {}
        self.order: list[str] = []
        self.texts = 0
        self.stores: dict[str, Store] = {}
        (base / "embeddings").mkdir(exist_ok=True)
        if not (base / "embeddings" / MODELS_FOLDER).exists():
            (base / "embeddings" / MODELS_FOLDER).symlink_to(models)
        name = model or DEFAULT_MODEL
        self.model = LazyModel(name, str(models), self.clock, lambda event: None, lambda: None)
        command = Configure(str(base / "embeddings"), model, 2, max_bytes)
        self.upkeep = Upkeep(command, self.model, self.clock, self._hear, self._count, lambda nice: None)

    def index(self, root: str) -> Store:
        if root not in self.stores:
            self.stores[root] = Store(self.folder(root), self.clock)
        return self.stores[root]

    def folder(self, root: str) -> str:
        return str(self.base / root)

    def keep(self, root: str, *chunks: Chunk) -> EmbeddedProject:
        put(self.index(root), "a.py", chunks)
        self.upkeep.keep(root, self.folder(root))
        return self.kept(root)

    def kept(self, root: str) -> EmbeddedProject:
        found = self.upkeep.get(root)
        assert found is not None
        return found

    def run(self, steps: int = 1_000) -> None:
        """Do what is due."""
        for _ in range(steps):
            kept = self.upkeep.due()
            if kept is None:
                assert self.model.settle(GENEROUS_S)
                kept = self.upkeep.due()
            if kept is None:
                return
            self.order.append(kept.root)
            self.upkeep.advance(kept)

    def counts(self, root: str) -> tuple[int, int, str]:
        heard = self.progress[root]
        return heard.chunks, heard.pending, heard.problem

    def close(self) -> None:
        self.upkeep.close()
        for store in self.stores.values():
            store.close()

    def _hear(self, progress: VectorProgress) -> None:
        self.progress[progress.root] = progress

    def _count(self) -> None:
        self.texts += 1


def some(name: str, count: int) -> list[Chunk]:
    return [chunk(f"def {name}{n}(): return {n}", f"{name}{n}") for n in range(count)]
