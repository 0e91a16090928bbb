"""Owns asking a model to make documents shorter, in the background, where the user switched that on."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from msgspec import structs

from ..compression.compress import Compress, compress
from ..compression.model_compressor import CompressionSettings, LaterCompressor, ModelCompressor, Wanted
from ..config.settings import CompressionConfig, Environment
from ..core.system import System
from ..core.work import Work
from ..project.projects import Project

CACHE_FILE = "compressions.sqlite"


class Compressing:
    """Gives each build what compresses, and asks the model afterwards. On the event loop only."""

    def __init__(
        self, config: CompressionConfig, environment: Environment, system: System, work: Work
    ) -> None:
        self._config = config
        self._environment = environment
        self._system = system
        self._work = work
        self._model: ModelCompressor | None = None
        self._asked: set[tuple[str, str, int]] = set()
        """Texts that are being asked about: project, path, room."""

    async def load(self) -> None:
        """Open the cache, where a model is switched on."""
        if self._config.enabled:
            settings = CompressionSettings(**asdict(self._config))
            path = os.path.join(self._environment.state_dir, CACHE_FILE)
            variables = self._environment.variables
            make = partial(ModelCompressor, settings, self._system, path, variables)
            self._model = await self._work.in_builder(make)

    def close(self) -> None:
        """Close the cache."""
        if self._model is not None:
            self._model.close()

    def compress(self) -> Compress:
        """Return what compresses the documents of one context."""
        return compress if self._model is None else LaterCompressor(self._model)

    def ask_later(self, project: Project, wanted: Sequence[Wanted]) -> None:
        """Have the model make documents shorter, for later contexts."""
        new = [one for one in wanted if (project.root, one.path, one.characters) not in self._asked]
        if self._model is not None and new:
            self._asked.update((project.root, one.path, one.characters) for one in new)
            self._work.start_unheard(self._ask(project, self._model, new), f"compress for {project.root}")

    def describe(self) -> dict[str, Any] | None:
        """Return for Status what is sent where and what came of it; None where nothing is."""
        if self._model is None:
            return None
        settings = {"endpoint": self._config.endpoint, "model": self._config.model}
        return {**settings, **structs.asdict(self._model.statistics())}

    async def _ask(self, project: Project, model: ModelCompressor, wanted: Sequence[Wanted]) -> None:
        made = False
        try:
            for one in wanted:
                work = partial(
                    model.compress, one.text, one.path, one.words, one.characters, one.symbols, one.names
                )
                made |= bool((await asyncio.to_thread(work)).model)
        finally:
            self._asked.difference_update((project.root, one.path, one.characters) for one in wanted)
        if made:
            project.note_compressed()
