"""The daemon's own search as the benchmark runs it: an embedder process, a state folder of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from foveal.daemon.config.settings import EmbeddingConfig
from foveal.daemon.core.events import EventHub
from foveal.daemon.core.system import System
from foveal.daemon.core.work import Work
from foveal.daemon.embedding.service import EmbedderClient
from foveal.daemon.rules.service import ItemSearch

PATIENT_S = 600.0
"""For what isn't timed, on a machine that is busy."""


@asynccontextmanager
async def item_search(state: str) -> AsyncIterator[ItemSearch]:
    """Give a search whose embeddings are kept in this folder; its process ends with the block."""
    work = Work()
    semantics = EmbedderClient(EmbeddingConfig(), state, work, EventHub(System()))
    async with asyncio.TaskGroup() as tasks:
        work.begin(tasks)
        running = tasks.create_task(semantics.run())
        try:
            yield ItemSearch(semantics, work)
        finally:
            work.cancel()
            await semantics.stop(PATIENT_S)
            await running
            work.close()
