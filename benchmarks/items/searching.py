"""The daemon's own search as the benchmark runs it: an embedder process, a state folder of its own."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from foveal.daemon.config.settings import EmbeddingConfig
from foveal.daemon.core.events import EventHub
from foveal.daemon.core.system import System
from foveal.daemon.core.work import Work
from foveal.daemon.embedding.model_cache import open_model_folder
from foveal.daemon.embedding.semantics import FOLDER, Semantics
from foveal.daemon.embedding.upkeep import MODELS_FOLDER
from foveal.daemon.rules.item_search import ItemSearch

PATIENT_S = 600.0
"""For what isn't timed, on a machine that is busy."""


@asynccontextmanager
async def item_search(state: str) -> AsyncIterator[ItemSearch]:
    """Give a search whose embeddings are kept in this folder; its process ends with the block."""
    # A second that is spent once on a machine, before anything can be searched.
    with open_model_folder(os.path.join(state, FOLDER, MODELS_FOLDER), lambda phase, done: None, System()):
        pass
    work = Work()
    semantics = Semantics(EmbeddingConfig(), state, work, EventHub(System()))
    async with asyncio.TaskGroup() as tasks:
        work.begin(tasks)
        running = tasks.create_task(semantics.run())
        try:
            yield ItemSearch(semantics, work.in_builder)
        finally:
            work.cancel()
            await semantics.stop(PATIENT_S)
            await running
            work.close()
